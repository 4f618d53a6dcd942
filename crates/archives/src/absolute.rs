//! Names of entries that begin with a slash. The slash is removed, as GNU tar and Info-ZIP do, and one warning has their number.

use packline_runtime::escape::Escape;
use packline_tree::Bytes;

/// The absolute names of an archive.
#[derive(Debug, Default)]
pub(crate) struct AbsoluteNames {
    count: u64,
    first: Bytes,
}

impl AbsoluteNames {
    /// Counts a name that is absolute.
    pub fn note(&mut self, name: &[u8]) {
        if !name.starts_with(b"/") {
            return;
        }
        if self.count == 0 {
            self.first = name.to_vec();
        }
        self.count += 1;
    }

    /// The warning about the names of the archive `input`; `None` without such names.
    pub fn warning(&self, input: &str) -> Option<String> {
        let names = if self.count == 1 { "name begins with" } else { "names begin with" };
        let warning = || {
            let first = self.first.escaped();
            format!("{input}: {} {names} /, which is removed (the first is {first})", self.count)
        };
        (self.count > 0).then(warning)
    }
}
