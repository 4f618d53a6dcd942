//! Names that are left out: what they stand for, and which names that are kept stand for the same.

use std::collections::{BTreeMap, VecDeque};

use packline_tree::{Bytes, Entry};

use super::contents::Held;

/// What a name takes beside its bytes, with its share of the maps.
const NAME_BYTES: u64 = 160;
/// Links from name to name that are followed: longer ways are those of no archiver, and would make each link dear.
const CHAIN_MOST: usize = 40;

/// What a hard link leads to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Lead {
    /// A name that is kept, or would be if it came.
    Kept(Bytes),
    /// An inode whose first name was left out.
    Inode(usize),
    /// A name that would be left out, and that nothing has had so far.
    Nowhere(Bytes),
    /// Something that was kept, under a name that has been given to something else since.
    Replaced,
}

/// What a name stands for that is left out.
enum Target {
    Inode(usize),
    Name(Bytes),
    Replaced,
}

/// An inode whose first name was left out.
pub(super) struct HeldInode {
    /// As the source has it.
    pub(super) entry: Entry,
    pub(super) content: Held,
    /// Names that are kept, the first one first; some may stand for something else by now.
    names: VecDeque<Bytes>,
}

/// All such names, in bounded memory.
pub(super) struct Names {
    targets: BTreeMap<Bytes, Target>,
    inodes: Vec<HeldInode>,
    /// Inodes by the names that are kept.
    kept: BTreeMap<Bytes, usize>,
    /// Names that are left out, by the kept name that they stand for.
    aliases: BTreeMap<Bytes, Vec<Bytes>>,
    /// Targets of links that wait, by the link's name, and the links by the target.
    waiting: BTreeMap<Bytes, Bytes>,
    wanted: BTreeMap<Bytes, Vec<Bytes>>,
    /// Bytes that it may still take.
    left: u64,
    full: bool,
}

impl Names {
    /// Nothing yet; takes about `memory` bytes at most.
    pub(super) fn new(memory: u64) -> Names {
        Names {
            targets: BTreeMap::new(),
            inodes: Vec::new(),
            kept: BTreeMap::new(),
            aliases: BTreeMap::new(),
            waiting: BTreeMap::new(),
            wanted: BTreeMap::new(),
            left: memory,
            full: false,
        }
    }

    /// Whether something was not noted for want of memory.
    pub(super) fn is_full(&self) -> bool {
        self.full
    }

    fn take(&mut self, bytes: u64) -> bool {
        match self.left.checked_sub(bytes) {
            Some(left) => self.left = left,
            None => self.full = true,
        }
        !self.full
    }

    /// What a link to `target` leads to now; `keeps` says which names are kept.
    pub(super) fn lead(&self, target: &[u8], keeps: &dyn Fn(&[u8]) -> bool) -> Lead {
        let mut at = target;
        for _ in 0..CHAIN_MOST {
            if keeps(at) {
                return Lead::Kept(at.to_vec());
            }
            match self.targets.get(at) {
                Some(Target::Inode(inode)) => return Lead::Inode(*inode),
                Some(Target::Name(name)) => at = name,
                Some(Target::Replaced) => return Lead::Replaced,
                None => break,
            }
        }
        Lead::Nowhere(at.to_vec())
    }

    /// Whether a link at `path` leads to what that name stands for already, so that nothing is replaced.
    pub(super) fn leads_back(&self, lead: &Lead, path: &[u8]) -> bool {
        match lead {
            Lead::Kept(name) => name == path,
            Lead::Inode(inode) => self.kept.get(path) == Some(inode),
            Lead::Nowhere(_) | Lead::Replaced => false,
        }
    }

    // Names that are left out.

    /// Notes an inode under the name of its entry. Without room for it the name stands for nothing: never for what had it before.
    pub(super) fn add(&mut self, entry: Entry, content: Held) {
        let xattrs = entry.xattrs.iter().map(|xattr| NAME_BYTES + (xattr.name.len() + xattr.value.len()) as u64);
        let bytes = 2 * (NAME_BYTES + entry.path.len() as u64) + content.memory() + xattrs.sum::<u64>();
        self.forget(&entry.path);
        if self.take(bytes) {
            self.targets.insert(entry.path.clone(), Target::Inode(self.inodes.len()));
            self.inodes.push(HeldInode { entry, content, names: VecDeque::new() });
        }
    }

    /// Notes that `path` stands for what a link leads to.
    pub(super) fn alias(&mut self, path: &Bytes, lead: Lead) {
        if matches!(&lead, Lead::Nowhere(name) if name == path) {
            return;
        }
        self.forget(path);
        if !self.take(3 * (NAME_BYTES + path.len() as u64)) {
            return;
        }
        let target = match lead {
            Lead::Inode(inode) => Target::Inode(inode),
            Lead::Replaced => Target::Replaced,
            Lead::Nowhere(name) => Target::Name(name),
            Lead::Kept(name) => {
                self.aliases.entry(name.clone()).or_default().push(path.clone());
                Target::Name(name)
            }
        };
        self.targets.insert(path.clone(), target);
    }

    /// A name stands for nothing that can be linked to.
    pub(super) fn forget(&mut self, path: &[u8]) {
        self.targets.remove(path);
    }

    // Names that are kept.

    /// Something else gets a name that is kept.
    pub(super) fn replace(&mut self, path: &[u8]) {
        self.kept.remove(path);
        self.waiting.remove(path);
        for alias in self.aliases.remove(path).unwrap_or_default() {
            if let Some(target) = self.targets.get_mut(&alias)
                && matches!(target, Target::Name(name) if name == path)
            {
                *target = Target::Replaced;
            }
        }
    }

    pub(super) fn held(&self, inode: usize) -> &HeldInode {
        &self.inodes[inode]
    }

    /// A name of an inode that is kept, the first of those there are.
    pub(super) fn name(&mut self, inode: usize) -> Option<Bytes> {
        let names = &mut self.inodes[inode].names;
        while names.front().is_some_and(|name| self.kept.get(name) != Some(&inode)) {
            names.pop_front();
        }
        names.front().cloned()
    }

    /// Gives an inode a name that is kept; false if there is no room to remember it.
    pub(super) fn add_name(&mut self, inode: usize, path: &[u8]) -> bool {
        self.kept.insert(path.to_vec(), inode);
        self.inodes[inode].names.push_back(path.to_vec());
        self.take(2 * (NAME_BYTES + path.len() as u64))
    }

    // Links whose target has not come yet.

    /// Lets the link at `path` wait for `target`; false if there is no room to remember it.
    pub(super) fn wait(&mut self, path: &[u8], target: Bytes) -> bool {
        let bytes = 2 * (NAME_BYTES + path.len() as u64 + target.len() as u64);
        self.waiting.insert(path.to_vec(), target.clone());
        self.wanted.entry(target).or_default().push(path.to_vec());
        self.take(bytes)
    }

    /// The links that waited for `target`.
    pub(super) fn wake(&mut self, target: &[u8]) -> Vec<Bytes> {
        let mut links = self.wanted.remove(target).unwrap_or_default();
        links.retain(|link| self.waiting.get(link).is_some_and(|wanted| wanted == target));
        links.iter().for_each(|link| drop(self.waiting.remove(link)));
        links
    }

    /// A link that waits, and its target.
    pub(super) fn first_waiting(&self) -> Option<(&Bytes, &Bytes)> {
        self.waiting.first_key_value()
    }
}
