//! `packline unpack` of a .lrz file: the tar in it becomes a directory, or stays one.

use std::ffi::OsString;
use std::path::PathBuf;

use packline::requests::{FileKind, LrzTreeRequest, LrzUnpackRequest, OpenedLrz};
use serde_json::json;

use super::{OF_LRZ, OF_LRZ_TO_DIRECTORY, Outcome, Unpack, explain, tar};
use crate::args::run_options::{NAMES, RunOptions};
use crate::args::{Invocation, wrong};
use crate::compat::lrzip::open_asking;
use crate::compat::lrzip::password::Secret;
use crate::ui::failure::Failure;
use crate::ui::io::Io;
use crate::ui::observer::watched;
use crate::ui::size::{count, show_bytes};

/// Refuses what has no effect on a .lrz file.
///
/// # Errors
/// [`Failure::Usage`].
pub fn refuse_options(patterns: &[OsString], to_tar: bool, invocation: &Invocation) -> Result<(), Failure> {
    let of_directories: &[&str] = if to_tar { &[] } else { &OF_LRZ_TO_DIRECTORY };
    if let Some(long) = invocation.given_beside(&[&OF_LRZ[..], of_directories, &NAMES].concat()) {
        return Err(wrong(long, "a .lrz file cannot be unpacked so"));
    }
    if !patterns.is_empty() {
        return Err(Failure::usage("the tar in a .lrz file is unpacked as a whole (expected no PATTERN)"));
    }
    Ok(())
}

/// Unpacks.
pub fn run(
    unpack: &Unpack,
    destination: PathBuf,
    to_tar: bool,
    options: &RunOptions,
    io: &mut Io,
) -> Result<Outcome, Failure> {
    let opened = open_asking(&unpack.place.image, &Secret::None, io)?;
    match to_tar {
        true => write_tar(unpack, destination, &opened, options, io)?,
        false => write_directory(unpack, destination, &opened, options, io)?,
    }
    Ok(Outcome::Whole)
}

fn write_tar(
    unpack: &Unpack,
    destination: PathBuf,
    opened: &OpenedLrz,
    options: &RunOptions,
    io: &mut Io,
) -> Result<(), Failure> {
    if FileKind::of_path(&destination).is_some_and(FileKind::is_compressed) {
        return Err(Failure::usage(
            "the tar in a .lrz file is not compressed again (expected a name that ends in .tar)",
        ));
    }
    let request = LrzUnpackRequest {
        opened,
        target: Some(tar::target(&destination, unpack.output.force, &unpack.place.image, io)?),
        md5: false,
        check: false,
        tar: true,
        keep_broken: false,
        resources: options.apply(unpack.machine.lrz_resources(&io.host)),
        temporaries: io.temporaries.clone(),
    };
    let unpacked = watched(io, unpack.reporting.bar(), |observer| packline::requests::lrz_unpack(request, observer))?;
    let object = json!({"tar_bytes": unpacked.plain, "chunks": unpacked.chunks});
    let text = format!("{} of tar", show_bytes(unpacked.plain));
    options.report((unpack.reporting.json, unpack.reporting.quiet), object, text, io);
    Ok(())
}

fn write_directory(
    unpack: &Unpack,
    destination: PathBuf,
    opened: &OpenedLrz,
    options: &RunOptions,
    io: &mut Io,
) -> Result<(), Failure> {
    let request = LrzTreeRequest {
        opened,
        destination,
        force: unpack.output.force,
        restore: unpack.attributes.kept(),
        devices: !unpack.entries.no_devices,
        sync: unpack.output.sync,
        resources: options.apply(unpack.machine.lrz_resources(&io.host)),
        temporaries: io.temporaries.clone(),
    };
    let counts = watched(io, unpack.reporting.bar(), |observer| packline::requests::lrz_unpack_tree(request, observer));
    let counts = counts.map_err(explain)?;
    let object = json!({
        "entries": counts.entries,
        "devices_left_out": counts.devices_left_out,
        "content_bytes": counts.content_bytes,
        "tar_bytes": counts.tar_bytes,
    });
    let text = format!("{}, {} of content", count(counts.entries, "entry"), show_bytes(counts.content_bytes));
    options.report((unpack.reporting.json, unpack.reporting.quiet), object, text, io);
    Ok(())
}
