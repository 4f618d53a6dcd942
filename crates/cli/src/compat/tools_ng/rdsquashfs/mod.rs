//! `rdsquashfs` shows the content of an image or unpacks it, with the options, output and exit codes of squashfs-tools-ng 1.3.

mod describe;
mod show;

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use clap::builder::{OsStringValueParser, TypedValueParser};
use packline::requests::{ImagePlace, SquashFsImage};
use packline::{EntryInfo, EntryKind, Observer, Progress, RestoreAttributes};
use packline_image::{Omit, Selection, UnpackRequest, metadata_cache, unpack};
use packline_squashfs::read::{Node, NodeType};
use packline_tree::Patterns;
use packline_tree::path::{PathFault, canonical};

use crate::args::image::place;
use crate::args::{Command, Compat, Invocation};
use crate::host::streams::STDOUT;
use crate::ui::escape::{Escape, escaped};
use crate::ui::failure::Failure;
use crate::ui::io::Io;

/// Look into a SquashFS image or unpack it (drop-in for squashfs-tools-ng)
#[derive(Debug, clap::Args)]
pub struct RdSquashFs {
    /// The image; - for standard input
    image: PathBuf,
    #[command(flatten)]
    action: Action,
    /// With --unpack-path: the directory to unpack to, instead of the current one. With --describe: text before the locations
    /// of regular files
    // Not a `PathBuf` for clap, which refuses an empty one: before locations an empty text is usual.
    #[arg(short = 'p', long, value_name = "PATH", value_parser = OsStringValueParser::new().map(PathBuf::from))]
    unpack_root: Option<PathBuf>,
    #[command(flatten)]
    omit: OmitOptions,
    #[command(flatten)]
    unpacking: UnpackOptions,
}

/// Options that override each other: the last one counts.
const ACTIONS: [&str; 6] = ["list", "cat", "xattr", "stat", "unpack_path", "describe"];

#[derive(Debug, clap::Args)]
struct Action {
    /// List a directory of the image
    #[arg(short, long, value_name = "PATH", overrides_with_all = ACTIONS)]
    list: Option<OsString>,
    /// Print the content of a regular file
    #[arg(short, long, value_name = "PATH", overrides_with_all = ACTIONS)]
    cat: Option<OsString>,
    /// Print extended attributes
    #[arg(short, long, value_name = "PATH", overrides_with_all = ACTIONS)]
    xattr: Option<OsString>,
    /// Print all fields of an inode, and its position in the image
    #[arg(short, long, value_name = "PATH", overrides_with_all = ACTIONS)]
    stat: Option<OsString>,
    /// Unpack this directory or file; / unpacks everything
    #[arg(short, long, value_name = "PATH", overrides_with_all = ACTIONS)]
    unpack_path: Option<OsString>,
    /// Print a list of all entries in the format that gensquashfs reads
    #[arg(short, long, overrides_with_all = ACTIONS)]
    describe: bool,
}

#[derive(Debug, clap::Args)]
struct OmitOptions {
    /// Leave out devices
    #[arg(short = 'D', long)]
    no_dev: bool,
    /// Leave out sockets
    #[arg(short = 'S', long)]
    no_sock: bool,
    /// Leave out named pipes
    #[arg(short = 'F', long)]
    no_fifo: bool,
    /// Leave out symbolic links
    #[arg(short = 'L', long)]
    no_slink: bool,
    /// Leave out directories that are empty, or have nothing left
    #[arg(short = 'E', long)]
    no_empty_dir: bool,
}

#[derive(Debug, clap::Args)]
struct UnpackOptions {
    /// Write holes as zeros
    #[arg(short = 'Z', long)]
    no_sparse: bool,
    /// Set extended attributes of unpacked entries
    #[arg(short = 'X', long)]
    set_xattr: bool,
    /// Set times of unpacked entries
    #[arg(short = 'T', long)]
    set_times: bool,
    /// Set permissions of unpacked entries
    #[arg(short = 'C', long)]
    chmod: bool,
    /// Set owner and group of unpacked entries
    #[arg(short = 'O', long)]
    chown: bool,
    /// Do not print the names of unpacked entries
    #[arg(short, long)]
    quiet: bool,
}

impl Command for RdSquashFs {
    const NAME: &'static str = "rdsquashfs";
    const COMPAT: Compat = Compat::ToolsNg;
    const DIFFERENCES: &'static [&'static str] = &[
        "An image named - is read from standard input. An image in a pipe is first stored in TMPDIR.",
        "Any directory can be unpacked; that release can only unpack `/`.",
        "An existing file is replaced.",
        "--describe rejects names that would break a line, and escapes backslashes in quoted names.",
        "--describe also quotes link targets and file locations with blanks, because that release's gensquashfs cannot read \
         them otherwise.",
        "An attribute with a NUL byte is printed in hexadecimal instead of being cut off there.",
        "--no-empty-dir with --list leaves out only empty directories, not all of them.",
    ];

    fn details() -> String {
        "If several options select an action, the last one counts.".to_string()
    }

    fn run(self, _: &Invocation, io: &mut Io) -> Result<(), Failure> {
        let omit = self.omit.omit();
        match &self.action {
            Action { list: Some(path), .. } => show::list(&self.open(io)?, &image_path(path)?, omit, io),
            Action { cat: Some(path), .. } => cat(&self.open(io)?, image_path(path)?, io),
            Action { xattr: Some(path), .. } => show::xattrs(&self.open(io)?, &image_path(path)?, io),
            Action { stat: Some(path), .. } => show::stat(&self.open(io)?, &image_path(path)?, io),
            Action { unpack_path: Some(path), .. } => self.unpack(image_path(path)?, omit, io),
            Action { describe: true, .. } => {
                let prefix = self.unpack_root.as_ref().map(|root| root.as_os_str().as_bytes());
                let image = self.open(io)?;
                describe::describe(&image, omit, prefix, io)
            }
            _ => Err(Failure::usage("No operation specified")),
        }
    }
}

impl RdSquashFs {
    fn place(&self, io: &mut Io) -> Result<ImagePlace, Failure> {
        place(&self.image, None, io)
    }

    fn open(&self, io: &mut Io) -> Result<SquashFsImage, Failure> {
        Ok(self.place(io)?.open_squashfs(metadata_cache(None))?)
    }

    fn unpack(&self, path: Vec<u8>, omit: Omit, io: &mut Io) -> Result<(), Failure> {
        let image = self.open(io)?;
        let directory = show::find(&image, &path)?.node_type() == NodeType::Directory;
        // A file is unpacked as the only entry of its directory.
        let (subdirectory, include) = if directory { (path, Patterns::new()) } else { parted(&path)? };
        let destination = self.unpack_root.clone().unwrap_or_else(|| PathBuf::from("."));
        std::fs::create_dir_all(&destination)
            .map_err(|cause| Failure::failed(format!("{}: cannot create: {cause}", destination.escaped())))?;
        let mut request = UnpackRequest::default();
        request.force = true;
        request.subdirectory = subdirectory;
        request.selection = Selection { include, omit, ..Selection::all() };
        request.restore = self.unpacking.kept();
        request.sparse = !self.unpacking.no_sparse;
        request.resources = io.host.resources();
        request.temporaries = io.temporaries.clone();
        unpack(&image, request, destination, &mut Names { io, quiet: self.unpacking.quiet })?;
        let printed = io.stdout.flush().map_err(Failure::printing);
        io.excuse(printed);
        Ok(())
    }
}

impl OmitOptions {
    fn omit(&self) -> Omit {
        Omit {
            devices: self.no_dev,
            sockets: self.no_sock,
            fifos: self.no_fifo,
            symlinks: self.no_slink,
            empty_directories: self.no_empty_dir,
        }
    }
}

impl UnpackOptions {
    fn kept(&self) -> RestoreAttributes {
        RestoreAttributes {
            permissions: self.chmod,
            owners: self.chown,
            set_id: self.chmod,
            xattrs: self.set_xattr,
            times: self.set_times,
            destination: false,
        }
    }
}

/// Returns a path in the image; an empty path is the root.
fn image_path(raw: &OsString) -> Result<Vec<u8>, Failure> {
    match canonical(raw.as_bytes()) {
        Err(PathFault::Empty) => Ok(Vec::new()),
        Err(fault) => Err(Failure::usage(format!("Invalid path: {} ({fault})", raw.escaped()))),
        Ok(path) => Ok(path),
    }
}

/// Prints a file. Unlike `packline cat`, it does not follow links.
fn cat(image: &SquashFsImage, path: Vec<u8>, io: &mut Io) -> Result<(), Failure> {
    let inode = show::find(image, &path)?;
    if !matches!(inode.node, Node::File(_)) {
        return Err(Failure::failed(format!(
            "{}: /{}: not a regular file",
            image.display_path.escaped(),
            escaped(&path)
        )));
    }
    io.refuse_input(&image.display_path)?;
    let resources = io.host.resources();
    Ok(packline_image::cat(image, &[path], &resources, &mut io.stdout, STDOUT)?)
}

/// Returns the directory of a path, and a pattern that matches only its last name.
fn parted(path: &[u8]) -> Result<(Vec<u8>, Patterns), Failure> {
    let at = path.iter().rposition(|byte| *byte == b'/');
    let (directory, name) = at.map_or((&b""[..], path), |at| (&path[..at], &path[at + 1..]));
    let mut literal = b"/".to_vec();
    literal.extend(name.iter().flat_map(|byte| [b'\\', *byte]));
    let mut patterns = Patterns::new();
    patterns.add(&literal).map_err(|fault| Failure::failed(fault.to_string()))?;
    Ok((directory.to_vec(), patterns))
}

/// Prints names when they are unpacked.
struct Names<'a> {
    io: &'a mut Io,
    quiet: bool,
}

impl Observer for Names<'_> {
    fn entry(&mut self, entry: EntryInfo<'_>, _: &Progress) {
        if !self.quiet && !entry.path.is_empty() {
            let verb = if entry.kind == EntryKind::File { "unpacking" } else { "creating" };
            let line = format!("{verb} {}\n", escaped(entry.path));
            // A failure to print a name is ignored.
            let _: std::io::Result<()> = self.io.stdout.write_all(line.as_bytes());
        }
    }

    fn warning(&mut self, message: &str) {
        self.io.eprintln(&format!("WARNING: {message}"));
    }
}
