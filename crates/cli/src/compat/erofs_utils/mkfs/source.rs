//! The source: a directory, or a tar from a file or standard input; and the image under it, with --incremental.

use std::path::{Path, PathBuf};

use packline::Source;
use packline::requests::Stack;
use packline_archives::Whiteouts;
use packline_image::OpenedImage;
use packline_runtime::OutputFile;
use packline_tree::{DirectoryOptions, PathFilter, Patterns};

use super::MkfsErofs;
use super::options::SourceOptions;
use super::tar::TarMode;
use crate::args::wrong;
use crate::ui::escape::Escape;
use crate::ui::failure::Failure;
use crate::ui::io::Io;

/// The threads that read files ahead.
const READERS: usize = 4;

impl MkfsErofs {
    /// Returns the source, over `old` if there is an earlier image; a directory leaves out what `filter` leaves out. A tar is also written to
    /// `copy`.
    pub(super) fn open_source(
        &self,
        filter: Option<PathFilter>,
        copy: Option<&OutputFile>,
        old: Option<OpenedImage>,
        io: &mut Io,
    ) -> Result<Source, Failure> {
        let mode = self.source.tar_mode()?;
        let is_tar = mode.is_some();
        if let Some(further) = self.sources.get(1) {
            return Err(Failure::usage(format!("unexpected argument: {}", further.escaped())));
        }
        let source = match (self.sources.first(), mode) {
            (path, Some(mode)) => self.open_tar(path.map(PathBuf::as_path), mode, copy, io)?,
            (Some(path), None) if path.is_dir() => {
                let mut options = DirectoryOptions::new(READERS);
                options.xattrs = self.attributes.xattr_tolerance >= 0;
                options.hard_links = !self.attributes.hard_dereference;
                options.filter = filter;
                Source::Directory { path: path.clone(), options }
            }
            (Some(path), None) => {
                let hint = "a directory, or --tar and a tar; 'packline pack OLD NEW.erofs' converts an image";
                return Err(Failure::failed(format!("{}: not a directory (expected {hint})", path.escaped())));
            }
            (None, None) => return Err(Failure::usage("missing argument: SOURCE(s)")),
        };
        let hard_links = !self.attributes.hard_dereference;
        let whiteouts = match self.source.ovlfs_strip {
            Some(true) => Whiteouts::Apply,
            _ if is_tar && self.source.aufs => Whiteouts::Keep,
            _ if is_tar && !hard_links || old.is_some() => Whiteouts::Ignore,
            _ => return Ok(source),
        };
        let layers = old.map(Source::Image).into_iter().chain([source]).collect();
        Ok(Source::Stack(Stack { layers, whiteouts, remove: Patterns::new(), hard_links }))
    }
}

impl SourceOptions {
    /// Returns how a tar is read; `None` for a directory.
    pub(super) fn tar_mode(&self) -> Result<Option<TarMode>, Failure> {
        let Some(mode) = &self.tar else { return Ok(None) };
        let mode = mode.as_deref().unwrap_or_default();
        let (mode, map) = mode.split_once(',').map_or((mode, ""), |(mode, map)| (mode, map));
        if !map.is_empty() {
            return Err(not_supported("tar", "MAPFILE", "leave it out"));
        }
        match mode {
            "headerball" => Err(not_supported("tar", mode, "--tar=f stores the content in the image")),
            "i" | "0" => Ok(Some(TarMode::Index)),
            _ => Ok(Some(TarMode::Contents)),
        }
    }

    /// Returns whether the source is added to an earlier image.
    ///
    /// # Errors
    /// [`Failure::Usage`] for another mode than writing all data, and for sources that cannot be added.
    pub(super) fn is_incremental(&self) -> Result<bool, Failure> {
        for (long, mode) in [("clean", &self.clean), ("incremental", &self.incremental)] {
            if let Some(Some(mode)) = mode
                && mode != "data"
            {
                return Err(not_supported(long, mode, "all data is written by default"));
            }
        }
        let is_incremental = self.incremental.is_some();
        match self.tar_mode()? {
            Some(TarMode::Index) if is_incremental => {
                Err(wrong("incremental", "does not work with --tar=i; --tar=f stores the content in the image"))
            }
            Some(_) if is_incremental && !(self.exclude_path.is_empty() && self.exclude_regex.is_empty()) => {
                Err(wrong("incremental", "does not work with --exclude-path and --exclude-regex for a tar"))
            }
            _ => Ok(is_incremental),
        }
    }

    /// Returns the file that gets the plain tar, if there is one.
    pub(super) fn copy(&self) -> Result<Option<&Path>, Failure> {
        let mut files = self.ungzip.iter().chain(&self.unxz).flatten();
        match (files.next(), files.next()) {
            (None, _) => Ok(None),
            (Some(_), Some(_)) => Err(wrong("unxz", "does not work with --ungzip=FILE; one FILE is enough")),
            (Some(_), None) if self.tar.is_none() => Err(wrong("ungzip", "FILE needs --tar")),
            (Some(file), None) => Ok(Some(file)),
        }
    }
}

fn not_supported(long: &str, value: &str, hint: &str) -> Failure {
    wrong(long, format!("'{value}' is not supported yet; {hint}"))
}
