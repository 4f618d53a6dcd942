//! Describes a dm-verity hash tree, as text and as JSON.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use packline::requests::{VerityPlace, VeritySummary};
use packline_verity::Superblock;
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
