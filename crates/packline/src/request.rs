//! What a pack is asked to do.

use std::io::Read;
use std::path::PathBuf;

use packline_squashfs::{FileHints, Options};
use packline_tree::{DirectoryOptions, Entry, Meta};

use crate::{Changes, Resources, Temporaries};

/// The source.
pub enum Source {
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
        source: Box<dyn packline_tree::Source>,
    },
}

impl Source {
    /// A directory, with extended attributes and hard links, other file systems below it included.
    pub fn directory(path: impl Into<PathBuf>) -> Source {
        Source::Directory { path: path.into(), options: DirectoryOptions::default() }
    }

    /// A tar file, plain or compressed.
    pub fn tar_file(path: impl Into<PathBuf>) -> Source {
        Source::TarFile { path: path.into() }
    }

    /// A tar stream, plain or compressed; `name` is for messages.
    pub fn tar_reader(name: impl Into<String>, stream: impl Read + Send + 'static) -> Source {
        Source::TarStream { name: name.into(), stream: Box::new(stream) }
    }

    /// Entries made by the caller; `name` is for messages.
    pub fn entries(name: impl Into<String>, source: impl packline_tree::Source + 'static) -> Source {
        Source::Entries { name: name.into(), source: Box::new(source) }
    }
}

/// Says what is asked of one file.
pub type Hints = Box<dyn FnMut(&Entry) -> FileHints>;

/// A tree to be packed into a SquashFS image.
pub struct PackRequest {
    /// The source.
    pub source: Source,
    /// Where the image goes: a file, or a block device.
    pub output: PathBuf,
    /// Whether an existing file is replaced, or a block device overwritten.
    pub force: bool,
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
    pub fn new(source: Source, output: PathBuf, image: Options) -> PackRequest {
        PackRequest {
            source,
            output,
            force: false,
            lenient_tar: false,
            image,
            changes: Changes::default(),
            defaults: DEFAULT_META,
            hints: None,
            resources: Resources::new(1),
            temporaries: Temporaries::default(),
        }
    }
}
