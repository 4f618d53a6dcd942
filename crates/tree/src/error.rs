//! How a source fails: the file, the entry, the place and what was expected there.

use std::path::PathBuf;

use packline_runtime::escape::Escape;

/// Why a source could not be read. Each names where, and quotes what it found.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The operating system refused: a file could not be opened, read or listed.
    #[error("{path}: {action}: {cause}", path = path.escaped())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What was tried, as a phrase: `cannot open`.
        action: &'static str,
        /// The operating system's answer.
        #[source]
        cause: std::io::Error,
    },
    /// The input is malformed. The input's fault.
    #[error("{input}: {what} at byte {offset}{entry} (expected {expected})", entry = name_entry(.entry))]
    Malformed {
        /// The input's name as the user gave it; `standard input` for a pipe.
        input: String,
        /// The entry concerned, empty if none is known yet.
        entry: Vec<u8>,
        /// Byte offset in the (decompressed) input where the faulty structure starts.
        offset: u64,
        /// What is wrong, with the value found.
        what: String,
        /// What would have been right.
        expected: String,
    },
    /// An entry cannot be accepted for what it is or asks for (a hard link to nothing, a name too long). The input's fault.
    #[error("{input}: {entry}: {what} (expected {expected})", entry = .entry.escaped())]
    Entry {
        /// The input's name as the user gave it.
        input: String,
        /// The entry's path.
        entry: Vec<u8>,
        /// What is wrong.
        what: String,
        /// What would have been right.
        expected: String,
    },
    /// A line of a text input (a pack file, a sort file, an xattr file) is malformed or asks for what cannot be. The input's
    /// fault.
    #[error("{input}: line {line}: {what} (expected {expected})")]
    Line {
        /// The input's name as the user gave it.
        input: String,
        /// Line number, from 1.
        line: u64,
        /// What is wrong, with the words found.
        what: String,
        /// What would have been right.
        expected: String,
    },
}

fn name_entry(entry: &[u8]) -> String {
    if entry.is_empty() { String::new() } else { format!(" in entry {}", entry.escaped()) }
}
