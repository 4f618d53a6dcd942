//! Request and result of unpacking.

use std::fmt;
use std::sync::Arc;

use packline_tree::Meta;
use packline_volume::{NodeType, SharedCounts};

use crate::{Resources, Selection, Temporaries};

/// How files with equal content in the image are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Duplicates {
    /// Each file is written.
    #[default]
    Copy,
    /// The first file is written. The others share its blocks on file systems that support this, and are copied on others.
    Reflink,
    /// The first file is written. Others become hard links to it if their attributes are equal, too.
    HardLink,
}

/// Attributes to set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RestoreAttributes {
    /// Permission bits; without them directories get 0755, files 0644, named pipes and sockets 0700, and devices 0.
    pub permissions: bool,
    /// Owner and group.
    pub owners: bool,
    /// Set-uid and set-gid bits. Without owners they could grant another user's rights.
    pub set_id: bool,
    /// Extended attributes.
    pub xattrs: bool,
    /// Times of modification.
    pub times: bool,
    /// The attributes above for the destination itself, from the image's directory.
    pub destination: bool,
}

impl RestoreAttributes {
    /// All attributes.
    pub const ALL: RestoreAttributes = RestoreAttributes {
        permissions: true,
        owners: true,
        set_id: true,
        xattrs: true,
        times: true,
        destination: true,
    };
    /// Names and contents only.
    pub const NONE: RestoreAttributes = RestoreAttributes {
        permissions: false,
        owners: false,
        set_id: false,
        xattrs: false,
        times: false,
        destination: false,
    };
}

/// Changes the attributes of entries on their way from the image to the destination.
pub trait AttributeRules: fmt::Debug + Send + Sync {
    /// Returns the attributes that an entry gets, given the attributes in the image.
    fn meta(&self, kind: NodeType, meta: Meta) -> Meta;
    /// Whether an extended attribute of this name is set.
    fn keeps_xattr(&self, name: &[u8]) -> bool;
}

/// Which part of an image is unpacked, and how.
#[non_exhaustive]
pub struct UnpackRequest {
    /// Whether an existing destination may have entries. Files are then replaced, and directories are kept.
    pub force: bool,
    /// Whether, without `force`, an existing destination may have entries that are not in the image. No entry is replaced.
    pub merge: bool,
    /// The directory of the image that becomes the destination, as a canonical path; empty for the root.
    pub subdirectory: Vec<u8>,
    /// Selects entries by their paths below `subdirectory`.
    pub selection: Selection,
    /// Whether unpacking continues after errors of single entries, which are reported. A file with damaged content is kept, with zeros in place
    /// of the unreadable content.
    pub continue_on_error: bool,
    /// Whether unpacking continues after an attribute cannot be set, or a link, device, pipe or socket cannot be created, even if other errors
    /// stop it. The failure is reported. The entry is kept without the attribute; without its owner, it gets no set-id bits.
    pub lenient: bool,
    /// Attributes to set.
    pub restore: RestoreAttributes,
    /// Changes of attributes.
    pub rules: Option<Arc<dyn AttributeRules>>,
    /// Whether block and character devices are created.
    pub devices: bool,
    /// Whether holes of files are kept.
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
    /// Unpacks everything with all attributes, with all processors and no memory limit.
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
    /// Further names of files, links and devices.
    pub hard_links: u64,
    /// Further names that became copies, because the destination cannot have hard links for them.
    pub hard_links_copied: u64,
    /// Devices, named pipes and sockets.
    pub special: u64,
    /// Devices among them.
    pub devices: u64,
    /// Named pipes among them.
    pub fifos: u64,
    /// Extended attributes that could not be set.
    pub xattrs_left_out: u64,
    /// Devices skipped on request.
    pub devices_left_out: u64,
    /// Files that share the blocks or the inode of a file with equal content.
    pub shared: u64,
    /// Bytes of content, holes included.
    pub content_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Stored bytes of the blocks read.
    pub read_bytes: u64,
    /// Fragment blocks that were decoded, and spilled for later files.
    pub fragments: SharedCounts,
    /// Errors after which unpacking continued.
    pub errors: u64,
    /// Files with zeros in place of content that could not be read.
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
    /// Workers that the memory and the system's limit of threads allowed.
    pub workers: usize,
}
