//! Extracts an image, a directory of it, or one other entry.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use packline::requests::ErofsImage;
use packline::{Observer, RestoreAttributes};
use packline_image::{AttributeRules, Selection, UnpackCounts, UnpackRequest, unpack};
use packline_runtime::{Problem, rename};
use packline_tree::{Meta, PathFilter};
use packline_volume::{Node, NodeType};

use super::{ChosenInode, FsckErofs};
use crate::args::Invocation;
use crate::compat::erofs_utils::{path_of, shown};
use crate::ui::escape::Escape;
use crate::ui::failure::Failure;
use crate::ui::io::Io;

/// The failures that are only warnings without root.
const NEED_ROOT: [&str; 3] = ["cannot create block device", "cannot create character device", "cannot set the owner"];

/// Permissions without the bits of the umask.
#[derive(Debug)]
struct Masked {
    umask: u16,
}

impl AttributeRules for Masked {
    fn meta(&self, _: NodeType, meta: Meta) -> Meta {
        Meta { mode: meta.mode & !self.umask, ..meta }
    }

    fn keeps_xattr(&self, _: &[u8]) -> bool {
        true
    }
}

impl FsckErofs {
    /// Extracts the image, or the chosen part of it, to `directory`.
    ///
    /// # Errors
    /// Exit status 1 if errors were printed that did not stop the extraction.
    pub(super) fn extract(
        &self,
        image: &ErofsImage,
        chosen: Option<&ChosenInode>,
        directory: &OsStr,
        invocation: &Invocation,
        io: &mut Io,
    ) -> Result<(), Failure> {
        let path = match chosen {
            None => Vec::new(),
            Some(ChosenInode { path: Some(path), .. }) => path.clone(),
            Some(ChosenInode { node, path: None }) => path_of(image, *node).ok_or_else(|| {
                let what = format!("no name leads to inode {}", image.image.inode_number(*node));
                Failure::failed(format!("{}: {what} (expected an inode with a name)", shown(image)))
            })?,
        };
        if self.checks.xattr_inode_digest {
            self.check(image, chosen, io)?;
        }
        let inode = image.volume.resolve(&path).map_err(|cause| image.fault_at(&path, cause))?;
        let is_directory = inode.is_some_and(|inode| matches!(inode.node, Node::Directory(_)));
        let destination = PathBuf::from(directory);
        let request = self.request(invocation, io);
        if is_directory {
            let mut request = request;
            request.subdirectory = path;
            return unpacked(image, request, destination, io);
        }
        self.extract_entry(image, request, &path, &destination, io)
    }

    fn request(&self, invocation: &Invocation, io: &Io) -> UnpackRequest {
        let root = rustix::process::geteuid().is_root();
        let last = |long: [(&str, bool); 4]| {
            let given = long.into_iter().filter_map(|(long, on)| Some((invocation.position(long)?, on)));
            given.max().map_or(root, |(_, on)| on)
        };
        let [all, none] = [("preserve", true), ("no-preserve", false)];
        let owners = last([all, none, ("preserve-owner", true), ("no-preserve-owner", false)]);
        let permissions = last([all, none, ("preserve-perms", true), ("no-preserve-perms", false)]);
        let mut request = UnpackRequest::default();
        request.merge = true;
        request.force = self.extraction.overwrite;
        request.lenient = true;
        request.restore =
            RestoreAttributes { owners, set_id: owners, xattrs: self.extraction.xattrs, ..RestoreAttributes::ALL };
        if !permissions {
            request.rules = Some(Arc::new(Masked { umask: (io.host.umask)() }));
        }
        request.resources = io.host.resources();
        request.temporaries = io.temporaries.clone();
        request
    }

    /// Extracts an entry that is not a directory, as the only entry of a directory next to the destination, and then renames the entry.
    fn extract_entry(
        &self,
        image: &ErofsImage,
        mut request: UnpackRequest,
        path: &[u8],
        destination: &Path,
        io: &mut Io,
    ) -> Result<(), Failure> {
        let at = path.iter().rposition(|byte| *byte == b'/');
        let (above, name) = at.map_or((&b""[..], path), |at| (&path[..at], &path[at + 1..]));
        let file = destination.file_name().ok_or_else(|| {
            Failure::failed(format!("{}: is not a name (expected the name of a file)", destination.escaped()))
        })?;
        let beside = OsStr::from_bytes(&[b".", file.as_bytes(), b".packline-entry"].concat()).to_owned();
        let beside = destination.with_file_name(beside);
        request.subdirectory = above.to_vec();
        let wanted = name.to_vec();
        let filter = PathFilter::new(move |path| path != wanted);
        request.selection = Selection { filter: Some(filter), ..Selection::all() };
        (request.merge, request.force) = (false, false);
        request.restore.destination = false;
        let extracted = unpacked(image, request, beside.clone(), io);
        let entry = beside.join(OsStr::from_bytes(name));
        let renamed = extracted.and_then(|()| self.rename(&entry, destination));
        // The entry is still there if it could not be renamed. The directory does not exist if nothing was extracted.
        let _: io::Result<()> = fs::remove_file(&entry);
        let _: io::Result<()> = fs::remove_dir(&beside);
        renamed
    }

    fn rename(&self, entry: &Path, destination: &Path) -> Result<(), Failure> {
        rename(entry, destination, self.extraction.overwrite)
            .map_err(|cause| Failure::failed(format!("{}: cannot put it in place: {cause}", destination.escaped())))
    }
}

/// Unpacks, and prints errors that do not stop it.
///
/// # Errors
/// Exit status 1 after such an error.
fn unpacked(image: &ErofsImage, request: UnpackRequest, destination: PathBuf, io: &mut Io) -> Result<(), Failure> {
    let root = rustix::process::geteuid().is_root();
    let mut messages = Messages { io, root, skipped: 0 };
    let summary = unpack(image, request, destination, &mut messages);
    let skipped = messages.skipped;
    let UnpackCounts { errors, .. } = summary?.counts;
    if errors > skipped { Err(Failure::AlreadyReported(1)) } else { Ok(()) }
}

/// Prints warnings, and errors that do not stop the extraction.
struct Messages<'m> {
    io: &'m mut Io,
    root: bool,
    /// Errors that are only warnings.
    skipped: u64,
}

impl Observer for Messages<'_> {
    fn problem(&mut self, problem: Problem<'_>) {
        let text = problem.error.to_string();
        let is_warning = !self.root && problem.output.is_some_and(|output| NEED_ROOT.contains(&output.action));
        if is_warning {
            self.skipped += 1;
            return self.io.warn(&text);
        }
        self.io.print_message(&text);
    }

    fn warning(&mut self, message: &str) {
        self.io.warn(message);
    }
}
