//! `packline info` of recovery data in a separate file.

use packline::requests::OpenedFile;
use packline_recovery::{MAGIC, RecoverySet};
use serde_json::Value;

use crate::commands::recovery::report::shape_members;
use crate::ui::escape::hex;
use crate::ui::failure::Failure;
use crate::ui::io::Io;
use crate::ui::size::{both, count, show_bytes};

/// Returns whether a file begins with a packet of recovery data.
pub fn is_recovery(file: &OpenedFile) -> bool {
    file.is_regular() && file.head().starts_with(&MAGIC)
}

pub fn run(file: &OpenedFile, json: bool, io: &mut Io) -> Result<(), Failure> {
    let set = packline::requests::recovery_info(file, &io.host.resources())?;
    let text = if json { format!("{}\n", object(&set)) } else { text(&set) };
    io.print_as(json, &text)
}

fn text(set: &RecoverySet) -> String {
    let shape = set.shape();
    let whole = if set.is_whole() { "all intact".to_string() } else { format!("{} of them intact", set.repairable()) };
    let lines = [
        ("Format", "recovery data, version 1".to_string()),
        ("Protects", both(shape.length())),
        ("BLAKE3", hex(&set.blake3())),
        ("Shards", format!("{} of {}", shape.shards(), show_bytes(shape.shard_bytes()))),
        ("Recovery", format!("{}, {whole}", count(shape.recovery() as u64, "shard"))),
    ];
    lines.into_iter().map(|(what, value)| format!("{:<12} {value}\n", format!("{what}:"))).collect()
}

fn object(set: &RecoverySet) -> Value {
    let mut object = shape_members(&set.shape());
    object.insert("format".into(), "recovery".into());
    object.insert("version".into(), 1.into());
    object.insert("blake3".into(), hex(&set.blake3()).into());
    object.insert("whole".into(), set.is_whole().into());
    object.insert("repairable_shards".into(), set.repairable().into());
    object.into()
}
