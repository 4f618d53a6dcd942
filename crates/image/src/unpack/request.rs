//! What unpacking is asked to do, and what it came to.

use std::path::PathBuf;

use packline_squashfs::read::FragmentCounts;

use crate::{ImagePlace, Resources, Selection, Temporaries};

/// What becomes of files with equal content in the image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Duplicates {
    /// Each is written.
    #[default]
    Copy,
    /// The first is written, the others share its blocks on file systems that can (a copy on those that cannot).
    Reflink,
    /// The first is written; others whose attributes are the same too become further names of it.
    HardLink,
}

/// Which attributes are set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kept {
    /// Permission bits; without them directories get 0755, files 0644, named pipes and sockets 0700, devices none.
    pub permissions: bool,
    /// Owner and group.
    pub owners: bool,
    /// Set-uid and set-gid bits; without owners they may say what nobody meant.
    pub set_id: bool,
    /// Extended attributes.
    pub xattrs: bool,
    /// Times of modification.
    pub times: bool,
    /// Any of these of the destination itself, from the directory of the image that becomes it.
    pub destination: bool,
}

/// Unpacking an image to a directory.
pub struct UnpackRequest {
    /// The image.
    pub image: ImagePlace,
    /// The directory to make, or one that is there.
    pub destination: PathBuf,
    /// Whether an existing directory may have something in it: files are then replaced, directories kept.
    pub force: bool,
    /// The directory of the image that becomes the destination, as a canonical path; empty for the root.
    pub subdirectory: Vec<u8>,
    /// Which entries; patterns are compared with paths below `subdirectory`.
    pub selection: Selection,
    /// Whether errors of single entries are reported while the rest is unpacked.
    pub go_on: bool,
    /// Which attributes are set.
    pub kept: Kept,
    /// Whether block and character devices are made.
    pub devices: bool,
    /// Whether holes of files stay holes.
    pub sparse: bool,
    /// What becomes of files with equal content.
    pub duplicates: Duplicates,
    /// Whether everything is on the medium before the destination gets its name.
    pub sync: bool,
    /// What the machine gives. Nothing of it changes what is written.
    pub resources: Resources,
    /// Where temporary files and directories are listed while they are in being.
    pub temporaries: Temporaries,
}

impl UnpackRequest {
    /// Unpacks everything with all attributes to a directory that is not there yet, or empty; one worker, no memory limit.
    pub fn new(image: ImagePlace, destination: PathBuf) -> UnpackRequest {
        UnpackRequest {
            image,
            destination,
            force: false,
            subdirectory: Vec::new(),
            selection: Selection::all(),
            go_on: false,
            kept: Kept { permissions: true, owners: true, set_id: true, xattrs: true, times: true, destination: true },
            devices: true,
            sparse: true,
            duplicates: Duplicates::Copy,
            sync: false,
            resources: Resources { workers: 1, ..Resources::default() },
            temporaries: Temporaries::default(),
        }
    }
}

/// What was unpacked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct UnpackCounts {
    /// Regular files; further names of one are counted as hard links.
    pub files: u64,
    /// Directories, the root among them.
    pub directories: u64,
    /// Symbolic links.
    pub symlinks: u64,
    /// Further names of files, links, devices.
    pub hard_links: u64,
    /// Devices, named pipes and sockets.
    pub special: u64,
    /// Devices that were left out because that was asked for.
    pub devices_left_out: u64,
    /// Files that share the blocks or the inode of one with equal content.
    pub shared: u64,
    /// Bytes of content, holes included.
    pub content_bytes: u64,
    /// Bytes that were written.
    pub written_bytes: u64,
    /// Bytes of blocks that were read from the image.
    pub read_bytes: u64,
    /// How often fragment blocks were decoded, and put away for files to come.
    pub fragments: FragmentCounts,
    /// Errors that were reported while the rest went on.
    pub errors: u64,
}

impl UnpackCounts {
    /// Adds what someone else did.
    pub(super) fn add(&mut self, other: &UnpackCounts) {
        let UnpackCounts { files, directories, symlinks, hard_links, special, devices_left_out, .. } = other;
        self.files += files;
        self.directories += directories;
        self.symlinks += symlinks;
        self.hard_links += hard_links;
        self.special += special;
        self.devices_left_out += devices_left_out;
        self.shared += other.shared;
        self.content_bytes += other.content_bytes;
        self.written_bytes += other.written_bytes;
        self.read_bytes += other.read_bytes;
        self.fragments.decoded += other.fragments.decoded;
        self.fragments.put_away += other.fragments.put_away;
        self.errors += other.errors;
    }
}

/// What unpacking came to.
#[derive(Debug, Clone)]
pub struct UnpackSummary {
    /// What was unpacked.
    pub counts: UnpackCounts,
    /// Workers that were asked for.
    pub workers_wanted: usize,
    /// Workers that the memory and the system's limit of threads allowed.
    pub workers: usize,
}
