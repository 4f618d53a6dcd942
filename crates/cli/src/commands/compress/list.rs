//! `--list` prints the tables of .pln files, one line each.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use packline::Input;
use packline_pln::Info;
use serde_json::{Map, Value};

use super::settings::Settings;
use crate::args::wrong;
use crate::commands::info;
use crate::commands::streams::CommandInput;
use crate::ui::escape::{Escape, put_json};
use crate::ui::failure::Failure;
use crate::ui::io::Io;
use crate::ui::size::{count, percent, show_bytes};

/// The message of a build without encryption; other builds ask for a key first.
const NO_KEY: &str = "an encrypted file, and no key for it";

/// Lists files. If a file cannot be read, its error is printed and the others are listed.
///
/// # Errors
/// [`Failure::AlreadyReported`] if a file could not be read.
pub fn run(settings: &Settings, places: &[CommandInput], io: &mut Io) -> Result<(), Failure> {
    if places.contains(&CommandInput::Stdin) {
        return Err(wrong("list", "cannot read a stream, because the tables are at its end; name a file"));
    }
    if !settings.json {
        io.print("Records  Compressed  Uncompressed   Ratio  Check   File\n")?;
    }
    let mut failed = false;
    let mut listed = 0;
    let mut sums = [0; 3];
    for place in places {
        let path = place.display_path();
        let identities = settings.identities.as_deref();
        let resources = io.host.resources();
        let read = packline::requests::pln_info(Input::file(path), identities, &resources).map_err(Failure::from);
        let info = match read.and_then(|read| read.info.ok_or_else(|| Failure::failed(NO_KEY))) {
            Ok(info) => info,
            Err(Failure::Failed(what)) => {
                io.eprintln(&format!("packline: {what}"));
                failed = true;
                continue;
            }
            Err(other) => return Err(other),
        };
        listed += 1;
        for (sum, figure) in sums.iter_mut().zip([info.records, info.physical, info.logical]) {
            *sum = figure.saturating_add(*sum);
        }
        if settings.json {
            io.print_json(&format!("{}\n", object(path, &info)))?
        } else {
            io.print(&row([info.records, info.physical, info.logical], "BLAKE3", &path.escaped()))?
        }
    }
    if listed > 1 && !settings.json {
        io.print(&row(sums, "", &count(listed, "file")))?;
    }
    if failed { Err(Failure::AlreadyReported(1)) } else { Ok(()) }
}

fn row([records, physical, logical]: [u64; 3], check: &str, name: &str) -> String {
    let ratio = percent(physical, logical).unwrap_or("-".to_string());
    let compressed = show_bytes(physical);
    let plain = show_bytes(logical);
    format!("{records:>7}  {compressed:>10}  {plain:>12}  {ratio:>6}  {check:<6}  {name}\n")
}

/// Returns the object of `info`, with the name of the file first.
fn object(path: &Path, info: &Info) -> Value {
    let mut object = Map::new();
    put_json(&mut object, "file", path.as_os_str().as_bytes());
    if let Value::Object(members) = info::pln::object(info) {
        object.extend(members);
    }
    object.into()
}
