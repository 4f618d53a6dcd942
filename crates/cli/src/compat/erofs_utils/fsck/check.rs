//! Checks an image, and prints its faults.

use packline::requests::ErofsImage;
use packline_image::{PartScope, Sha256Hash, verify, verify_part};
use packline_volume::{Examiner, Finding, NodeId, ReadError, Severity};

use super::{ChosenInode, FsckErofs, INFORMATION, start};
use crate::commands::verify::repeated::Repeated;
use crate::commands::verify::text;
use crate::compat::erofs_utils::shown;
use crate::ui::failure::Failure;
use crate::ui::io::Io;

impl FsckErofs {
    /// Checks the image, or the chosen part of it.
    ///
    /// # Errors
    /// Exit status 1 if faults were printed.
    pub(super) fn check(&self, image: &ErofsImage, chosen: Option<&ChosenInode>, io: &mut Io) -> Result<(), Failure> {
        let resources = io.host.resources();
        let hashes = |node| stored_hash(image, node);
        let compares = self.checks.xattr_inode_digest;
        if compares && image.image.superblock().fingerprint_prefix.is_none() {
            let what = "image has no inode digest xattrs (was --xattr-inode-digest used during mkfs?)";
            return Err(Failure::failed(format!("{}: {what}", shown(image))));
        }
        let scope = PartScope {
            from: start(image, chosen),
            contents: self.extraction.extract.is_some() || compares,
            hashes: if compares { Some(&hashes) } else { None },
        };
        let is_whole = scope.contents && scope.hashes.is_none() && scope.from == image.volume.root();
        let notes = self.checks.level >= INFORMATION;
        let mut faults = Faults { io, image: shown(image), repeated: Repeated::default(), notes };
        let verified = if is_whole {
            verify(image, &resources, &mut faults)
        } else {
            verify_part(image, scope, &resources, &mut faults)
        };
        faults.end();
        let faults = verified?.faults;
        if faults > 0 { Err(Failure::AlreadyReported(1)) } else { Ok(()) }
    }
}

/// Returns the SHA-256 of a file that the image has, if any.
fn stored_hash(image: &ErofsImage, node: NodeId) -> Result<Option<Sha256Hash>, ReadError> {
    let Some(value) = image.image.fingerprint(node)? else { return Ok(None) };
    let hash = value.strip_prefix(b"sha256:").and_then(|hash| Sha256Hash::try_from(hash).ok());
    hash.map(Some).ok_or_else(|| {
        let what = format!("fingerprint of {} bytes", value.len());
        ReadError::corrupt(image.volume.offset_of(node), what, "'sha256:' and 32 bytes")
    })
}

/// Prints faults to standard error. Further entries with the same fault are counted.
struct Faults<'f> {
    io: &'f mut Io,
    image: String,
    repeated: Repeated,
    /// Whether what is valid but unusual is printed, too.
    notes: bool,
}

impl Faults<'_> {
    fn print(&mut self, text: &str) {
        self.io.print_message(&format!("{}: {text}", self.image));
    }

    fn end(&mut self) {
        for text in self.repeated.end() {
            self.print(&text);
        }
    }
}

impl Examiner for Faults<'_> {
    fn found(&mut self, finding: Finding) {
        if finding.severity == Severity::Note && !self.notes || self.repeated.counts(&finding) {
            return;
        }
        self.print(&text(&finding));
        if let Some(further) = self.repeated.remember(finding) {
            self.print(&further);
        }
    }
}
