//! Every flipped bit is found and reported at the right place.

use std::sync::Arc;

use packline_runtime::Input;
use packline_verity::{BLOCK, Digest, Finding, Salt, TreeLocation, find_appended, root_hash};

use crate::support::{appended, check, check_at, image, tree};

/// The UUID in a superblock. No hash depends on it.
const UUID: std::ops::Range<usize> = 16..32;

#[test]
fn finds_every_flipped_byte_of_image_and_tree() {
    for blocks in [1, 2, 130] {
        let content = image(blocks);
        let (made, bytes) = appended(&content, &Salt::Derived);
        for at in (0..bytes.len()).filter(|at| !UUID.contains(&at.wrapping_sub(content.len()))) {
            // Every byte of the superblock's block and of the ends of blocks, and some of the other bytes.
            let near = at >= content.len() && at < content.len() + BLOCK || (at + 8) % BLOCK < 16;
            if !near && at % 1009 != 0 {
                continue;
            }
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << (at % 8);
            let image: Arc<dyn Input> = Arc::new(damaged);
            let place = TreeLocation { input: image.clone(), at: content.len() as u64 };
            let found = check_at(&image, &place, &made.root_hash);
            assert!(
                found.is_err() || found.is_ok_and(|(checked, _)| checked.faults() > 0),
                "byte {at} of {blocks} blocks"
            );
        }
    }
}

#[test]
fn joins_neighbouring_wrong_blocks_into_one_finding() {
    let content = image(300);
    let (made, bytes) = tree(&content, &Salt::Derived, None);
    let mut damaged = content.clone();
    for block in [0, 7, 8, 127, 128, 299] {
        damaged[block * BLOCK + 17] ^= 4;
    }
    let (checked, findings) = check(&damaged, &bytes, &made.root_hash).unwrap();
    assert_eq!((checked.wrong_blocks, checked.wrong_tree, checked.unknown_blocks), (6, 0, 0));
    let runs = [(0, 0), (7, 8), (127, 128), (299, 299)];
    assert_eq!(findings, runs.map(|(first, last)| Finding::Blocks { first, last }));
}

#[test]
fn reports_nothing_below_a_wrong_tree_block() {
    let content = image(300);
    let (made, mut bytes) = tree(&content, &Salt::Derived, None);
    // After the superblock and the top block: the second block of the lowest level, which covers blocks 128 to 255.
    bytes[3 * BLOCK + 5] ^= 1;
    let (checked, findings) = check(&content, &bytes, &made.root_hash).unwrap();
    assert_eq!((checked.wrong_blocks, checked.wrong_tree, checked.unknown_blocks), (0, 1, 128));
    assert_eq!(findings, [Finding::Tree { offset: 3 * BLOCK as u64 }]);
}

#[test]
fn reports_the_root_hash_of_the_tree_if_it_differs() {
    for blocks in [1, 2, 300] {
        let content = image(blocks);
        let (made, bytes) = tree(&content, &Salt::Derived, None);
        let wrong: Digest = [7; 32];
        let (checked, findings) = check(&content, &bytes, &wrong).unwrap();
        let offset = (blocks > 1).then_some(BLOCK as u64);
        assert_eq!(findings, [Finding::Root { offset, found: made.root_hash }]);
        assert_eq!(checked.faults(), 1);
    }
}

#[test]
fn finds_appended_trees_by_the_file_size() {
    for blocks in [1, 2, 128, 129] {
        let content = image(blocks);
        let (made, bytes) = appended(&content, &Salt::Derived);
        let (at, superblock) = find_appended(&bytes).unwrap().unwrap();
        assert_eq!((at, &superblock), (content.len() as u64, &made.superblock));
        let place = TreeLocation { input: Arc::new(bytes.clone()), at };
        assert_eq!(root_hash(&bytes, &place).unwrap(), made.root_hash);
        assert_eq!(find_appended(&content).unwrap(), None);
    }
    assert_eq!(find_appended(&Vec::new()).unwrap(), None);
}
