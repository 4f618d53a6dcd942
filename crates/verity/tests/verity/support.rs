//! Images, their trees, and checks, in memory.

use std::sync::Arc;

use packline_runtime::{Input, Resources, Unobserved};
use packline_testkit::Random;
use packline_verity::{BLOCK, CheckResult, Digest, Error, Finding, Leaves, Salt, Tree, TreeLocation, Uuid};

/// An image of `blocks` blocks of noise.
pub fn image(blocks: usize) -> Vec<u8> {
    Random::new(blocks as u64).noise(blocks * BLOCK)
}

pub fn leaves(image: &[u8], salt: &Salt, workers: usize) -> Leaves {
    let input: Arc<dyn Input> = Arc::new(image.to_vec());
    let spool = tempfile::tempfile().unwrap();
    packline_verity::hash_leaves(&input, salt, spool, &Resources::new(workers), &mut Unobserved).unwrap()
}

/// A tree in its own file.
pub fn tree(image: &[u8], salt: &Salt, uuid: Option<Uuid>) -> (Tree, Vec<u8>) {
    let mut bytes = Vec::new();
    let tree = packline_verity::write_tree(&mut leaves(image, salt, 2), uuid, &mut bytes, 0).unwrap();
    (tree, bytes)
}

/// An image followed by its tree.
pub fn appended(image: &[u8], salt: &Salt) -> (Tree, Vec<u8>) {
    let mut bytes = image.to_vec();
    let at = bytes.len() as u64;
    let tree = packline_verity::write_tree(&mut leaves(image, salt, 2), None, &mut bytes, at).unwrap();
    (tree, bytes)
}

/// Checks an image and a tree in its own file.
pub fn check(image: &[u8], tree: &[u8], root: &Digest) -> Result<(CheckResult, Vec<Finding>), Error> {
    let place = TreeLocation { input: Arc::new(tree.to_vec()), at: 0 };
    check_at(&(Arc::new(image.to_vec()) as Arc<dyn Input>), &place, root)
}

pub fn check_at(
    image: &Arc<dyn Input>,
    place: &TreeLocation,
    root: &Digest,
) -> Result<(CheckResult, Vec<Finding>), Error> {
    let mut findings = Vec::new();
    let resources = Resources::new(1);
    let found = &mut |finding| findings.push(finding);
    let checked = packline_verity::check(image, place, root, &resources, &mut Unobserved, found)?;
    Ok((checked, findings))
}
