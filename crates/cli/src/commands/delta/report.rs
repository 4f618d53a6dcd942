//! Summaries of deltas that were written or applied.

use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use packline_delta::{FileSum, Made, Patched};
use serde_json::{Map, Value, json};

use crate::ui::escape::{Escape, hex, put_json};
use crate::ui::size::{count, show_bytes, show_ratio};

/// Returns an object and text about a written delta; the names are those of OLD, NEW and the delta.
pub fn written(made: &Made, [old, new, delta]: [&PathBuf; 3]) -> (Value, String) {
    let Made { head, size, literals, blocks, codec, .. } = made;
    let codec = codec.as_ref().map(ToString::to_string);
    let object = object(
        [("old", old), ("new", new), ("delta", delta)],
        json!({
            "old_file": file(&head.old),
            "new_file": file(&head.new),
            "delta_bytes": size,
            "literal_bytes": literals,
            "blocks": { "encoded": blocks.encoded, "kept": blocks.kept, "raw": blocks.raw },
            "codec": codec,
        }),
    );
    let mut text = format!(
        "{}: {} => {}{}, {}",
        new.escaped(),
        show_bytes(head.new.size),
        show_bytes(*size),
        show_ratio(*size, head.new.size),
        delta.escaped()
    );
    if blocks.encoded + blocks.kept + blocks.raw > 0 {
        let with = codec.map_or(String::new(), |codec| format!(" with {codec}"));
        text.push_str(&format!(
            "\n{} to compress again{with}, {} copied from OLD, {} stored unchanged",
            count(blocks.encoded, "block"),
            blocks.kept,
            blocks.raw
        ));
    }
    (object, text)
}

/// Returns an object and text about an applied delta; the names are those of OLD, the delta and NEW.
pub fn patched(patched: &Patched, [old, delta, new]: [&PathBuf; 3]) -> (Value, String) {
    let Patched { head, encoded, kept, .. } = patched;
    let object = object(
        [("old", old), ("delta", delta), ("new", new)],
        json!({
            "old_file": file(&head.old),
            "new_file": file(&head.new),
            "blocks": { "encoded": encoded, "kept": kept },
        }),
    );
    let mut text = format!("{}: {}, BLAKE3 {}", new.escaped(), show_bytes(head.new.size), hex(&head.new.hash));
    if encoded + kept > 0 {
        text.push_str(&format!("\n{} compressed, {kept} copied from OLD", count(*encoded, "block")));
    }
    (object, text)
}

fn file(file: &FileSum) -> Value {
    json!({ "bytes": file.size, "plain_bytes": file.plain, "blake3": hex(&file.hash) })
}

/// Returns figures with the names of the files first.
fn object(names: [(&str, &PathBuf); 3], figures: Value) -> Value {
    let mut object = Map::new();
    for (key, path) in names {
        put_json(&mut object, key, path.as_os_str().as_bytes());
    }
    if let Value::Object(figures) = figures {
        object.extend(figures);
    }
    object.into()
}
