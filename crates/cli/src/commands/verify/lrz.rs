//! `packline verify` of a .lrz file decompresses everything and checks every checksum.

use std::path::Path;

use packline::requests::{LrzUnpackRequest, OpenedLrz};
use packline::{Error, StreamError};
use packline_lrz::{Error as LrzError, Unpacked};
use packline_runtime::FormatFault;
use serde_json::{Value, json};

use super::{Verify, outcome};
use crate::args::run_options::RunOptions;
use crate::ui::escape::{Escape, hex};
use crate::ui::failure::Failure;
use crate::ui::io::Io;
use crate::ui::observer::with_observer;
use crate::ui::size::{count, show_bytes};

/// Verifies the file. Reading ends at the first fault, because nothing after it can be interpreted.
///
/// # Errors
/// [`Failure::AlreadyReported`] for a fault, which has been printed.
pub fn run(verify: &Verify, opened: &OpenedLrz, options: &RunOptions, io: &mut Io) -> Result<(), Failure> {
    let path = &opened.display_path;
    let json = verify.json;
    let resources = options.apply(verify.machine.lrz_resources(&io.host));
    let mut request = LrzUnpackRequest::new(opened, None);
    request.md5 = true;
    request.resources = resources;
    match with_observer(io, !verify.quiet && !json, |observer| packline::requests::lrz_unpack(request, observer)) {
        Ok(unpacked) => {
            let totals = (totals_object(&unpacked), totals_text(path, &unpacked), unpacked.plain);
            verify.report(path, totals, options, io)
        }
        Err(error) => {
            let Some(cause) = corruption(&error) else { return Err(error.into()) };
            let line = if json {
                verify.named(path, object(cause)).to_string()
            } else {
                format!("{}: {cause}", path.escaped())
            };
            outcome(1, io.print_as(json, &format!("{line}\n")))
        }
    }
}

/// Returns the fault in the content of the file, if that is the error.
fn corruption(error: &Error) -> Option<&LrzError> {
    let Error::Stream { cause, .. } = error else { return None };
    match &**cause {
        StreamError::Lrz(corrupt @ LrzError::Corrupt { .. }) => Some(corrupt),
        _ => None,
    }
}

fn object(cause: &LrzError) -> Value {
    match cause {
        LrzError::Corrupt(FormatFault { offset, what, expected }) => {
            json!({ "finding": "fault", "offset": offset, "what": what, "expected": expected })
        }
        other => json!({ "finding": "fault", "what": other.to_string() }),
    }
}

fn totals_text(path: &Path, unpacked: &Unpacked) -> String {
    let sum = match (unpacked.stored_md5, unpacked.md5) {
        (Some(stored), _) => format!("MD5 {}, as stored", hex(&stored)),
        (None, Some(sum)) => format!("MD5 {}; the file has no MD5", hex(&sum)),
        (None, None) => "no MD5".to_string(),
    };
    let content = show_bytes(unpacked.plain);
    let chunks = count(unpacked.chunks, "chunk");
    format!("{}: sound\n{chunks} checked, {content} of content; {sum}", path.escaped())
}

fn totals_object(unpacked: &Unpacked) -> Value {
    json!({
        "faults": 0,
        "chunks": unpacked.chunks,
        "content_bytes": unpacked.plain,
        "md5": unpacked.md5.map(|sum| hex(&sum)),
        "stored_md5": unpacked.stored_md5.map(|sum| hex(&sum)),
    })
}
