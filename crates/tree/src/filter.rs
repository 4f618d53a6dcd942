//! Rules about which entries a source leaves out.

use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

/// Tells for each canonical path whether the entry is left out, with all below it. Clones share the rule.
#[derive(Clone)]
pub struct PathFilter(Arc<Rule>);

type Rule = dyn Fn(&[u8]) -> bool + Send + Sync;

impl PathFilter {
    /// `leaves_out` is asked about every path but the root, once everything above it is kept. It must depend on the path alone.
    pub fn new(leaves_out: impl Fn(&[u8]) -> bool + Send + Sync + 'static) -> PathFilter {
        PathFilter(Arc::new(leaves_out))
    }

    /// Whether the entry itself is left out.
    pub fn leaves_out(&self, path: &[u8]) -> bool {
        !path.is_empty() && (self.0)(path)
    }

    /// Whether the entry or one of the directories above it is left out.
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

/// The fate of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// It is an entry of the source.
    Yes,
    /// It is left out, but not what is below it.
    No,
    /// It is left out, with all below it.
    Prune,
}

/// Which entries are in the source, by the path and whether it is a directory. Asked about an entry when all above it are not
/// pruned, and more than once.
pub type KeepRule = Rc<dyn Fn(&[u8], bool) -> Keep>;

/// The rule that keeps everything.
pub fn keep_all() -> KeepRule {
    Rc::new(|_, _| Keep::Yes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_below_is_covered_and_the_root_never_is() {
        let filter = PathFilter::new(|path| path.is_empty() || path == b"a/b");
        assert!(filter.leaves_out(b"a/b") && !filter.leaves_out(b"a/b/c") && !filter.leaves_out(b""));
        assert!(filter.covers(b"a/b") && filter.covers(b"a/b/c/d"));
        assert!(!filter.covers(b"a") && !filter.covers(b"a/bc") && !filter.covers(b""));
    }
}
