//! `packline unpack`: an image becomes a directory again, or a tar.

mod lrz;
pub mod tar;

use packline::{Duplicates, Error, Kept, UnpackRequest, UnpackSummary};
use serde_json::{Value, json};

use crate::args::Args;
use crate::args::image::{self, IMAGE, MACHINE_OPTIONS, PLACE_OPTIONS};
use crate::args::patterns;
use crate::args::scheduling;
use crate::table::options::{Applet, Manners, Operand, Opt, Takes};
use crate::ui::failure::{EXIT_STATUS, Failure};
use crate::ui::io::Io;
use crate::ui::observer::watched;
use crate::ui::size::show_bytes;

const ENTRIES: &str = "Entries";
const ATTRIBUTES: &str = "Attributes";
const OUTPUT: &str = "Output";

const ENTRY_OPTIONS: &[Opt] = &[
    patterns::EXCLUDE.group(ENTRIES),
    Opt::with("subdir", "DIR", Takes::Path, "Unpack what is below this directory of the image; patterns start there too")
        .group(ENTRIES),
    Opt::flag("continue", "Report what fails and go on with the rest; the exit status is then 2").group(ENTRIES),
    Opt::flag("no-devices", "Leave out block and character devices").group(ENTRIES),
    Opt::flag("no-sparse", "Write holes as zeros").group(ENTRIES),
    Opt::with(
        "dedupe",
        "HOW",
        Takes::Choice(&["copy", "reflink", "hardlink"]),
        "What becomes of files with equal content: each is written; or shares the blocks of the first, where the file system \
         can; or becomes a further name of it, if all attributes are equal too",
    )
    .default("copy")
    .group(ENTRIES),
];

const ATTRIBUTE_OPTIONS: &[Opt] = &[
    Opt::flag("owner", "Set owners and groups [default: if run by root]").group(ATTRIBUTES),
    Opt::flag(
        "no-owner",
        "Leave owners and groups as they come; run by root, set-user-id and set-group-id bits go too",
    )
    .group(ATTRIBUTES),
    Opt::flag("no-xattrs", "Leave extended attributes out").group(ATTRIBUTES),
    Opt::flag("no-times", "Leave times as they come").group(ATTRIBUTES),
];

const OUTPUT_OPTIONS: &[Opt] = &[
    Opt::with("to", "WHAT", Takes::Choice(&["directory", "tar"]), "What is made, instead of what DEST's name says")
        .group(OUTPUT),
    Opt::with(
        "compress",
        "CODEC",
        Takes::Text,
        "Codec of a tar, instead of what DEST's name says: none, or gzip, xz, zstd, bzip2 with an optional :level=N",
    )
    .short('c')
    .group(OUTPUT),
    Opt::flag(
        "force",
        "Unpack into a directory that is not empty: files are replaced, directories kept; replace a tar",
    )
    .short('f')
    .group(OUTPUT),
    Opt::flag("sync", "See to it that everything is on the medium before DEST gets its name").group(OUTPUT),
    Opt::flag("quiet", "No progress bar and no summary").short('q').group(OUTPUT),
    Opt::flag("no-progress", "No progress bar").group(OUTPUT),
    Opt::flag("json", "Print the summary as JSON, to standard output").group(OUTPUT),
];

/// The command's table.
pub const APPLET: Applet = Applet {
    name: "unpack",
    about: "Unpack an image, or a tar in a .lrz file, to a directory or a tar",
    details,
    options: &[
        ENTRY_OPTIONS,
        ATTRIBUTE_OPTIONS,
        PLACE_OPTIONS,
        MACHINE_OPTIONS,
        scheduling::OPTIONS,
        scheduling::STATS,
        OUTPUT_OPTIONS,
    ],
    operands: &[
        IMAGE,
        Operand {
            name: "DEST",
            help: "The directory to make; one that is there must be empty, or --force given. Or a tar: a name that ends in .tar \
                   or .tar.gz, .tar.xz, .tar.zst, .tar.bz2, or - for standard output",
            required: true,
            of: &[],
        },
        Operand {
            name: "PATTERN...",
            help: "Unpack only entries that match one of these patterns, and all below them; one that matches nothing is an error",
            required: false,
            of: &[],
        },
    ],
    manners: Manners::Packline,
    run,
};

fn details() -> String {
    format!(
        "{}\n\
         DEST appears when everything is in it: until then it is called .DEST.packline-partial. In a directory that is there, each \
         file appears when it is whole. What a killed run left is removed by the next one.\n\
         No symbolic link is followed in or below DEST, whoever made it. Permissions are those of the image, whatever the umask.\n\
         Extended attributes that the user may not set, or the file system does not store, are left out with a warning for each \
         kind (user., security., trusted.).\n\
         A name that ends as that of another format (.zip, .tar.lz4, .sqfs) is refused unless --to is given, or it ends in a slash.\n\
         The tar in a .lrz file is unpacked as a whole; options of images are refused for it.\n\
         If a pattern matches nothing, nothing is unpacked; with --continue the rest is.\n\
         {EXIT_STATUS}\n\
         With --continue it exits with 2 if some entries failed and the rest was unpacked. In a directory that was there, what was \
         written before a failure stays. A directory's data is synced only with --sync.\n\
         Examples: packline unpack root.sqfs root/\n          \
         packline unpack root.sqfs etc/ --subdir etc -x '*.bak'\n          \
         packline unpack -f root.sqfs sysroot/ usr/bin 'usr/lib/lib*'\n          \
         packline unpack root.sqfs root.tar.zst -x '/var/{{cache,log}}/**'",
        patterns::LANGUAGE
    )
}

fn run(args: &Args, io: &mut Io) -> Result<(), Failure> {
    if lrz::is_wanted(args)? {
        return lrz::run(args, io);
    }
    if tar::is_wanted(args)? {
        return tar::run(args, io);
    }
    if args.given("compress") {
        return Err(args.wrong("compress", "only a tar can be compressed (DEST is a directory)"));
    }
    let bar = !args.flag("no-progress") && !args.flag("quiet");
    let scheduled = scheduling::read(args, io)?;
    let mut request = request(args, io)?;
    request.resources = scheduled.watching(request.resources);
    let unpacked = watched(io, bar, |observer| packline::unpack(request, observer));
    let summary = unpacked.map_err(explain)?;
    let peak = (io.host.peak_memory)();
    scheduled.say(args, as_json(&summary, peak), as_text(&summary, peak), io);
    scheduled.write_beside(args, io);
    if summary.counts.errors > 0 { Err(Failure::Said(2)) } else { Ok(()) }
}

/// Says the way out of what only root may do.
pub(crate) fn explain(error: Error) -> Failure {
    let device = matches!(&error, Error::Output { action: "cannot create", cause, .. }
        if cause.kind() == std::io::ErrorKind::PermissionDenied && !is_root());
    if device {
        return Failure::failed(format!("{error} (devices need root; --no-devices leaves them out)"));
    }
    error.into()
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

fn request(args: &Args, io: &Io) -> Result<UnpackRequest, Failure> {
    let image = image::place(args)?;
    let request = UnpackRequest::new(image, args.required("DEST")?);
    Ok(UnpackRequest {
        force: args.flag("force"),
        subdirectory: subdirectory(args)?,
        selection: patterns::selection(args)?,
        go_on: args.flag("continue"),
        kept: kept(args)?,
        devices: !args.flag("no-devices"),
        sparse: !args.flag("no-sparse"),
        duplicates: duplicates(args)?,
        sync: args.flag("sync"),
        resources: image::resources(args, io)?,
        temporaries: io.temporaries.clone(),
        ..request
    })
}

/// The directory of the image that is unpacked, canonical; empty for the root.
pub(crate) fn subdirectory(args: &Args) -> Result<Vec<u8>, Failure> {
    let Some(raw) = args.raw("subdir") else { return Ok(Vec::new()) };
    packline::tree::path::canonical(raw.as_encoded_bytes())
        .map_err(|fault| args.wrong("subdir", &format!("{fault} (expected {})", fault.expected())))
}

/// Which attributes are set.
pub(crate) fn kept(args: &Args) -> Result<Kept, Failure> {
    let (yes, no) = (args.flag("owner"), args.flag("no-owner"));
    if yes && no {
        return Err(args.wrong("owner", "cannot be used with --no-owner"));
    }
    let owners = !no && (yes || is_root());
    let set_id = owners || !is_root();
    Ok(Kept {
        permissions: true,
        owners,
        set_id,
        xattrs: !args.flag("no-xattrs"),
        times: !args.flag("no-times"),
        destination: true,
    })
}

fn duplicates(args: &Args) -> Result<Duplicates, Failure> {
    Ok(match args.text("dedupe")? {
        Some("reflink") => Duplicates::Reflink,
        Some("hardlink") => Duplicates::HardLink,
        _ => Duplicates::Copy,
    })
}

fn as_text(summary: &UnpackSummary, peak: Option<u64>) -> String {
    let counts = &summary.counts;
    let mut lines = vec![
        format!(
            "{} files, {} directories, {} links, {} hard links, {} special",
            counts.files, counts.directories, counts.symlinks, counts.hard_links, counts.special
        ),
        format!(
            "{} of content, {} read, {} written",
            show_bytes(counts.content_bytes),
            show_bytes(counts.read_bytes),
            show_bytes(counts.written_bytes)
        ),
    ];
    if counts.shared > 0 {
        lines.push(format!("{} files share the content of others", counts.shared));
    }
    if counts.errors > 0 {
        lines.push(format!("{} errors", counts.errors));
    }
    let of = if summary.workers < summary.workers_wanted {
        format!(", as many as memory and the limit of threads allow of {}", summary.workers_wanted)
    } else {
        String::new()
    };
    let peak = peak.map_or(String::new(), |peak| format!(", {} of memory at most", show_bytes(peak)));
    lines.push(format!("{} workers{of}{peak}", summary.workers));
    lines.join("\n")
}

fn as_json(summary: &UnpackSummary, peak: Option<u64>) -> Value {
    let counts = &summary.counts;
    json!({
        "files": counts.files,
        "directories": counts.directories,
        "symlinks": counts.symlinks,
        "hard_links": counts.hard_links,
        "special": counts.special,
        "devices_left_out": counts.devices_left_out,
        "shared_files": counts.shared,
        "content_bytes": counts.content_bytes,
        "read_bytes": counts.read_bytes,
        "written_bytes": counts.written_bytes,
        "fragment_blocks_decoded": counts.fragments.decoded,
        "fragment_blocks_put_away": counts.fragments.put_away,
        "errors": counts.errors,
        "workers": summary.workers,
        "workers_wanted": summary.workers_wanted,
        "peak_memory_bytes": peak,
    })
}
