//! `packline info` of a .pln file: the summary of its tables.

use packline::Input;
use packline_pln::{Info, Kind};
use packline_recovery::Summary;
use serde_json::{Value, json};

use crate::commands::recovery::report::{shape_members, shape_text};
use crate::ui::escape::hex;
use crate::ui::failure::Failure;
use crate::ui::io::Io;
use crate::ui::size::{both, percent, show_bytes};

/// Shows it.
///
/// # Errors
/// Those of reading the tables.
pub fn run(input: Input, json: bool, io: &mut Io) -> Result<(), Failure> {
    let recovery = match &input {
        Input::File(path) if path.is_file() => packline::requests::recovery_behind(path)?,
        _ => None,
    };
    let info =
        packline::requests::pln_info(input, &io.host.resources()).map_err(|error| match Failure::from(error) {
            Failure::Failed(what) if recovery.is_some() => {
                Failure::Failed(format!("{what}; it has recovery data, with which 'packline repair' may repair it"))
            }
            other => other,
        })?;
    match json {
        true => {
            let mut object = object(&info);
            object["recovery"] = recovery.as_ref().map_or(Value::Null, |recovery| {
                let mut members = recovery.shape.as_ref().map(shape_members).unwrap_or_default();
                members.insert("recovery_bytes".into(), recovery.bytes.into());
                members.into()
            });
            io.print(&format!("{object}\n"))
        }
        false => io.print(&(text(&info) + &recovery_text(recovery.as_ref()))),
    }
}

/// A line about recovery data, if there is any.
fn recovery_text(recovery: Option<&Summary>) -> String {
    let Some(Summary { shape, bytes }) = recovery else { return String::new() };
    let shards = shape.as_ref().map_or("the first packet is damaged".to_string(), shape_text);
    format!("{:<12} {}; {shards}\n", "Recovery:", both(*bytes))
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
