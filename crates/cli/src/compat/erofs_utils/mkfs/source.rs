//! The source: a directory, or a tar from a file or standard input.

use std::collections::BTreeSet;

use packline::Source;
use packline::requests::Stack;
use packline_archives::Whiteouts;
use packline_tree::{DirectoryOptions, PathFilter, Patterns};

use super::MkfsErofs;
use super::options::SourceOptions;
use crate::args::wrong;
use crate::compat::squashfs_tools::posix_regex;
use crate::host::streams::STDIN;
use crate::ui::escape::Escape;
use crate::ui::failure::Failure;
use crate::ui::io::Io;

/// The threads that read files ahead.
const READERS: usize = 4;

impl MkfsErofs {
    /// Returns the source; a directory leaves out what `filter` leaves out.
    pub(super) fn open_source(&self, filter: Option<PathFilter>, io: &mut Io) -> Result<Source, Failure> {
        self.source.refuse()?;
        let is_tar = self.source.tar.is_some();
        if let Some(further) = self.sources.get(1) {
            return Err(Failure::usage(format!("unexpected argument: {}", further.escaped())));
        }
        let source = match self.sources.first() {
            Some(path) if is_tar => {
                packline_runtime::must_differ(path, &self.image)?;
                Source::tar_file(path)
            }
            None if is_tar => Source::TarStream { name: STDIN.to_string(), stream: io.take_stdin(Some(&self.image))? },
            Some(path) if path.is_dir() => {
                let mut options = DirectoryOptions::new(READERS);
                options.xattrs = self.attributes.xattr_tolerance >= 0;
                options.hard_links = !self.attributes.hard_dereference;
                options.filter = filter;
                Source::Directory { path: path.clone(), options }
            }
            Some(path) => {
                let hint = "a directory, or --tar and a tar; 'packline pack OLD NEW.erofs' converts an image";
                return Err(Failure::failed(format!("{}: not a directory (expected {hint})", path.escaped())));
            }
            None => return Err(Failure::usage("missing argument: SOURCE(s)")),
        };
        let hard_links = !self.attributes.hard_dereference;
        let whiteouts = match self.source.ovlfs_strip {
            Some(true) => Whiteouts::Apply,
            _ if is_tar && self.source.aufs => Whiteouts::Keep,
            _ if is_tar && !hard_links => Whiteouts::Ignore,
            _ => return Ok(source),
        };
        Ok(Source::Stack(Stack { layers: vec![source], whiteouts, remove: Patterns::new(), hard_links }))
    }
}

impl SourceOptions {
    /// Rejects values that are not supported.
    fn refuse(&self) -> Result<(), Failure> {
        let refused =
            |long: &str, value: &str, hint: &str| Err(wrong(long, format!("'{value}' is not supported yet; {hint}")));
        if let Some(Some(mode)) = &self.tar {
            let (mode, map) = mode.split_once(',').map_or((mode.as_str(), None), |(mode, map)| (mode, Some(map)));
            if matches!(mode, "i" | "0" | "headerball") {
                return refused("tar", mode, "--tar=f stores the content in the image");
            }
            if map.is_some_and(|map| !map.is_empty()) {
                return refused("tar", "MAPFILE", "leave it out");
            }
        }
        for (long, dump) in [("ungzip", &self.ungzip), ("unxz", &self.unxz)] {
            if let Some(Some(file)) = dump {
                return refused(long, &file.escaped(), "'tee' writes a copy of the stream");
            }
        }
        match &self.clean {
            Some(Some(mode)) if mode != "data" => refused("clean", mode, "all data is written by default"),
            _ => Ok(()),
        }
    }

    /// Returns the rule of --exclude-path and --exclude-regex for paths, if there is one.
    pub(super) fn filter(&self) -> Result<Option<PathFilter>, Failure> {
        if self.exclude_path.is_empty() && self.exclude_regex.is_empty() {
            return Ok(None);
        }
        let paths: BTreeSet<Vec<u8>> = self.exclude_path.iter().map(|path| trimmed(path.as_encoded_bytes())).collect();
        let compile = |text: &std::ffi::OsString| {
            let malformed = |fault| wrong("exclude-regex", format!("'{}': {fault}", text.escaped()));
            posix_regex::compile(text.as_encoded_bytes()).map_err(malformed)
        };
        let expressions = self.exclude_regex.iter().map(compile).collect::<Result<Vec<_>, _>>()?;
        Ok(Some(PathFilter::new(move |path| {
            paths.contains(path) || expressions.iter().any(|expression| expression.is_match(path))
        })))
    }
}

/// Returns a path without slashes at its ends.
fn trimmed(path: &[u8]) -> Vec<u8> {
    let is_slash = |byte: &u8| *byte == b'/';
    let start = path.iter().position(|byte| !is_slash(byte)).unwrap_or(path.len());
    let end = path.iter().rposition(|byte| !is_slash(byte)).map_or(start, |last| last + 1);
    path[start..end].to_vec()
}
