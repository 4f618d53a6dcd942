//! Describes the dm-verity tree after an image, for `packline info`.

use packline::requests::{AppendedTree, OpenedFile, appended_tree};
use packline_verity::tree_size;
use serde_json::{Value, json};

use crate::ui::escape::hex;
use crate::ui::hash_tree;
use crate::ui::size::show_bytes;

/// Returns the tree after the image in a file, as JSON and as lines; `None` if there is no tree.
pub fn tree_of(file: &OpenedFile) -> Option<(Value, String)> {
    // A device does not end with its image. The image is shown even if the tree cannot be read.
    if !file.is_regular() {
        return None;
    }
    match appended_tree(file) {
        Ok(tree) => tree.map(|tree| (object(&tree), text(&tree))),
        Err(error) => Some((json!({ "error": error.to_string() }), format!("  damaged: {error}\n"))),
    }
    .map(|(object, text)| (object, format!("dm-verity hash tree:\n{text}")))
}

fn text(tree: &AppendedTree) -> String {
    let AppendedTree { at, superblock, root_hash } = tree;
    let bytes = tree_size(*at).map_or(String::new(), |bytes| format!(", {}", show_bytes(bytes)));
    let salt = if superblock.salt.is_empty() { "none".to_string() } else { hex(&superblock.salt) };
    let lines = [
        ("Place", format!("byte {at}{bytes}")),
        ("Root hash", format!("{} (compare it with one that you trust)", hex(root_hash))),
        ("Salt", salt),
        ("UUID", superblock.uuid.to_string()),
    ];
    lines.map(|(what, value)| format!("  {:<16} {value}\n", format!("{what}:"))).concat()
}

fn object(tree: &AppendedTree) -> Value {
    let mut object = hash_tree::superblock(&tree.superblock);
    object.insert("tree_offset".to_string(), tree.at.into());
    object.insert("root_hash".to_string(), hex(&tree.root_hash).into());
    object.into()
}
