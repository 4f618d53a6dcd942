//! The pattern language of packline's own commands for entries of a tree.
//!
//! - A pattern without a `/` is compared with the last name of each path, at any depth: `*.gz`. A pattern with a `/` is compared
//!   with complete paths: `etc/passwd`, `home/*/.cache`. A leading `/` or `./` only makes a pattern one of the second kind:
//!   `/bin`, `./bin`.
//! - `*` matches any run of bytes and `?` any byte, but not `/`. `**` matches any run, including `/`. `**/` also matches nothing
//!   at the start of a name: `**/x` matches `x`, and `a/**/b` matches `a/b`.
//! - `[a-z]`, `[!a-z]` and `[[:digit:]]` match one byte as in [`Glob`](crate::Glob), but never a `/`. `{a,b}` matches `a` or `b`;
//!   braces may be nested. `\x` matches the byte `x`. A `]`, `}` or `,` without its opening bracket is literal.
//! - A trailing `/` restricts the pattern to directories. `/`, `.` and `./` are the root, which no other pattern matches.
//! - Empty and `.` components are ignored, as in paths.
//!
//! Cost of a comparison: at most the length of the pattern times the length of the text (see `pattern/program.rs`).

mod compile;
mod program;

use crate::Bytes;
use crate::path::MAX_PATH;
use program::Program;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    text: Bytes,
    scope: Scope,
    directories_only: bool,
    program: Program,
}

/// The part of a path that a pattern is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    Root,
    Name,
    Path,
}

/// Why a text is not a valid pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatternFault {
    #[error("the pattern is empty (expected a name or a path)")]
    Empty,
    #[error("the pattern has {0} bytes (expected at most {MAX_PATH})")]
    Long(usize),
    #[error("the pattern has a '..' component (expected a path inside the tree)")]
    Parent,
    #[error("'{0}' is not closed (expected '{1}', or \\{first} for the character itself)", first = .0.chars().next().unwrap_or_default())]
    Open(String, char),
    #[error("the pattern ends in '\\' (expected a character after it, or \\\\ for the character itself)")]
    Backslash,
    #[error("'{0}' matches no character of a name (expected characters, or ranges from low to high, without '/')")]
    Set(String),
    #[error(
        "there is no class '[:{0}:]' (expected alnum, alpha, blank, cntrl, digit, graph, lower, print, punct, space, upper or xdigit)"
    )]
    Class(String),
}

impl Pattern {
    /// Compiles a pattern.
    ///
    /// # Errors
    /// The text is not a valid pattern, or can never match.
    pub fn new(text: &[u8]) -> Result<Pattern, PatternFault> {
        match text.len() {
            0 => return Err(PatternFault::Empty),
            length if length > MAX_PATH => return Err(PatternFault::Long(length)),
            _ => {}
        }
        let (canonical, scope) = canonical(text)?;
        let program = compile::compile(&canonical)?;
        let directories_only = scope != Scope::Root && text.ends_with(b"/");
        Ok(Pattern { text: text.to_vec(), scope, directories_only, program })
    }

    pub fn text(&self) -> &[u8] {
        &self.text
    }

    pub fn directories_only(&self) -> bool {
        self.directories_only
    }

    /// Whether the pattern matches the entry at a canonical path itself. `directory` says whether the entry is a directory.
    pub fn matches(&self, path: &[u8], directory: bool) -> bool {
        if self.directories_only && !directory {
            return false;
        }
        match self.scope {
            _ if path.is_empty() => self.scope == Scope::Root,
            Scope::Root => false,
            Scope::Path => self.program.matches(path),
            Scope::Name => self.program.matches(memchr::memrchr(b'/', path).map_or(path, |slash| &path[slash + 1..])),
        }
    }
}

/// Removes empty and `.` components, and leading and trailing slashes.
fn canonical(text: &[u8]) -> Result<(Bytes, Scope), PatternFault> {
    let parts = text.split(|&byte| byte == b'/');
    let components: Vec<&[u8]> = parts.filter(|part| !part.is_empty() && *part != b".").collect();
    if components.contains(&&b".."[..]) {
        return Err(PatternFault::Parent);
    }
    let end = text.iter().rposition(|&byte| byte != b'/').map_or(0, |last| last + 1);
    let scope = match (components.is_empty(), text[..end].contains(&b'/')) {
        (true, _) => Scope::Root,
        (false, true) => Scope::Path,
        (false, false) => Scope::Name,
    };
    Ok((components.join(&b'/'), scope))
}

#[cfg(test)]
mod tests;
