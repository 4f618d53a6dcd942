//! Appends to an image: the entries of the existing image come before the sources, in a new image that replaces it. The options of the
//! image count, not those of the command line. Sources whose names are taken get other names.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use packline::requests::{AppendTo, ContentKind, ImagePlace, SquashFsImage};
use packline_image::metadata_cache;
use packline_squashfs::{Fragments, Options, Stored, flags};
use packline_tree::Bytes;

use super::edits::Edits;
use crate::compat::squashfs_tools::unsquashfs::compressor_name;
use crate::ui::escape::Escape;
use crate::ui::failure::Failure;
use crate::ui::io::Io;

const OTHER: &str = "-root-becomes NAME puts the existing entries into a directory";
/// The alternative, for errors.
const INSTEAD: &str = "-noappend replaces it";

#[derive(Clone)]
pub struct Appending {
    image: SquashFsImage,
    /// The directory that holds the content of the image; empty for the root.
    directory: Bytes,
}

impl Appending {
    /// Opens the image at `path`, if the file exists. `root_becomes` is the name of a directory for its content. `memory` is the limit
    /// in bytes.
    ///
    /// # Errors
    /// The file is a block device, is not an image, or cannot be read; or the name is invalid.
    pub fn open(
        path: &Path,
        root_becomes: Option<&OsString>,
        memory: Option<u64>,
    ) -> Result<Option<Appending>, Failure> {
        let Ok(found) = fs::metadata(path) else { return Ok(None) };
        let refused = |what: &str| Err(Failure::failed(format!("{}: {what}; {INSTEAD}", path.escaped())));
        if !found.is_file() && !found.file_type().is_block_device() {
            let what = "neither a file nor a block device (expected one of them)";
            return Err(Failure::failed(format!("{}: {what}", path.escaped())));
        }
        let place = ImagePlace::new(path);
        if place.content_kind() != Some(ContentKind::SquashFs) {
            return refused("not a SquashFS image, will not be overwritten");
        }
        if !found.is_file() {
            return refused("a block device is not appended to");
        }
        let image = place.at(0).open_squashfs(metadata_cache(memory))?;
        let layout = image.image.layout();
        if !layout.is_current() {
            return refused(&format!("{layout} is not appended to"));
        }
        let directory = root_becomes.map(root_name).transpose()?.unwrap_or_default();
        Ok(Some(Appending { image, directory }))
    }

    /// Returns whether the root of the image has a name.
    pub fn takes(&self, name: &[u8]) -> Result<bool, Failure> {
        if !self.directory.is_empty() {
            return Ok(self.directory == name);
        }
        let image = &self.image.image;
        let found = image.inode(image.root()).and_then(|root| image.lookup(&root, name));
        Ok(found.map_err(|cause| self.image.fault(cause))?.is_some())
    }

    /// Rejects names, of definitions or of complete paths, that the root of the image has.
    ///
    /// # Errors
    /// [`Failure::Failed`] if the root has the name, or cannot be read.
    pub fn refuse<'n>(&self, what: &str, names: impl Iterator<Item = &'n [u8]>) -> Result<(), Failure> {
        for name in names {
            if self.takes(name)? {
                let name = OsStr::from_bytes(name).escaped();
                let image = self.image.display_path.escaped();
                return Err(Failure::failed(format!("{what}: {name} is already in the root of {image}; {OTHER}")));
            }
        }
        Ok(())
    }

    /// Sets the options that the image determines.
    pub fn apply(&self, options: &mut Options) {
        let superblock = self.image.image.superblock();
        let is = |flag| superblock.flags & flag != 0;
        options.codec = self.image.image.codec().clone();
        options.block_size = superblock.block_size;
        options.stored = Stored {
            inodes: is(flags::STORED_INODES),
            ids: is(flags::STORED_IDS),
            xattrs: is(flags::STORED_XATTRS),
            data: is(flags::STORED_DATA),
            fragments: is(flags::STORED_FRAGMENTS),
        };
        options.fragments = if is(flags::NO_FRAGMENTS) {
            Fragments::Never
        } else if is(flags::ALWAYS_FRAGMENTS) {
            Fragments::Always
        } else {
            Fragments::SmallFiles
        };
        options.deduplicate = is(flags::DUPLICATES);
        options.exportable = is(flags::EXPORTABLE);
        options.xattrs = !is(flags::NO_XATTRS);
    }

    /// Prints what mksquashfs prints about the image, before and after the line about processors.
    pub fn announce(&self, processors: &str, io: &mut Io) {
        io.remark(&format!("{}{processors}{}", self.found(), self.appends()));
    }

    /// Returns the image as the entries that are packed before the sources; `id_offset` is added to its owners, as to all owners.
    pub fn into_request(self, id_offset: u32) -> AppendTo {
        let edit = (id_offset > 0).then(|| Edits { id_offset, ..Edits::default() }.into_edit());
        AppendTo { image: self.image.into(), directory: self.directory, edit }
    }

    fn found(&self) -> String {
        let superblock = self.image.image.superblock();
        let is = |flag: u16| superblock.flags & flag != 0;
        let un = |flag: u16| if is(flag) { "un" } else { "" };
        let not = |yes: bool| if yes { "" } else { "not " };
        let bytes = superblock.bytes_used as f64;
        format!(
            "Found a valid {}SQUASHFS superblock on {}.\n\
             \tCompression used {}\n\
             \tInodes are {}compressed\n\
             \tData is {}compressed\n\
             \tFragments are {}compressed\n\
             \tXattrs are {}compressed\n\
             \tFragments are {}present in the filesystem\n\
             \tAlways-use-fragments option is {}specified\n\
             \tDuplicates are {}removed\n\
             \tXattrs are {}stored\n\
             \tFilesystem size {:.2} Kbytes ({:.2} Mbytes)\n\
             \tBlock size {}\n\
             \tNumber of fragments {}\n\
             \tNumber of inodes {}\n\
             \tNumber of ids {}\n\n",
            if is(flags::EXPORTABLE) { "exportable " } else { "" },
            self.image.display_path.escaped(),
            compressor_name(superblock.compressor),
            un(flags::STORED_INODES),
            un(flags::STORED_DATA),
            un(flags::STORED_FRAGMENTS),
            un(flags::STORED_XATTRS),
            not(!is(flags::NO_FRAGMENTS)),
            not(is(flags::ALWAYS_FRAGMENTS)),
            not(is(flags::DUPLICATES)),
            not(!is(flags::NO_XATTRS)),
            bytes / 1024.0,
            bytes / (1024.0 * 1024.0),
            superblock.block_size,
            superblock.fragments,
            superblock.inodes,
            superblock.ids,
        )
    }

    fn appends(&self) -> String {
        let superblock = self.image.image.superblock();
        format!(
            "Scanning existing filesystem...\n\
             Read existing filesystem, {} inodes scanned\n\
             Appending to existing 4.0 filesystem on {}, block size {}\n\
             All -b, -noI, -noD, -noF, -noX, -noId, -no-duplicates, -no-fragments,\n\
             -always-use-fragments, -exportable and -comp options ignored\n\n\
             If appending is not wanted, please re-run with -noappend specified!\n\n",
            superblock.inodes.saturating_sub(1),
            self.image.display_path.escaped(),
            superblock.block_size,
        )
    }
}

/// Parses the value of `-root-becomes`.
fn root_name(name: &OsString) -> Result<Bytes, Failure> {
    match name.as_bytes() {
        bytes @ (b"" | b"." | b"..") => Err(wrong_name(bytes)),
        bytes if bytes.contains(&b'/') => Err(wrong_name(bytes)),
        bytes => Ok(bytes.to_vec()),
    }
}

fn wrong_name(name: &[u8]) -> Failure {
    let name = OsStr::from_bytes(name).escaped();
    Failure::usage(format!("-root-becomes: '{name}' is not a name in the root (expected one without a slash)"))
}
