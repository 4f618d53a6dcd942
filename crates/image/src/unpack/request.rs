//! Request and result of unpacking.

use std::fmt;
use std::sync::Arc;

use packline_tree::Meta;
use packline_volume::{NodeType, SharedCounts};

use crate::{Resources, Selection, Temporaries};

/// How files with equal content in the image are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Duplicates {
    /// Each is written.
    #[default]
    Copy,
    /// The first is written, the others share its blocks on file systems that support it (and are copied elsewhere).
    Reflink,
    /// The first is written; others become hard links to it if their attributes are equal too.
    HardLink,
}

/// Which attributes are set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RestoreAttributes {
    /// Permission bits; without them directories get 0755, files 0644, named pipes and sockets 0700, devices none.
    pub permissions: bool,
    /// Owner and group.
    pub owners: bool,
    /// Set-uid and set-gid bits; without owners they could grant another user's rights.
    pub set_id: bool,
    /// Extended attributes.
    pub xattrs: bool,
    /// Times of modification.
    pub times: bool,
    /// The attributes above for the destination itself, from the image's directory.
    pub destination: bool,
}

impl RestoreAttributes {
    /// All.
    pub const ALL: RestoreAttributes = RestoreAttributes {
        permissions: true,
        owners: true,
        set_id: true,
        xattrs: true,
        times: true,
        destination: true,
    };
    /// None: names and contents only.
    pub const NONE: RestoreAttributes = RestoreAttributes {
        permissions: false,
        owners: false,
        set_id: false,
        xattrs: false,
        times: false,
        destination: false,
    };
}

/// Changes what the image says of entries on their way to the destination.
pub trait AttributeRules: fmt::Debug + Send + Sync {
    /// The attributes that an entry gets, rather than those of the image.
    fn meta(&self, kind: NodeType, meta: Meta) -> Meta;
    /// Whether an extended attribute of this name is set.
    fn keeps_xattr(&self, name: &[u8]) -> bool;
}

/// Which part of an image is unpacked, and how.
#[non_exhaustive]
pub struct UnpackRequest {
    /// Whether an existing destination may have entries: files are then replaced, directories kept.
    pub force: bool,
    /// Without `force`: whether an existing destination may have entries that are not in the image; no entry is replaced.
    pub merge: bool,
    /// The directory of the image that becomes the destination, as a canonical path; empty for the root.
    pub subdirectory: Vec<u8>,
    /// Which entries; patterns are compared with paths below `subdirectory`.
    pub selection: Selection,
    /// Whether errors of single entries are reported while the rest is unpacked. A file with damaged content is kept, with zeros in place of
    /// what cannot be read.
    pub continue_on_error: bool,
    /// Whether an attribute that cannot be set, and a link, device, pipe or socket that cannot be created is reported while the rest is
    /// unpacked, even if other errors stop it. The entry is kept without the attribute; without its owner, it gets no set-id bits.
    pub lenient: bool,
    /// Which attributes are set.
    pub restore: RestoreAttributes,
    /// Changes of attributes.
    pub rules: Option<Arc<dyn AttributeRules>>,
    /// Whether block and character devices are created.
    pub devices: bool,
    /// Whether holes of files stay holes.
    pub sparse: bool,
    /// How files with equal content are written.
    pub duplicates: Duplicates,
    /// Whether all data is flushed to the medium before the destination gets its name.
    pub sync: bool,
    /// Workers and memory; they do not affect the result.
    pub resources: Resources,
    /// Registers temporary files and directories for removal on exit.
    pub temporaries: Temporaries,
}

impl Default for UnpackRequest {
    /// Unpacks everything with all attributes; with all processors, no memory limit.
    fn default() -> UnpackRequest {
        UnpackRequest {
            force: false,
            merge: false,
            subdirectory: Vec::new(),
            selection: Selection::all(),
            continue_on_error: false,
            lenient: false,
            restore: RestoreAttributes::ALL,
            rules: None,
            devices: true,
            sparse: true,
            duplicates: Duplicates::Copy,
            sync: false,
            resources: Resources::default(),
            temporaries: Temporaries::default(),
        }
    }
}

impl UnpackRequest {
    /// Whether all contents of the image are read.
    pub(super) fn is_whole(&self) -> bool {
        self.subdirectory.is_empty() && self.selection.has_all_files()
    }
}

/// Counts of unpacked entries and bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct UnpackCounts {
    /// Regular files; further names are counted as hard links.
    pub files: u64,
    /// Directories, including the root.
    pub directories: u64,
    /// Symbolic links.
    pub symlinks: u64,
    /// Further names of files, links, devices.
    pub hard_links: u64,
    /// Further names that became copies, because the destination cannot have the hard links.
    pub hard_links_copied: u64,
    /// Devices, named pipes and sockets.
    pub special: u64,
    /// Devices of these.
    pub devices: u64,
    /// Named pipes of these.
    pub fifos: u64,
    /// Extended attributes that could not be set.
    pub xattrs_left_out: u64,
    /// Devices skipped on request.
    pub devices_left_out: u64,
    /// Files that share the blocks or the inode of one with equal content.
    pub shared: u64,
    /// Bytes of content, holes included.
    pub content_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Stored bytes of the blocks read.
    pub read_bytes: u64,
    /// Fragment blocks decoded, and spilled for later files.
    pub fragments: SharedCounts,
    /// Errors that did not stop the rest.
    pub errors: u64,
    /// Files that have zeros in place of content that could not be read.
    pub damaged_files: u64,
}

impl UnpackCounts {
    pub(super) fn add(&mut self, other: &UnpackCounts) {
        let UnpackCounts { files, directories, symlinks, hard_links, special, devices_left_out, .. } = other;
        self.files += files;
        self.directories += directories;
        self.symlinks += symlinks;
        self.hard_links += hard_links;
        self.hard_links_copied += other.hard_links_copied;
        self.special += special;
        self.devices_left_out += devices_left_out;
        self.devices += other.devices;
        self.fifos += other.fifos;
        self.xattrs_left_out += other.xattrs_left_out;
        self.shared += other.shared;
        self.content_bytes += other.content_bytes;
        self.written_bytes += other.written_bytes;
        self.read_bytes += other.read_bytes;
        self.fragments.decoded += other.fragments.decoded;
        self.fragments.spilled += other.fragments.spilled;
        self.errors += other.errors;
        self.damaged_files += other.damaged_files;
    }
}

/// Result of unpacking.
#[derive(Debug, Clone)]
pub struct UnpackSummary {
    /// Sums over all entries.
    pub counts: UnpackCounts,
    /// Workers requested.
    pub workers_wanted: usize,
    /// Workers allowed by memory and the system's limit of threads.
    pub workers: usize,
}
