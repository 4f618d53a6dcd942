//! `packline info` of a .pln file shows a summary of its tables.

use packline::Input;
use packline::requests::{Encryption, PlnInfo};
use packline_pln::{Info, RecordKind};
use packline_recovery::Summary;
use serde_json::{Map, Value, json};

use crate::args::keys::OpeningKeys;
use crate::commands::recovery::report::{shape_members, shape_text};
use crate::ui::escape::hex;
use crate::ui::failure::Failure;
use crate::ui::io::Io;
use crate::ui::size::{both, count, percent, show_bytes};

pub fn run(input: Input, keys: &OpeningKeys, json: bool, io: &mut Io) -> Result<(), Failure> {
    let recovery = match &input {
        Input::Opened(file) if file.is_regular() => packline::requests::recovery_at_end(file)?,
        _ => None,
    };
    let identities = keys.explicit_identities(io)?;
    let read = packline::requests::pln_info(input, identities.as_deref(), &io.host.resources());
    let PlnInfo { info, encryption, .. } = read.map_err(|error| match Failure::from(error) {
        Failure::Failed(what) if recovery.is_some() => {
            Failure::Failed(what.with_way_out("'packline repair' may repair it from its recovery data"))
        }
        other => other,
    })?;
    if json {
        let mut all = info.as_ref().map_or_else(|| json!({ "format": "pln" }), object);
        all["recovery"] = recovery.as_ref().map_or(Value::Null, recovery_object);
        if let Some(encryption) = &encryption {
            all["physical_bytes"] = encryption.physical.into();
            all["encryption"] = encryption_object(encryption);
        }
        return io.print(&format!("{all}\n"));
    }
    let encrypted = encryption.as_ref().map(|encryption| encryption_text(encryption, info.is_some()));
    let text = info.as_ref().map(text);
    io.print(&(encrypted.unwrap_or_default() + &text.unwrap_or_default() + &recovery_text(recovery.as_ref())))
}

/// Returns a line about recovery data, if there is any.
fn recovery_text(recovery: Option<&Summary>) -> String {
    let Some(Summary { shape, bytes }) = recovery else { return String::new() };
    let shards = shape.as_ref().map_or("the first packet is damaged".to_string(), shape_text);
    format!("{:<12} {}; {shards}\n", "Recovery:", both(*bytes))
}

fn recovery_object(recovery: &Summary) -> Value {
    let mut members = recovery.shape.as_ref().map(shape_members).unwrap_or_default();
    members.insert("recovery_bytes".into(), recovery.bytes.into());
    members.into()
}

fn encryption_text(encryption: &Encryption, opened: bool) -> String {
    let chunks = show_bytes(encryption.chunk_size);
    let padded = if encryption.padded { ", with padding" } else { "" };
    let mut out = format!("Encrypted:   for {}, in chunks of {chunks}{padded}\n", made_for(encryption));
    if !opened {
        out.push_str(&format!("Size:        {}\n", both(encryption.physical)));
        out.push_str("Content:     encrypted; --identity or --passphrase-file opens it\n");
    }
    out
}

/// Returns the numbers of keys and passphrases.
fn made_for(encryption: &Encryption) -> String {
    // The keys of age itself.
    let shown = |kind: &str| if kind == "X25519" { "age key".to_string() } else { format!("{kind} key") };
    let keys = encryption.keys.iter().map(|(kind, number)| count(*number, &shown(kind)));
    let passphrases = Some(encryption.passphrases).filter(|&number| number > 0);
    keys.chain(passphrases.map(|number| count(number, "passphrase"))).collect::<Vec<_>>().join(", ")
}

fn encryption_object(encryption: &Encryption) -> Value {
    let keys: Map<String, Value> =
        encryption.keys.iter().map(|(kind, count)| (kind.clone(), (*count).into())).collect();
    json!({
        "keys": keys,
        "passphrases": encryption.passphrases,
        "chunk_size": encryption.chunk_size,
        "padded": encryption.padded,
    })
}

fn text(info: &Info) -> String {
    let ratio =
        percent(info.physical, info.logical).map_or(String::new(), |percent| format!(", {percent} of the content"));
    let lines = [
        ("Format", format!("pln, version {}", info.version)),
        ("Record size", show_bytes(info.record_size.bytes() as u64)),
        ("Content", both(info.logical)),
        ("Size", format!("{}{ratio}", both(info.physical))),
        ("Records", format!("{}, in {}", info.records, count(info.groups, "group"))),
        ("BLAKE3", hex(&info.blake3)),
    ];
    let mut out: String =
        lines.into_iter().map(|(what, value)| format!("{:<12} {value}\n", format!("{what}:"))).collect();
    out.push_str("Stored as:\n");
    for kind in &info.kinds {
        let logical = show_bytes(kind.logical);
        let stored = show_bytes(kind.stored);
        let records = count(kind.records, "record");
        out.push_str(&format!("  {:<12} {records:>18}, {logical} => {stored}\n", name(kind)));
    }
    out
}

/// Returns the name of a coding without parameters, which decompression does not need.
fn name(kind: &RecordKind) -> String {
    match (kind.slack, kind.codec.name()) {
        (false, codec) => codec.to_string(),
        (true, "none") => "slack".to_string(),
        (true, codec) => format!("slack+{codec}"),
    }
}

pub fn object(info: &Info) -> Value {
    let kind = |kind: &RecordKind| {
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
