//! Selects entries of an image by patterns to include and to exclude.

use packline_runtime::escape::Escape;
use packline_tree::{Bytes, PathFilter, Pattern, Patterns};
use packline_volume::{NodeId, NodeType, ReadError, SharedVolume, Visit, Walk};

use crate::Error;

/// Patterns over canonical paths. They also select everything below a matching directory.
#[derive(Debug, Default)]
pub struct Selection {
    /// Selected entries; everything if empty.
    pub include: Patterns,
    /// Excluded entries, even if they are included. The root is never excluded.
    pub exclude: Patterns,
    /// Types that are skipped.
    pub omit: Omit,
    /// A further rule that skips entries.
    pub filter: Option<PathFilter>,
}

/// Types of entries that a walk skips.
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
    /// Directories that are empty, or contain only skipped entries.
    pub empty_directories: bool,
}

impl Omit {
    /// Whether entries of this type are skipped.
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
    /// Selects everything.
    pub fn all() -> Selection {
        Selection::default()
    }

    /// Selects the entries that match a pattern, with everything below them.
    ///
    /// # Errors
    /// [`Error::Pattern`] for a malformed pattern.
    pub fn pattern(pattern: impl AsRef<[u8]>) -> Result<Selection, Error> {
        let mut selection = Selection::all();
        selection.include.add(pattern.as_ref())?;
        Ok(selection)
    }

    /// Whether nothing is left out.
    pub fn is_all(&self) -> bool {
        self.include.is_empty() && self.exclude.is_empty() && self.omit == Omit::default() && self.filter.is_none()
    }

    /// Whether no regular file is left out.
    pub(crate) fn has_all_files(&self) -> bool {
        self.include.is_empty() && self.exclude.is_empty() && self.filter.is_none()
    }

    /// Returns the error if a pattern of [`Selection::include`] matched no entry of `place` that is not excluded.
    pub fn unmatched(&self, place: &str) -> Option<Error> {
        let what = idle(&self.include, place)?;
        Some(Error::Request { what, expected: "the name or path of an entry, or wildcards that match one".to_string() })
    }

    /// Returns the warning if a pattern of [`Selection::exclude`] matched no entry.
    pub fn unmatched_exclude(&self, place: &str) -> Option<String> {
        idle_exclude(&self.exclude, place)
    }

    /// Whether an entry of a source in any order is selected. A pattern must match the entry or a directory above it, even if the source does not
    /// have the directory. None of them may be excluded.
    pub fn selects(&self, path: &[u8], directory: bool) -> bool {
        !self.exclude.cover(path, directory)
            && (self.include.is_empty() || self.include.reach(path, directory))
            && self.filter.as_ref().is_none_or(|filter| !filter.covers(path))
    }

    /// Whether the entry and everything below it is excluded; the root is never excluded.
    fn excludes(&self, path: &[u8], directory: bool) -> bool {
        !path.is_empty() && self.exclude.matches(path, directory)
    }
}

/// Returns the warning if a pattern to leave out matched nothing of `place`.
pub fn idle_exclude(patterns: &Patterns, place: &str) -> Option<String> {
    idle(patterns, place).map(|what| format!("exclude {what}"))
}

fn idle(patterns: &Patterns, place: &str) -> Option<String> {
    let display_path = |pattern: &Pattern| format!("'{}'", pattern.text().escaped());
    let names: Vec<String> = patterns.unmatched().map(display_path).collect();
    match names.len() {
        0 => None,
        1 => Some(format!("pattern {} matches nothing in {place}", names[0])),
        _ => Some(format!("patterns {} match nothing in {place}", names.join(", "))),
    }
}

/// The selected entries of a tree in the order of [`Walk`], each preceded by the directories that lead to it, the root first.
pub struct SelectedWalk<'s> {
    walk: Walk,
    selection: &'s Selection,
    /// Directories above the current entry that are not selected themselves and have not been needed so far.
    waiting: Vec<Visit>,
    /// An entry that waits for the directories that lead to it.
    held: Vec<Visit>,
    /// Whether directories that only lead to an entry are returned.
    leading: bool,
    /// The outermost directory above the current entry that a pattern selects.
    inside: Option<Bytes>,
}

impl<'s> SelectedWalk<'s> {
    /// Walks a volume from its root.
    pub fn new(volume: &SharedVolume, selection: &'s Selection) -> SelectedWalk<'s> {
        SelectedWalk::below(volume, volume.root(), selection)
    }

    /// Walks the content of one directory, as if it were the root.
    pub fn below(volume: &SharedVolume, directory: NodeId, selection: &'s Selection) -> SelectedWalk<'s> {
        let walk = Walk::new(volume, directory, Vec::new());
        SelectedWalk { walk, selection, waiting: Vec::new(), held: Vec::new(), leading: true, inside: None }
    }

    /// Skips the directories that are not selected and only lead to selected entries.
    pub fn without_leading(self) -> SelectedWalk<'s> {
        SelectedWalk { leading: false, ..self }
    }

    /// Returns `visit` after the directories that lead to it.
    fn release(&mut self, visit: Visit) -> Visit {
        self.forget_beside(&visit.path);
        let mut leading = self.waiting.drain(..);
        let Some(first) = leading.next() else { return visit };
        self.held.push(visit);
        self.held.extend(leading.rev());
        first
    }
}

impl SelectedWalk<'_> {
    /// Forgets directories that do not lead to `path`. The walk is depth first and does not return to them.
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
            let directory = kind == NodeType::Directory;
            let omit = self.selection.omit;
            let filtered = self.selection.filter.as_ref().is_some_and(|filter| filter.leaves_out(&visit.path));
            if filtered || self.selection.excludes(&visit.path, directory) {
                self.walk.prune();
                continue;
            }
            let selected = self.selects(&visit.path, directory) && !(directory && omit.empty_directories);
            if omit.omits(kind) {
                // Nothing is below the entry.
            } else if selected {
                return Some(Ok(self.release(visit)));
            } else if directory && (self.leading || omit.empty_directories) {
                self.forget_beside(&visit.path);
                self.waiting.push(visit);
            }
        }
    }
}
