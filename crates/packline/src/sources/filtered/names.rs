//! Names that are left out: their inodes, and the kept names of the same inodes.

use std::collections::{BTreeMap, VecDeque};

use packline_tree::{Bytes, Entry, Held};

/// Memory of a name besides its bytes, with its share of the maps.
const NAME_BYTES: u64 = 160;
/// Maximum length of a chain of links: no archiver writes longer ones, and they would be slow.
const CHAIN_MOST: usize = 40;

/// Target of a hard link.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Lead {
    /// A name that is kept, or would be if it existed.
    Kept(Bytes),
    /// An inode whose first name was left out.
    Inode(usize),
    /// A name that would be left out and does not exist so far.
    Nowhere(Bytes),
    /// A kept entry whose name refers to another entry now.
    Replaced,
}

/// Target of a name that is left out.
enum Target {
    Inode(usize),
    Name(Bytes),
    Replaced,
}

/// An inode whose first name was left out.
pub(super) struct HeldInode {
    /// The entry of the inode in the source.
    pub(super) entry: Entry,
    pub(super) content: Held,
    /// Kept names, the first one first; some may refer to another inode by now.
    names: VecDeque<Bytes>,
}

/// All names that are left out, in bounded memory.
pub(super) struct OmittedNames {
    targets: BTreeMap<Bytes, Target>,
    inodes: Vec<HeldInode>,
    /// Inodes by kept name.
    kept: BTreeMap<Bytes, usize>,
    /// Names that are left out, by the kept name of the same inode.
    aliases: BTreeMap<Bytes, Vec<Bytes>>,
    /// Targets of waiting links by the link's name, and the links by target.
    waiting: BTreeMap<Bytes, Bytes>,
    wanted: BTreeMap<Bytes, Vec<Bytes>>,
    /// Bytes of memory left.
    left: u64,
    full: bool,
}

impl OmittedNames {
    /// Uses about `memory` bytes at most.
    pub(super) fn new(memory: u64) -> OmittedNames {
        OmittedNames {
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

    /// Whether a name was not recorded for lack of memory.
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

    /// Returns the current target of a link to `target`. `keeps` returns whether a name is kept.
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

    /// Whether a link at `path` refers to its own inode, so that nothing is replaced.
    pub(super) fn leads_back(&self, lead: &Lead, path: &[u8]) -> bool {
        match lead {
            Lead::Kept(name) => name == path,
            Lead::Inode(inode) => self.kept.get(path) == Some(inode),
            Lead::Nowhere(_) | Lead::Replaced => false,
        }
    }

    // Names that are left out.

    /// Records an inode under the name of its entry. If memory is short, the name refers to nothing, never to an earlier inode.
    pub(super) fn add(&mut self, entry: Entry, content: Held) {
        let xattrs = entry.xattrs.iter().map(|xattr| NAME_BYTES + (xattr.name.len() + xattr.value.len()) as u64);
        let bytes = 2 * (NAME_BYTES + entry.path.len() as u64) + content.memory() + xattrs.sum::<u64>();
        self.forget(&entry.path);
        if self.take(bytes) {
            self.targets.insert(entry.path.clone(), Target::Inode(self.inodes.len()));
            self.inodes.push(HeldInode { entry, content, names: VecDeque::new() });
        }
    }

    /// Records `path` as another name of a link's target.
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

    /// Removes a name, which no later link can refer to.
    pub(super) fn forget(&mut self, path: &[u8]) {
        self.targets.remove(path);
    }

    // Names that are kept.

    /// Records that a kept name refers to another entry.
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

    /// The first kept name of an inode.
    pub(super) fn name(&mut self, inode: usize) -> Option<Bytes> {
        let names = &mut self.inodes[inode].names;
        while names.front().is_some_and(|name| self.kept.get(name) != Some(&inode)) {
            names.pop_front();
        }
        names.front().cloned()
    }

    /// Adds a kept name of an inode. Returns false if memory is short.
    pub(super) fn add_name(&mut self, inode: usize, path: &[u8]) -> bool {
        self.kept.insert(path.to_vec(), inode);
        self.inodes[inode].names.push_back(path.to_vec());
        self.take(2 * (NAME_BYTES + path.len() as u64))
    }

    // Links whose target has not come yet.

    /// Makes the link at `path` wait for `target`. Returns false if memory is short.
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

    /// A waiting link, and its target.
    pub(super) fn first_waiting(&self) -> Option<(&Bytes, &Bytes)> {
        self.waiting.first_key_value()
    }
}
