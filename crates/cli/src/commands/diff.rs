//! `packline diff` shows the differences between two trees, in images, tars or directories.

use std::io::{self, Write};
use std::mem::discriminant;
use std::path::{Path, PathBuf};

use packline::requests::{lrz_tar, temporary_image};
use packline::{Resources, Source};
use packline_image::{Compared, DIFF_METADATA, DiffPlace, DiffRequest, Difference, FileSystem, What, diff};
use packline_runtime::escape;
use packline_verity::Uuid;
use serde_json::{Map, Value, json};

use crate::args::cache::ReadCache;
use crate::args::image::{PlnOpener, Unopened, unopened};
use crate::args::keys::OpeningKeys;
use crate::args::registry::{ContainerArgs, is_container_image};
use crate::args::run_options::{Machine, RunOptions, SchedulingOptions, Stats};
use crate::args::value::size;
use crate::args::{Command, Invocation, wrong};
use crate::ui::counters;
use crate::ui::escape::{Escape, escaped, escaped_path, put_json};
use crate::ui::failure::Failure;
use crate::ui::io::Io;
use crate::ui::mode::type_name;
use crate::ui::observer::with_observer;
use crate::ui::password::password_of;
use crate::ui::time::{precise, put_nanoseconds};

/// Show the differences between two images, tars, .lrz files, container images or directories
#[derive(Debug, clap::Args)]
pub struct Diff {
    /// The first tree: an image, tar, cpio or zip archive, .lrz or .pln file (a file, a block device, a pipe or a URL; - for standard
    /// input), a container image, or a directory
    old: PathBuf,
    /// The second tree; only one of the two may come from standard input
    new: PathBuf,
    /// Do not compare contents of files, only their sizes
    #[arg(short = 'C', long)]
    no_contents: bool,
    /// Do not compare owners and groups
    #[arg(short = 'O', long)]
    no_owner: bool,
    /// Do not compare permission bits
    #[arg(short = 'P', long)]
    no_permissions: bool,
    /// Do not compare modification times
    #[arg(short = 'T', long)]
    no_times: bool,
    /// Do not compare extended attributes
    #[arg(short = 'X', long)]
    no_xattrs: bool,
    /// Do not compare which names are hard links to one file
    #[arg(short = 'H', long)]
    no_hard_links: bool,
    /// Also compare inode numbers, of two images
    #[arg(short = 'I', long)]
    inode_num: bool,
    /// Also compare the superblocks, of two images with the same file system
    #[arg(short = 'S', long = "super")]
    superblock: bool,
    /// Extract files that differ, or that only one side has, to DIR/old and DIR/new
    #[arg(short, long, value_name = "DIR")]
    extract: Option<PathBuf>,
    /// Print one JSON object per difference
    #[arg(long, conflicts_with = "quiet")]
    json: bool,
    /// Print nothing and stop at the first difference; the exit status is the result
    #[arg(short, long)]
    quiet: bool,
    /// Read the image at this byte offset in OLD [default: search for a superblock]
    #[arg(long, value_name = "BYTES", value_parser = size(0..=u64::MAX))]
    old_offset: Option<u64>,
    /// Read the image at this byte offset in NEW [default: search for a superblock]
    #[arg(long, value_name = "BYTES", value_parser = size(0..=u64::MAX))]
    new_offset: Option<u64>,
    /// Read contents of the EROFS image OLD from this file or block device; may be repeated
    #[arg(long = "old-device", value_name = "FILE", value_hint = clap::ValueHint::AnyPath)]
    old_devices: Vec<PathBuf>,
    /// Read contents of the EROFS image NEW from this file or block device; may be repeated
    #[arg(long = "new-device", value_name = "FILE", value_hint = clap::ValueHint::AnyPath)]
    new_devices: Vec<PathBuf>,
    #[command(flatten)]
    keys: OpeningKeys,
    #[command(flatten)]
    container: ContainerArgs,
    #[command(flatten)]
    cache: ReadCache,
    #[command(flatten)]
    machine: Machine,
    #[command(flatten)]
    stats: Stats,
    #[command(flatten)]
    scheduling: SchedulingOptions,
}

impl Command for Diff {
    const NAME: &'static str = "diff";
    const ESSENTIAL: &'static [&'static str] = &[
        "no-contents",
        "no-owner",
        "no-permissions",
        "no-times",
        "no-xattrs",
        "no-hard-links",
        "super",
        "extract",
        "json",
        "quiet",
    ];

    const EXAMPLES: &'static [&'static str] =
        &["packline diff -T build-1.sqfs rootfs/", "packline diff rootfs.tar.zst rootfs.sqfs"];

    fn details() -> String {
        "The way in which the images were packed makes no difference: codec, block size and order are ignored.\n\
         A tar, a .lrz file or a container image is first packed into an unnamed temporary file in TMPDIR or /var/tmp. A directory that \
         a tar only implies has mode 755, owner root and time 0.\n\
         Each line is one difference: '- PATH' is only in OLD, '+ PATH' is only in NEW, and '! PATH: WHAT' differs. Names are \
         written as in 'packline list'."
            .to_string()
    }

    fn run(self, invocation: &Invocation, io: &mut Io) -> Result<(), Failure> {
        ended(self.compare(invocation, io))
    }
}

/// Returns the exit status of a comparison, as in diff(1): 0 if the trees are equal, 1 if they differ, 2 if they could not be compared.
pub fn ended(equal: Result<bool, Failure>) -> Result<(), Failure> {
    match equal {
        Ok(true) => Ok(()),
        Ok(false) => Err(Failure::AlreadyReported(1)),
        Err(failure) => Err(Failure::Exit(2, Box::new(failure))),
    }
}

/// Returns the file systems of two images; `None` if one side is a directory.
pub fn file_systems(request: &DiffRequest) -> Option<[&FileSystem; 2]> {
    match (&request.old, &request.new) {
        (DiffPlace::Image(old), DiffPlace::Image(new)) => Some([&old.file_system, &new.file_system]),
        _ => None,
    }
}

impl Diff {
    /// Compares the trees and returns whether they are equal.
    fn compare(&self, invocation: &Invocation, io: &mut Io) -> Result<bool, Failure> {
        let options = self.scheduling.start(self.stats.stats, None, &[&self.old, &self.new], io)?;
        let mut request = self.request(invocation, io)?;
        request.resources = options.apply(request.resources);
        let extracting = request.extract.is_some();
        let mut printer = Printer { out: &mut io.stdout, gone: false };
        let summary = diff(&request, &mut |difference| {
            if self.quiet {
                return Ok(false);
            }
            let line = if self.json { json_line(difference) } else { text(difference) };
            printer.line(&line)?;
            Ok(!printer.gone || extracting)
        })?;
        let mut equal = summary.differences == 0;
        if self.superblock && (equal || !self.quiet) {
            let both = file_systems(&request).ok_or_else(|| wrong("super", "a directory has no superblock"))?;
            equal &= self.compare_superblocks(both, &mut printer)?;
        }
        printer.flush().map_err(Failure::printing)?;
        self.print_counters(&options, io)?;
        options.write_trace(invocation, io)?;
        Ok(equal)
    }

    /// Prints the fields that differ, and returns whether all are equal.
    fn compare_superblocks(&self, [old, new]: [&FileSystem; 2], printer: &mut Printer) -> Result<bool, Failure> {
        if discriminant(old) != discriminant(new) {
            return Err(wrong("super", "the images have different file systems"));
        }
        let both = superblock_fields(old).into_iter().zip(superblock_fields(new));
        let mut equal = true;
        for ((field, old), (_, new)) in both.filter(|((_, old), (_, new))| old != new) {
            equal = false;
            if self.quiet {
                break;
            }
            let line = if self.json {
                json!({ "superblock": field, "old": old, "new": new }).to_string()
            } else {
                format!("! superblock: {field} {old} -> {new}")
            };
            printer.line(&line).map_err(Failure::printing)?;
        }
        Ok(equal)
    }

    /// Prints the counters: to standard error, or as a JSON object after the differences.
    fn print_counters(&self, options: &RunOptions, io: &mut Io) -> Result<(), Failure> {
        if !self.json {
            options.print_counters(io);
            return Ok(());
        }
        let Some(counted) = options.counted() else { return Ok(()) };
        io.print_json(&format!("{}\n", Value::Object(counters::members(&counted))))
    }

    fn request(&self, invocation: &Invocation, io: &mut Io) -> Result<DiffRequest, Failure> {
        let compared = Compared {
            contents: !self.no_contents,
            owners: !self.no_owner,
            permissions: !self.no_permissions,
            times: !self.no_times,
            xattrs: !self.no_xattrs,
            links: !self.no_hard_links,
            numbers: self.inode_num,
            forms: false,
        };
        let mut opener = PlnOpener::new(&self.keys, self.machine.resources(&io.host));
        let of_images = self.superblock.then_some("super").or(self.inode_num.then_some("inode-num"));
        self.container.check([&self.old, &self.new])?;
        self.cache.open([&self.old, &self.new], invocation, io)?;
        let container = &self.container;
        let bar = !self.quiet;
        let side = |path, offset, devices, name| Side { path, offset, devices, name, container, bar, of_images };
        let old = side(&self.old, self.old_offset, &self.old_devices, "old").open(&mut opener, io)?;
        let new = side(&self.new, self.new_offset, &self.new_devices, "new").open(&mut opener, io)?;
        opener.refuse_unused_keys(invocation)?;
        let mut request = DiffRequest::new(old, new);
        request.compared = compared;
        request.extract = self.extract.clone();
        request.resources = opener.resources;
        Ok(request)
    }
}

/// Prints differences as long as there is a reader. The exit status matters even without a reader.
pub struct Printer<'o> {
    pub out: &'o mut dyn Write,
    /// Whether the reader is gone.
    pub gone: bool,
}

impl Printer<'_> {
    pub fn line(&mut self, line: &str) -> io::Result<()> {
        if self.gone { Ok(()) } else { writeln!(self.out, "{line}").or_else(|cause| self.unless_gone(cause)) }
    }

    /// Flushes standard output.
    pub fn flush(&mut self) -> io::Result<()> {
        if self.gone { Ok(()) } else { self.out.flush().or_else(|cause| self.unless_gone(cause)) }
    }

    fn unless_gone(&mut self, cause: io::Error) -> io::Result<()> {
        self.gone = cause.kind() == io::ErrorKind::BrokenPipe;
        if self.gone { Ok(()) } else { Err(cause) }
    }
}

/// One of the trees.
struct Side<'s> {
    path: &'s Path,
    offset: Option<u64>,
    devices: &'s [PathBuf],
    /// The first word of its options.
    name: &'static str,
    container: &'s ContainerArgs,
    /// Whether a bar is drawn while layers are fetched.
    bar: bool,
    /// An option that is given and that only images have.
    of_images: Option<&'static str>,
}

impl Side<'_> {
    fn open(&self, opener: &mut PlnOpener<'_>, io: &mut Io) -> Result<DiffPlace, Failure> {
        if self.path.is_dir() {
            self.refuse_options("a directory", None)?;
            return Ok(DiffPlace::Directory(self.path.to_path_buf()));
        }
        if is_container_image(self.path) {
            self.refuse_options("a container image", self.of_images)?;
        }
        if let Some(place) = self.container.place(self.path, self.bar, io)? {
            let source = Source::oci(&place, self.container.platform.clone(), &opener.resources)?;
            return temporary(source, &opener.resources, io);
        }
        let unopened = unopened(self.path, self.offset, opener, io)?;
        let resources = &opener.resources;
        let tar = match unopened {
            Unopened::Image(place) => {
                return Ok(DiffPlace::Image(place.with_devices(self.devices.to_vec()).open(DIFF_METADATA)?));
            }
            Unopened::Tar(tar) => {
                self.refuse_options(&tar.content_kind().to_string(), self.of_images)?;
                tar
            }
            Unopened::Lrz(place) => {
                self.refuse_options("a .lrz file", self.of_images)?;
                let password = if place.is_remote() || place.is_stored() { None } else { password_of(self.path, io)? };
                with_observer(io, false, |observer| lrz_tar(&place, password.as_deref(), resources, observer))?
            }
        };
        temporary(tar.into_source(resources)?, resources, io)
    }

    /// Rejects options that do not apply to this side. `of_images` is an option that applies only to two images.
    fn refuse_options(&self, what: &str, of_images: Option<&str>) -> Result<(), Failure> {
        let path = self.path.escaped();
        if let Some(long) = of_images {
            return Err(wrong(long, format!("works only with images ({path} is {what})")));
        }
        let options = [("offset", self.offset.is_some()), ("device", !self.devices.is_empty())];
        match options.iter().find(|(_, is_given)| *is_given) {
            Some((option, _)) => Err(wrong(&format!("{}-{option}", self.name), format!("{path} is {what}"))),
            None => Ok(()),
        }
    }
}

/// Returns the entries of a source as an image in a temporary file.
fn temporary(source: Source, resources: &Resources, io: &mut Io) -> Result<DiffPlace, Failure> {
    let image = with_observer(io, false, |observer| temporary_image(source, resources, observer))?;
    Ok(DiffPlace::Image(image))
}

/// Returns one line, without its end.
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
    let device = |device: &packline_tree::Device| format!("{},{}", device.major, device.minor);
    match what {
        What::OnlyOld(_) | What::OnlyNew(_) => String::new(),
        What::Type(old, new) => format!("type {} -> {}", type_name(*old), type_name(*new)),
        What::Form { extended } => format!("{} inode", if *extended { "extended" } else { "basic" }),
        What::Mode(old, new) => format!("permissions {old:04o} -> {new:04o}"),
        What::Owner(old, new) => format!("owner {} -> {}", owner(old), owner(new)),
        What::Time(old, new) => format!("time {} -> {}", precise(*old), precise(*new)),
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
    if let What::Time(old, new) = &difference.what {
        put_nanoseconds(&mut object, "old_nanoseconds", *old);
        put_nanoseconds(&mut object, "new_nanoseconds", *new);
    }
    object.extend(
        [("old", old), ("new", new)]
            .into_iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(key, value)| (key.to_string(), value)),
    );
    object.into()
}

/// Returns the name of a difference in JSON, with the old and the new value.
fn members(what: &What) -> (&'static str, Value, Value) {
    let device = |device: &packline_tree::Device| json!([device.major, device.minor]);
    match what {
        What::OnlyOld(kind) => ("only", json!(type_name(*kind)), Value::Null),
        What::OnlyNew(kind) => ("only", Value::Null, json!(type_name(*kind))),
        What::Type(old, new) => ("type", json!(type_name(*old)), json!(type_name(*new))),
        What::Form { extended } => ("extended", json!(!extended), json!(extended)),
        What::Mode(old, new) => ("mode", json!(format!("{old:04o}")), json!(format!("{new:04o}"))),
        What::Owner(old, new) => ("owner", json!([old.0, old.1]), json!([new.0, new.1])),
        What::Time(old, new) => ("mtime", json!(old.seconds()), json!(new.seconds())),
        What::Number(old, new) => ("inode", json!(old), json!(new)),
        What::Target(..) => ("target", Value::Null, Value::Null),
        What::Device(old, new) => ("device", device(old), device(new)),
        What::Xattrs(names) => ("xattrs", names.iter().map(|name| escaped(name)).collect(), Value::Null),
        What::Links => ("hard_links", Value::Null, Value::Null),
        What::Size(old, new) => ("size", json!(old), json!(new)),
        What::Content(at) => ("content", json!(at), json!(at)),
    }
}

/// Returns the fields of the superblock, by name. File systems of one kind have the same fields.
fn superblock_fields(file_system: &FileSystem) -> Vec<(&'static str, Value)> {
    match file_system {
        FileSystem::SquashFs(image) => {
            let block = image.superblock();
            vec![
                ("layout", image.layout().to_string().into()),
                ("inodes", block.inodes.into()),
                ("created", block.created.into()),
                ("block_size", block.block_size.bytes().into()),
                ("fragment_blocks", block.fragments.into()),
                ("compressor", block.compressor.into()),
                ("flags", block.flags.into()),
                ("ids", block.ids.into()),
                ("root_inode", block.root.into()),
                ("bytes_used", block.bytes_used.into()),
                ("id_table", block.id_table.into()),
                ("xattr_table", block.xattr_table.into()),
                ("inode_table", block.inode_table.into()),
                ("directory_table", block.directory_table.into()),
                ("fragment_table", block.fragment_table.into()),
                ("export_table", block.export_table.into()),
            ]
        }
        FileSystem::Erofs(image) => {
            let block = image.superblock();
            vec![
                ("inodes", block.inodes.into()),
                ("epoch", block.epoch.into()),
                ("nanoseconds", block.nanoseconds.into()),
                ("build_time", block.build_time.into()),
                ("block_size", block.block_size().into()),
                ("blocks", block.blocks.into()),
                ("compatible_features", block.compat.into()),
                ("incompatible_features", block.incompat.into()),
                ("algorithms", block.algorithms.into()),
                ("devices", block.devices.into()),
                ("root_inode", block.root.into()),
                ("packed_inode", block.packed.into()),
                ("metabox_inode", block.metabox.into()),
                ("inode_block", block.inode_block.into()),
                ("xattr_block", block.xattr_block.into()),
                ("uuid", Uuid(block.uuid).to_string().into()),
                ("label", escaped(block.label()).into()),
            ]
        }
    }
}
