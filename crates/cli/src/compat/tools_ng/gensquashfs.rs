//! `gensquashfs`: a directory or a pack file becomes an image, with the options, file formats, defaults and exit codes of
//! squashfs-tools-ng 1.3.
//!
//! Differences, all on purpose: the flag `align` of sort files, which the manual page promises and that release refuses, is
//! honoured, and so are hard links of pack files, which that release stores as symbolic links; owners that `-u` and `-g` force
//! are given to the root too, as the manual page says; a word too many on a line of a pack file is an error; hard links stay hard
//! links whatever owners are forced.

use std::cell::RefCell;
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use packline::image::Options;
use packline::tree::{DirectoryOptions, FileContexts, Meta, MountPoints, SortFile, XattrFile};
use packline::{Changes, Dress, Format, Hints, List, PackRequest, SourceSpec, Unsupported};

use crate::args::Args;
use crate::compat::tools_ng;
use crate::table::options::{Applet, Manners, Operand, Opt, Takes};
use crate::ui::escape::Escape;
use crate::ui::failure::Failure;
use crate::ui::io::Io;
use crate::ui::observer::{Manner, run_pack};

const ANY_ID: Takes = Takes::Number { least: 0, most: u32::MAX as i64 };
/// Threads that read files ahead.
const READERS: usize = 4;

const SOURCE_OPTIONS: &[Opt] = &[
    Opt::with("pack-file", "FILE", Takes::Path, "Pack what this file lists, a line an entry; see below").short('F'),
    Opt::with(
        "pack-dir",
        "DIR",
        Takes::Path,
        "Pack what is in this directory. With --pack-file: the directory that the listed files lie in, instead of that of the \
         pack file",
    )
    .short('D'),
    Opt::with("sort-file", "FILE", Takes::Path, "Pack files in the order of this list, and as its flags ask; see below").short('S'),
    Opt::with("xattr-file", "FILE", Takes::Path, "Set the extended attributes of this file, as getfattr --dump prints them")
        .short('A'),
    Opt::with("selinux", "FILE", Takes::Path, "Label everything by this SELinux file_contexts file").short('s'),
    Opt::with("set-uid", "UID", ANY_ID, "Owner of everything, whatever the pack file or directory says").short('u'),
    Opt::with("set-gid", "GID", ANY_ID, "Group of everything, whatever the pack file or directory says").short('g'),
    Opt::flag("all-root", "Same as --set-uid 0 --set-gid 0"),
];

/// Options that say how a directory is read: without a pack file only.
const DIRECTORY_OPTIONS: &[Opt] = &[
    Opt::flag("keep-time", "Keep the times of the directory's entries instead of setting the default on everything")
        .short('k'),
    Opt::flag("keep-xattr", "Keep extended attributes").short('x'),
    Opt::flag("one-file-system", "Leave out mount points, with all below them").short('o'),
    Opt::flag("no-hard-links", "Pack each name of a file as a file of its own").short('H'),
];

/// The command's table.
pub const APPLET: Applet = Applet {
    name: "gensquashfs",
    about: "Turn a directory or a list of files into a SquashFS image (drop-in for squashfs-tools-ng)",
    details,
    options: &[SOURCE_OPTIONS, DIRECTORY_OPTIONS, tools_ng::IMAGE_OPTIONS, tools_ng::OUTPUT_OPTIONS],
    operands: &[Operand { name: "IMAGE", help: "The image to write", required: false, of: &[] }],
    manners: Manners::DropIn,
    run,
};

fn details() -> String {
    format!("{}\n{LINKS}\n\n{FORMATS}", tools_ng::details())
}

const LINKS: &str = "Names of one file stay hard links, with --set-uid and --set-gid too (1.3.1 splits them into files then); \
                     --no-hard-links makes a file of each.";

const FORMATS: &str = r#"Pack file, a line an entry; names with blanks stand in quotes, \" and \\ inside them:
    file <path> <mode> <uid> <gid> [<location on the host>]
    dir <path> <mode> <uid> <gid>
    nod <path> <mode> <uid> <gid> <b|c> <major> <minor>
    slink <path> <mode> <uid> <gid> <target>
    link <path> <any> <any> <any> <target>
    pipe <path> <mode> <uid> <gid>
    sock <path> <mode> <uid> <gid>
    glob <path> <mode|*> <uid|*> <gid|*> [OPTIONS...] [--] [<directory on the host>]
Options of glob: -type b|c|d|f|l|p|s (repeatable), -name PATTERN, -path PATTERN, -xdev or -mount, -keeptime,
-nohardlinks, -nonrecursive.
    # The tree of directories first, then what is to be in it
    glob /usr/lib 0755 0 0 -type d ./lib
    glob /usr/lib 0755 0 0 -type f -name "*.so.*" ./lib

Sort file: priority (lower ones first, 0 for files that are not listed), flags in brackets, path in the image. Flags: glob,
glob_no_path, align, dont_fragment, dont_compress, dont_deduplicate, nosparse.
    -8000  [glob]                         bin/*
    -9000  [dont_compress,dont_fragment]  boot/vmlinuz

Xattr file: the attributes of a path after a line '# file: PATH'; values in quotes, hexadecimal (0x) or base64 (0s).
    # file: dev/rfkill
    security.selinux="system_u:object_r:wireless_device_t:s0""#;

fn run(args: &Args, io: &mut Io) -> Result<(), Failure> {
    if tools_ng::answers_help(args, io)? {
        return Ok(());
    }
    let (request, dress) = request(args, io)?;
    run_pack(request, Manner::ToolsNg { quiet: args.flag("quiet") }, io)?;
    dress.borrow().unused().iter().for_each(|what| io.say(&format!("WARNING: {what}")));
    Ok(())
}

/// What the source and the options that belong to it come to.
struct Input {
    source: SourceSpec,
    hints: Option<Hints>,
    /// Time of everything, where the source does not say it entry by entry.
    mtime: Option<i64>,
    /// Attributes of the root, where the source's own do not count.
    root: Option<Meta>,
}

/// The pack that the arguments ask for, and what it hands out to entries.
fn request(args: &Args, io: &mut Io) -> Result<(PackRequest, Rc<RefCell<Dress>>), Failure> {
    let output = output(args)?;
    let (uid, gid) = owners(args)?;
    let mut defaults = tools_ng::defaults(args, io)?;
    let image: Options = tools_ng::image_options(args, defaults)?;
    let resources = tools_ng::resources(args, &io.host)?;
    (defaults.uid, defaults.gid) = (uid.unwrap_or(defaults.uid), gid.unwrap_or(defaults.gid));
    let dress = dress(args)?;
    for long in ["pack-file", "sort-file", "xattr-file", "selinux"] {
        args.path(long).map_or(Ok(()), |input| packline::must_differ(&input, &output))?;
    }
    let input = input(args, defaults, &output, io)?;
    let dress = Rc::new(RefCell::new(Dress { root: input.root, ..dress }));
    let changes = Changes {
        uid,
        gid,
        mtime: input.mtime,
        dress: Some(dress.clone()),
        unsupported: Unsupported::Refuse,
        ..Changes::default()
    };
    let request = PackRequest {
        source: input.source,
        output,
        force: args.flag("force"),
        format: Format::SquashFs,
        lenient_tar: false,
        image,
        changes,
        defaults,
        hints: input.hints,
        resources,
        temporaries: io.temporaries.clone(),
    };
    Ok((request, dress))
}

fn output(args: &Args) -> Result<PathBuf, Failure> {
    if !args.given("pack-file") && !args.given("pack-dir") {
        return Err(Failure::usage("no input: --pack-file or --pack-dir is needed"));
    }
    args.operand("IMAGE").map(PathBuf::from).ok_or_else(|| Failure::usage("missing argument: the image to write"))
}

/// Of `--all-root` and `--set-uid` or `--set-gid` the last one given counts.
fn owners(args: &Args) -> Result<(Option<u32>, Option<u32>), Failure> {
    let root = args.position("all-root").filter(|_| args.flag("all-root"));
    let owner = |long: &'static str, id: Option<i64>| match id {
        Some(id) if args.position(long) > root => Some(id as u32),
        _ => root.map(|_| 0),
    };
    Ok((owner("set-uid", args.number("set-uid")?), owner("set-gid", args.number("set-gid")?)))
}

fn dress(args: &Args) -> Result<Dress, Failure> {
    let contexts = args.path("selinux").map(|path| FileContexts::open(&path)).transpose();
    let xattrs = read(args, "xattr-file")?.map(|(name, text)| XattrFile::parse(&name, &text)).transpose();
    Ok(Dress { root: None, xattrs: xattrs.map_err(Failure::failed)?, contexts: contexts.map_err(Failure::failed)? })
}

fn input(args: &Args, defaults: Meta, output: &Path, io: &mut Io) -> Result<Input, Failure> {
    let sort = read(args, "sort-file")?.map(|(name, text)| SortFile::parse(&name, &text)).transpose();
    let sort = sort.map_err(Failure::failed)?;
    match (args.path("pack-file"), args.path("pack-dir")) {
        (Some(file), directory) => {
            let list = listed(args, &file, directory, defaults, io)?;
            list.refuse_output(output)?;
            let (source, hints) = sorted(list, sort, io);
            Ok(Input { source, hints, mtime: None, root: None })
        }
        (None, directory) => walked(args, directory.unwrap_or_default(), defaults, sort, output, io),
    }
}

/// What a pack file names.
fn listed(args: &Args, file: &Path, directory: Option<PathBuf>, defaults: Meta, io: &mut Io) -> Result<List, Failure> {
    for option in DIRECTORY_OPTIONS {
        if args.flag(option.long) {
            io.say(&format!("WARNING: --{} changes nothing with --pack-file", option.long));
        }
    }
    let base = directory.unwrap_or_else(|| file.parent().map(Path::to_path_buf).unwrap_or_default());
    List::of_pack_file(file, &base, defaults).map_err(Failure::failed)
}

/// Everything in a directory. Without a sort file it is packed as it is walked, so that no list of it need be held.
fn walked(
    args: &Args,
    path: PathBuf,
    defaults: Meta,
    sort: Option<SortFile>,
    output: &Path,
    io: &mut Io,
) -> Result<Input, Failure> {
    let options = DirectoryOptions {
        xattrs: args.flag("keep-xattr"),
        hard_links: !args.flag("no-hard-links"),
        mount_points: if args.flag("one-file-system") { MountPoints::Skip } else { MountPoints::Enter },
        readers: READERS,
        ..DirectoryOptions::default()
    };
    let mtime = (!args.flag("keep-time")).then_some(defaults.mtime);
    let (source, hints) = match sort {
        None => (SourceSpec::Directory { path, options }, None),
        Some(_) => sorted(List::of_directory(&path, options, output).map_err(Failure::failed)?, sort, io),
    };
    Ok(Input { source, hints, mtime, root: Some(defaults) })
}

fn sorted(mut list: List, sort: Option<SortFile>, io: &mut Io) -> (SourceSpec, Option<Hints>) {
    let warnings = sort.map_or_else(Vec::new, |sort| list.sort(&sort));
    warnings.iter().for_each(|what| io.say(&format!("WARNING: {what}")));
    list.into_source(READERS)
}

/// The name and text of the file that an option names.
fn read(args: &Args, long: &'static str) -> Result<Option<(String, Vec<u8>)>, Failure> {
    let Some(path) = args.path(long) else { return Ok(None) };
    let text = fs::read(&path).map_err(|cause| Failure::failed(format!("{}: cannot read: {cause}", path.escaped())));
    Ok(Some((path.escaped(), text?)))
}
