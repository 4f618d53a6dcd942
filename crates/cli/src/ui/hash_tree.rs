//! Describes a dm-verity hash tree that was written or that follows an image, as text and as JSON.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use packline::requests::{AppendedTree, OpenedFile, VerityPlace, VeritySummary, appended_tree};
use packline_verity::{Superblock, tree_size};
use serde_json::{Map, Value, json};

use crate::ui::escape::{Escape, hex, put_json};
use crate::ui::size::show_bytes;

/// Returns text about the tree of an image.
pub fn text(image: &Path, made: &VeritySummary) -> String {
    format!("{}: {}\n{}", image.escaped(), root_hash(made), tree(made))
}

pub fn root_hash(made: &VeritySummary) -> String {
    format!("root hash {}", hex(&made.tree.root_hash))
}

/// Returns the places of the tree and the other files.
pub fn tree(made: &VeritySummary) -> String {
    let place = match made.place {
        VerityPlace::Files => String::new(),
        VerityPlace::Append => format!(" at byte {}", made.data_bytes),
    };
    let files: Vec<String> = made.files.iter().map(|path| path.escaped()).collect();
    format!("hash tree of {}{place}, {}", show_bytes(made.tree.bytes), files.join(", "))
}

pub fn object(made: &VeritySummary) -> Value {
    let mut object = superblock(&made.tree.superblock);
    object.insert("root_hash".to_string(), hex(&made.tree.root_hash).into());
    object.insert("data_bytes".to_string(), made.data_bytes.into());
    object.insert("tree_bytes".to_string(), made.tree.bytes.into());
    let offset = (made.place == VerityPlace::Append).then_some(made.data_bytes);
    object.insert("tree_offset".to_string(), json!(offset));
    let file = |path: &std::path::PathBuf| {
        let mut object = Map::new();
        put_json(&mut object, "file", path.as_os_str().as_bytes());
        Value::from(object)
    };
    object.insert("files".to_string(), made.files.iter().map(file).collect());
    object.into()
}

/// Returns the fields of a superblock as JSON.
pub fn superblock(superblock: &Superblock) -> Map<String, Value> {
    let members = [
        ("uuid", json!(superblock.uuid.to_string())),
        ("salt", json!(hex(&superblock.salt))),
        ("data_blocks", json!(superblock.data_blocks)),
        ("hash_algorithm", json!("sha256")),
    ];
    members.map(|(key, value)| (key.to_string(), value)).into_iter().collect()
}

/// Returns the tree after the image in a file, as JSON and as lines; `None` if there is no tree.
pub fn tree_of(file: &OpenedFile) -> Option<(Value, String)> {
    // A device does not end with its image. The image is shown even if the tree cannot be read.
    if !file.is_regular() {
        return None;
    }
    match appended_tree(file) {
        Ok(tree) => tree.map(|tree| (appended_object(&tree), appended_text(&tree))),
        Err(error) => Some((json!({ "error": error.to_string() }), format!("  damaged: {error}\n"))),
    }
    .map(|(object, text)| (object, format!("dm-verity hash tree:\n{text}")))
}

fn appended_text(tree: &AppendedTree) -> String {
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

fn appended_object(tree: &AppendedTree) -> Value {
    let mut object = superblock(&tree.superblock);
    object.insert("tree_offset".to_string(), tree.at.into());
    object.insert("root_hash".to_string(), hex(&tree.root_hash).into());
    object.into()
}
