//! Errors of sources: the file, the entry, the position and the expected value, which is empty if the fault ends with a hint.

use std::path::PathBuf;

use packline_runtime::escape::Escape;
use packline_runtime::{WorkFault, expectation};

#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A system call failed.
    #[error("{path}: {action}: {cause}", path = path.escaped())]
    Io {
        path: PathBuf,
        /// The failed action, as a phrase: `cannot open`.
        action: &'static str,
        #[source]
        cause: std::io::Error,
    },
    #[error("{input}: {what} at byte {offset}{entry}{}", expectation(.expected), entry = name_entry(.entry))]
    Malformed {
        /// The input's name as given by the user; `standard input` for a pipe.
        input: String,
        /// The affected entry; empty if none is known yet.
        entry: Vec<u8>,
        /// Offset of the faulty structure in the (decompressed) input.
        offset: u64,
        what: String,
        expected: String,
    },
    /// An input is not of the expected kind.
    #[error("{input}: {what}{}", expectation(.expected))]
    Input { input: String, what: String, expected: String },
    /// An entry is invalid (a hard link to a missing file, a name that is too long).
    #[error("{input}: {entry}: {what}{}", expectation(.expected), entry = .entry.escaped())]
    Entry { input: String, entry: Vec<u8>, what: String, expected: String },
    /// Cancelled, or a bug in this program.
    #[error(transparent)]
    Work(#[from] WorkFault),
    /// A line of a text input (a pack file, a sort file, an xattr file) is malformed or contradictory.
    #[error("{input}: line {line}: {what}{}", expectation(.expected))]
    Line {
        input: String,
        /// Line number, from 1.
        line: u64,
        what: String,
        expected: String,
    },
}

fn name_entry(entry: &[u8]) -> String {
    if entry.is_empty() { String::new() } else { format!(" in entry {}", entry.escaped()) }
}
