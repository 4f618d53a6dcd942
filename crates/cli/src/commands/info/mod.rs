//! `packline info` shows codec, sizes, tables and entry counts of an image.

mod delta;
pub(crate) mod lrz;
pub(crate) mod pln;
mod recovery;
mod tar;

use packline::requests::{Archive, ContentKind, OpenedFile};
use packline_image::{ImageInfo, OpenedImage, TreeCounts};
use packline_squashfs::flags;
use serde_json::{Map, Value, json};

use crate::args::image::{ArchiveArgs, input};
use crate::args::keys::{OPENING, OpeningKeys};
use crate::args::{Command, Invocation, wrong};
use crate::ui::failure::Failure;
use crate::ui::hash_tree;
use crate::ui::io::Io;
use crate::ui::password::wants_password;
use crate::ui::report;
use crate::ui::size::{both, count, show_bytes};
use crate::ui::time::Moment;

/// Describe an image, a tar, a .lrz, .pln, .pld or recovery file
#[derive(Debug, clap::Args)]
#[command(mut_arg("image", |image| image.help(IMAGE)))]
pub struct Info {
    #[command(flatten)]
    place: ArchiveArgs,
    /// Print everything as one JSON object
    #[arg(long)]
    json: bool,
    /// Leave out entry counts, size of contents and ratio, which need a walk over all inodes
    #[arg(long)]
    quick: bool,
    #[command(flatten)]
    keys: OpeningKeys,
}

/// The help of the operand.
const IMAGE: &str =
    "An image, a block device with an image, a tar, a .lrz, .pln or .pld file, or recovery data; - for standard input";

impl Command for Info {
    const NAME: &'static str = "info";

    const LEAVES_NOTHING: bool = true;

    fn details() -> String {
        "# Sources\n\
         For an encrypted .pln file without a key, info shows for whom the file was encrypted.\n\
         For an image, info reads no file contents, and offsets are in bytes from the start of the image. A tar is read to \
         its end.\n\
         A tar from standard input is read as it arrives. Anything else from a pipe is stored first, in TMPDIR or /var/tmp."
            .to_string()
    }

    fn run(self, invocation: &Invocation, io: &mut Io) -> Result<(), Failure> {
        let path = &self.place.image;
        let resources = io.host.resources();
        let input = input(path, io)?;
        let file = input.opened_file().cloned();
        if let Some(file) = file.as_ref().filter(|_| path.as_os_str() != "-" && !invocation.has("offset")) {
            if file.content_kind() == Some(ContentKind::Delta) {
                refuse_options(ContentKind::Delta, invocation)?;
                return delta::run(file, self.json, io);
            }
            if recovery::is_recovery(file) {
                if let Some(long) = invocation.explicit_except(&["json"]) {
                    return Err(wrong(long, "has no effect on recovery data"));
                }
                return recovery::run(file, self.json, io);
            }
        }
        let opened = self.place.offset.open_with(input, false, &resources, None);
        let detail = lrz::Detail { json: self.json, verbosity: 0 };
        if opened.as_ref().is_err_and(wants_password) {
            refuse_options(ContentKind::Lrz, invocation)?;
            return lrz::show(detail, path, Err(Failure::AlreadyReported(0)), io);
        }
        let archive = opened?;
        refuse_options(archive.content_kind(), invocation)?;
        match archive {
            Archive::SquashFs(image) => self.show_image(&image, file.as_ref(), io),
            Archive::Pln(input) => pln::run(input, &self.keys, self.json, io),
            Archive::Lrz(opened) => lrz::show(detail, &opened.display_path.clone(), Ok(opened), io),
            mut archive => tar::run(&mut archive, self.json, io),
        }
    }
}

/// Rejects options that the container does not have.
fn refuse_options(container: ContentKind, invocation: &Invocation) -> Result<(), Failure> {
    let mut honoured = vec!["json"];
    match container {
        ContentKind::SquashFs => honoured.extend(["quick", "offset"]),
        ContentKind::Pln => honoured.extend(OPENING),
        _ => {}
    }
    match invocation.explicit_except(&honoured) {
        Some(long) => Err(wrong(long, format!("has no effect on {container}"))),
        None => Ok(()),
    }
}

impl Info {
    fn show_image(&self, image: &OpenedImage, file: Option<&OpenedFile>, io: &mut Io) -> Result<(), Failure> {
        let info = ImageInfo::of(image);
        let counts = if self.quick { None } else { Some(TreeCounts::of(image)?) };
        let counts = counts.as_ref();
        let mut object = object(&info, counts);
        let mut text = text(&info, counts);
        if let Some((tree, lines)) = file.and_then(hash_tree::tree_of) {
            object["verity"] = tree;
            text.push_str(&lines);
        }
        io.print_as(self.json, &if self.json { format!("{object}\n") } else { text })
    }
}

fn flag_names(info: &ImageInfo) -> Vec<&'static str> {
    flags::NAMES.iter().filter(|(bit, _)| info.superblock.flags & bit != 0).map(|(_, name)| *name).collect()
}

/// Returns the size of the image in percent of its content; `None` without content.
fn ratio(info: &ImageInfo, counts: &TreeCounts) -> Option<f64> {
    let content = counts.content_bytes as f64;
    (counts.content_bytes > 0).then(|| info.superblock.bytes_used as f64 * 100.0 / content)
}

fn text(info: &ImageInfo, counts: Option<&TreeCounts>) -> String {
    let superblock = &info.superblock;
    let flags = flag_names(info);
    let mut lines = vec![
        ("Format".to_string(), format!("SquashFS 4.0, at byte {} of the file", info.origin)),
        ("Codec".to_string(), info.codec.clone()),
        ("Block size".to_string(), show_bytes(superblock.block_size.into())),
        (
            "Created".to_string(),
            format!("{} UTC ({})", Moment::of(superblock.created.into()).iso(), superblock.created),
        ),
        ("Size".to_string(), both(superblock.bytes_used)),
        ("Inodes".to_string(), superblock.inodes.to_string()),
        ("Fragment blocks".to_string(), superblock.fragments.to_string()),
        ("Owners and groups".to_string(), superblock.ids.to_string()),
        ("Flags".to_string(), if flags.is_empty() { "none".to_string() } else { flags.join(", ") }),
    ];
    lines.extend(counts.into_iter().flat_map(|counts| count_lines(info, counts)));
    let mut out: String = lines.into_iter().map(|(what, value)| format!("{:<18} {value}\n", what + ":")).collect();
    out.push_str("Tables:\n");
    for table in &info.tables {
        let entries = table.entries.map_or(String::new(), |entries| format!(", {}", count(entries, "entry")));
        let start = table.start;
        let length = table.end - start;
        out.push_str(&format!("  {:<24} {start:>14} {}{entries}\n", table.name, both(length)));
    }
    out
}

fn count_lines(info: &ImageInfo, counts: &TreeCounts) -> Vec<(String, String)> {
    let special = counts.devices + counts.fifos + counts.sockets;
    let entries = report::entries(counts.files, counts.directories, counts.symlinks, counts.hard_links, special);
    let ratio = ratio(info, counts)
        .filter(|percent| *percent < 100.0)
        .map_or(String::new(), |percent| format!(" (the image is {percent:.1}% of it)"));
    let mut lines = vec![
        ("Entries".to_string(), entries),
        ("Content".to_string(), format!("{}{ratio}", both(counts.content_bytes))),
    ];
    lines.extend((counts.sparse_bytes > 0).then(|| ("Holes".to_string(), both(counts.sparse_bytes))));
    let blocks = format!("{}, and {}", counts.blocks, count(counts.tail_ends, "tail end"));
    lines.push(("Blocks".to_string(), blocks));
    lines.extend((counts.with_xattrs > 0).then(|| ("With xattrs".to_string(), counts.with_xattrs.to_string())));
    lines
}

fn object(info: &ImageInfo, counts: Option<&TreeCounts>) -> Value {
    let superblock = &info.superblock;
    let members = [
        ("format", json!("squashfs")),
        ("version", json!("4.0")),
        ("offset", json!(info.origin)),
        ("codec", json!(info.codec)),
        ("block_size", json!(superblock.block_size.bytes())),
        ("created", json!(superblock.created)),
        ("bytes_used", json!(superblock.bytes_used)),
        ("inodes", json!(superblock.inodes)),
        ("fragment_blocks", json!(superblock.fragments)),
        ("ids", json!(superblock.ids)),
        ("flags", json!(superblock.flags)),
        ("flag_names", json!(flag_names(info))),
        ("exportable", json!(superblock.export_table != u64::MAX)),
        ("xattr_tables", json!(superblock.xattr_table != u64::MAX)),
        ("root_inode", json!(superblock.root)),
        ("tables", info.tables.iter().map(table).collect()),
    ];
    let mut object: Map<String, Value> = members.map(|(key, value)| (key.to_string(), value)).into_iter().collect();
    if let Some(counts) = counts {
        object.insert("entries".to_string(), counted(info, counts));
    }
    object.into()
}

fn table(table: &packline_squashfs::read::TablePlace) -> Value {
    json!({ "name": table.name, "start": table.start, "bytes": table.end - table.start, "entries": table.entries })
}

fn counted(info: &ImageInfo, counts: &TreeCounts) -> Value {
    json!({
        "files": counts.files,
        "directories": counts.directories,
        "symlinks": counts.symlinks,
        "devices": counts.devices,
        "fifos": counts.fifos,
        "sockets": counts.sockets,
        "hard_links": counts.hard_links,
        "with_xattrs": counts.with_xattrs,
        "content_bytes": counts.content_bytes,
        "sparse_bytes": counts.sparse_bytes,
        "blocks": counts.blocks,
        "tail_ends": counts.tail_ends,
        "ratio_percent": ratio(info, counts),
    })
}
