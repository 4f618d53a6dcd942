//! `packline info` of a delta shows the files that it is for.

use packline::requests::OpenedFile;
use packline_delta::{FileSum, Head};
use serde_json::{Value, json};

use crate::ui::escape::hex;
use crate::ui::failure::Failure;
use crate::ui::io::Io;
use crate::ui::size::show_bytes;

pub fn run(file: &OpenedFile, json: bool, io: &mut Io) -> Result<(), Failure> {
    let head = packline::requests::delta_info(file)?;
    let text = if json { format!("{}\n", object(&head)) } else { text(&head) };
    io.print_as(json, &text)
}

fn text(head: &Head) -> String {
    let file = |file: &FileSum| {
        let plain = if file.plain == file.size { String::new() } else { format!(", {} bytes decoded", file.plain) };
        format!("{} bytes, {}{plain}", file.size, show_bytes(file.size))
    };
    let lines = [
        ("Format", "delta, version 1".to_string()),
        ("Old file", file(&head.old)),
        ("Old BLAKE3", hex(&head.old.hash)),
        ("New file", file(&head.new)),
        ("New BLAKE3", hex(&head.new.hash)),
    ];
    lines.into_iter().map(|(what, value)| format!("{:<12} {value}\n", format!("{what}:"))).collect()
}

fn object(head: &Head) -> Value {
    let file = |file: &FileSum| json!({ "bytes": file.size, "plain_bytes": file.plain, "blake3": hex(&file.hash) });
    json!({ "format": "delta", "version": 1, "old_file": file(&head.old), "new_file": file(&head.new) })
}
