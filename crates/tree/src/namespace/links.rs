//! Hard links that precede their targets. They are resolved when all entries are known, and each name is visited once.

use super::error::{Fault, NamespaceError};
use super::resolve::{Lookup, Missing, Walk, split};
use super::store::{InodeId, NodeId, ROOT, Store, Type};

/// Binds every pending link to its target's inode, through chains of links.
///
/// All targets are looked up before any link is bound: a path through a directory that is itself a pending link (to a symbolic
/// link) never resolves, in any order of entries.
pub(super) fn resolve(store: &mut Store, lookup: &mut Lookup, pending: &[NodeId]) -> Result<(), NamespaceError> {
    for &link in pending {
        aim(store, lookup, link)?;
    }
    let mut chain = Vec::new();
    for &link in pending {
        chain.clear();
        let inode = follow(store, link, &mut chain)?;
        for &name in &chain {
            store.rebind(name, inode);
        }
    }
    Ok(())
}

fn is_pending(store: &Store, node: NodeId) -> bool {
    store.inode_of(node).kind == Type::Pending
}

/// Stores the target's name in the owner field of a pending link, which has no attributes of its own.
fn aim(store: &mut Store, lookup: &mut Lookup, link: NodeId) -> Result<(), NamespaceError> {
    if is_pending(store, link) {
        let path = store.target(store.inode_of(link)).to_vec();
        let target = find(store, lookup, &path).ok_or_else(|| refuse(store, link, Fault::LinkToNothing))?;
        store.inode_of_mut(link).uid = target.0;
    }
    Ok(())
}

/// Follows links, recording each in `chain`, to the first inode that is not a pending link.
fn follow(store: &mut Store, link: NodeId, chain: &mut Vec<NodeId>) -> Result<InodeId, NamespaceError> {
    let mut at = link;
    while is_pending(store, at) {
        if store.inode_of(at).mode == MARK {
            return Err(refuse(store, at, Fault::LinkLoop));
        }
        store.inode_of_mut(at).mode = MARK;
        chain.push(at);
        let target = NodeId(store.inode_of(at).uid);
        if store.inode_of(target).kind == Type::Dir {
            return Err(refuse(store, at, Fault::LinkToDirectory));
        }
        at = target;
    }
    Ok(store.node(at).inode)
}

/// Marks a pending inode on the current walk. A successful walk rebinds all marked inodes, and a failed one ends the resolution,
/// so a mark that is found again means a loop.
const MARK: u16 = u16::MAX;

/// The name at `path`. Parents are followed through symbolic links; the last component is not.
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
