//! `packline list` prints the names in an image: alone, with their attributes, or as JSON.

mod tar;

use std::ffi::OsString;
use std::io::Write;
use std::path::Path;

use packline::requests::Archive;
use packline_image::{ImageEntries, OpenedImage, Selection, Usage, UsageById};
use packline_runtime::escape;
use packline_tree::Meta;
use packline_volume::{Inode, Node, Visit};
use serde_json::{Map, Value, json};

use crate::args::cache::ReadCache;
use crate::args::image::{ArchiveArgs, refuse_keys};
use crate::args::keys::OpeningKeys;
use crate::args::patterns::{self, Exclude};
use crate::args::registry::ContainerArgs;
use crate::args::text_list::Ending;
use crate::args::{Command, Invocation, wrong};
use crate::host::names::Names;
use crate::ui::escape::{Escape, escaped, escaped_path, put_json};
use crate::ui::failure::Failure;
use crate::ui::io::Io;
use crate::ui::mode::{mode_string, type_name};
use crate::ui::size::show_human;
use crate::ui::time::{Moment, put_nanoseconds};

/// List the entries of an image, an archive, a .lrz or .pln file
#[derive(Debug, clap::Args)]
pub struct List {
    #[command(flatten)]
    place: ArchiveArgs,
    /// List only what matches one of these patterns, and everything below it. A pattern that matches nothing is an error
    #[arg(value_name = "PATTERN")]
    patterns: Vec<OsString>,
    /// Show type, permissions, owner, group, size or device number, and time (UTC) of each entry
    #[arg(short, long, conflicts_with_all = ["json", "null"])]
    long: bool,
    /// With --long, show sizes as 1.5K, 23M or 4.0G, like ls -lh. Without --long, -h prints help
    #[arg(short = 'h', long)]
    human_readable: bool,
    /// With --long, show owners and groups as numbers [default: the names on this system; a tar's own names]
    #[arg(long)]
    numeric_owner: bool,
    /// With --long or --json, also show the compressed bytes of each entry in an image, as 'packline du' counts them
    #[arg(long)]
    stored: bool,
    /// Print one JSON object per entry, with all attributes
    #[arg(long, conflicts_with = "null")]
    json: bool,
    /// Print raw names that end with a NUL byte (like find -print0)
    #[arg(short = '0', long)]
    null: bool,
    #[command(flatten)]
    exclude: Exclude,
    #[command(flatten)]
    container: ContainerArgs,
    #[command(flatten)]
    keys: OpeningKeys,
    #[command(flatten)]
    cache: ReadCache,
}

/// The format of an entry.
#[derive(Debug)]
enum Form {
    Short,
    Long(Columns),
    Json,
    Raw,
}

/// The columns of `--long`.
#[derive(Debug)]
struct Columns {
    /// Whether sizes are rounded for people.
    human: bool,
    /// The names of owners; `None` for numbers.
    names: Option<Names>,
}

/// The width of owner and size together.
const OWNER_AND_SIZE: usize = 24;

/// The width of the stored bytes.
const STORED: usize = 11;

impl Command for List {
    const NAME: &'static str = "list";
    const ALIASES: &'static [&'static str] = &["ls"];
    const ESSENTIAL: &'static [&'static str] = &[
        "long",
        "human-readable",
        "json",
        "null",
        "exclude",
        "exclude-from",
        "numeric-owner",
        "identity",
        "passphrase-file",
        "offset",
    ];

    const LEAVES_NOTHING: bool = true;

    const EXAMPLES: &'static [&'static str] = &[
        "packline list root.sqfs",
        "packline list -lh root.sqfs /etc 'usr/bin/x*'",
        "curl -s https://example.org/x.tar.gz | packline list -l -",
        "packline list --json root.sqfs | jq -r 'select(.size > 1000000) | .path'",
    ];

    fn details() -> String {
        let text = "# Names and order\n\
                    Names are in the order of the tree, a directory before its contents; '.' is the root.\n\
                    In names, \\\\ stands for a backslash, \\n \\t \\r for those characters, and \\xHH for any other byte \
                    that a terminal would interpret or that is not UTF-8. In JSON, a name that is not UTF-8 has its exact \
                    bytes in a second member, path_hex.\n\
                    A tar, also a compressed one or the one in a .lrz file, is listed in its own order, without link counts \
                    and inode numbers; a hard link shows its target. A zip archive is listed in the order of its central directory. In a cpio archive, hard links are listed after their file. \
                    A container image (oci:DIR[:TAG], oci-archive:FILE[:TAG], docker-archive:FILE[:TAG] or docker://IMAGE) is listed as the \
                    tree of its merged layers, which are first decompressed to unnamed temporary files in TMPDIR or /var/tmp. \
                    --offset lists an image inside a tar or a zip archive.\n\
                    # Sources\n\
                    From a .pln file that contains an image or an archive, list reads only the parts that it needs, and stores \
                    nothing.\n\
                    A tar or a cpio archive from standard input is listed as it arrives. An image, a zip archive, a .lrz or a .pln file from a pipe is \
                    stored first, in TMPDIR or /var/tmp.";
        format!("{text}\n{}", patterns::LANGUAGE)
    }

    fn run(self, invocation: &Invocation, io: &mut Io) -> Result<(), Failure> {
        invocation.need(&[("human-readable", "long"), ("numeric-owner", "long")])?;
        if self.stored && !(self.long || self.json) {
            return Err(wrong("stored", "has no effect without --long or --json"));
        }
        let selection = self.exclude.selection(&self.patterns, Ending::Line, io)?;
        let form = self.form(io);
        let resources = io.host.resources();
        self.container.check([&self.place.image])?;
        self.cache.open([&self.place.image], invocation, io)?;
        let archive = self.place.offset.open(&self.place.image, &self.container, &resources, io)?;
        refuse_keys(&archive, invocation)?;
        let archive = match archive {
            Archive::Pln(file) => self.place.offset.open_in_pln(file, &self.keys, &resources, io)?,
            archive => archive,
        };
        match archive {
            Archive::Image(image) => {
                let usage = if self.stored { Some(Usage::of(&image, resources.memory)?) } else { None };
                list_image(&image, Entries { form, stored: usage.as_ref().map(Usage::by_id) }, &selection, io)
            }
            archive if self.stored => Err(wrong("stored", format!("has no effect on {}", archive.content_kind()))),
            mut archive => tar::run(&mut archive, &form, &selection, io),
        }
    }
}

impl List {
    fn form(&self, io: &Io) -> Form {
        match (self.long, self.json, self.null) {
            (true, _, _) => {
                let names = (!self.numeric_owner).then(io.host.names);
                Form::Long(Columns { human: self.human_readable, names })
            }
            (_, true, _) => Form::Json,
            (_, _, true) => Form::Raw,
            _ => Form::Short,
        }
    }
}

/// How the entries of an image are printed.
struct Entries<'u> {
    form: Form,
    /// The stored bytes of the entries, if they are shown.
    stored: Option<UsageById<'u>>,
}

fn list_image(image: &OpenedImage, entries: Entries<'_>, selection: &Selection, io: &mut Io) -> Result<(), Failure> {
    let mut sound = true;
    let mut printed = Ok(());
    for entry in ImageEntries::new(image, selection) {
        match entry {
            Ok(visit) => printed = io.stdout.write_all(&entries.line(image, &visit)?).map_err(Failure::printing),
            Err(fault) => sound = report_fault(io, &fault.to_string()),
        }
        if printed.is_err() {
            return ended(printed, sound);
        }
    }
    sound &= all_patterns_matched(selection, &image.display_path, io);
    ended(io.stdout.flush().map_err(Failure::printing), sound)
}

/// Reports patterns that matched nothing, and returns whether there are none.
pub(crate) fn all_patterns_matched(selection: &Selection, place: &Path, io: &mut Io) -> bool {
    let place = place.escaped();
    if let Some(warning) = selection.unmatched_exclude(&place) {
        io.warn(&warning);
    }
    let unmatched = selection.unmatched(&place);
    unmatched.is_none_or(|error| report_fault(io, &error.to_string()))
}

/// Returns how a listing ends. A closed pipe does not hide the damage of an image.
pub(crate) fn ended(printed: Result<(), Failure>, sound: bool) -> Result<(), Failure> {
    match printed {
        Ok(()) | Err(Failure::BrokenPipe) if !sound => Err(Failure::AlreadyReported(1)),
        printed => printed,
    }
}

/// Prints a fault; the remaining entries are still listed.
fn report_fault(io: &mut Io, what: &str) -> bool {
    io.print_message(what);
    false
}

impl Entries<'_> {
    fn line(&self, image: &OpenedImage, visit: &Visit) -> Result<Vec<u8>, Failure> {
        let path: &[u8] = if visit.path.is_empty() { b"." } else { &visit.path };
        let stored = self.stored.as_ref().map(|usage| usage.find(visit.inode.at).unwrap_or_default().stored());
        Ok(match &self.form {
            Form::Raw => [path, b"\0"].concat(),
            Form::Short => [escaped(path).as_bytes(), b"\n"].concat(),
            Form::Long(columns) => long(&visit.path, &visit.inode, columns, stored).into_bytes(),
            Form::Json => {
                let xattrs = image.volume.xattrs(&visit.inode).map_err(|cause| image.fault_at(&visit.path, cause))?;
                let mut object = object(path, &visit.inode, &xattrs);
                if let Some(bytes) = stored {
                    object.insert("stored_bytes".to_string(), json!(bytes));
                }
                format!("{}\n", escape::json(&Value::from(object).to_string())).into_bytes()
            }
        })
    }
}

fn long(path: &[u8], inode: &Inode, columns: &Columns, stored: Option<u64>) -> String {
    let mode = mode_string(inode.node_type(), inode.meta.mode);
    let names = columns.names.as_ref();
    let user = names.and_then(|names| names.user(inode.meta.uid)).unwrap_or_default();
    let group = names.and_then(|names| names.group(inode.meta.gid)).unwrap_or_default();
    let mut extent = extent(&inode.node, columns);
    if let Some(bytes) = stored {
        extent.push_str(&format!(" {:>STORED$}", columns.size(bytes)));
    }
    let mut line = columns.row(&mode, inode.meta, (user, group), &extent, path);
    if let Node::Symlink(target) = &inode.node {
        line.push_str(" -> ");
        line.push_str(&escaped(target));
    }
    line.push('\n');
    line
}

impl Columns {
    /// Returns a line up to the path. An owner or a group without a name is shown as a number.
    fn row(&self, mode: &str, meta: Meta, (user, group): (&[u8], &[u8]), extent: &str, path: &[u8]) -> String {
        let shown = |name: &[u8], number: u32| {
            if self.names.is_some() && !name.is_empty() { escaped(name) } else { number.to_string() }
        };
        let owner = format!("{}/{}", shown(user, meta.uid), shown(group, meta.gid));
        // The stored bytes are in a column of their own.
        let stored = extent.find(' ').map_or(0, |at| extent.len() - at);
        let width = OWNER_AND_SIZE.saturating_sub(owner.chars().count() + 1) + stored;
        let time = Moment::of(meta.mtime.seconds()).long_iso();
        format!("{mode} {owner} {extent:>width$} {time} {}", escaped_path(path))
    }

    fn size(&self, bytes: u64) -> String {
        if self.human { show_human(bytes) } else { bytes.to_string() }
    }
}

/// Returns the size, or the device number.
fn extent(node: &Node, columns: &Columns) -> String {
    match node {
        Node::BlockDevice(device) | Node::CharDevice(device) => format!("{},{}", device.major, device.minor),
        node => columns.size(size(node)),
    }
}

/// Returns the size in bytes that `stat` reports on the mounted image.
pub fn size(node: &Node) -> u64 {
    match node {
        Node::File(file) => file.size,
        Node::Symlink(target) => target.len() as u64,
        // The kernel counts the entries `.` and `..` that are not stored.
        Node::Directory(directory) => directory.size,
        _ => 0,
    }
}

fn object(path: &[u8], inode: &Inode, xattrs: &[packline_tree::Xattr]) -> Map<String, Value> {
    let mut object = Map::new();
    put_json(&mut object, "path", path);
    let meta = inode.meta;
    let members = [
        ("type", json!(type_name(inode.node_type()))),
        ("mode", json!(format!("{:04o}", meta.mode))),
        ("uid", json!(meta.uid)),
        ("gid", json!(meta.gid)),
        ("mtime", json!(meta.mtime.seconds())),
        ("size", json!(size(&inode.node))),
        ("links", json!(inode.links)),
        ("inode", json!(inode.number)),
    ];
    object.extend(members.map(|(key, value)| (key.to_string(), value)));
    put_nanoseconds(&mut object, "mtime_nanoseconds", meta.mtime);
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
    object
}

pub(crate) fn xattr(xattr: &packline_tree::Xattr) -> Value {
    let mut object = Map::new();
    put_json(&mut object, "name", &xattr.name);
    put_json(&mut object, "value", &xattr.value);
    object.into()
}
