//! `--exclude-path` and `--exclude-regex`: the entries that are left out, and the paths that left out nothing.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use packline_tree::PathFilter;
use regex::bytes::Regex;

use super::options::SourceOptions;
use crate::args::wrong;
use crate::compat::squashfs_tools::posix_regex;
use crate::host::streams::STDIN;
use crate::ui::escape::Escape;
use crate::ui::failure::Failure;
use crate::ui::io::Io;

/// The entries that are left out, with everything below them.
#[derive(Debug, Default)]
pub struct Excludes {
    paths: Vec<ExcludedPath>,
    expressions: Vec<Regex>,
}

#[derive(Debug)]
struct ExcludedPath {
    /// As typed.
    typed: Vec<u8>,
    path: Vec<u8>,
    matched: AtomicBool,
}

impl SourceOptions {
    /// Returns what --exclude-path and --exclude-regex leave out; `None` without these options.
    ///
    /// # Errors
    /// [`Failure::Usage`] for a malformed expression.
    pub(super) fn excludes(&self) -> Result<Option<Arc<Excludes>>, Failure> {
        if self.exclude_path.is_empty() && self.exclude_regex.is_empty() {
            return Ok(None);
        }
        let compile = |text: &OsString| {
            let malformed = |fault| wrong("exclude-regex", format!("'{}': {fault}", text.escaped()));
            posix_regex::compile(text.as_encoded_bytes()).map_err(malformed)
        };
        Ok(Some(Arc::new(Excludes {
            paths: self.exclude_path.iter().map(|typed| ExcludedPath::new(typed)).collect(),
            expressions: self.exclude_regex.iter().map(compile).collect::<Result<_, _>>()?,
        })))
    }
}

impl Excludes {
    /// Returns the rule for canonical paths.
    pub(super) fn filter(self: &Arc<Self>) -> PathFilter {
        let excludes = Arc::clone(self);
        PathFilter::new(move |path| excludes.leave_out(path))
    }

    /// Asks each path, so that all that match are known.
    fn leave_out(&self, path: &[u8]) -> bool {
        let by_path = self.paths.iter().fold(false, |found, excluded| found | excluded.matches(path));
        by_path || self.expressions.iter().any(|expression| expression.is_match(path))
    }

    /// Warns of paths that left out nothing. An expression may be meant for other sources.
    pub(super) fn warn_of_idle(&self, source: Option<&Path>, io: &mut Io) {
        let place = source.map_or_else(|| STDIN.to_string(), Escape::escaped);
        for excluded in self.paths.iter().filter(|excluded| !excluded.matched.load(Ordering::Relaxed)) {
            io.warn(&format!("--exclude-path: '{}' matches nothing in {place}", excluded.typed.escaped()));
        }
    }
}

impl ExcludedPath {
    fn new(typed: &OsStr) -> ExcludedPath {
        let typed = typed.as_encoded_bytes();
        ExcludedPath { typed: typed.to_vec(), path: trimmed(typed).to_vec(), matched: AtomicBool::new(false) }
    }

    fn matches(&self, path: &[u8]) -> bool {
        let matches = self.path == path;
        if matches {
            self.matched.store(true, Ordering::Relaxed);
        }
        matches
    }
}

/// Returns a path without slashes at its ends.
fn trimmed(path: &[u8]) -> &[u8] {
    let is_slash = |byte: &u8| *byte == b'/';
    let start = path.iter().position(|byte| !is_slash(byte)).unwrap_or(path.len());
    let end = path.iter().rposition(|byte| !is_slash(byte)).map_or(start, |last| last + 1);
    &path[start..end]
}
