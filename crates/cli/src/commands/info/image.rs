//! Describes an image: the structures of its file system, and counts of its entries.

use packline_image::{ImageInfo, Structures, TreeCounts};
use serde_json::{Map, Value, json};

use super::{erofs, squashfs};
use crate::ui::report;
use crate::ui::size::{both, count};

/// The structures of a file system.
pub struct Description {
    /// Members of the JSON object.
    pub members: Vec<(&'static str, Value)>,
    /// Names and values, one for each line.
    pub lines: Vec<(&'static str, String)>,
    /// Lines after the counts.
    pub tables: String,
}

/// Returns a description as a JSON object and as text.
pub fn described(info: &ImageInfo, counts: Option<&TreeCounts>) -> (Value, String) {
    let Description { members, lines, tables } = match &info.structures {
        Structures::SquashFs { layout, superblock, tables } => squashfs::described(info, layout, superblock, tables),
        Structures::Erofs { superblock, options } => erofs::described(info, superblock, options.as_ref()),
    };
    let mut object: Map<String, Value> = members.into_iter().map(|(key, value)| (key.to_string(), value)).collect();
    if let Some(counts) = counts {
        object.insert("entries".to_string(), counted(info, counts));
    }
    let counted = counts.into_iter().flat_map(|counts| count_lines(info, counts));
    let text = lines.into_iter().chain(counted).map(|(what, value)| format!("{:<18} {value}\n", format!("{what}:")));
    (object.into(), text.collect::<String>() + &tables)
}

/// Returns the size of the image in percent of its content; `None` without content.
fn ratio(info: &ImageInfo, counts: &TreeCounts) -> Option<f64> {
    let content = counts.content_bytes as f64;
    (counts.content_bytes > 0).then(|| info.bytes as f64 * 100.0 / content)
}

fn count_lines(info: &ImageInfo, counts: &TreeCounts) -> Vec<(&'static str, String)> {
    let special = counts.devices + counts.fifos + counts.sockets;
    let entries = report::entries(counts.files, counts.directories, counts.symlinks, counts.hard_links, special);
    let ratio = ratio(info, counts)
        .filter(|percent| *percent < 100.0)
        .map_or(String::new(), |percent| format!(" (the image is {percent:.1}% of it)"));
    let mut lines = vec![("Entries", entries), ("Content", format!("{}{ratio}", both(counts.content_bytes)))];
    lines.extend((counts.sparse_bytes > 0).then(|| ("Holes", both(counts.sparse_bytes))));
    if has_blocks(info) {
        lines.push(("Blocks", format!("{}, and {}", counts.blocks, count(counts.tail_ends, "tail end"))));
    }
    lines.extend((counts.with_xattrs > 0).then(|| ("With xattrs", counts.with_xattrs.to_string())));
    lines
}

/// Whether the inodes say how many blocks files have.
fn has_blocks(info: &ImageInfo) -> bool {
    matches!(info.structures, Structures::SquashFs { .. })
}

fn counted(info: &ImageInfo, counts: &TreeCounts) -> Value {
    let blocks = has_blocks(info).then_some(counts.blocks);
    let tail_ends = has_blocks(info).then_some(counts.tail_ends);
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
        "blocks": blocks,
        "tail_ends": tail_ends,
        "ratio_percent": ratio(info, counts),
    })
}
