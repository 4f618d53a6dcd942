//! Superblocks and trees made to mislead: an error, and no more work than the length of the files.

use std::sync::Arc;

use packline_runtime::Input;
use packline_testkit::Random;
use packline_verity::{BLOCK, Salt, TreeLocation, find_appended, root_hash};

use crate::support::{check, check_at, image, tree};

/// A change of a superblock: its offset, its bytes, and a part of the error.
const ZOO: [(&str, usize, &[u8], &str); 14] = [
    ("no signature", 0, b"VERITY", "no dm-verity superblock"),
    ("another version", 8, &[2], "version is 2 (expected 1)"),
    ("Chrome OS's hashes", 12, &[0], "hash type is 0 (expected 1)"),
    ("another algorithm", 32, b"sha512", "'sha512' (expected sha256)"),
    ("an algorithm of control characters", 32, &[27, b'[', 7], "'\\x1b[\\x07256' (expected sha256)"),
    ("other blocks of data", 64, &[0, 2], "data block size is 512 (expected 4096)"),
    ("blocks of data of no size", 64, &[0, 0], "data block size is 0 (expected 4096)"),
    ("other blocks of hashes", 68, &[255, 255, 255, 255], "hash block size is 4294967295 (expected 4096)"),
    ("no data", 72, &[0, 0], "hash tree of 0 blocks"),
    ("more data than there can be", 72, &[255; 8], "hash tree of 18446744073709551615 blocks"),
    ("more data than there is", 72, &[0, 0, 0, 0, 1, 0, 0, 0], "cut off at byte"),
    ("a longer salt than its field", 80, &[1, 1], "salt has 257 bytes"),
    ("a salt that is shorter than its bytes", 80, &[1], "not zero"),
    ("something in the padding", 511, &[1], "not zero"),
];

#[test]
fn rejects_every_hostile_superblock() {
    let content = image(300);
    let (made, bytes) = tree(&content, &Salt::Given(vec![1, 2, 3]), None);
    for (name, at, change, expected) in ZOO {
        let mut hostile = bytes.clone();
        hostile[at..at + change.len()].copy_from_slice(change);
        let error = check(&content, &hostile, &made.root_hash).unwrap_err().to_string();
        assert!(error.contains(expected), "{name}: {error}");
        let place = TreeLocation { input: Arc::new(hostile), at: 0 };
        assert!(root_hash(&content, &place).is_err(), "{name}");
    }
}

#[test]
fn rejects_trees_outside_their_file() {
    let content = image(300);
    let (made, bytes) = tree(&content, &Salt::Derived, None);
    for length in [0, 1, 511, 512, BLOCK, bytes.len() - 1] {
        assert!(check(&content, &bytes[..length], &made.root_hash).is_err(), "{length}");
    }
    for at in [1, bytes.len() as u64, u64::MAX] {
        let place = TreeLocation { input: Arc::new(bytes.clone()), at };
        let image: Arc<dyn Input> = Arc::new(content.clone());
        assert!(check_at(&image, &place, &made.root_hash).is_err(), "{at}");
    }
    let error = check(&content[..299 * BLOCK], &bytes, &made.root_hash).unwrap_err().to_string();
    assert!(error.contains("covers 300 blocks, but the image has 1224704 bytes"), "{error}");
}

#[test]
fn rejects_trees_that_contain_themselves() {
    // The image is its own tree: its superblock says that it covers blocks that begin before it.
    let (made, bytes) = tree(&image(2), &Salt::Derived, None);
    let image: Arc<dyn Input> = Arc::new(bytes);
    let place = TreeLocation { input: image.clone(), at: 0 };
    let error = check_at(&image, &place, &made.root_hash).unwrap_err().to_string();
    assert!(error.contains("the image has 0 bytes"), "{error}");
}

#[test]
fn rejects_noise() {
    for seed in 0..200 {
        let mut random = Random::new(seed);
        let mut bytes = random.noise(3 * BLOCK);
        bytes[..8].copy_from_slice(b"verity\0\0");
        assert!(check(&image(1), &bytes, &[0; 32]).is_err());
        assert!(find_appended(&bytes).is_ok_and(|found| found.is_none()));
    }
    let mut other = image(1);
    other.extend_from_slice(&tree(&image(2), &Salt::Derived, None).1[..BLOCK]);
    assert!(find_appended(&other).unwrap_err().to_string().contains("covers 2 blocks"));
}
