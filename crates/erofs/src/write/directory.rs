//! The listing of a directory: names sorted by their bytes, `.` and `..` among them, in blocks.

use packline_tree::{NodeId, Tree};
use packline_volume::NodeType;

use crate::format::dirent::{BlockEntries, bytes_of};

/// Returns the entries of a directory in their order.
fn entries(tree: &Tree, directory: NodeId) -> impl Iterator<Item = (&[u8], NodeId)> {
    let children = tree.children(directory);
    let before = |name: &[u8]| children.partition_point(|child| tree.name(*child) < name);
    let (first, rest) = children.split_at(before(b"."));
    let (middle, last) = rest.split_at(before(b"..") - first.len());
    let named = |child: &NodeId| (tree.name(*child), *child);
    let own = [(&b"."[..], directory)];
    let parent = [(&b".."[..], tree.parent(directory))];
    first.iter().map(named).chain(own).chain(middle.iter().map(named)).chain(parent).chain(last.iter().map(named))
}

/// Returns the bytes of a listing: complete blocks of `block_size` bytes, and the last one without padding.
pub(super) fn listing_bytes(tree: &Tree, directory: NodeId, block_size: u64) -> u64 {
    let mut blocks = 0;
    let mut last = 0;
    for (name, _) in entries(tree, directory) {
        let bytes = bytes_of(name) as u64;
        if last + bytes > block_size {
            blocks += 1;
            last = 0;
        }
        last += bytes;
    }
    blocks * block_size + last
}

/// Calls `put` with each block of `block_size` bytes of a listing, the last one without padding. `inode` returns number and type of an entry's inode.
pub(super) fn for_each_block<E>(
    tree: &Tree,
    directory: NodeId,
    block_size: usize,
    inode: &dyn Fn(NodeId) -> (u64, NodeType),
    put: &mut dyn FnMut(&[u8]) -> Result<(), E>,
) -> Result<(), E> {
    let mut block = BlockEntries::default();
    let mut bytes = Vec::with_capacity(block_size);
    for (name, target) in entries(tree, directory) {
        if block.bytes() + bytes_of(name) > block_size {
            block.take(&mut bytes);
            bytes.resize(block_size, 0);
            put(&bytes)?;
            bytes.clear();
        }
        let (number, kind) = inode(target);
        block.push(number, kind, name);
    }
    block.take(&mut bytes);
    put(&bytes)
}
