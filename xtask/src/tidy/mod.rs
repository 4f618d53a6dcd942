//! Rules that the compiler does not check: on files, on the arrows between crates, on what documents say.

mod arrows;
mod documents;
mod files;

use crate::arguments::Arguments;
use crate::shell;

/// Checks all rules; an error that lists every breach.
pub fn run(arguments: &Arguments) -> Result<(), String> {
    arguments.only(&[])?;
    let root = shell::root();
    let breaches = [files::check(root)?, arrows::check(root)?, documents::check(root)?].concat();
    if breaches.is_empty() { Ok(()) } else { Err(format!("{} breaches\n  {}", breaches.len(), breaches.join("\n  "))) }
}
