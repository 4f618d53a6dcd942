//! `packline unpack` of a .lrz file: the tar in it becomes a directory, or stays one.

use std::path::PathBuf;

use packline::{Container, FileKind, LrzTreeRequest, LrzUnpackRequest, OpenedLrz};
use serde_json::json;

use crate::args::Args;
use crate::args::image;
use crate::args::scheduling;
use crate::args::scheduling::Watched;
use crate::commands::unpack;
use crate::commands::unpack::tar;
use crate::compat::lrzip::open_asking;
use crate::compat::lrzip::password::Secret;
use crate::ui::failure::Failure;
use crate::ui::io::Io;
use crate::ui::observer::watched;
use crate::ui::size::show_bytes;

/// Options that mean something for a .lrz file.
const HONOURED: &[&str] = &["to", "force", "quiet", "no-progress", "json", "jobs", "mem"];
/// Those that do if it becomes a directory.
const OF_DIRECTORIES: &[&str] = &["owner", "no-owner", "no-xattrs", "no-times", "no-devices", "sync"];

/// Whether the image is a .lrz file: by its first bytes.
pub fn is_wanted(args: &Args) -> Result<bool, Failure> {
    Ok(image::container(args, &args.required("IMAGE")?) == Some(Container::Lrz))
}

/// Unpacks.
pub fn run(args: &Args, io: &mut Io) -> Result<(), Failure> {
    let to_a_tar = tar::is_wanted(args)?;
    let of_directories = if to_a_tar { &[] } else { OF_DIRECTORIES };
    let honoured = [HONOURED, of_directories, scheduling::NAMES].concat();
    if let Some(long) = args.given_beside(&honoured) {
        return Err(args.wrong(long, "a .lrz file cannot be unpacked so"));
    }
    if !args.operands("PATTERN...").is_empty() {
        return Err(Failure::usage("the tar in a .lrz file is unpacked as a whole (expected no PATTERN)"));
    }
    let opened = open_asking(&args.required("IMAGE")?, &Secret::None, io)?;
    let scheduled = scheduling::read(args, io)?;
    if to_a_tar { to_tar(args, &opened, &scheduled, io) } else { to_directory(args, &opened, &scheduled, io) }?;
    scheduled.write_beside(args, io);
    Ok(())
}

fn resources(args: &Args, scheduled: &Watched, io: &Io) -> Result<packline::Resources, Failure> {
    let memory = args.size("mem")?.or(io.host.third_of_memory());
    Ok(scheduled.watching(packline::Resources { memory, ..image::resources(args, io)? }))
}

fn to_tar(args: &Args, opened: &OpenedLrz, scheduled: &Watched, io: &mut Io) -> Result<(), Failure> {
    let destination: PathBuf = args.required("DEST")?;
    if FileKind::of_path(&destination).is_some_and(FileKind::is_compressed) {
        return Err(Failure::usage(
            "the tar in a .lrz file is not compressed again (expected a name that ends in .tar)",
        ));
    }
    let stdout = destination.as_os_str() == "-";
    let bar = !args.flag("no-progress") && !args.flag("quiet");
    if stdout && args.flag("json") {
        return Err(args.wrong("json", "standard output is taken by the tar"));
    }
    let resources = resources(args, scheduled, io)?;
    let request = LrzUnpackRequest {
        opened,
        target: Some(tar::target(&destination, args.flag("force"), &args.required("IMAGE")?, io)?),
        md5: false,
        check: false,
        tar: true,
        keep_broken: false,
        resources,
        temporaries: io.temporaries.clone(),
    };
    let unpacked = watched(io, bar, |observer| packline::lrz_unpack(request, observer))?;
    let object = json!({"tar_bytes": unpacked.plain, "chunks": unpacked.chunks});
    scheduled.say(args, object, format!("{} of tar", show_bytes(unpacked.plain)), io);
    Ok(())
}

fn to_directory(args: &Args, opened: &OpenedLrz, scheduled: &Watched, io: &mut Io) -> Result<(), Failure> {
    let bar = !args.flag("no-progress") && !args.flag("quiet");
    let request = LrzTreeRequest {
        opened,
        destination: args.required("DEST")?,
        force: args.flag("force"),
        kept: unpack::kept(args)?,
        devices: !args.flag("no-devices"),
        sync: args.flag("sync"),
        resources: resources(args, scheduled, io)?,
        temporaries: io.temporaries.clone(),
    };
    let counts = watched(io, bar, |observer| packline::lrz_unpack_tree(request, observer));
    let counts = counts.map_err(unpack::explain)?;
    let object = json!({
        "entries": counts.entries,
        "devices_left_out": counts.devices_left_out,
        "content_bytes": counts.content_bytes,
        "tar_bytes": counts.tar_bytes,
    });
    let text = format!("{} entries, {} of content", counts.entries, show_bytes(counts.content_bytes));
    scheduled.say(args, object, text, io);
    Ok(())
}
