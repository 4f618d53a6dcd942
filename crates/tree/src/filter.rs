//! Rules for entries that a source skips.

use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

/// Decides for each canonical path whether the entry is skipped, with everything below it. Clones share the rule.
#[derive(Clone)]
pub struct PathFilter(Arc<Rule>);

type Rule = dyn Fn(&[u8]) -> bool + Send + Sync;

impl PathFilter {
    /// `leaves_out` is asked about every path except the root, if everything above the path is kept. It must depend only on the
    /// path.
    pub fn new(leaves_out: impl Fn(&[u8]) -> bool + Send + Sync + 'static) -> PathFilter {
        PathFilter(Arc::new(leaves_out))
    }

    /// Whether the entry itself is skipped.
    pub fn leaves_out(&self, path: &[u8]) -> bool {
        !path.is_empty() && (self.0)(path)
    }

    /// Whether the entry or one of the directories above it is skipped.
    pub fn covers(&self, path: &[u8]) -> bool {
        let above = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(end, _)| &path[..end]);
        above.chain([path]).any(|path| self.leaves_out(path))
    }
}

impl fmt::Debug for PathFilter {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("PathFilter")
    }
}

/// The decision about an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// The entry is kept.
    Yes,
    /// The entry is skipped, but not the entries below it.
    No,
    /// The entry is skipped, with everything below it.
    Prune,
}

/// Decides whether an entry is kept, by its path and whether it is a directory. Asked about an entry unless an entry above it is
/// pruned, and possibly more than once.
pub type KeepRule = Rc<dyn Fn(&[u8], bool) -> Keep>;

/// The rule that keeps all entries.
pub fn keep_all() -> KeepRule {
    Rc::new(|_, _| Keep::Yes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn covers_entries_below_but_never_the_root() {
        let filter = PathFilter::new(|path| path.is_empty() || path == b"a/b");
        assert!(filter.leaves_out(b"a/b") && !filter.leaves_out(b"a/b/c") && !filter.leaves_out(b""));
        assert!(filter.covers(b"a/b") && filter.covers(b"a/b/c/d"));
        assert!(!filter.covers(b"a") && !filter.covers(b"a/bc") && !filter.covers(b""));
    }
}
