//! Converts an image to a tar.
//!
//! The tree is walked twice: first to learn the uses of shared units and the number of bytes, then to write. Entries are in the order of the
//! image's directories, depth first. The bytes do not depend on workers and memory.

mod compress;
mod content;
mod items;
mod plan;
mod sink;
mod sparse;

pub use items::{kind_of, weight};
pub use plan::tar_sink_demand;
pub use sink::{TarDestination, TarSink, TarSinkSettings};
pub(crate) use sparse::data_ranges;

use std::io::Write;
use std::path::PathBuf;

use packline_codec::StreamSpec;
use packline_runtime::TaskError;
use packline_runtime::escape::Escape;
use packline_tree::Bytes;
use packline_tree::path::canonical;
use packline_volume::{CheckScope, ReadError, Reading, SharedCounts, SharedUses};

use crate::links::link_bytes;
use crate::unpack::find_root;
use crate::{Error, Observer, OpenedImage, Resources, Selection, Temporaries, must_differ};
use content::Content;
use items::{Items, TarItem};
use plan::Plan;

/// Inverse of the share of the reading's window whose memory the chunks that wait to be written may keep.
const CHUNKS_SHARE: usize = 8;

/// Which part of the tree goes into the tar, and under which names.
#[derive(Debug)]
pub enum TarScope {
    /// The entries that patterns select, with the directories that lead to them, under their own names.
    Selected(Selection),
    /// The entries below some directories.
    Below {
        /// The canonical paths of the directories.
        directories: Vec<Bytes>,
        /// Whether the names of the directories stay as a prefix of the names below them. If not, there must be only one directory, whose entry is
        /// left out.
        keep: bool,
    },
}

/// How the root directory is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TarRoot {
    /// No entry: its attributes are lost.
    Nothing,
    /// The entry `./` before all others.
    Entry,
    /// A directory of this name that has all other entries; `.` puts `./` before every name.
    Becomes(Bytes),
}

/// The destination of a tar.
pub enum Output {
    /// A stream: standard output, a pipe. The name is for messages.
    Stream(PathBuf, Box<dyn Write + Send>),
    /// A file that gets its name when it is complete.
    File {
        /// The path of the file.
        path: PathBuf,
        /// Whether an existing file is replaced.
        force: bool,
    },
}

impl Output {
    /// A file that must not exist yet.
    pub fn file(path: impl Into<PathBuf>) -> Output {
        Output::File { path: path.into(), force: false }
    }

    /// A stream; `name` is for messages.
    pub fn writer(name: impl Into<PathBuf>, out: impl Write + Send + 'static) -> Output {
        Output::Stream(name.into(), Box::new(out))
    }
}

/// Request to convert an image to a tar.
#[non_exhaustive]
pub struct TarOutRequest {
    /// The image.
    pub image: OpenedImage,
    /// The destination.
    pub target: Output,
    /// The compression; `None` for an uncompressed tar.
    pub compression: Option<StreamSpec>,
    /// The entries.
    pub scope: TarScope,
    /// How the root directory is written.
    pub root: TarRoot,
    /// Whether extended attributes are written.
    pub xattrs: bool,
    /// Whether a second name of an inode becomes a hard link; otherwise it becomes a file of its own.
    pub hard_links: bool,
    /// Whether holes are written as holes; otherwise they become zeros.
    pub sparse: bool,
    /// Whether to continue after an entry that cannot be read. The entry is reported to [`Observer::problem`] and counted as damaged. Missing
    /// content of a file whose header was written becomes zeros.
    pub continue_on_error: bool,
    /// Whether a missing directory of [`TarScope::Below`] is an error; otherwise it causes a warning.
    pub refuse_missing: bool,
    /// Whether an entry that a tar cannot hold (a socket) is an error; otherwise it is left out with a warning.
    pub refuse_unstorable: bool,
    /// Workers and memory; they do not affect the result.
    pub resources: Resources,
    /// Registers temporary files for removal on exit.
    pub temporaries: Temporaries,
}

impl TarOutRequest {
    /// Converts the complete image with the root's entry and with holes, uncompressed, with all processors.
    pub fn new(image: OpenedImage, target: Output) -> TarOutRequest {
        TarOutRequest {
            image,
            target,
            compression: None,
            scope: TarScope::Selected(Selection::all()),
            root: TarRoot::Entry,
            xattrs: true,
            hard_links: true,
            sparse: true,
            continue_on_error: false,
            refuse_missing: true,
            refuse_unstorable: false,
            resources: Resources::default(),
            temporaries: Temporaries::default(),
        }
    }
}

/// The result of a conversion.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TarSummary {
    /// Entries in the tar.
    pub entries: u64,
    /// Entries left out because a tar cannot hold them.
    pub skipped: u64,
    /// Entries that are missing or incomplete because they could not be read; 0 without [`TarOutRequest::continue_on_error`].
    pub damaged: u64,
    /// Whether a pattern of the selection matched nothing; false without [`TarOutRequest::continue_on_error`].
    pub unmatched: bool,
    /// Bytes of content, holes included.
    pub content_bytes: u64,
    /// Bytes of the tar.
    pub tar_bytes: u64,
    /// Bytes written to the output, after compression.
    pub output_bytes: u64,
    /// Workers that were requested.
    pub workers_wanted: usize,
    /// Workers that the memory and the system's limit of threads allowed.
    pub workers: usize,
    /// Counts of decoded shared units.
    pub fragments: SharedCounts,
}

/// Converts an image to a tar. Progress counts content as the source, and the tar before compression as the image.
///
/// # Errors
/// [`Error`], with the names of image and entry and the offset. A file then does not exist; a stream may be incomplete.
pub fn tar_out(request: TarOutRequest, observer: &mut dyn Observer) -> Result<TarSummary, Error> {
    let TarOutRequest { image, target, compression, resources, temporaries, .. } = request;
    let asked = TarOptions {
        scope: request.scope,
        root: request.root,
        xattrs: request.xattrs,
        hard_links: request.hard_links,
        sparse: request.sparse,
        continue_on_error: request.continue_on_error,
        refuse_missing: request.refuse_missing,
        refuse_unstorable: request.refuse_unstorable,
        link_bytes: link_bytes(resources.memory),
    };
    asked.check()?;
    if let Output::File { path, .. } = &target {
        must_differ(&image.display_path, path)?;
    }
    let opened = image.checked(CheckScope::of_selection(asked.is_whole()));
    let plan = Plan::new(&opened.volume, compression, &resources)?;
    warn(&asked, plan, &opened, &resources, observer)?;
    let (uses, total) = survey(&opened, &asked, &resources)?;
    let unmatched = check_patterns(&opened, &asked, observer)?;
    let mut destination = TarDestination::open(target, &temporaries)?;
    let mut settings = plan.read.settings(&resources);
    // Reading and compressing share one pool, so that no more threads run than requested.
    let pool = resources.pool(plan.read.workers).map_err(|cause| opened.fault(cause.into()))?;
    settings.engine.pool = Some(pool.clone());
    let workers = plan.read.workers;
    let waiting = plan.read.window / CHUNKS_SHARE;
    let sink = TarSinkSettings { compression, pool: &pool, workers, waiting, resources: &resources };
    let sink = TarSink::new(&mut destination, sink)?;
    let mut content = Content::new(&opened, &asked, sink, observer, total);
    let requests = Items::new(&opened.volume, &asked).map(|found| Ok(found.into_request(&opened.volume, &asked)));
    let reading = Reading::new(&opened.volume, Box::new(requests), uses, &settings);
    let mut reading = reading.map_err(|cause| opened.fault(cause))?;
    content.take_all(&mut reading)?;
    let fragments = reading.shared_counts();
    let workers = reading.workers().min(plan.read.workers);
    drop(reading);
    content.compare_data(&resources)?;
    let summary = content.finish()?;
    destination.finish(observer)?;
    Ok(TarSummary { unmatched, workers_wanted: resources.workers, workers, fragments, ..summary })
}

/// The options of the tar's entries.
struct TarOptions {
    scope: TarScope,
    root: TarRoot,
    xattrs: bool,
    hard_links: bool,
    sparse: bool,
    continue_on_error: bool,
    refuse_missing: bool,
    refuse_unstorable: bool,
    /// Memory in bytes for the first names of files with several names.
    link_bytes: u64,
}

impl TarOptions {
    fn check(&self) -> Result<(), Error> {
        let wrong = |what: String, expected: &str| Err(Error::Request { what, expected: expected.to_string() });
        match (&self.scope, &self.root) {
            (TarScope::Below { directories, keep: false }, _) if directories.len() != 1 => {
                wrong(format!("{} directories that become the root", directories.len()), "one, or their names kept")
            }
            (_, TarRoot::Becomes(name)) if name != b"." && canonical(name).as_ref() != Ok(name) => {
                wrong(format!("root called '{}'", name.escape_ascii()), "a path inside the tar, or .")
            }
            _ => Ok(()),
        }
    }

    /// Whether all contents of the image are read.
    fn is_whole(&self) -> bool {
        match &self.scope {
            TarScope::Selected(selection) => selection.has_all_files(),
            TarScope::Below { directories, .. } => directories.iter().any(Vec::is_empty),
        }
    }

    /// Returns the prefix of each name.
    fn prefix(&self) -> Bytes {
        match &self.root {
            TarRoot::Becomes(name) => [name, &b"/"[..]].concat(),
            _ => Bytes::new(),
        }
    }
}

/// Reports warnings before anything is written.
fn warn(
    asked: &TarOptions,
    plan: Plan,
    opened: &OpenedImage,
    resources: &Resources,
    observer: &mut dyn Observer,
) -> Result<(), Error> {
    resources.warn_of_fewer(plan.read.workers, observer);
    let TarScope::Below { directories, .. } = &asked.scope else { return Ok(()) };
    for directory in directories {
        if asked.refuse_missing {
            find_root(opened, directory)?;
        } else if opened.volume.resolve(directory).map_err(|cause| opened.fault_at(directory, cause))?.is_none() {
            observer.warning(&format!("there is no {} in the image", directory.escaped()));
        }
    }
    Ok(())
}

/// Checks after the first walk whether a pattern matched nothing, which is an error without `continue_on_error`.
fn check_patterns(opened: &OpenedImage, asked: &TarOptions, observer: &mut dyn Observer) -> Result<bool, Error> {
    let TarScope::Selected(selection) = &asked.scope else { return Ok(false) };
    let place = opened.display_path.escaped();
    if let Some(warning) = selection.unmatched_exclude(&place) {
        observer.warning(&warning);
    }
    match selection.unmatched(&place) {
        None => Ok(false),
        Some(error) if asked.continue_on_error => {
            observer.problem(error.as_problem());
            Ok(true)
        }
        Some(error) => Err(error),
    }
}

/// The first walk: records the uses of shared units, and counts the bytes of content. Finds faults of the tree before anything is written.
fn survey(opened: &OpenedImage, asked: &TarOptions, resources: &Resources) -> Result<(SharedUses, u64), Error> {
    let mut uses = SharedUses::new();
    let mut total = 0u64;
    for found in Items::new(&opened.volume, asked) {
        if resources.cancel.is_cancelled() {
            return Err(opened.fault(ReadError::cancelled()));
        }
        if let Some(data) = found.content() {
            uses.note(opened.volume.as_ref(), data);
            total = total.saturating_add(data.size);
        }
        if let TarItem::Fault { path, error } = found
            && !asked.continue_on_error
        {
            return Err(opened.fault_at(&path, error));
        }
    }
    Ok((uses, total))
}
