//! `packline diff`: what differs between two trees, in images or directories.

use std::io::{self, Write};
use std::path::PathBuf;

use packline::image::Superblock;
use packline::tree::escape;
use packline::{Compared, DiffOrder, DiffPlace, DiffRequest, Difference, ImagePlace, What, diff};
use serde_json::{Map, Value, json};

use crate::args::Args;
use crate::args::image::{MACHINE_OPTIONS, resources};
use crate::args::scheduling;
use crate::args::scheduling::Watched;
use crate::commands::cat::said;
use crate::table::options::{Applet, Manners, Operand, Opt, Takes};
use crate::ui::counters;
use crate::ui::escape::{Escape, escaped, escaped_path, put_json};
use crate::ui::failure::Failure;
use crate::ui::io::Io;
use crate::ui::mode::type_name;

const ANY_OFFSET: Takes = Takes::Size { least: 0, most: u64::MAX };

const OPTIONS: &[Opt] = &[
    Opt::flag("no-contents", "Do not compare contents of files, only their sizes").short('C'),
    Opt::flag("no-owner", "Do not compare owners and groups").short('O'),
    Opt::flag("no-permissions", "Do not compare permission bits").short('P'),
    Opt::flag("no-times", "Do not compare modification times").short('T'),
    Opt::flag("no-xattrs", "Do not compare extended attributes").short('X'),
    Opt::flag("no-hard-links", "Do not compare which names belong to one file").short('H'),
    Opt::flag("inode-num", "Compare inode numbers too, of two images").short('I'),
    Opt::flag("super", "Compare the superblocks too, of two images").short('S'),
    Opt::with(
        "extract",
        "DIR",
        Takes::Path,
        "Extract the files that differ, or that only one side has, to DIR/old and DIR/new",
    )
    .short('e'),
    Opt::flag("json", "Print each difference as a JSON object on a line of its own"),
    Opt::flag("quiet", "Print nothing and stop at the first difference: only the exit status tells").short('q'),
    Opt::with("old-offset", "BYTES", ANY_OFFSET, "Byte of OLD at which its image starts [default: where one is found]"),
    Opt::with("new-offset", "BYTES", ANY_OFFSET, "Byte of NEW at which its image starts [default: where one is found]"),
];

/// The command's table.
pub const APPLET: Applet = Applet {
    name: "diff",
    about: "Show what differs between two trees, each in an image or a directory",
    details,
    options: &[OPTIONS, MACHINE_OPTIONS, scheduling::OPTIONS, scheduling::STATS],
    operands: &[
        Operand { name: "OLD", help: "The first tree: an image, or a directory", required: true, of: &[] },
        Operand { name: "NEW", help: "The second tree", required: true, of: &[] },
    ],
    manners: Manners::Packline,
    run,
};

fn details() -> String {
    "How an image is packed makes no difference: codec, block size, order. Exits with 0 if the trees are equal, 1 if they \
     differ, 2 if something could not be read.\n\
     A line a difference: '- PATH' only OLD has it, '+ PATH' only NEW has it, '! PATH: WHAT' it differs. Names are written as by \
     'packline list'.\n\
     Example: packline diff -T build-1.sqfs rootfs/"
        .to_string()
}

fn run(args: &Args, io: &mut Io) -> Result<(), Failure> {
    ended(compare(args, io))
}

/// How a comparison ends, as diff(1) does: 0 if the trees are equal, 1 if they differ, 2 if that could not be found out.
pub fn ended(equal: Result<bool, Failure>) -> Result<(), Failure> {
    match equal {
        Ok(true) => Ok(()),
        Ok(false) => Err(Failure::Said(1)),
        Err(failure) => Err(Failure::Trouble(Box::new(failure))),
    }
}

/// Whether the trees are equal.
fn compare(args: &Args, io: &mut Io) -> Result<bool, Failure> {
    let (quiet, as_json) = (args.flag("quiet"), args.flag("json"));
    if quiet && as_json {
        return Err(args.wrong("json", "cannot be used with --quiet"));
    }
    let superblocks = args.flag("super");
    let scheduled = scheduling::read(args, io)?;
    let mut request = request(args, io)?;
    request.resources = scheduled.watching(request.resources);
    let extracting = request.extract.is_some();
    let mut printer = Printer { out: &mut io.stdout, gone: false };
    let summary = diff(&request, &mut |difference| {
        if quiet {
            return Ok(false);
        }
        let line = if as_json { json_line(difference) } else { text(difference) };
        printer.line(&line)?;
        Ok(!printer.gone || extracting)
    })?;
    let mut equal = summary.differences == 0;
    if superblocks && (equal || !quiet) {
        let (old, new) = summary.superblocks.ok_or_else(|| args.wrong("super", "a directory has no superblock"))?;
        for (field, old, new) in superblock_fields(&old, &new) {
            equal = false;
            let line = if as_json {
                json!({ "superblock": field, "old": old, "new": new }).to_string()
            } else {
                format!("! superblock: {field} {old} -> {new}")
            };
            if !quiet {
                printer.line(&line).map_err(Failure::printing)?;
            }
        }
    }
    printer.flush().map_err(Failure::printing)?;
    say_counted(&scheduled, as_json, io)?;
    scheduled.write(args, io)?;
    Ok(equal)
}

/// Prints differences as long as there is a reader: the exit status has a meaning without one.
pub struct Printer<'o> {
    /// Standard output.
    pub out: &'o mut dyn Write,
    /// Its reader is gone.
    pub gone: bool,
}

impl Printer<'_> {
    /// Prints a line.
    pub fn line(&mut self, line: &str) -> io::Result<()> {
        if self.gone { Ok(()) } else { writeln!(self.out, "{line}").or_else(|cause| self.unless_gone(cause)) }
    }

    /// Writes what was gathered.
    pub fn flush(&mut self) -> io::Result<()> {
        if self.gone { Ok(()) } else { self.out.flush().or_else(|cause| self.unless_gone(cause)) }
    }

    fn unless_gone(&mut self, cause: io::Error) -> io::Result<()> {
        self.gone = cause.kind() == io::ErrorKind::BrokenPipe;
        if self.gone { Ok(()) } else { Err(cause) }
    }
}

/// Tells what was counted, if that is asked for: beside the differences, or as JSON an object behind them.
fn say_counted(scheduled: &Watched, as_json: bool, io: &mut Io) -> Result<(), Failure> {
    if !as_json {
        said(scheduled, io);
        return Ok(());
    }
    let Some(counted) = scheduled.counted() else { return Ok(()) };
    io.print_json(&format!("{}\n", Value::Object(counters::members(&counted))))
}

fn request(args: &Args, io: &Io) -> Result<DiffRequest, Failure> {
    let compared = Compared {
        contents: !args.flag("no-contents"),
        owners: !args.flag("no-owner"),
        permissions: !args.flag("no-permissions"),
        times: !args.flag("no-times"),
        xattrs: !args.flag("no-xattrs"),
        links: !args.flag("no-hard-links"),
        numbers: args.flag("inode-num"),
        forms: false,
    };
    let (extract, resources) = (args.path("extract"), resources(args, io)?);
    let (old_offset, new_offset) = (args.size("old-offset")?, args.size("new-offset")?);
    let old = place(args.required("OLD")?, old_offset, "old-offset", args)?;
    let new = place(args.required("NEW")?, new_offset, "new-offset", args)?;
    Ok(DiffRequest { old, new, compared, order: DiffOrder::Names, extract, resources })
}

fn place(path: PathBuf, offset: Option<u64>, long: &str, args: &Args) -> Result<DiffPlace, Failure> {
    match (path.is_dir(), offset) {
        (false, offset) => Ok(DiffPlace::Image(ImagePlace { path, offset })),
        (true, None) => Ok(DiffPlace::Directory(path)),
        (true, Some(_)) => Err(args.wrong(long, &format!("{} is a directory", path.escaped()))),
    }
}

/// One line, without its end.
fn text(difference: &Difference) -> String {
    let path = escaped_path(&difference.path);
    match &difference.what {
        What::OnlyOld(_) => format!("- {path}"),
        What::OnlyNew(_) => format!("+ {path}"),
        what => format!("! {path}: {}", described(what)),
    }
}

fn described(what: &What) -> String {
    let owner = |(uid, gid): &(u32, u32)| format!("{uid}/{gid}");
    let device = |device: &packline::tree::Device| format!("{},{}", device.major, device.minor);
    match what {
        What::OnlyOld(_) | What::OnlyNew(_) => String::new(),
        What::Type(old, new) => format!("type {} -> {}", type_name(*old), type_name(*new)),
        What::Form { extended } => format!("{} inode", if *extended { "extended" } else { "basic" }),
        What::Mode(old, new) => format!("permissions {old:04o} -> {new:04o}"),
        What::Owner(old, new) => format!("owner {} -> {}", owner(old), owner(new)),
        What::Time(old, new) => format!("time {old} -> {new}"),
        What::Number(old, new) => format!("inode number {old} -> {new}"),
        What::Target(old, new) => format!("link target {} -> {}", escaped(old), escaped(new)),
        What::Device(old, new) => format!("device {} -> {}", device(old), device(new)),
        What::Xattrs(names) => {
            let names: Vec<String> = names.iter().map(|name| escaped(name)).collect();
            format!("extended attributes {}", names.join(", "))
        }
        What::Links => "hard links".to_string(),
        What::Size(old, new) => format!("size {old} -> {new}"),
        What::Content(at) => format!("content from byte {at} on"),
    }
}

fn json_line(difference: &Difference) -> String {
    escape::json(&object(difference).to_string()).into_owned()
}

fn object(difference: &Difference) -> Value {
    let mut object = Map::new();
    put_json(&mut object, "path", if difference.path.is_empty() { b"." } else { &difference.path });
    let (name, old, new) = members(&difference.what);
    object.insert("difference".to_string(), name.into());
    if let What::Target(old, new) = &difference.what {
        put_json(&mut object, "old", old);
        put_json(&mut object, "new", new);
    }
    object.extend(
        [("old", old), ("new", new)]
            .into_iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(key, value)| (key.to_string(), value)),
    );
    object.into()
}

/// What differs by its name in JSON, and what it was and is.
fn members(what: &What) -> (&'static str, Value, Value) {
    let device = |device: &packline::tree::Device| json!([device.major, device.minor]);
    match what {
        What::OnlyOld(kind) => ("only", json!(type_name(*kind)), Value::Null),
        What::OnlyNew(kind) => ("only", Value::Null, json!(type_name(*kind))),
        What::Type(old, new) => ("type", json!(type_name(*old)), json!(type_name(*new))),
        What::Form { extended } => ("extended", json!(!extended), json!(extended)),
        What::Mode(old, new) => ("mode", json!(format!("{old:04o}")), json!(format!("{new:04o}"))),
        What::Owner(old, new) => ("owner", json!([old.0, old.1]), json!([new.0, new.1])),
        What::Time(old, new) => ("mtime", json!(old), json!(new)),
        What::Number(old, new) => ("inode", json!(old), json!(new)),
        What::Target(..) => ("target", Value::Null, Value::Null),
        What::Device(old, new) => ("device", device(old), device(new)),
        What::Xattrs(names) => ("xattrs", names.iter().map(|name| escaped(name)).collect(), Value::Null),
        What::Links => ("hard_links", Value::Null, Value::Null),
        What::Size(old, new) => ("size", json!(old), json!(new)),
        What::Content(at) => ("content", json!(at), json!(at)),
    }
}

/// A field of a superblock.
type Field = fn(&Superblock) -> u64;

/// Fields of the superblocks that differ, by name.
fn superblock_fields(old: &Superblock, new: &Superblock) -> Vec<(&'static str, u64, u64)> {
    let fields: [(&str, Field); 15] = [
        ("inodes", |block| block.inodes.into()),
        ("created", |block| block.created.into()),
        ("block_size", |block| block.block_size.into()),
        ("fragment_blocks", |block| block.fragments.into()),
        ("compressor", |block| block.compressor.into()),
        ("flags", |block| block.flags.into()),
        ("ids", |block| block.ids.into()),
        ("root_inode", |block| block.root),
        ("bytes_used", |block| block.bytes_used),
        ("id_table", |block| block.id_table),
        ("xattr_table", |block| block.xattr_table),
        ("inode_table", |block| block.inode_table),
        ("directory_table", |block| block.directory_table),
        ("fragment_table", |block| block.fragment_table),
        ("export_table", |block| block.export_table),
    ];
    let values = fields.iter().map(|(name, field)| (*name, field(old), field(new)));
    values.filter(|(_, old, new)| old != new).collect()
}
