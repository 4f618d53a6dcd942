//! Compressed clusters of each algorithm, byte by byte.

use crate::hostile::bytes::Put;

/// Largest block of zstd in bytes.
const ZSTD_BLOCK: usize = 128 << 10;

/// A frame of zstd with a window of 2^`window` bytes, whose content is one byte `length` times.
pub(super) fn zstd_repeat(window: u8, byte: u8, length: usize) -> Vec<u8> {
    let mut frame = Vec::new();
    frame.all(&[0x28, 0xb5, 0x2f, 0xfd, 0, (window - 10) << 3]);
    let mut left = length;
    loop {
        let now = left.min(ZSTD_BLOCK);
        left -= now;
        // Last block, type 1 (one byte repeated), and length.
        let header = u32::from(left == 0) | 1 << 1 | (now as u32) << 3;
        frame.all(&header.to_le_bytes()[..3]).all(&[byte]);
        if left == 0 {
            return frame;
        }
    }
}

/// A block of lz4 that has only literals.
pub(super) fn lz4_literals(content: &[u8]) -> Vec<u8> {
    let mut block = Vec::new();
    let Some(mut more) = content.len().checked_sub(15) else {
        block.all(&[(content.len() as u8) << 4]).all(content);
        return block;
    };
    block.push(0xf0);
    while more >= 255 {
        block.push(255);
        more -= 255;
    }
    block.all(&[more as u8]).all(content);
    block
}
