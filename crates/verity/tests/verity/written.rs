//! An image that is hashed while it is written has the same tree as the finished image.

use packline_engine::Config;
use packline_runtime::Sink;
use packline_testkit::Random;
use packline_verity::{BLOCK, Error, HashingSink, Salt, write_tree};

use crate::support::{image, leaves, tree};

/// Writes as SquashFS does: forward, beginning after the superblock, which comes last, with some blocks written again.
fn write(content: &[u8], sink: &mut dyn Sink, seed: u64) {
    let mut random = Random::new(seed);
    let mut at = 96;
    while at < content.len() {
        let length = (random.below(300_000) as usize + 1).min(content.len() - at);
        assert!(sink.write_at(at as u64, &content[at..at + length]).unwrap());
        at += length;
        if random.below(4) == 0 {
            // First other bytes, then those of the image again, at any offset.
            let start = random.below(at as u64 - 96) as usize + 96;
            let end = (start + random.below(9000) as usize).min(at);
            sink.write_at(start as u64, &vec![7; end - start]).unwrap();
            sink.write_at(start as u64, &content[start..end]).unwrap();
        }
    }
    sink.write_at(0, &content[..96]).unwrap();
}

#[test]
fn tree_while_writing_equals_the_tree_of_the_image() {
    for blocks in [1, 2, 63, 64, 65, 700] {
        let content = image(blocks);
        let (made, bytes) = tree(&content, &Salt::Derived, None);
        for workers in [0, 1, 3] {
            for seed in 0..5 {
                let spool = tempfile::tempfile().unwrap();
                let config = Config { workers, ..Config::default() };
                let mut sink = HashingSink::new(Vec::new(), Salt::Derived, spool, config);
                write(&content, &mut sink, seed);
                let mut leaves = sink.finish().unwrap();
                let mut again = Vec::new();
                let tree = write_tree(&mut leaves, None, &mut again, 0).unwrap();
                assert!(tree == made && again == bytes, "{blocks} blocks, {workers} workers, seed {seed}");
            }
        }
    }
}

#[test]
fn hashes_appended_bytes_and_rejects_incomplete_blocks() {
    let content = image(3);
    let sink = || HashingSink::new(Vec::new(), Salt::Derived, tempfile::tempfile().unwrap(), Config::default());
    let mut whole = sink();
    content.chunks(5000).for_each(|part| whole.append(part).unwrap());
    let mut leaves = whole.finish().unwrap();
    let mut bytes = Vec::new();
    let made = write_tree(&mut leaves, None, &mut bytes, 0).unwrap();
    assert_eq!(made, tree(&content, &Salt::Derived, None).0);
    let mut part = sink();
    part.append(&content[..BLOCK + 1]).unwrap();
    assert!(matches!(part.finish(), Err(Error::Size { bytes: 4097 })));
    assert!(matches!(sink().finish(), Err(Error::Size { bytes: 0 })));
}

#[test]
fn hashes_do_not_depend_on_workers() {
    let content = image(1000);
    let trees = [0, 1, 2, 5].map(|workers| {
        let mut bytes = Vec::new();
        write_tree(&mut leaves(&content, &Salt::Derived, workers), None, &mut bytes, 0).unwrap();
        bytes
    });
    assert!(trees.iter().all(|tree| *tree == trees[0]));
}
