//! Any bytes as blocks of Huff0, with and without headers, for any size: output stays within bounds, is reproducible, and survives a round
//! trip. Any bytes as content.

use packline_codec::{CodecError, Decoder, Huff0Block, Huff0Decoder, Huff0Encoder, Huff0Streams, Outcome, Spec};

/// Guard after the destination.
const BEHIND: [u8; 16] = [0xa5; 16];

/// Runs a decoder on a destination followed by a guard.
fn guarded<T>(size: usize, read: impl FnOnce(&mut [u8]) -> T) -> (T, Vec<u8>) {
    let mut dst = vec![0; size];
    dst.extend_from_slice(&BEHIND);
    let read = read(&mut dst[..size]);
    assert_eq!(dst[size..], BEHIND);
    dst.truncate(size);
    (read, dst)
}

fn block(bytes: &[u8], size: usize, streams: Huff0Streams) {
    // A used decoder and a new one.
    let mut used = Huff0Decoder::new();
    let _ = used.decompress_block(&[0x81, 0x10, 0x10, 0x80], &mut [0; 9], Huff0Streams::One);
    let read = |decoder: &mut Huff0Decoder| guarded(size, |dst| decoder.decompress_block(bytes, dst, streams));
    let first = read(&mut used);
    let second = read(&mut Huff0Decoder::new());
    assert_eq!(first.0, second.0);
    if first.0.is_ok() {
        assert!(first.1 == second.1);
        content(&first.1, streams);
    }
}

fn content(bytes: &[u8], streams: Huff0Streams) {
    let (outcome, packed) =
        guarded(bytes.len(), |dst| Huff0Encoder::new().compress_block(bytes, dst, streams).expect("a block"));
    if let Huff0Block::Compressed(size) = outcome {
        let (read, back) =
            guarded(bytes.len(), |dst| Huff0Decoder::new().decompress_block(&packed[..size], dst, streams));
        assert!(read.is_ok() && back == bytes);
    }
    let mut encoder = Spec::Huff0.encoder(bytes.len().max(1)).expect("a size in range");
    let (outcome, packed) = guarded(bytes.len(), |dst| encoder.compress(bytes, dst).expect("it fits"));
    if let Outcome::Smaller(size) = outcome {
        let (read, back) = guarded(bytes.len(), |dst| Huff0Decoder::new().decompress(&packed[..size], dst));
        assert!(read == Ok(bytes.len()) && back == bytes);
    }
}

pub fn huff0(bytes: &[u8]) {
    let Some((head, rest)) = bytes.split_first_chunk::<3>() else { return };
    let size = usize::from(u16::from_le_bytes([head[1], head[2]]));
    match head[0] % 4 {
        0 => block(rest, size, Huff0Streams::One),
        1 => block(rest, size, Huff0Streams::Four),
        2 => {
            let (read, _) = guarded(size, |dst| Huff0Decoder::new().decompress(rest, dst));
            assert!(!matches!(read, Ok(made) if made > size) && !matches!(read, Err(CodecError::Library { .. })));
        }
        _ => content(rest, if head[1] % 2 == 0 { Huff0Streams::One } else { Huff0Streams::Four }),
    }
}
