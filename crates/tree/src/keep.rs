//! Rules for what a source leaves out by itself.

use std::rc::Rc;

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
