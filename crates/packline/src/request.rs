//! What a pack is asked to do.

use std::io::Read;
use std::path::PathBuf;

use packline_squashfs::{FileHints, Options};
use packline_tree::{DirectoryOptions, Entry, Meta, Source};

use crate::{Changes, Format, Resources, Temporaries};

/// The source.
pub enum SourceSpec {
    /// A directory, with all below it.
    Directory {
        /// Its path.
        path: PathBuf,
        /// How the source is read.
        options: DirectoryOptions,
    },
    /// A tar file, plain or compressed.
    TarFile {
        /// Its path.
        path: PathBuf,
    },
    /// A tar stream, plain or compressed.
    TarStream {
        /// Its name in messages.
        name: String,
        /// The bytes.
        stream: Box<dyn Read + Send>,
    },
    /// Any other source.
    Entries {
        /// Its name in messages.
        name: String,
        /// Entries and contents.
        source: Box<dyn Source>,
    },
}

/// Says what is asked of one file.
pub type Hints = Box<dyn FnMut(&Entry) -> FileHints>;

/// A pack.
pub struct PackRequest {
    /// The source.
    pub source: SourceSpec,
    /// Where the image goes: a file, or a block device.
    pub output: PathBuf,
    /// Whether an existing file is replaced, or a block device overwritten.
    pub force: bool,
    /// Which container.
    pub format: Format,
    /// Whether faults of a tar by which nothing is lost are warnings: see [`packline_tree::tar::TarOptions::lenient`].
    pub lenient_tar: bool,
    /// What decides the image's bytes besides the source.
    pub image: Options,
    /// Changes of entries.
    pub changes: Changes,
    /// Attributes of the root and of implied directories, where the source says nothing of them.
    pub defaults: Meta,
    /// Flags of single files, if any.
    pub hints: Option<Hints>,
    /// What the machine gives.
    pub resources: Resources,
    /// Where temporary files are listed while they are in being.
    pub temporaries: Temporaries,
}

/// Attributes of an implied directory: `rwxr-xr-x`, owned by root, at time 0.
pub const DEFAULT_META: Meta = Meta { mode: 0o755, uid: 0, gid: 0, mtime: 0 };

impl PackRequest {
    /// A request for a SquashFS image with default options: one worker, no memory limit, nothing replaced.
    pub fn new(source: SourceSpec, output: PathBuf, image: Options) -> PackRequest {
        PackRequest {
            source,
            output,
            force: false,
            format: Format::SquashFs,
            lenient_tar: false,
            image,
            changes: Changes::default(),
            defaults: DEFAULT_META,
            hints: None,
            resources: Resources { workers: 1, ..Resources::default() },
            temporaries: Temporaries::default(),
        }
    }
}
