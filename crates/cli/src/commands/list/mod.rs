//! `packline list`: names in an image, alone, with their attributes, or as JSON.

mod tar;

use std::io::Write;
use std::path::Path;

use packline::image::read::{Inode, Node, Visit};
use packline::tree::escape;
use packline::{Container, ImageEntries, OpenedImage, Selection};
use serde_json::{Map, Value, json};

use crate::args::Args;
use crate::args::image::{IMAGE, PLACE_OPTIONS, open};
use crate::args::patterns;
use crate::table::options::{Applet, Manners, Operand, Opt};
use crate::ui::escape::{Escape, escaped, escaped_path, put_json};
use crate::ui::failure::Failure;
use crate::ui::io::Io;
use crate::ui::mode::{mode_string, type_name};
use crate::ui::time::Moment;

const OPTIONS: &[Opt] = &[
    Opt::flag("long", "Show type, permissions, owner, size or device number, and time (UTC) of each entry").short('l'),
    Opt::flag("json", "Print each entry as a JSON object on a line of its own, with all there is to know of it"),
    Opt::flag("null", "Print names as the bytes they are, each followed by a NUL byte").short('0'),
    patterns::EXCLUDE,
];

/// The command's table.
pub const APPLET: Applet = Applet {
    name: "list",
    about: "List what is in an image, or in a tar or .lrz file",
    details,
    options: &[OPTIONS, PLACE_OPTIONS],
    operands: &[
        IMAGE,
        Operand {
            name: "PATTERN...",
            help: "List only entries that match one of these patterns, and all below them; one that matches nothing is an error",
            required: false,
            of: &[],
        },
    ],
    manners: Manners::Packline,
    run,
};

fn details() -> String {
    let text = "Names come in the order of the tree, a directory before what is in it; the root is shown as '.'.\n\
     In names, \\\\ stands for a backslash, \\n \\t \\r for those characters, \\xHH for any other byte that a terminal would \
     obey or that is no UTF-8. In JSON a name that is no UTF-8 has its exact bytes in a second member, path_hex.\n\
     A tar, plain or compressed, or that in a .lrz file is listed in its own order, with no number of links and of inodes; a \
     hard link shows the name it leads to. An image inside of a tar is listed with --offset.\n\
     Exits with 1 if something could not be read or a pattern matches nothing; with 0 if standard output is closed by its \
     reader.\n\
     Examples: packline list root.sqfs\n          \
     packline list -l root.sqfs /etc 'usr/bin/x*'\n          \
     packline list --json root.sqfs | jq -r 'select(.size > 1000000) | .path'";
    format!("{}\n{text}", patterns::LANGUAGE)
}

/// How an entry is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Short,
    Long,
    Json,
    Raw,
}

fn run(args: &Args, io: &mut Io) -> Result<(), Failure> {
    let form = form(args)?;
    let selection = patterns::selection(args)?;
    let path = args.required("IMAGE")?;
    let container = Container::of_file(&path).filter(|_| !args.given("offset"));
    match container {
        Some(container @ (Container::Tar | Container::Compressed(_) | Container::Lrz)) => {
            tar::run(args, (&path, container), form, &selection, io)
        }
        _ => list_image(args, form, &selection, io),
    }
}

fn list_image(args: &Args, form: Form, selection: &Selection, io: &mut Io) -> Result<(), Failure> {
    let image = open(args)?;
    let (mut sound, mut printed) = (true, Ok(()));
    for entry in ImageEntries::new(&image, selection) {
        match entry {
            Ok(visit) => printed = io.stdout.write_all(&line(&image, &visit, form)?).map_err(Failure::printing),
            Err(fault) => sound = complain(io, &fault.to_string()),
        }
        if printed.is_err() {
            return ended(printed, sound);
        }
    }
    sound &= all_found(selection, &image.shown, io);
    ended(io.stdout.flush().map_err(Failure::printing), sound)
}

/// Whether every pattern matched something; reports those that did not.
pub(crate) fn all_found(selection: &Selection, place: &Path, io: &mut Io) -> bool {
    let place = place.escaped();
    if let Some(warning) = selection.unmatched_exclude(&place) {
        io.say(&format!("packline: warning: {warning}"));
    }
    let unmatched = selection.unmatched(&place);
    unmatched.is_none_or(|error| complain(io, &error.to_string()))
}

/// How a listing ends. That its reader is gone does not make it sound.
pub(crate) fn ended(printed: Result<(), Failure>, sound: bool) -> Result<(), Failure> {
    match printed {
        Ok(()) | Err(Failure::BrokenPipe) if !sound => Err(Failure::Said(1)),
        printed => printed,
    }
}

/// Says what is wrong; what else there is to list is listed all the same.
fn complain(io: &mut Io, what: &str) -> bool {
    io.say(&format!("packline: {what}"));
    false
}

fn form(args: &Args) -> Result<Form, Failure> {
    let forms = [("long", Form::Long), ("json", Form::Json), ("null", Form::Raw)];
    let asked: Vec<Form> = forms.into_iter().filter(|(long, _)| args.flag(long)).map(|(_, form)| form).collect();
    match asked[..] {
        [] => Ok(Form::Short),
        [form] => Ok(form),
        _ => Err(Failure::usage("only one of --long, --json and --null can be used")),
    }
}

fn line(image: &OpenedImage, visit: &Visit, form: Form) -> Result<Vec<u8>, Failure> {
    let path: &[u8] = if visit.path.is_empty() { b"." } else { &visit.path };
    Ok(match form {
        Form::Raw => [path, b"\0"].concat(),
        Form::Short => format!("{}\n", escaped(path)).into_bytes(),
        Form::Long => long(&visit.path, &visit.inode).into_bytes(),
        Form::Json => {
            let xattrs = image.image.xattrs(&visit.inode).map_err(|cause| image.fault_at(&visit.path, cause))?;
            format!("{}\n", escape::json(&object(path, &visit.inode, &xattrs).to_string())).into_bytes()
        }
    })
}

/// Owners as numbers: the names that this machine has for them are not the image's.
fn long(path: &[u8], inode: &Inode) -> String {
    let meta = inode.meta;
    let mode = mode_string(inode.node_type(), meta.mode);
    let owner = format!("{}/{}", meta.uid, meta.gid);
    let mut line = format!(
        "{mode} {owner:<11} {:>12} {} {}",
        extent(&inode.node),
        Moment::of(meta.mtime).iso(),
        escaped_path(path)
    );
    if let Node::Symlink(target) = &inode.node {
        line.push_str(" -> ");
        line.push_str(&escaped(target));
    }
    line.push('\n');
    line
}

/// Size, or device number.
fn extent(node: &Node) -> String {
    match node {
        Node::BlockDevice(device) | Node::CharDevice(device) => format!("{},{}", device.major, device.minor),
        node => size(node).to_string(),
    }
}

/// Bytes, as `stat` on the mounted image tells them.
fn size(node: &Node) -> u64 {
    match node {
        Node::File(file) => file.size,
        Node::Symlink(target) => target.len() as u64,
        // The kernel counts the entries `.` and `..` that are not stored.
        Node::Directory(directory) => u64::from(directory.length) + 3,
        _ => 0,
    }
}

fn object(path: &[u8], inode: &Inode, xattrs: &[packline::tree::Xattr]) -> Value {
    let mut object = Map::new();
    put_json(&mut object, "path", path);
    let meta = inode.meta;
    let members = [
        ("type", json!(type_name(inode.node_type()))),
        ("mode", json!(format!("{:04o}", meta.mode))),
        ("uid", json!(meta.uid)),
        ("gid", json!(meta.gid)),
        ("mtime", json!(meta.mtime)),
        ("size", json!(size(&inode.node))),
        ("links", json!(inode.links)),
        ("inode", json!(inode.number)),
    ];
    object.extend(members.map(|(key, value)| (key.to_string(), value)));
    match &inode.node {
        Node::Symlink(target) => put_json(&mut object, "target", target),
        Node::BlockDevice(device) | Node::CharDevice(device) => {
            object.insert("major".to_string(), json!(device.major));
            object.insert("minor".to_string(), json!(device.minor));
        }
        Node::File(file) => {
            object.insert("sparse_bytes".to_string(), json!(file.sparse));
        }
        _ => {}
    }
    if !xattrs.is_empty() {
        object.insert("xattrs".to_string(), xattrs.iter().map(xattr).collect());
    }
    object.into()
}

pub(crate) fn xattr(xattr: &packline::tree::Xattr) -> Value {
    let mut object = Map::new();
    put_json(&mut object, "name", &xattr.name);
    put_json(&mut object, "value", &xattr.value);
    object.into()
}
