//! Which entries of an image a command is about: all, or those that patterns name, and not those that others name.

use packline_squashfs::read::{Image, InodeRef, NodeType, ReadError, Visit, Walk};
use packline_tree::Glob;

/// Patterns over canonical paths. What is below a directory that a pattern names is named too.
#[derive(Debug, Default)]
pub struct Selection {
    /// What is wanted; everything if there is none.
    pub include: Vec<Glob>,
    /// What is not wanted, even if it is included.
    pub exclude: Vec<Glob>,
    /// Types that are not wanted, whatever their names.
    pub omit: Omit,
}

/// Types of entries that are left out of a walk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Omit {
    /// Block and character devices.
    pub devices: bool,
    /// Sockets.
    pub sockets: bool,
    /// Named pipes.
    pub fifos: bool,
    /// Symbolic links.
    pub symlinks: bool,
    /// Directories that have nothing in them, or nothing that is not left out.
    pub empty_directories: bool,
}

impl Omit {
    /// Whether entries of this type are left out.
    pub fn omits(&self, kind: NodeType) -> bool {
        match kind {
            NodeType::BlockDevice | NodeType::CharDevice => self.devices,
            NodeType::Socket => self.sockets,
            NodeType::Fifo => self.fifos,
            NodeType::Symlink => self.symlinks,
            NodeType::Directory | NodeType::File => false,
        }
    }
}

impl Selection {
    /// Everything.
    pub fn all() -> Selection {
        Selection::default()
    }

    /// Whether the entry at `path` is selected: it, or a directory above it, is included, and none of them is excluded.
    pub fn selects(&self, path: &[u8]) -> bool {
        !self.excludes(path) && (self.include.is_empty() || any_prefix(path, &self.include))
    }

    /// Whether the entry at `path` or a directory above it is excluded: nothing below it is selected.
    pub fn excludes(&self, path: &[u8]) -> bool {
        any_prefix(path, &self.exclude)
    }
}

/// Whether a pattern matches the path or a directory above it. The root has no name that a pattern could match.
fn any_prefix(path: &[u8], patterns: &[Glob]) -> bool {
    let ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
    let mut prefixes = ends.chain((!path.is_empty()).then_some(path.len()));
    !patterns.is_empty() && prefixes.any(|end| patterns.iter().any(|pattern| pattern.matches(&path[..end])))
}

/// The selected entries of a tree in the order of [`Walk`], each directory that leads to one before it, the root first.
pub struct SelectedWalk<'s> {
    walk: Walk,
    selection: &'s Selection,
    /// Directories above the present place that are not selected themselves and have not been needed so far.
    waiting: Vec<Visit>,
    /// An entry that waits for the directories that lead to it.
    held: Vec<Visit>,
}

impl<'s> SelectedWalk<'s> {
    /// Walks an image from its root.
    pub fn new(image: &Image, selection: &'s Selection) -> SelectedWalk<'s> {
        SelectedWalk::below(image, image.root(), selection)
    }

    /// Walks what is below one directory, as if it were the root.
    pub fn below(image: &Image, directory: InodeRef, selection: &'s Selection) -> SelectedWalk<'s> {
        let walk = Walk::new(image, directory, Vec::new());
        SelectedWalk { walk, selection, waiting: Vec::new(), held: Vec::new() }
    }

    /// Hands out `visit` after the directories that lead to it.
    fn release(&mut self, visit: Visit) -> Visit {
        self.forget_beside(&visit.path);
        self.held.push(visit);
        self.held.extend(self.waiting.drain(..).rev());
        self.held.pop().unwrap_or_else(|| unreachable!("one was pushed"))
    }
}

impl SelectedWalk<'_> {
    /// Forgets directories that do not lead to `path`: the walk is depth first, so they have been left for good.
    fn forget_beside(&mut self, path: &[u8]) {
        let leads =
            |above: &[u8]| above.is_empty() || (path.starts_with(above) && path.get(above.len()) == Some(&b'/'));
        while self.waiting.pop_if(|above| !leads(&above.path)).is_some() {}
    }
}

impl Iterator for SelectedWalk<'_> {
    type Item = Result<Visit, (Vec<u8>, ReadError)>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(visit) = self.held.pop() {
            return Some(Ok(visit));
        }
        loop {
            let visit = match self.walk.next()? {
                Ok(visit) => visit,
                Err((path, _)) if self.selection.excludes(&path) => continue,
                Err(fault) => return Some(Err(fault)),
            };
            let kind = visit.inode.node_type();
            let (directory, omit) = (kind == NodeType::Directory, self.selection.omit);
            if self.selection.excludes(&visit.path) {
                self.walk.prune();
            } else if omit.omits(kind) {
                // Nothing is below it.
            } else if self.selection.selects(&visit.path) && !(directory && omit.empty_directories) {
                return Some(Ok(self.release(visit)));
            } else if directory {
                self.forget_beside(&visit.path);
                self.waiting.push(visit);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use packline_tree::Slash;

    fn selection(include: &[&str], exclude: &[&str]) -> Selection {
        let globs =
            |patterns: &[&str]| patterns.iter().map(|text| Glob::new(text.as_bytes(), Slash::Separates)).collect();
        Selection { include: globs(include), exclude: globs(exclude), omit: Omit::default() }
    }

    #[test]
    fn directories_select_what_is_below_them() {
        let all = selection(&[], &[]);
        assert!(all.selects(b"") && all.selects(b"usr/bin/ls"));
        let some = selection(&["usr/b*"], &["usr/bin/x*"]);
        assert!(some.selects(b"usr/bin") && some.selects(b"usr/bin/ls") && some.selects(b"usr/bin/deep/er"));
        assert!(!some.selects(b"") && !some.selects(b"usr") && !some.selects(b"usr/lib/b"));
        assert!(!some.selects(b"usr/bin/xz") && !some.selects(b"usr/bin/xdir/ls"));
        assert!(some.excludes(b"usr/bin/xdir/ls") && !some.excludes(b"usr"));
    }
}
