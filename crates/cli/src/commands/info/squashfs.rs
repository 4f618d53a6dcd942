//! Describes the superblock and the tables of a SquashFS image.

use packline_image::ImageInfo;
use packline_squashfs::read::{Layout, TablePlace};
use packline_squashfs::{Superblock, flags};
use serde_json::{Value, json};

use super::image::Description;
use crate::ui::size::{both, count, show_bytes};
use crate::ui::time::Moment;

pub fn described(info: &ImageInfo, layout: &Layout, superblock: &Superblock, tables: &[TablePlace]) -> Description {
    Description {
        members: members(info, layout, superblock, tables),
        lines: lines(info, layout, superblock),
        tables: table_lines(tables),
    }
}

fn flag_names(layout: &Layout, superblock: &Superblock) -> Vec<&'static str> {
    let set = flags::NAMES.iter().filter(|(bit, _)| superblock.flags & bit != 0);
    set.map(|(bit, name)| if *bit == flags::CHECK_DATA && layout.major < 4 { "markers" } else { *name }).collect()
}

fn lines(info: &ImageInfo, layout: &Layout, superblock: &Superblock) -> Vec<(&'static str, String)> {
    let flags = flag_names(layout, superblock);
    let created = superblock.created;
    vec![
        ("Format", format!("{layout}, at byte {} of the file", info.origin)),
        ("Codec", info.codec.clone()),
        ("Block size", show_bytes(superblock.block_size.into())),
        ("Created", format!("{} UTC ({created})", Moment::of(created.into()).iso())),
        ("Size", both(superblock.bytes_used)),
        ("Inodes", superblock.inodes.to_string()),
        ("Fragment blocks", superblock.fragments.to_string()),
        ("Owners and groups", superblock.ids.to_string()),
        ("Flags", if flags.is_empty() { "none".to_string() } else { flags.join(", ") }),
    ]
}

fn table_lines(tables: &[TablePlace]) -> String {
    let mut out = "Tables:\n".to_string();
    for table in tables {
        let entries = table.entries.map_or(String::new(), |entries| format!(", {}", count(entries, "entry")));
        let start = table.start;
        let length = table.end - start;
        out.push_str(&format!("  {:<24} {start:>14} {}{entries}\n", table.name, both(length)));
    }
    out
}

fn members(
    info: &ImageInfo,
    layout: &Layout,
    superblock: &Superblock,
    tables: &[TablePlace],
) -> Vec<(&'static str, Value)> {
    vec![
        ("format", json!("squashfs")),
        ("version", json!(format!("{}.{}", layout.major, layout.minor))),
        ("byte_order", json!(layout.order.to_string())),
        ("offset", json!(info.origin)),
        ("codec", json!(info.codec)),
        ("block_size", json!(superblock.block_size.bytes())),
        ("created", json!(superblock.created)),
        ("bytes_used", json!(superblock.bytes_used)),
        ("inodes", json!(superblock.inodes)),
        ("fragment_blocks", json!(superblock.fragments)),
        ("ids", json!(superblock.ids)),
        ("flags", json!(superblock.flags)),
        ("flag_names", json!(flag_names(layout, superblock))),
        ("exportable", json!(superblock.export_table != u64::MAX)),
        ("xattr_tables", json!(superblock.xattr_table != u64::MAX)),
        ("root_inode", json!(superblock.root)),
        ("tables", tables.iter().map(table).collect()),
    ]
}

fn table(table: &TablePlace) -> Value {
    json!({ "name": table.name, "start": table.start, "bytes": table.end - table.start, "entries": table.entries })
}
