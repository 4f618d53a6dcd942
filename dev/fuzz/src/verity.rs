//! Reads any bytes as a hash tree of dm-verity: reads the superblock, finds the tree after an image, and checks an image with the tree.

use std::sync::Arc;

use crate::no_bug;
use packline_runtime::{Input, Resources, Unobserved};
use packline_verity::{BLOCK, Finding, TreeLocation, check, find_appended, root_hash};

/// Bytes of the image. The rest is a tree.
const IMAGE: usize = 3 * BLOCK;

pub fn verity(bytes: &[u8]) {
    no_bug(find_appended(&bytes.to_vec()));
    let image: Arc<dyn Input> = Arc::new(vec![0u8; IMAGE]);
    let behind: Arc<dyn Input> = Arc::new([&[0u8; IMAGE][..], bytes].concat());
    let own: Arc<dyn Input> = Arc::new(bytes.to_vec());
    for (image, place) in [
        (&image, TreeLocation { input: own, at: 0 }),
        (&behind, TreeLocation { input: behind.clone(), at: IMAGE as u64 }),
    ] {
        // With its own root hash, all consistent parts of a tree are read.
        let Some(root) = no_bug(root_hash(image.as_ref(), &place)) else { continue };
        let mut findings = 0;
        let found = &mut |_: Finding| findings += 1;
        if let Some(checked) = no_bug(check(image, &place, &root, &Resources::new(0), &mut Unobserved, found)) {
            assert!(findings <= checked.faults());
            assert!(checked.superblock.data_blocks <= 3);
        }
    }
}
