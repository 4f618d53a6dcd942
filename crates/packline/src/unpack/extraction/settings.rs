//! How the entries of a tar are created, and what was created.

use packline_engine::CancelToken;
use packline_image::{RestoreAttributes, UnpackRequest};

/// Counts of entries and bytes that were unpacked from a tar to a directory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TarTreeCounts {
    /// Entries that were unpacked, without the root.
    pub entries: u64,
    /// Hard links that became copies, because the destination does not support hard links.
    pub hard_links_copied: u64,
    /// Devices skipped on request.
    pub devices_left_out: u64,
    /// Bytes of content, holes included.
    pub content_bytes: u64,
    /// Bytes of the tar: as stored, or, of a tar in a .lrz file, without any compression of the .lrz file.
    pub tar_bytes: u64,
    /// Entries that could not be unpacked, and a fault of the tar at which reading ended; 0 unless the request is to continue after errors.
    pub errors: u64,
}

/// How entries are created.
#[derive(Debug, Clone)]
pub(crate) struct ExtractionSettings {
    pub(super) restore: RestoreAttributes,
    pub(super) devices: bool,
    pub(super) sparse: bool,
    pub(super) cancel: CancelToken,
}

impl ExtractionSettings {
    pub(crate) fn of(request: &UnpackRequest) -> ExtractionSettings {
        let UnpackRequest { restore, devices, sparse, resources, .. } = request;
        ExtractionSettings { restore: *restore, devices: *devices, sparse: *sparse, cancel: resources.cancel.clone() }
    }
}
