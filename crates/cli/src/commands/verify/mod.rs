//! `packline verify`: is an image whole, and if not, where is it broken?

mod lrz;
mod pln;

use packline::image::verify::{Examiner, Finding, Severity, Verified};
use packline::{Container, OpenedImage, Progress};
use serde_json::{Map, Value, json};

use crate::args::Args;
use crate::args::image;
use crate::args::image::{IMAGE, MACHINE_OPTIONS, PLACE_OPTIONS, open_within, resources};
use crate::args::scheduling;
use crate::args::scheduling::Watched;
use crate::table::options::{Applet, Manners, Opt};
use crate::ui::escape::{Escape, escaped_path, put_json};
use crate::ui::failure::Failure;
use crate::ui::io::Io;
use crate::ui::progress::Bar;
use crate::ui::size::show_bytes;

const OPTIONS: &[Opt] = &[
    Opt::flag("notes", "Also print what is legal but odd"),
    Opt::flag("json", "Print each finding, and the totals, as a JSON object on a line of its own"),
    Opt::flag("quiet", "No progress bar and no totals").short('q'),
];

/// The command's table.
pub const APPLET: Applet = Applet {
    name: "verify",
    about: "Read every byte of an image, a .pln file or a .lrz file and check every rule of the format",
    details,
    options: &[OPTIONS, PLACE_OPTIONS, MACHINE_OPTIONS, scheduling::OPTIONS, scheduling::STATS],
    operands: &[IMAGE],
    manners: Manners::Packline,
    run,
};

fn details() -> String {
    "Each fault is printed with its place, in bytes from the start of the image, and the file concerned if it is a file's \
     content. Contents of images have no checksums but for those that the codec adds (gzip, xz): of a block stored as it is, nobody can \
     say whether its bytes are the right ones.\n\
     Of a .lrz file everything is decompressed, up to the first fault.\n\
     Exits with 1 if there are faults, 2 if the image could not be verified."
        .to_string()
}

fn run(args: &Args, io: &mut Io) -> Result<(), Failure> {
    verified(args, io).map_err(|failure| match failure {
        Failure::Failed(_) | Failure::Memory(_) => Failure::Trouble(Box::new(failure)),
        other => other,
    })
}

fn verified(args: &Args, io: &mut Io) -> Result<(), Failure> {
    let place = args.required("IMAGE")?;
    match image::container(args, &place) {
        Some(Container::Pln) => return pln::run(args, &place, io),
        Some(Container::Lrz) => return lrz::run(args, &place, io),
        _ => {}
    }
    let (json, quiet) = (args.flag("json"), args.flag("quiet"));
    let scheduled = scheduling::read(args, io)?;
    let resources = scheduled.watching(resources(args, io)?);
    let image = open_within(args, &resources)?;
    let bar = (io.terminal && !quiet).then(Bar::new);
    let mut printer = Printer { io, image: &image, bar, json, notes: args.flag("notes"), failed: None };
    let verified = packline::verify(&image, &resources, &mut printer);
    if let Some(bar) = printer.bar.take() {
        bar.clear();
    }
    let printed = printer.failed.take().map_or(Ok(()), Err);
    let totals = verified?;
    let printed =
        printed.and_then(|()| say(args, totals_object(&totals), totals_text(&image, &totals), &scheduled, io));
    outcome(totals.faults, printed)
}

/// Prints totals, as JSON or for people, with what was counted; then the trace is written.
pub(crate) fn say(args: &Args, object: Value, text: String, scheduled: &Watched, io: &mut Io) -> Result<(), Failure> {
    let json = args.flag("json");
    let summary = scheduled.summary(json, object, text);
    if json || !args.flag("quiet") {
        io.print_as(json, &format!("{summary}\n"))?;
    }
    scheduled.write(args, io)
}

/// Prints findings as they come.
struct Printer<'p> {
    io: &'p mut Io,
    image: &'p OpenedImage,
    bar: Option<Bar>,
    json: bool,
    notes: bool,
    /// Printing failed: nothing more is printed.
    failed: Option<Failure>,
}

/// The outcome of an examination whose findings are printed. That the reader is gone changes nothing of it.
pub(crate) fn outcome(faults: u64, printed: Result<(), Failure>) -> Result<(), Failure> {
    match printed {
        Ok(()) | Err(Failure::BrokenPipe) if faults > 0 => Err(Failure::Said(1)),
        printed => printed,
    }
}

impl Examiner for Printer<'_> {
    fn found(&mut self, finding: Finding) {
        if self.failed.is_some() || finding.severity == Severity::Note && !self.notes {
            return;
        }
        let line = if self.json { format!("{}\n", object(&finding)) } else { text(self.image, &finding) };
        let io = &mut *self.io;
        let printed = match &self.bar {
            Some(bar) => bar.aside(|| io.print_as(self.json, &line)),
            None => io.print_as(self.json, &line),
        };
        self.failed = printed.err();
    }

    fn advance(&mut self, content: u64, total: u64) {
        if let Some(bar) = &self.bar {
            bar.show(&Progress { source_bytes: content, source_total: Some(total), ..Progress::default() });
        }
    }
}

fn text(image: &OpenedImage, finding: &Finding) -> String {
    let Finding { severity, path, offset, what, expected } = finding;
    let name = path.as_ref().map_or(String::new(), |path| format!("{}: ", escaped_path(path)));
    let note = if *severity == Severity::Note { "note: " } else { "" };
    format!("{}: {name}{note}{what} at byte {offset} (expected {expected})\n", image.shown.escaped())
}

fn object(finding: &Finding) -> Value {
    let mut object = Map::new();
    let severity = if finding.severity == Severity::Note { "note" } else { "fault" };
    object.insert("finding".to_string(), severity.into());
    if let Some(path) = &finding.path {
        put_json(&mut object, "path", path);
    }
    object.insert("offset".to_string(), finding.offset.into());
    object.insert("what".to_string(), finding.what.clone().into());
    object.insert("expected".to_string(), finding.expected.clone().into());
    Value::Object(object)
}

fn totals_text(image: &OpenedImage, totals: &Verified) -> String {
    let verdict = match totals.faults {
        0 => "sound".to_string(),
        1 => "1 fault".to_string(),
        faults => format!("{faults} faults"),
    };
    let notes = if totals.notes == 1 { "1 note".to_string() } else { format!("{} notes", totals.notes) };
    format!(
        "{}: {verdict}, {notes}\n{} inodes ({} files, {} directories) under {} names; {} blocks and {} fragment blocks with {} of \
         content; {} metadata blocks",
        image.shown.escaped(),
        totals.inodes,
        totals.files,
        totals.directories,
        totals.names,
        totals.blocks,
        totals.fragments,
        show_bytes(totals.content),
        totals.metadata_blocks,
    )
}

fn totals_object(totals: &Verified) -> Value {
    json!({
        "faults": totals.faults,
        "notes": totals.notes,
        "inodes": totals.inodes,
        "files": totals.files,
        "directories": totals.directories,
        "names": totals.names,
        "metadata_blocks": totals.metadata_blocks,
        "metadata_bytes": totals.metadata_bytes,
        "blocks": totals.blocks,
        "fragments": totals.fragments,
        "content_bytes": totals.content,
    })
}
