//! Which entries of an image a command is about: all, or those that patterns name, and not those that others name.

use packline_runtime::escape::Escape;
use packline_squashfs::read::{Image, InodeRef, NodeType, ReadError, Visit, Walk};
use packline_tree::{Bytes, Pattern, Patterns};

use crate::Error;

/// Patterns over canonical paths. What is below a directory that a pattern names is named too.
#[derive(Debug, Default)]
pub struct Selection {
    /// What is wanted; everything if there is none.
    pub include: Patterns,
    /// What is not wanted, even if it is included. The root is not excluded by any.
    pub exclude: Patterns,
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

    /// That patterns of [`Selection::include`] matched no entry of `place` that is not excluded, if any did not.
    pub fn unmatched(&self, place: &str) -> Option<Error> {
        let what = idle(&self.include, place)?;
        Some(Error::Request { what, expected: "the name or path of an entry, or wildcards that match one".to_string() })
    }

    /// The same of [`Selection::exclude`], as a warning.
    pub fn unmatched_exclude(&self, place: &str) -> Option<String> {
        idle_exclude(&self.exclude, place)
    }

    /// Whether an entry of a source in any order is selected: a pattern matches it or a directory above it, which the source need
    /// not have, and none of them is excluded.
    pub fn selects(&self, path: &[u8], directory: bool) -> bool {
        !self.exclude.cover(path, directory) && (self.include.is_empty() || self.include.reach(path, directory))
    }

    /// Whether nothing of the entry, nor of what is below it, is selected; the root is never excluded.
    fn excludes(&self, path: &[u8], directory: bool) -> bool {
        !path.is_empty() && self.exclude.matches(path, directory)
    }
}

/// The warning that patterns to leave out matched nothing of `place`, if some did not.
pub fn idle_exclude(patterns: &Patterns, place: &str) -> Option<String> {
    idle(patterns, place).map(|what| format!("exclude {what}"))
}

fn idle(patterns: &Patterns, place: &str) -> Option<String> {
    let shown = |pattern: &Pattern| format!("'{}'", pattern.text().escaped());
    let names: Vec<String> = patterns.unmatched().map(shown).collect();
    match names.len() {
        0 => None,
        1 => Some(format!("pattern {} matches nothing in {place}", names[0])),
        _ => Some(format!("patterns {} match nothing in {place}", names.join(", "))),
    }
}

/// The selected entries of a tree in the order of [`Walk`], each directory that leads to one before it, the root first.
pub struct SelectedWalk<'s> {
    walk: Walk,
    selection: &'s Selection,
    /// Directories above the present place that are not selected themselves and have not been needed so far.
    waiting: Vec<Visit>,
    /// An entry that waits for the directories that lead to it.
    held: Vec<Visit>,
    /// Whether directories that only lead to an entry come at all.
    leading: bool,
    /// The outermost directory at the present place that is selected by a pattern.
    inside: Option<Bytes>,
}

impl<'s> SelectedWalk<'s> {
    /// Walks an image from its root.
    pub fn new(image: &Image, selection: &'s Selection) -> SelectedWalk<'s> {
        SelectedWalk::below(image, image.root(), selection)
    }

    /// Walks what is below one directory, as if it were the root.
    pub fn below(image: &Image, directory: InodeRef, selection: &'s Selection) -> SelectedWalk<'s> {
        let walk = Walk::new(image, directory, Vec::new());
        SelectedWalk { walk, selection, waiting: Vec::new(), held: Vec::new(), leading: true, inside: None }
    }

    /// Without the directories that are not selected and only lead to entries that are.
    pub fn without_leading(self) -> SelectedWalk<'s> {
        SelectedWalk { leading: false, ..self }
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
        while self.waiting.pop_if(|above| !is_below(path, &above.path)).is_some() {}
    }

    /// Whether an entry that is not excluded is selected: a pattern matches it, or a directory above it.
    fn selects(&mut self, path: &[u8], directory: bool) -> bool {
        let include = &self.selection.include;
        let inside = self.inside.as_ref().is_some_and(|above| is_below(path, above));
        let matched = include.is_empty() || include.matches(path, directory);
        if matched && directory && !inside {
            self.inside = Some(path.to_vec());
        }
        matched || inside
    }
}

/// Whether a path is below a directory.
fn is_below(path: &[u8], directory: &[u8]) -> bool {
    directory.is_empty() || (path.starts_with(directory) && path.get(directory.len()) == Some(&b'/'))
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
                Err((path, _)) if self.selection.excludes(&path, true) => continue,
                Err(fault) => return Some(Err(fault)),
            };
            let kind = visit.inode.node_type();
            let (directory, omit) = (kind == NodeType::Directory, self.selection.omit);
            if self.selection.excludes(&visit.path, directory) {
                self.walk.prune();
                continue;
            }
            let selected = self.selects(&visit.path, directory) && !(directory && omit.empty_directories);
            if omit.omits(kind) {
                // Nothing is below it.
            } else if selected {
                return Some(Ok(self.release(visit)));
            } else if directory && (self.leading || omit.empty_directories) {
                self.forget_beside(&visit.path);
                self.waiting.push(visit);
            }
        }
    }
}
