//! `packline verify` of a .pln file reads every byte and checks every checksum.

use std::path::Path;

use packline::requests::{OpenedFile, PlnFinding};
use packline::{Input, Resources};
use packline_pln::{Error, Verified};
use packline_runtime::FormatFault;
use serde_json::{Value, json};

use super::printer::Printer;
use super::{Verify, outcome, recovery};
use crate::args::run_options::RunOptions;
use crate::ui::escape::{Escape, hex};
use crate::ui::failure::Failure;
use crate::ui::io::Io;
use crate::ui::size::{count, show_bytes};

/// # Errors
/// [`Failure::AlreadyReported`] for faults, which have been printed.
pub fn run(
    verify: &Verify,
    (path, source): (&Path, Input),
    resources: &Resources,
    options: &RunOptions,
    io: &mut Io,
) -> Result<(), Failure> {
    let file = match &source {
        Input::Opened(file) if file.is_regular() => Some(file.clone()),
        _ => None,
    };
    let identities = verify.keys.identities(io)?;
    let printer = Printer::new(verify, path, io);
    let (identities, found) =
        (identities.as_deref(), &mut |fault: PlnFinding<'_>| printer.found(object(fault), &fault.to_string()));
    let verified = packline::requests::pln_verify(source, identities, resources, found, &mut &printer);
    let printed = printer.end();
    let verified = match verified.map_err(Failure::from) {
        Ok(verified) => verified,
        Err(failure) => return without_content(verify, path, file.as_ref(), failure, options, io),
    };
    let totals = (totals_object(&verified), totals_text(path, &verified), verified.bytes);
    let printed = printed.and_then(|()| verify.report(path, totals, options, io));
    let outcome = outcome(verified.findings, printed);
    let Some(file) = file else { return outcome };
    // The end of the file, which points to recovery data, may be damaged.
    let compared = match packline::requests::recovery_at_end(&file)? {
        Some(_) => recovery::run(verify, path, &file, None, options, io),
        None if verified.findings > 0 => {
            let compared = recovery::run(verify, path, &file, None, options, io);
            compared.or_else(|failure| if matches!(failure, Failure::Failed(_)) { Ok(()) } else { Err(failure) })
        }
        None => Ok(()),
    };
    outcome.and(compared)
}

/// Compares a file whose content cannot be read with the recovery data at its end. A host without the key of an encrypted file can verify
/// the file: `verify` has already compared it with recovery data next to it.
fn without_content(
    verify: &Verify,
    path: &Path,
    file: Option<&OpenedFile>,
    failure: Failure,
    options: &RunOptions,
    io: &mut Io,
) -> Result<(), Failure> {
    let lacks_key = failure.is_without_key();
    let at_end = file.filter(|file| has_recovery(file));
    match (failure, at_end) {
        (Failure::Failed(what), Some(file)) => {
            if !lacks_key {
                io.eprint_lines(&format!("packline: {what}"));
            }
            recovery::run(verify, path, file, None, options, io)?;
            if !lacks_key {
                return Err(Failure::AlreadyReported(1));
            }
        }
        (_, None) if lacks_key && verify.recovery_of(path).is_some() => {}
        (failure, _) => return Err(failure),
    }
    io.warn(&format!(
        "{}: only compared with its recovery data; its content was not decrypted, because no key was given",
        path.escaped()
    ));
    Ok(())
}

/// Returns whether recovery data follows a file. Even an encrypted file can be compared with it.
fn has_recovery(file: &OpenedFile) -> bool {
    packline::requests::recovery_at_end(file).is_ok_and(|found| found.is_some())
}

fn object(fault: PlnFinding<'_>) -> Value {
    let object = |part: String, fault: &FormatFault| {
        let FormatFault { offset, what, expected } = fault;
        json!({ "finding": "fault", "part": part, "offset": offset, "what": what, "expected": expected })
    };
    match fault {
        #[cfg(feature = "encryption")]
        PlnFinding::Frame(packline_encryption::Error::Corrupt { part, fault }) => object(part.to_string(), fault),
        PlnFinding::Content(Error::Corrupt { part, fault }) => object(part.to_string(), fault),
        PlnFinding::Content(Error::Cut { length, part, offset, missing, records, bytes }) => json!({
            "finding": "fault", "part": part.to_string(), "offset": offset, "what": format!("cut off at byte {length}"),
            "missing_bytes": missing, "whole_records": records, "whole_bytes": bytes,
        }),
        other => json!({ "finding": "fault", "what": other.to_string() }),
    }
}

fn totals_text(path: &Path, verified: &Verified) -> String {
    let verdict = if verified.findings == 0 { "sound".to_string() } else { count(verified.findings, "fault") };
    let sum = verified.blake3.map_or(String::new(), |sum| format!("; BLAKE3 {}", hex(&sum)));
    let content = show_bytes(verified.bytes);
    let records = count(verified.records, "record");
    format!("{}: {verdict}\n{records} intact, {content} of content{sum}", path.escaped())
}

fn totals_object(verified: &Verified) -> Value {
    json!({
        "faults": verified.findings,
        "records": verified.records,
        "content_bytes": verified.bytes,
        "physical_bytes": verified.physical,
        "blake3": verified.blake3.map(|sum| hex(&sum)),
    })
}
