//! The machine, as far as actions need it.

use std::io;
use std::path::Path;

use packline_tree::Xattr;

/// Whether a text matches.
pub type BytesMatcher = Box<dyn Fn(&[u8]) -> bool>;

/// The file that a test is about.
#[derive(Debug, Clone, Copy)]
pub struct TestedFile<'f> {
    /// The last name of its path in the image.
    pub name: &'f [u8],
    /// Its path in the image, with a leading slash.
    pub path: &'f [u8],
    /// Where it is on this machine.
    pub place: &'f Path,
}

/// Looks up names, compiles expressions and runs commands.
pub trait ActionHost {
    fn user(&mut self, name: &[u8]) -> Option<u32>;
    fn group(&mut self, name: &[u8]) -> Option<u32>;
    /// Compiles a POSIX extended regular expression, which is searched for anywhere in a text.
    ///
    /// # Errors
    /// The fault of the text, without the text itself.
    fn regex(&mut self, text: &[u8]) -> Result<BytesMatcher, String>;
    /// Parses an extended attribute: `NAME=VALUE`.
    ///
    /// # Errors
    /// The fault of the text, without the text itself.
    fn xattr(&mut self, text: &[u8]) -> Result<Xattr, String>;
    /// Description of a file's content, as file(1) prints it.
    ///
    /// # Errors
    /// The program cannot be run, or fails.
    fn describe(&mut self, place: &Path) -> io::Result<Vec<u8>>;
    /// Whether a command of the shell succeeds.
    ///
    /// # Errors
    /// It cannot be run.
    fn succeeds(&mut self, command: &[u8], file: TestedFile<'_>) -> io::Result<bool>;
}
