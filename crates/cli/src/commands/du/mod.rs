//! `packline du` shows what takes the space in an image: by directory, file, extension or kind, as text, JSON or a page.

mod compare;
mod groups;
mod json;
mod page;
mod rows;
mod source;
mod text;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use packline_runtime::{check_writable, must_differ, write_file};

use crate::args::cache::ReadCache;
use crate::args::image::ArchiveArgs;
use crate::args::keys::OpeningKeys;
use crate::args::registry::ContainerArgs;
use crate::args::value::{number, one_of};
use crate::args::{Command, Invocation, wrong};
use crate::ui::failure::Failure;
use crate::ui::io::Io;
use rows::{By, Order, Rows, Shown};
use source::{Measured, Opening, measure, wants_comparison};
use text::Sizes;

/// Show what takes the space in an image, or what made it grow
#[derive(Debug, clap::Args)]
pub struct Du {
    #[command(flatten)]
    place: ArchiveArgs,
    /// Show only what is at these paths and below them. One path that is another image instead shows what made that image grow
    #[arg(value_name = "PATH")]
    paths: Vec<OsString>,
    /// Show directories down to this depth
    #[arg(short, long, value_name = "N", value_parser = number::<usize>(0..=65_535), default_value = "1")]
    depth: usize,
    /// Show files too, not only directories
    #[arg(short, long)]
    all: bool,
    /// Add up the bytes of each directory, file, file name extension, or kind of entry
    #[arg(
        long,
        value_name = "WHAT",
        default_value = "directory",
        value_parser = one_of([("directory", By::Directory), ("file", By::File), ("extension", By::Extension), ("kind", By::Kind)])
    )]
    by: By,
    /// Show the rows with the most of this first. 'ratio' begins with the worst of 4K or more
    #[arg(
        long,
        value_name = "COLUMN",
        default_value = "stored",
        value_parser = one_of([("stored", Order::Stored), ("size", Order::Size), ("ratio", Order::Ratio), ("saved", Order::Saved), ("name", Order::Name)])
    )]
    sort: Order,
    /// Show only the first N rows, and the sum of the others
    #[arg(short = 'n', long, value_name = "N", value_parser = number::<usize>(1..=i64::MAX))]
    top: Option<usize>,
    /// Show exact numbers of bytes
    #[arg(short, long, conflicts_with = "json")]
    bytes: bool,
    /// List files with equal content that is stored once, and what that saves
    #[arg(long, conflicts_with_all = ["all", "depth", "by", "sort", "since", "html"])]
    duplicates: bool,
    /// Compare with this older image: show what grew and what shrank
    #[arg(long, value_name = "OLD", value_hint = clap::ValueHint::AnyPath, conflicts_with = "html")]
    since: Option<PathBuf>,
    /// Print one JSON object, with numbers of bytes
    #[arg(long, conflicts_with = "html")]
    json: bool,
    /// Write a page with a map of the image to FILE, for a browser. The page needs no network
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath, conflicts_with_all = ["all", "depth", "by", "sort", "top", "bytes"])]
    html: Option<PathBuf>,
    /// Replace the existing file of --html
    #[arg(short, long)]
    force: bool,
    #[command(flatten)]
    container: ContainerArgs,
    #[command(flatten)]
    keys: OpeningKeys,
    #[command(flatten)]
    cache: ReadCache,
}

impl Command for Du {
    const NAME: &'static str = "du";
    const ESSENTIAL: &'static [&'static str] =
        &["depth", "all", "by", "sort", "top", "bytes", "duplicates", "since", "json", "html"];

    const EXAMPLES: &'static [&'static str] = &[
        "packline du root.sqfs",
        "packline du --by file --top 20 root.sqfs usr",
        "packline du yesterday.sqfs today.sqfs",
        "packline du --html root.html root.sqfs",
    ];

    fn details() -> String {
        "# Columns\n\
         STORED is the compressed size: the bytes of the image that belong to the entry. A byte that several files use \
         belongs to each of them in equal shares, so that the rows and the metadata add up to the size of the image.\n\
         SHARED is the part of STORED that other files use, too. If the file is deleted, only the rest of STORED becomes free.\n\
         SAVED is what deduplication saves: the entry would need these bytes in addition if it shared nothing.\n\
         SIZE is the size of the contents. RATIO is STORED in percent of SIZE.\n\
         USERS is the number of files that use the same bytes, the file itself included.\n\
         # Rows\n\
         A file with several names (hard links) counts at its first name. (metadata) is what no file has: inodes, directories, \
         tables. --by kind shows each table. (after the image) are padding, hash trees, recovery data and other bytes after the \
         end of the image.\n\
         --duplicates lists files of which all content is stored once. Files of an EROFS image whose ends are stored with their inodes \
         are not listed.\n\
         # Two images\n\
         If IMAGE has no entry at PATH, and PATH is a file, then PATH is a newer image, and du shows the difference. Use --since to \
         compare with any image.\n\
         # Other archives\n\
         For a tar (also in a .lrz or .pln file), a zip archive and a container image (oci:DIR[:TAG], oci-archive:FILE[:TAG], \
         docker-archive:FILE[:TAG] or docker://IMAGE), only sizes of contents are known."
            .to_string()
    }

    fn run(self, invocation: &Invocation, io: &mut Io) -> Result<(), Failure> {
        invocation.need(&[("force", "html")])?;
        let is_nested = self.by == By::Directory;
        if let Some(long) = ["all", "depth"].into_iter().find(|long| !is_nested && invocation.has(long)) {
            return Err(wrong(long, "works only with --by directory"));
        }
        if let Some(page) = &self.html {
            must_differ(&self.place.image, page)?;
            check_writable(page, self.force, &io.temporaries)?;
        }
        let images = [&self.place.image].into_iter().chain(&self.since);
        self.container.check(images.clone())?;
        self.cache.open(images, invocation, io)?;
        let opening = Opening { container: &self.container, keys: &self.keys };
        let mut measured = measure(&self.place, &opening, invocation, io)?;
        let newer = match (&self.since, self.newer(&measured)) {
            (Some(old), _) => {
                let old = measure_other(old, &opening, invocation, io)?;
                Some(std::mem::replace(&mut measured, old))
            }
            (None, Some(new)) => Some(measure_other(&new, &opening, invocation, io)?),
            (None, None) => None,
        };
        let sound = measured.report_faults(io) & newer.as_ref().is_none_or(|newer| newer.report_faults(io));
        let printed = match newer {
            Some(newer) => self.show_growth(&measured, &newer, io),
            None => self.show(&measured, io),
        };
        match printed {
            Ok(()) | Err(Failure::BrokenPipe) if !sound => Err(Failure::AlreadyReported(1)),
            printed => printed,
        }
    }
}

/// Measures a second image, of which only the path is given.
fn measure_other(
    path: &Path,
    opening: &Opening<'_>,
    invocation: &Invocation,
    io: &mut Io,
) -> Result<Measured, Failure> {
    measure(&ArchiveArgs::at(path), opening, invocation, io)
}

impl Du {
    fn shown(&self) -> Shown {
        Shown { by: self.by, depth: self.depth, all: self.all, order: self.sort, top: self.top }
    }

    fn sizes(&self) -> Sizes {
        Sizes { exact: self.bytes }
    }

    /// Returns the newer image, if the only PATH is one.
    fn newer(&self, measured: &Measured) -> Option<PathBuf> {
        let [path] = self.paths.as_slice() else { return None };
        wants_comparison(measured, path).then(|| PathBuf::from(path))
    }

    fn show(&self, measured: &Measured, io: &mut Io) -> Result<(), Failure> {
        let roots = measured.roots(&self.paths)?;
        if let Some(path) = &self.html {
            let page = page::page(measured, &roots);
            return Ok(write_file(path, page.as_bytes(), self.force, &io.temporaries)?);
        }
        if self.duplicates {
            let groups = groups::groups(measured, &roots, self.top)?;
            return if self.json { json::groups(measured, &groups, io) } else { groups.print(&self.sizes(), io) };
        }
        let rows = Rows::of(measured, &roots, &self.shown());
        if self.json { json::rows(measured, &rows, io) } else { text::print(measured, &rows, &self.sizes(), io) }
    }

    fn show_growth(&self, old: &Measured, new: &Measured, io: &mut Io) -> Result<(), Failure> {
        let paths = if self.since.is_some() { self.paths.as_slice() } else { &[] };
        let growth = compare::Growth::of(old, new, paths, &self.shown())?;
        if self.json { growth.print_json(io) } else { growth.print(&self.sizes(), io) }
    }
}
