//! The files that take most of an image.

use std::cmp::Reverse;

use packline_image::{Usage, UsageEntry};
use packline_volume::NodeType;
use serde_json::{Map, Value, json};

use crate::ui::escape::{escaped, put_json};
use crate::ui::size::both;

/// Returns the `top` files with most stored bytes as JSON and as text.
pub fn largest(usage: &Usage, top: usize) -> (Value, String) {
    let is_file = |entry: &UsageEntry<'_>| entry.kind == NodeType::File && !entry.is_link && entry.bytes.stored() > 0;
    let mut files: Vec<(Reverse<u64>, usize)> =
        usage.entries().filter(is_file).map(|entry| (Reverse(entry.bytes.stored()), entry.number)).collect();
    files.sort_unstable();
    let mut values = Vec::new();
    let mut text = "Largest files, compressed:\n".to_string();
    for entry in files.into_iter().take(top).filter_map(|(_, number)| usage.entry(number)) {
        let path = usage.path(entry.number);
        let bytes = entry.bytes;
        text.push_str(&format!("  {:<28} {}\n", both(bytes.stored()), escaped(&path)));
        let mut object = Map::new();
        put_json(&mut object, "path", &path);
        object.insert("stored_bytes".to_string(), json!(bytes.stored()));
        object.insert("shared_bytes".to_string(), json!(bytes.shared));
        object.insert("size".to_string(), json!(bytes.size));
        values.push(Value::from(object));
    }
    (values.into(), text)
}
