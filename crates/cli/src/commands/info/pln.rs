//! `packline info` of a .pln file: the summary of its tables.

use packline::Input;
use packline_pln::{Info, Kind};
use serde_json::{Value, json};

use crate::ui::escape::hex;
use crate::ui::failure::Failure;
use crate::ui::io::Io;
use crate::ui::size::{both, percent, show_bytes};

/// Shows it.
///
/// # Errors
/// Those of reading the tables.
pub fn run(input: Input, json: bool, io: &mut Io) -> Result<(), Failure> {
    let info = packline::requests::pln_info(input, &io.host.resources())?;
    let text = if json { format!("{}\n", object(&info)) } else { text(&info) };
    io.print(&text)
}

fn text(info: &Info) -> String {
    let ratio =
        percent(info.physical, info.logical).map_or(String::new(), |percent| format!(", {percent} of the content"));
    let lines = [
        ("Format", format!("pln, version {}", info.version)),
        ("Record size", show_bytes(info.record_size.bytes() as u64)),
        ("Content", both(info.logical)),
        ("Size", format!("{}{ratio}", both(info.physical))),
        ("Records", format!("{}, in {} groups", info.records, info.groups)),
        ("BLAKE3", hex(&info.blake3)),
    ];
    let mut out: String =
        lines.into_iter().map(|(what, value)| format!("{:<12} {value}\n", format!("{what}:"))).collect();
    out.push_str("Stored as:\n");
    for kind in &info.kinds {
        let (logical, stored) = (show_bytes(kind.logical), show_bytes(kind.stored));
        out.push_str(&format!("  {:<12} {:>10} records, {logical} => {stored}\n", name(kind), kind.records));
    }
    out
}

/// As a coding is written, without the parameters, which decompression does not need.
fn name(kind: &Kind) -> String {
    match (kind.slack, kind.codec.name()) {
        (false, codec) => codec.to_string(),
        (true, "none") => "slack".to_string(),
        (true, codec) => format!("slack+{codec}"),
    }
}

pub fn object(info: &Info) -> Value {
    let kind = |kind: &Kind| {
        json!({
            "coding": name(kind),
            "codec": kind.codec.name(),
            "slack": kind.slack,
            "records": kind.records,
            "logical_bytes": kind.logical,
            "stored_bytes": kind.stored,
        })
    };
    json!({
        "format": "pln",
        "version": info.version,
        "record_size": info.record_size.bytes(),
        "records": info.records,
        "groups": info.groups,
        "logical_bytes": info.logical,
        "physical_bytes": info.physical,
        "blake3": hex(&info.blake3),
        "kinds": info.kinds.iter().map(kind).collect::<Vec<_>>(),
    })
}
