//! Sealing and opening in one round, and ranges, which open only the chunks that they touch.

use super::support::{SMALL, at_offsets, chunk, content, input, pair, sealed, sealed_by, streamed};
use crate::{Sealing, memory};
use packline_runtime::{Input, Resources};
use proptest::prelude::*;

#[test]
fn round_trips_sizes_at_chunk_edges() {
    let pair = pair();
    let recipients = pair.recipients();
    let identities = pair.identities();
    for log in [12, 13, 16] {
        let size = 1usize << log;
        let batch = 4 * (64 << 10);
        let edges = [size, 2 * size, batch, batch + size].into_iter().flat_map(|edge| [edge - 1, edge, edge + 1]);
        for length in [0, 1, 2].into_iter().chain(edges) {
            let content = content(length);
            let file = sealed(&recipients, &content, log);
            let chunks = length.div_ceil(size).max(1);
            assert_eq!(file.len(), super::support::head_of(&file).length() as usize + length + 20 * chunks);
            assert!(at_offsets(&file, &identities).unwrap() == content, "{length} in 2^{log}");
            for workers in [0, 1, 3] {
                let (found, error) = streamed(&file, &identities, workers);
                assert!(error.is_none() && found == content, "{length} in 2^{log}, {workers} workers: {error:?}");
            }
        }
    }
}

#[test]
fn bytes_do_not_depend_on_workers() {
    let content = content(3_000_000);
    let wraps = [b"a wrap".to_vec(), b"another".to_vec()];
    let seal = |workers| sealed_by(Sealing::for_tests([7; 32], &wraps, chunk(14), false).unwrap(), &content, workers);
    let reference = seal(0);
    assert!([1, 2, 7].into_iter().all(|workers| seal(workers) == reference));
    // The format is fixed: its bytes change only with its version.
    let hash = blake3::hash(&reference).to_hex();
    assert_eq!(hash.as_str(), "20a5fbd2fe5a32386818edf8acfa2a02047441e5734acf982c98a5e7bcbfb485");
}

#[test]
fn two_files_of_one_content_share_no_bytes() {
    let pair = pair();
    let content = content(100_000);
    let [one, two] = [(); 2].map(|()| sealed(&pair.recipients(), &content, 12));
    let bodies = one.iter().rev().zip(two.iter().rev()).take(90_000);
    let same = bodies.filter(|(one, two)| one == two).count();
    // One of 256 random bytes is equal by chance; the headers of chunks are equal.
    assert!(same < 90_000 / 256 + 23 * 4 + 200, "{same}");
    assert!(!one.windows(16).any(|window| window == &content[5000..5016]));
}

#[test]
fn memory_share_is_bounded() {
    let share = |workers, limit| memory(&Resources::new(workers).memory_limit(limit), crate::ChunkSize::USUAL);
    assert!(share(2, Some(20 << 20)) < 2 << 20);
    assert!(share(64, Some(1 << 30)) < 1 << 26);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn round_trips_any_content(content in proptest::collection::vec(any::<u8>(), 0..40_000), workers in 0usize..4) {
        let pair = pair();
        let file = sealed_by(Sealing::new(&pair.recipients(), chunk(12), None).unwrap(), &content, workers);
        prop_assert!(at_offsets(&file, &pair.identities()).unwrap() == content);
        let (found, error) = streamed(&file, &pair.identities(), workers);
        prop_assert!(error.is_none() && found == content);
    }
}

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
