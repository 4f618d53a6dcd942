//! Ranges open only the chunks that they touch.

use super::support::{SMALL, content, input, pair, sealed};
use packline_runtime::Input;

#[test]
fn range_opens_only_touched_chunks() {
    let pair = pair();
    let content = content(100 * 4096 + 17);
    let file = sealed(&pair.recipients(), &content, SMALL);
    let cases = [(0, 1, 1), (4095, 1, 1), (4095, 2, 2), (4096, 4096, 1), (5000, 20_000, 6), (8192, 3 * 4096, 3)];
    for (start, length, chunks) in cases {
        let input = input(&file, &pair.identities()).unwrap();
        assert_eq!((input.size(), input.chunks_opened()), (content.len() as u64, 1), "the last chunk, for the size");
        let mut read = vec![0; length];
        input.read_at(start as u64, &mut read).unwrap();
        assert!(read == content[start..start + length]);
        assert_eq!(input.chunks_opened() - 1, chunks, "{start}, {length}");
    }
}

#[test]
fn neighbouring_reads_share_a_chunk() {
    let pair = pair();
    let content = content(50 * 4096);
    let input = input(&sealed(&pair.recipients(), &content, SMALL), &pair.identities()).unwrap();
    let mut read = vec![0; content.len()];
    for (number, piece) in read.chunks_mut(1000).enumerate() {
        input.read_at(number as u64 * 1000, piece).unwrap();
    }
    assert!(read == content);
    assert_eq!(input.chunks_opened(), 50);
}

#[test]
fn rejects_reads_beyond_the_end() {
    let pair = pair();
    for length in [0, 1, 4096, 5000] {
        let input = input(&sealed(&pair.recipients(), &content(length), SMALL), &pair.identities()).unwrap();
        let end = length as u64;
        input.read_at(end, &mut []).unwrap();
        for (at, bytes) in [(end, 1), (end.saturating_sub(1), 3), (u64::MAX, 1), (u64::MAX - 1, 4096)] {
            let error = input.read_at(at, &mut vec![0; bytes]).unwrap_err();
            assert_eq!(error.kind(), std::io::ErrorKind::UnexpectedEof, "{at}");
        }
    }
}
