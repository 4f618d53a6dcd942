//! Functions that several targets use.

use std::fmt::Display;

pub mod erofs;
pub mod erofs_recipe;
pub mod erofs_write;
pub mod read;

/// The value of a successful call. An internal error is a bug.
pub fn no_bug<T, E: Display>(outcome: Result<T, E>) -> Option<T> {
    let checked = |error: E| {
        let text = error.to_string();
        assert!(!text.is_empty() && !text.starts_with("internal error"), "{text:?}");
    };
    outcome.map_err(checked).ok()
}
