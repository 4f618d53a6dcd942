//! `packline info`: what an image says of itself.

mod pln;

use std::path::Path;

use packline::{Container, ImageInfo, TreeCounts};
use serde_json::{Map, Value, json};

use crate::args::Args;
use crate::args::image::{self, IMAGE, PLACE_OPTIONS, open};
use crate::compat::lrzip;
use crate::table::options::{Applet, Manners, Opt};
use crate::ui::failure::Failure;
use crate::ui::io::Io;
use crate::ui::size::show_bytes;
use crate::ui::time::Moment;

const OPTIONS: &[Opt] = &[
    Opt::flag("json", "Print everything as one JSON object"),
    Opt::flag("quick", "Leave out what takes a walk over all inodes: numbers of entries, size of contents, ratio"),
];

/// Flags of the superblock by the numbers of their bits, as this program calls them.
pub const FLAGS: &[(u16, &str)] = &[
    (1 << 0, "inodes stored"),
    (1 << 1, "data stored"),
    (1 << 2, "unused bit 2"),
    (1 << 3, "fragments stored"),
    (1 << 4, "no fragments"),
    (1 << 5, "tail ends always packed"),
    (1 << 6, "duplicates removed"),
    (1 << 7, "exportable"),
    (1 << 8, "xattrs stored"),
    (1 << 9, "no xattrs"),
    (1 << 10, "compressor options"),
    (1 << 11, "ids stored"),
    (1 << 12, "unknown bit 12"),
    (1 << 13, "unknown bit 13"),
    (1 << 14, "unknown bit 14"),
    (1 << 15, "unknown bit 15"),
];

/// The command's table.
pub const APPLET: Applet = Applet {
    name: "info",
    about: "Show what an image, a .pln file or a .lrz file says of itself: codecs, sizes, tables, numbers of entries",
    details,
    options: &[OPTIONS, PLACE_OPTIONS],
    operands: &[IMAGE],
    manners: Manners::Packline,
    run,
};

fn details() -> String {
    "No file content is read. Places are in bytes from the start of the image.".to_string()
}

fn run(args: &Args, io: &mut Io) -> Result<(), Failure> {
    let place = args.required("IMAGE")?;
    match image::container(args, &place) {
        Some(Container::Pln) => return pln::run(args, &place, io),
        Some(Container::Lrz) => return lrz(args, &place, io),
        _ => {}
    }
    let quick = args.flag("quick");
    let as_json = args.flag("json");
    let image = open(args)?;
    let info = ImageInfo::of(&image);
    let counts = if quick { None } else { Some(TreeCounts::of(&image)?) };
    let text = if as_json { format!("{}\n", object(&info, counts.as_ref())) } else { text(&info, counts.as_ref()) };
    io.print_as(as_json, &text)
}

/// A .lrz file, as `lrzip --info` shows it.
fn lrz(args: &Args, path: &Path, io: &mut Io) -> Result<(), Failure> {
    if let Some(long) = args.given_beside(&["json"]) {
        return Err(args.wrong(long, "has no effect on a .lrz file"));
    }
    lrzip::info::of_file(path, args.flag("json"), io)
}

fn flags(info: &ImageInfo) -> Vec<&'static str> {
    FLAGS.iter().filter(|(bit, _)| info.superblock.flags & bit != 0).map(|(_, name)| *name).collect()
}

/// Bytes of the image for 100 bytes of content; `None` if there is no content.
fn ratio(info: &ImageInfo, counts: &TreeCounts) -> Option<f64> {
    let content = counts.content_bytes as f64;
    (counts.content_bytes > 0).then(|| info.superblock.bytes_used as f64 * 100.0 / content)
}

fn text(info: &ImageInfo, counts: Option<&TreeCounts>) -> String {
    let superblock = &info.superblock;
    let flags = flags(info);
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
        let entries = table.entries.map_or(String::new(), |entries| format!(", {entries} entries"));
        let (start, length) = (table.start, table.end - table.start);
        out.push_str(&format!("  {:<24} {start:>14} {}{entries}\n", table.name, both(length)));
    }
    out
}

fn count_lines(info: &ImageInfo, counts: &TreeCounts) -> Vec<(String, String)> {
    let special = counts.devices + counts.fifos + counts.sockets;
    let entries = format!(
        "{} files, {} directories, {} links, {} hard links, {special} special",
        counts.files, counts.directories, counts.symlinks, counts.hard_links
    );
    let ratio = ratio(info, counts).map_or(String::new(), |percent| format!(" (the image is {percent:.1}% of it)"));
    vec![
        ("Entries".to_string(), entries),
        ("Content".to_string(), format!("{}{ratio}", both(counts.content_bytes))),
        ("Holes".to_string(), both(counts.sparse_bytes)),
        ("Blocks".to_string(), format!("{}, and {} tail ends", counts.blocks, counts.tail_ends)),
        ("With xattrs".to_string(), counts.with_xattrs.to_string()),
    ]
}

fn both(bytes: u64) -> String {
    if bytes < 1024 { show_bytes(bytes) } else { format!("{bytes} bytes, {}", show_bytes(bytes)) }
}

fn object(info: &ImageInfo, counts: Option<&TreeCounts>) -> Value {
    let superblock = &info.superblock;
    let members = [
        ("format", json!("squashfs")),
        ("version", json!("4.0")),
        ("offset", json!(info.origin)),
        ("codec", json!(info.codec)),
        ("block_size", json!(superblock.block_size)),
        ("created", json!(superblock.created)),
        ("bytes_used", json!(superblock.bytes_used)),
        ("inodes", json!(superblock.inodes)),
        ("fragment_blocks", json!(superblock.fragments)),
        ("ids", json!(superblock.ids)),
        ("flags", json!(superblock.flags)),
        ("flag_names", json!(flags(info))),
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

fn table(table: &packline::image::read::TablePlace) -> Value {
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
