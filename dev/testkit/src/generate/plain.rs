//! Tars of one kind of content each: zeros, noise, shifted copies, tiny files.

use crate::model::Node;
use crate::random::Random;
use crate::tar::TarWriter;
use std::io::{self, Write};

/// `count` files of `length` zeros, written as zeros.
pub fn zero_files(sink: &mut dyn Write, count: u64, length: usize) -> io::Result<()> {
    let mut tar = TarWriter::without_sparse(sink);
    for index in 0..count {
        tar.node(&Node::file(format!("zeros-{index}"), vec![0; length]))?;
    }
    tar.finish().map(drop)
}

/// `count` files of `length` bytes of noise, all different.
pub fn noise_files(sink: &mut dyn Write, count: u64, length: usize) -> io::Result<()> {
    let mut tar = TarWriter::new(sink);
    for index in 0..count {
        tar.node(&Node::file(format!("noise-{index}"), Random::new(index).noise(length)))?;
    }
    tar.finish().map(drop)
}

/// `count` files with the same content of `length` bytes, each with one more byte before it than the last.
pub fn shifted_files(sink: &mut dyn Write, count: u64, length: usize) -> io::Result<()> {
    let mut tar = TarWriter::new(sink);
    let content = Random::new(length as u64).prose(length);
    for index in 0..count {
        let ahead = Random::new(index).noise(index as usize);
        tar.node(&Node::file(format!("shifted-{index:02}"), [ahead.as_slice(), &content].concat()))?;
    }
    tar.finish().map(drop)
}

/// `count` files of `length` bytes of text, all different, 1,000 a directory.
pub fn tiny_files(sink: &mut dyn Write, count: u64, length: usize) -> io::Result<()> {
    let mut tar = TarWriter::new(sink);
    for index in 0..count {
        let directory = format!("d{:04}", index / 1000);
        if index % 1000 == 0 {
            tar.node(&Node::dir(directory.clone()))?;
        }
        tar.node(&Node::file(format!("{directory}/f{index}"), Random::new(index).prose(length)))?;
    }
    tar.finish().map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(generate: impl Fn(&mut dyn Write) -> io::Result<()>) -> Vec<Vec<u8>> {
        let mut bytes = Vec::new();
        generate(&mut bytes).unwrap();
        bytes.chunks(512).map(<[u8]>::to_vec).collect()
    }

    #[test]
    fn zeros_are_written_and_noise_differs() {
        let zeros = blocks(|sink| zero_files(sink, 2, 1024));
        assert_eq!(zeros.len(), 2 * 3 + 2);
        assert!(zeros[1..3].iter().flatten().all(|&byte| byte == 0));
        let noise = blocks(|sink| noise_files(sink, 2, 512));
        assert_ne!(noise[1], noise[3]);
    }

    #[test]
    fn each_copy_is_shifted_by_one_byte_more() {
        let shifted = blocks(|sink| shifted_files(sink, 3, 500));
        let first = &shifted[1][..500];
        let third = &shifted[5][2..502];
        assert_eq!(first, third);
        assert_ne!(first, &shifted[5][..500]);
    }

    #[test]
    fn tiny_files_are_as_many_and_as_long_as_asked() {
        let tiny = blocks(|sink| tiny_files(sink, 1001, 100));
        assert_eq!(tiny.len(), 2 + 2 * 1001 + 2);
        assert!(tiny[2][..100].iter().all(|&byte| byte != 0) && tiny[2][100..].iter().all(|&byte| byte == 0));
    }
}
