//! Hard links whose target came after them: resolved once everything is there, each name visited once.

use super::error::{Fault, NamespaceError};
use super::resolve::{Lookup, Missing, Walk, split};
use super::store::{InodeId, NodeId, ROOT, Store, Type};

/// Lets every pending link stand for its target's inode, through chains of links.
pub(super) fn resolve(store: &mut Store, lookup: &mut Lookup, pending: &[NodeId]) -> Result<(), NamespaceError> {
    let mut chain = Vec::new();
    for &link in pending {
        if is_pending(store, link) {
            chain.clear();
            let inode = follow(store, lookup, link, &mut chain)?;
            for &name in &chain {
                store.rebind(name, inode);
            }
        }
    }
    Ok(())
}

fn is_pending(store: &Store, node: NodeId) -> bool {
    store.inode_of(node).kind == Type::Pending
}

/// Walks from link to link, noting each in `chain`, to the first thing that is not a pending link.
fn follow(
    store: &mut Store,
    lookup: &mut Lookup,
    link: NodeId,
    chain: &mut Vec<NodeId>,
) -> Result<InodeId, NamespaceError> {
    let mut at = link;
    while is_pending(store, at) {
        if is_marked(store, at) {
            return Err(refuse(store, at, Fault::LinkLoop));
        }
        mark(store, at);
        chain.push(at);
        let next = target(store, lookup, at).ok_or_else(|| refuse(store, at, Fault::LinkToNothing))?;
        if store.inode_of(next).kind == Type::Dir {
            return Err(refuse(store, at, Fault::LinkToDirectory));
        }
        at = next;
    }
    Ok(store.node(at).inode)
}

/// Pending inodes have no attributes: a bit of the mode marks those on the current walk. A walk that ends well rebinds all
/// that it marked, and one that fails ends everything, so a marked one that is met again is a loop.
fn is_marked(store: &Store, node: NodeId) -> bool {
    store.inode_of(node).mode == MARK
}

fn mark(store: &mut Store, node: NodeId) {
    store.inode_of_mut(node).mode = MARK;
}

const MARK: u16 = u16::MAX;

fn target(store: &mut Store, lookup: &mut Lookup, link: NodeId) -> Option<NodeId> {
    let path = store.target(store.inode_of(link)).to_vec();
    find(store, lookup, &path)
}

/// The name at `path`: parents are followed through symbolic links, the last component is taken as it is.
pub(super) fn find(store: &mut Store, lookup: &mut Lookup, path: &[u8]) -> Option<NodeId> {
    let (parent, name) = split(path);
    if name.is_empty() {
        return Some(ROOT);
    }
    let parent = Walk { store, lookup, missing: Missing::Refuse }.directory(parent).ok()?;
    lookup.find(store, parent, name)
}

fn refuse(store: &Store, link: NodeId, fault: impl Fn(Vec<u8>) -> Fault) -> NamespaceError {
    let target = store.target(store.inode_of(link)).to_vec();
    NamespaceError::new(&store.path(link), fault(target))
}
