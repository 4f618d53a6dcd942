//! Which extended attributes are kept, by their names.

use regex::bytes::Regex;

/// Expressions over full names, such as `user.comment`.
#[derive(Debug, Clone, Default)]
pub struct XattrFilter {
    /// Names that are kept; all if there is none.
    pub include: Option<Regex>,
    /// Names that are not kept, even if they are included.
    pub exclude: Option<Regex>,
}

impl XattrFilter {
    pub fn keeps(&self, name: &[u8]) -> bool {
        self.exclude.as_ref().is_none_or(|exclude| !exclude.is_match(name))
            && self.include.as_ref().is_none_or(|include| include.is_match(name))
    }
}
