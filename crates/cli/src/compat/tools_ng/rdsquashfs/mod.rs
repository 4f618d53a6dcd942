//! `rdsquashfs`: looks into an image or unpacks it, with the options, output and exit codes of squashfs-tools-ng 1.3.
//!
//! Differences, all on purpose: a directory other than `/` can be unpacked, which that release cannot; a file that is there
//! already is replaced; names that would break a line of `--describe` are refused rather than written wrongly, and backslashes
//! in quoted names are escaped; targets of links and places of files with blanks are quoted too, without which that release's
//! gensquashfs does not read them; an attribute with a NUL inside is printed in hexadecimal, not cut off at it; `--no-empty-dir`
//! with `--list` leaves out directories that are empty, not all of them.

mod describe;
mod show;

use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use packline::tree::{Patterns, path};
use packline::{
    EntryInfo, EntryKind, ImagePlace, Kept, Observer, Omit, OpenedImage, Progress, Selection, UnpackRequest, unpack,
};

use crate::args::Args;
use crate::args::image::open_path;
use crate::host::streams::STDOUT;
use crate::table::options::{Applet, Manners, Operand, Opt, Takes};
use crate::ui::escape::Escape;
use crate::ui::failure::Failure;
use crate::ui::io::Io;

/// What is to be done; of several the last counts.
const ACTIONS: &[Opt] = &[
    Opt::with("list", "PATH", Takes::Path, "List a directory of the image").short('l'),
    Opt::with("cat", "PATH", Takes::Path, "Print the content of a regular file").short('c'),
    Opt::with("xattr", "PATH", Takes::Path, "Print extended attributes").short('x'),
    Opt::with("stat", "PATH", Takes::Path, "Print all that an inode says, its place in the image included").short('s'),
    Opt::with("unpack-path", "PATH", Takes::Path, "Unpack this directory or file; / is everything").short('u'),
    Opt::flag("describe", "Print a list of everything, in the format that gensquashfs reads").short('d'),
];

const OPTIONS: &[Opt] = &[
    Opt::with(
        "unpack-root",
        "PATH",
        Takes::Path,
        "With --unpack-path: the directory to unpack to, instead of the present one. With --describe: what is put in front of \
         the places of regular files",
    )
    .short('p'),
    Opt::flag("no-dev", "Leave out devices").short('D'),
    Opt::flag("no-sock", "Leave out sockets").short('S'),
    Opt::flag("no-fifo", "Leave out named pipes").short('F'),
    Opt::flag("no-slink", "Leave out symbolic links").short('L'),
    Opt::flag("no-empty-dir", "Leave out directories that are empty, or have nothing left in them").short('E'),
    Opt::flag("no-sparse", "Write zeros where files have holes").short('Z'),
    Opt::flag("set-xattr", "Set extended attributes of what is unpacked").short('X'),
    Opt::flag("set-times", "Set times of what is unpacked").short('T'),
    Opt::flag("chmod", "Set permissions of what is unpacked").short('C'),
    Opt::flag("chown", "Set owner and group of what is unpacked").short('O'),
    Opt::flag("quiet", "Do not print the names of what is unpacked").short('q'),
];

/// The command's table.
pub const APPLET: Applet = Applet {
    name: "rdsquashfs",
    about: "Look into a SquashFS image or unpack it (drop-in for squashfs-tools-ng)",
    details: String::new,
    options: &[ACTIONS, OPTIONS],
    operands: &[Operand { name: "IMAGE", help: "The image", required: true, of: &[] }],
    manners: Manners::DropIn,
    run,
};

fn run(args: &Args, io: &mut Io) -> Result<(), Failure> {
    let Some((action, path)) = action(args)? else { return Err(Failure::usage("No operation specified")) };
    let options = Options::of(args);
    let image = args.operand("IMAGE").map(PathBuf::from).ok_or_else(|| Failure::usage("Missing image argument"))?;
    if action == "unpack-path" {
        return unpack_path(image, path, options, io);
    }
    let image = open_path(image)?;
    match action {
        "list" => show::list(&image, &path, options.omit, io),
        "cat" => cat(&image, path, io),
        "xattr" => show::xattrs(&image, &path, io),
        "stat" => show::stat(&image, &path, io),
        _ => describe::describe(
            &image,
            options.omit,
            options.root.as_deref().map(|root| root.as_os_str().as_bytes()),
            io,
        ),
    }
}

/// The last action that was asked for, and its path.
fn action(args: &Args) -> Result<Option<(&'static str, Vec<u8>)>, Failure> {
    // Each is asked for, given or not.
    let given: Vec<&Opt> = ACTIONS.iter().filter(|action| args.given(action.long)).collect();
    let last = given.iter().filter_map(|action| Some((args.position(action.long)?, action.long))).max();
    let Some((_, action)) = last else { return Ok(None) };
    let Some(raw) = (action != "describe").then(|| args.raw(action)).flatten() else {
        return Ok(Some((action, Vec::new())));
    };
    match path::canonical(raw.as_bytes()) {
        Ok(path) => Ok(Some((action, path))),
        Err(path::PathFault::Empty) => Ok(Some((action, Vec::new()))),
        Err(fault) => Err(Failure::usage(format!("Invalid path: {} ({fault})", raw.escaped()))),
    }
}

/// What else was asked for.
struct Options {
    omit: Omit,
    root: Option<PathBuf>,
    kept: Kept,
    sparse: bool,
    quiet: bool,
}

impl Options {
    fn of(args: &Args) -> Options {
        let omit = Omit {
            devices: args.flag("no-dev"),
            sockets: args.flag("no-sock"),
            fifos: args.flag("no-fifo"),
            symlinks: args.flag("no-slink"),
            empty_directories: args.flag("no-empty-dir"),
        };
        let permissions = args.flag("chmod");
        let kept = Kept {
            permissions,
            owners: args.flag("chown"),
            set_id: permissions,
            xattrs: args.flag("set-xattr"),
            times: args.flag("set-times"),
            destination: false,
        };
        let sparse = !args.flag("no-sparse");
        Options { omit, root: args.path("unpack-root"), kept, sparse, quiet: args.flag("quiet") }
    }
}

/// Unlike `packline cat`, links are not followed.
fn cat(image: &OpenedImage, path: Vec<u8>, io: &mut Io) -> Result<(), Failure> {
    let inode = show::find(image, &path)?;
    if !matches!(inode.node, packline::image::read::Node::File(_)) {
        let (shown, path) = (image.shown.escaped(), crate::ui::escape::escaped(&path));
        return Err(Failure::failed(format!("{shown}: /{path}: not a regular file")));
    }
    io.refuse_input(&image.shown)?;
    let resources = io.host.resources();
    Ok(packline::cat(image, &[path], &resources, &mut io.stdout, STDOUT)?)
}

fn unpack_path(image: PathBuf, path: Vec<u8>, options: Options, io: &mut Io) -> Result<(), Failure> {
    let opened = open_path(image.clone())?;
    let directory = show::find(&opened, &path)?.node_type() == packline::image::read::NodeType::Directory;
    drop(opened);
    // What is not a directory is unpacked out of the one it is in.
    let (subdirectory, include) = if directory { (path, Patterns::new()) } else { parted(&path)? };
    let destination = options.root.unwrap_or_else(|| PathBuf::from("."));
    std::fs::create_dir_all(&destination)
        .map_err(|cause| Failure::failed(format!("{}: cannot create: {cause}", destination.escaped())))?;
    let request = UnpackRequest {
        force: true,
        subdirectory,
        selection: Selection { include, omit: options.omit, ..Selection::all() },
        kept: options.kept,
        sparse: options.sparse,
        resources: io.host.resources(),
        temporaries: io.temporaries.clone(),
        ..UnpackRequest::new(ImagePlace::new(image), destination)
    };
    unpack(request, &mut Names { io, quiet: options.quiet })?;
    io.stdout.flush().map_err(Failure::printing)
}

/// The directory of a path, and a pattern that matches nothing but its last name.
fn parted(path: &[u8]) -> Result<(Vec<u8>, Patterns), Failure> {
    let at = path.iter().rposition(|byte| *byte == b'/');
    let (directory, name) = at.map_or((&b""[..], path), |at| (&path[..at], &path[at + 1..]));
    let mut literal = b"/".to_vec();
    literal.extend(name.iter().flat_map(|byte| [b'\\', *byte]));
    let mut patterns = Patterns::new();
    patterns.add(&literal).map_err(|fault| Failure::failed(fault.to_string()))?;
    Ok((directory.to_vec(), patterns))
}

/// Prints names as they are unpacked.
struct Names<'a> {
    io: &'a mut Io,
    quiet: bool,
}

impl Observer for Names<'_> {
    fn entry(&mut self, entry: EntryInfo<'_>, _: &Progress) {
        if !self.quiet && !entry.path.is_empty() {
            let verb = if entry.kind == EntryKind::File { "unpacking" } else { "creating" };
            let line = format!("{verb} {}\n", crate::ui::escape::escaped(entry.path));
            // Names that do not get out are no reason to fail.
            let _: std::io::Result<()> = self.io.stdout.write_all(line.as_bytes());
        }
    }

    fn warning(&mut self, message: &str) {
        self.io.say(&format!("WARNING: {message}"));
    }
}
