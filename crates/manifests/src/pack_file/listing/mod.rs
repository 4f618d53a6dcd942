//! Collects the entries of an image from a pack file before any content is read.
//!
//! A path may occur only once. The exception, as in squashfs-tools-ng, is a directory implied by an earlier entry: a later line of its own
//! sets its attributes.

mod globs;
mod nodes;

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use packline_tree::text::{TextLine, quote};
use packline_tree::{Entry, Error, HostFile, Kind, Meta, Time};

use super::{PackKind, PackLine};
use nodes::{Node, Nodes};

/// Returns the entries of a pack file, sorted by path, each with the local file that has its content.
///
/// Locations are relative to `base`. `input` is the name of the pack file for errors. `defaults` are the attributes of the root and of
/// implied directories, and the time of entries without a time. The target of each hard link in the list is not a hard link.
///
/// # Errors
/// [`Error::Line`] for a repeated path, for a path below an entry that is not a directory, for a missing file, and for a hard link whose
/// target is missing, a directory or the link itself. [`Error::Io`] if the directory or a file of a glob cannot be read.
pub fn list_pack_file(
    input: &str,
    lines: &[PackLine],
    base: &Path,
    defaults: Meta,
) -> Result<Vec<(Entry, Option<HostFile>)>, Error> {
    let mut listing = Listing { input: input.to_owned(), nodes: Nodes::new(defaults), defaults };
    lines.iter().try_for_each(|line| listing.add_line(line, base))?;
    listing.resolve_links()?;
    Ok(listing.nodes.into_iter().map(|(path, node)| node.into_entry(path)).collect())
}

struct Listing {
    /// The name of the pack file for errors.
    input: String,
    nodes: Nodes,
    defaults: Meta,
}

impl Listing {
    fn place(&self, line: u64) -> TextLine<'_> {
        TextLine { input: &self.input, line }
    }

    fn add_line(&mut self, line: &PackLine, base: &Path) -> Result<(), Error> {
        let place = TextLine { input: &self.input, line: line.line };
        let mut node = match &line.kind {
            PackKind::Glob(glob) => return self.add_glob(line, glob, base),
            PackKind::File { location } => file(place, &base.join(OsStr::from_bytes(location)))?,
            PackKind::Entry(kind) => Node::new(kind.clone()),
        };
        node.meta = line.meta(self.defaults, self.defaults.mtime);
        self.add(line.line, &line.path, node)
    }

    fn add(&mut self, line: u64, path: &[u8], mut node: Node) -> Result<(), Error> {
        node.line = line;
        self.nodes.add(path, node).map_err(|fault| fault.at(self.place(line), path))
    }
}

impl PackLine {
    /// The attributes of an entry. A `*` in the line means the attribute of the host.
    fn meta(&self, host: Meta, mtime: Time) -> Meta {
        Meta {
            mode: self.mode.unwrap_or(host.mode),
            uid: self.uid.unwrap_or(host.uid),
            gid: self.gid.unwrap_or(host.gid),
            mtime,
        }
    }
}

/// A regular file with the content of the file `host`.
fn file(place: TextLine<'_>, host: &Path) -> Result<Node, Error> {
    let display_path = quote(host.as_os_str().as_bytes());
    let unreadable = |cause| place.error(format!("{display_path}: {cause}"), "a regular file that can be read");
    let stat = fs::metadata(host).map_err(unreadable)?;
    // Lists for the kernel's gen_init_cpio usually specify an empty file with `/dev/null`.
    let null = stat.file_type().is_char_device() && stat.rdev() == rustix::fs::makedev(1, 3);
    if stat.is_file() {
        Ok(Node { host: Some(HostFile::from(host.to_owned())), ..Node::new(Kind::File { size: stat.len() }) })
    } else if null {
        Ok(Node::new(Kind::File { size: 0 }))
    } else {
        let what = format!("{display_path} is not a regular file");
        Err(place.error(what, "a regular file, or /dev/null for an empty one"))
    }
}

#[cfg(test)]
mod tests;
