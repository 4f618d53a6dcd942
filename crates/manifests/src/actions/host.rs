//! The services of the machine that actions need.

use std::io;
use std::path::Path;

use packline_tree::Xattr;

/// Returns whether a text matches.
pub type BytesMatcher = Box<dyn Fn(&[u8]) -> bool>;

/// The file that a test examines.
#[derive(Debug, Clone, Copy)]
pub struct TestedFile<'f> {
    /// The last name of the path in the image.
    pub name: &'f [u8],
    /// The path in the image, with a leading slash.
    pub path: &'f [u8],
    /// The path on this machine.
    pub place: &'f Path,
}

/// Looks up names, compiles expressions and runs commands.
pub trait ActionHost {
    fn user(&mut self, name: &[u8]) -> Option<u32>;
    fn group(&mut self, name: &[u8]) -> Option<u32>;
    /// Compiles a POSIX extended regular expression, which may match anywhere in a text.
    ///
    /// # Errors
    /// The problem, without the text itself.
    fn regex(&mut self, text: &[u8]) -> Result<BytesMatcher, String>;
    /// Parses an extended attribute: `NAME=VALUE`.
    ///
    /// # Errors
    /// The problem, without the text itself.
    fn xattr(&mut self, text: &[u8]) -> Result<Xattr, String>;
    /// Describes a file's content as file(1) does.
    ///
    /// # Errors
    /// The program cannot be run or fails.
    fn describe(&mut self, place: &Path) -> io::Result<Vec<u8>>;
    /// Returns whether a shell command succeeds.
    ///
    /// # Errors
    /// The command cannot be run.
    fn succeeds(&mut self, command: &[u8], file: TestedFile<'_>) -> io::Result<bool>;
}
