//! `packline verify` of a tar, a cpio or a zip archive reads it to its end. Only headers of a tar have checksums; contents have only
//! those of the compression. In a zip archive, contents have checksums.

use std::io::ErrorKind;

use packline::Error;
use packline::requests::Archive;
use packline_archives::tar::TarOptions;
use packline_tree::{Error as TreeError, Extent, Kind};
use serde_json::{Value, json};

use super::{Verify, outcome};
use crate::args::run_options::RunOptions;
use crate::ui::escape::{Escape, put_json};
use crate::ui::failure::Failure;
use crate::ui::io::Io;
use crate::ui::size::{count, show_bytes};

/// The bytes of content that are read at once.
const PIECE: usize = 64 << 10;

/// Verifies the archive. Reading ends at the first fault, because nothing after it can be interpreted.
///
/// # Errors
/// [`Failure::AlreadyReported`] for a fault, which has been printed.
pub fn run(verify: &Verify, archive: &mut Archive, options: &RunOptions, io: &mut Io) -> Result<(), Failure> {
    let resources = options.apply(verify.machine.resources(&io.host));
    let path = archive.display_path();
    let mut format = "";
    let mut entries = 0u64;
    let mut content = 0u64;
    let tar = TarOptions { end_mark: true, ..TarOptions::default() };
    let read = archive.read_tar(tar, &resources, &mut |source| {
        let mut piece = vec![0; PIECE];
        format = source.format();
        while let Some(entry) = source.next_entry()? {
            entries += 1;
            if !matches!(entry.kind, Kind::File { .. }) {
                continue;
            }
            loop {
                content += match source.read(&mut piece)? {
                    Extent::Data(length) => length as u64,
                    Extent::Hole(length) => length,
                    Extent::End => break,
                };
            }
        }
        Ok(())
    });
    match read {
        Ok(warnings) => {
            warnings.iter().for_each(|warning| io.warn(warning));
            let number = count(entries, "entry");
            let shown = show_bytes(content);
            let checksums = checksums_of(format);
            let text =
                format!("{}: readable to its end\n{number} with {shown} of content; {checksums}", path.escaped());
            let object = json!({ "faults": 0, "entries": entries, "content_bytes": content });
            verify.report(&path, (object, text, content), options, io)
        }
        Err(Error::Tree(error)) if is_fault(&error) => {
            let line = if verify.json { verify.named(&path, object(&error)).to_string() } else { error.to_string() };
            outcome(1, io.print_as(verify.json, &format!("{line}\n")))
        }
        Err(error) => Err(error.into()),
    }
}

/// Returns what an archive of this format checks.
fn checksums_of(format: &str) -> &'static str {
    match format {
        "zip" => "each content has the size and the CRC-32 that the archive states",
        "cpio" => "a cpio archive has no checksums, except sums of contents in the form crc",
        _ => "a tar has checksums of headers only",
    }
}

/// Returns whether the archive or its compression is at fault, rather than the system.
fn is_fault(error: &TreeError) -> bool {
    match error {
        TreeError::Io { cause, .. } => matches!(cause.kind(), ErrorKind::InvalidData | ErrorKind::UnexpectedEof),
        _ => true,
    }
}

fn object(error: &TreeError) -> Value {
    match error {
        TreeError::Malformed { entry, offset, what, expected, .. } => {
            let mut object = serde_json::Map::new();
            object.insert("finding".to_string(), "fault".into());
            if !entry.is_empty() {
                put_json(&mut object, "path", entry);
            }
            object.extend([
                ("offset".to_string(), (*offset).into()),
                ("what".to_string(), what.clone().into()),
                ("expected".to_string(), expected.clone().into()),
            ]);
            object.into()
        }
        TreeError::Io { cause, .. } => json!({ "finding": "fault", "what": cause.to_string() }),
        other => json!({ "finding": "fault", "what": other.to_string() }),
    }
}
