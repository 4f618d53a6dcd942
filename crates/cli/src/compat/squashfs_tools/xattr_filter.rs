//! Filters extended attributes by name.

use regex::bytes::Regex;

/// Expressions for complete names, such as `user.comment`.
#[derive(Debug, Clone, Default)]
pub struct XattrFilter {
    /// The names that are kept; all if there is no expression.
    pub include: Option<Regex>,
    /// The names that are dropped, even if they are included.
    pub exclude: Option<Regex>,
}

impl XattrFilter {
    pub fn keeps(&self, name: &[u8]) -> bool {
        self.exclude.as_ref().is_none_or(|exclude| !exclude.is_match(name))
            && self.include.as_ref().is_none_or(|include| include.is_match(name))
    }
}
