//! Rules that the compiler does not check: on files, words, dependencies between crates, and paths in documents.

mod arrows;
mod documents;
mod files;
mod words;

use crate::shell;

/// Checks all rules. The error lists every violation.
pub fn run() -> Result<(), String> {
    let root = shell::root();
    let violations = [files::check(root)?, words::check(root)?, arrows::check(root)?, documents::check(root)?].concat();
    if violations.is_empty() {
        Ok(())
    } else {
        Err(format!("{} violations\n  {}", violations.len(), violations.join("\n  ")))
    }
}
