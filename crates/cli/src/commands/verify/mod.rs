//! `packline verify` checks images and other archives, and reports each fault with its offset.

mod lrz;
mod pln;
mod printer;
mod recovery;
pub mod repeated;
mod tar;
mod verity;

use std::path::{Path, PathBuf};

use packline::requests::{AppendedTree, Archive, OpenedFile, appended_tree};
use packline::{Input, Progress, Resources};
use packline_image::{FileSystem, OpenedImage};
use packline_runtime::expectation;
use packline_volume::{Examiner, Finding, Severity, Verified};
use serde_json::{Map, Value, json};

use self::repeated::Repeated;
use crate::args::cache::ReadCache;
use crate::args::image::{Offset, input, refuse_keys};
use crate::args::keys::{OPENING, OpeningKeys};
use crate::args::run_options::{self, Machine, RunOptions, SchedulingOptions, Stats};
use crate::args::{Command, Invocation, wrong};
use crate::commands::recovery::sidecar_beside;
use crate::ui::escape::{Escape, escaped_path, put_json};
use crate::ui::failure::Failure;
use crate::ui::io::Io;
use crate::ui::progress::Bar;
use crate::ui::report;
use crate::ui::size::{count, show_bytes};

/// Check images, archives, .pln and .lrz files for damage
#[derive(Debug, clap::Args)]
pub struct Verify {
    /// The files to verify: images (or block devices with one), .pln or .lrz files, tars, cpio or zip archives, URLs; - for standard input
    #[arg(value_name = "IMAGE", required = true, value_hint = clap::ValueHint::AnyPath)]
    images: Vec<PathBuf>,
    #[command(flatten)]
    offset: Offset,
    /// Compare a file of any kind with the hashes in its recovery data [default: FILE.recovery, if it exists]
    #[arg(long, value_name = "SIDECAR", value_hint = clap::ValueHint::FilePath)]
    recovery: Option<PathBuf>,
    /// Also print what is valid but unusual
    #[arg(long)]
    notes: bool,
    /// Print one JSON object per finding, and one with the totals
    #[arg(long)]
    json: bool,
    /// Suppress progress and totals
    #[arg(short, long)]
    quiet: bool,
    #[command(flatten)]
    verity: verity::VerityArgs,
    #[command(flatten)]
    keys: OpeningKeys,
    #[command(flatten)]
    cache: ReadCache,
    #[command(flatten)]
    machine: Machine,
    #[command(flatten)]
    stats: Stats,
    #[command(flatten)]
    scheduling: SchedulingOptions,
}

impl Command for Verify {
    const NAME: &'static str = "verify";
    const ESSENTIAL: &'static [&'static str] =
        &["recovery", "roothash", "notes", "json", "quiet", "offset", "identity", "passphrase-file", "jobs"];

    const EXAMPLES: &'static [&'static str] =
        &["packline verify root.sqfs", "packline verify --json *.sqfs backup.pln"];

    fn details() -> String {
        "verify reads every byte and checks every rule of the format. Each fault is printed with its offset, in bytes from the start of the image, and with the file if it is in a file's \
         content.\n\
         # What can be found\n\
         Images of packline have a checksum of their data, unless they were packed with '-c none' or '--no-pad'. In \
         other images only blocks that gzip or xz compressed have a checksum. Other changes cannot be found there, and the \
         result says so.\n\
         EROFS has a checksum of the superblock only. In an EROFS image, changed content is not found if it can be decoded.\n\
         A .lrz file is decompressed up to the first fault. A tar is read in the same way; it has checksums of headers only, \
         and a missing end mark is a fault. In a zip archive, each content has a checksum.\n\
         If a file of any kind has recovery data in FILE.recovery, it is compared with the recovery data. This finds every \
         changed bit, and reports whether 'packline repair' can repair the file, or whether the file was changed after \
         FILE.recovery was written. An encrypted .pln file with recovery data is compared without a key, too; its content \
         is then not decrypted.\n\
         If one of several files cannot be read, the others are still verified, and the exit status is 1."
            .to_string()
    }

    fn run(self, invocation: &Invocation, io: &mut Io) -> Result<(), Failure> {
        if self.recovery.is_some() && self.images.len() > 1 {
            return Err(wrong("recovery", "works only with one file"));
        }
        self.cache.open(&self.images, invocation, io)?;
        let operands: Vec<&Path> = self.images.iter().map(PathBuf::as_path).collect();
        let check = self.verity.check(&self.images, invocation)?;
        let mut options = self.scheduling.start(self.stats.stats, None, &operands, io)?;
        if let Some(check) = check {
            let resources = options.apply(self.machine.resources(&io.host));
            let outcome = verity::run(&self, check, resources, &options, io);
            options.write_trace(invocation, io)?;
            return outcome;
        }
        let mut all = Ok(());
        for path in &self.images {
            options.restart(&io.host);
            match self.verify(path, &options, invocation, io).map_err(|failure| invocation.advise(failure)) {
                // The exit status is about all files, whatever is printed.
                Ok(()) | Err(Failure::BrokenPipe) => {}
                Err(Failure::Failed(what)) if self.images.len() > 1 => {
                    io.eprint_lines(&format!("packline: {what}"));
                    all = Err(Failure::AlreadyReported(1));
                }
                Err(failure @ Failure::AlreadyReported(_)) => all = Err(failure),
                Err(failure) => return Err(failure),
            }
        }
        options.write_trace(invocation, io)?;
        all
    }
}

impl Verify {
    fn verify(&self, path: &Path, options: &RunOptions, invocation: &Invocation, io: &mut Io) -> Result<(), Failure> {
        if let Some(sidecar) = self.recovery_of(path) {
            let file = OpenedFile::open(path)?;
            let compared = recovery::run(self, path, &file, Some(&sidecar), options, io);
            // A file of a known container is also checked by the rules of the container.
            let failed = matches!(&compared, Err(failure) if !matches!(failure, Failure::BrokenPipe));
            if failed || file.content_kind().is_none() {
                return compared;
            }
            return self.verify_archive(path, Input::Opened(file), options, invocation, io);
        }
        let input = input(path, io)?;
        self.verify_archive(path, input, options, invocation, io)
    }

    /// Returns the file with the recovery data of a file, if there is one.
    fn recovery_of(&self, path: &Path) -> Option<PathBuf> {
        self.recovery.clone().or_else(|| sidecar_beside(path))
    }

    fn verify_archive(
        &self,
        path: &Path,
        input: Input,
        options: &RunOptions,
        invocation: &Invocation,
        io: &mut Io,
    ) -> Result<(), Failure> {
        let file = input.opened_file().cloned();
        let resources = options.apply(self.machine.resources(&io.host));
        let mut archive = self.offset.open_input(path, input, false, &resources, io)?;
        let path = archive.display_path();
        let container = archive.content_kind();
        let mut honoured =
            [&["json", "quiet", "jobs", "mem", "recovery"][..], &run_options::NAMES, &ReadCache::NAMES].concat();
        if matches!(archive, Archive::Pln(_)) {
            honoured.extend(OPENING);
        }
        if let (false, Some(long)) = (matches!(archive, Archive::Image(_)), invocation.explicit_except(&honoured)) {
            return Err(wrong(long, format!("has no effect on {container}")));
        }
        refuse_keys(&archive, invocation)?;
        match archive {
            Archive::Image(image) => {
                // A device does not end with its image.
                let file = file.filter(OpenedFile::is_regular);
                let tree = file.as_ref().map_or(Ok(None), appended_tree);
                self.verify_image(&image, &tree, &resources, options, io)?;
                match file {
                    Some(file) => Ok(packline::requests::refuse_incomplete_tree(&file)?),
                    None => Ok(()),
                }
            }
            Archive::Pln(input) => pln::run(self, (&path, input), &resources, options, io),
            Archive::Lrz(opened) => lrz::run(self, &opened, options, io),
            _ => tar::run(self, &mut archive, options, io),
        }
    }

    fn verify_image(
        &self,
        image: &OpenedImage,
        tree: &Result<Option<AppendedTree>, packline::Error>,
        resources: &Resources,
        options: &RunOptions,
        io: &mut Io,
    ) -> Result<(), Failure> {
        let bar = (io.terminal && !self.quiet && !self.json).then(|| Bar::new(&io.drawn));
        let repeated = Repeated::default();
        let mut printer = Printer { io, image, repeated, bar, verify: self, failed: None };
        let verified = packline_image::verify(image, resources, &mut printer);
        if let Some(bar) = printer.bar.take() {
            bar.clear();
        }
        printer.print_further();
        let printed = printer.failed.take().map_or(Ok(()), Err);
        let totals = verified?;
        let path = &image.display_path;
        let trees = trees(image, tree);
        let shown = (totals_object(image, &totals), self.image_totals(image, &totals, &trees), totals.content);
        let printed = printed.and_then(|()| self.report(path, shown, options, io));
        outcome(totals.faults, printed)
    }

    /// Returns the totals of an image as text.
    fn image_totals(&self, image: &OpenedImage, totals: &Verified, trees: &str) -> String {
        let hint = match totals.notes {
            1 if !self.notes => " (--notes prints it)",
            2.. if !self.notes => " (--notes prints them)",
            _ => "",
        };
        totals_text(image, totals, hint, trees)
    }

    /// Adds the name of a file to an object about it.
    fn named(&self, path: &Path, mut object: Value) -> Value {
        if let Some(members) = object.as_object_mut() {
            put_json(members, "file", path.as_os_str().as_encoded_bytes());
        }
        object
    }

    /// Prints totals of `bytes` of content, as JSON or as text, with the counters.
    fn report(
        &self,
        path: &Path,
        (object, text, bytes): (Value, String, u64),
        options: &RunOptions,
        io: &mut Io,
    ) -> Result<(), Failure> {
        // The first line already has the name.
        let name = if self.images.len() > 1 { format!("\n{}: ", path.escaped()) } else { "\n".to_string() };
        let summary = options.summary(self.json, self.named(path, object), text.replace('\n', &name), bytes);
        if self.json || !self.quiet { io.print_as(self.json, &format!("{summary}\n")) } else { Ok(()) }
    }
}

/// The finding that the record at the end of an image is damaged, and what it means.
const DAMAGED_RECORD: &str = "the record of the encoder is damaged";
const UNCOMPARED: &str = "; contents are read without it, but changes that no decoder notices are not found";

/// Prints findings when they are found.
struct Printer<'p> {
    io: &'p mut Io,
    image: &'p OpenedImage,
    /// Printed findings, unless JSON is printed, which has each finding.
    repeated: Repeated,
    bar: Option<Bar>,
    verify: &'p Verify,
    /// The failure of printing, after which nothing is printed.
    failed: Option<Failure>,
}

/// Returns the exit status for the number of faults, even if the reader of the findings is gone.
pub(crate) fn outcome(faults: u64, printed: Result<(), Failure>) -> Result<(), Failure> {
    match printed {
        Ok(()) | Err(Failure::BrokenPipe) if faults > 0 => Err(Failure::AlreadyReported(1)),
        printed => printed,
    }
}

impl Printer<'_> {
    fn print(&mut self, line: &str) {
        if self.failed.is_some() {
            return;
        }
        let io = &mut *self.io;
        let json = self.verify.json;
        let printed = match &self.bar {
            Some(bar) => bar.aside(|| io.print_as(json, line)),
            None => io.print_as(json, line),
        };
        self.failed = printed.err();
    }

    /// Prints the number of further entries for each printed finding that more than one entry has.
    fn print_further(&mut self) {
        for text in self.repeated.end() {
            self.print_text(&text);
        }
    }

    fn print_text(&mut self, text: &str) {
        self.print(&format!("{}: {text}\n", self.image.display_path.escaped()));
    }
}

impl Examiner for Printer<'_> {
    fn found(&mut self, finding: Finding) {
        if self.failed.is_some() || finding.severity == Severity::Note && !self.verify.notes {
            return;
        }
        if self.verify.json {
            return self.print(&format!("{}\n", self.verify.named(&self.image.display_path, object(&finding))));
        }
        if self.repeated.counts(&finding) {
            return;
        }
        let hint = if finding.what == DAMAGED_RECORD { UNCOMPARED } else { "" };
        self.print_text(&format!("{}{hint}", text(&finding)));
        if let Some(further) = self.repeated.remember(finding) {
            self.print_text(&further);
        }
    }

    fn advance(&mut self, content: u64, total: u64) {
        if let Some(bar) = &self.bar {
            bar.show(&Progress { source_bytes: content, source_total: Some(total), ..Progress::default() });
        }
    }
}

/// Returns a finding on one line.
pub fn text(finding: &Finding) -> String {
    let Finding { severity, path, offset, what, expected } = finding;
    let name = path.as_ref().map_or(String::new(), |path| format!("{}: ", escaped_path(path)));
    let note = if *severity == Severity::Note { "note: " } else { "" };
    let expected = expectation(expected);
    format!("{name}{note}{what} at byte {offset}{expected}")
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

/// Returns text about the hash trees that were not compared: the one after an image, and the one next to it.
fn trees(image: &OpenedImage, after: &Result<Option<AppendedTree>, packline::Error>) -> String {
    let appended = match after {
        Ok(Some(tree)) => format!("the hash tree at byte {} was not compared", tree.at),
        Ok(None) => String::new(),
        Err(_) => "the damaged hash tree after the image was not compared".to_string(),
    };
    let file = packline_runtime::beside_image(&image.display_path, ".verity");
    let beside = if file.is_file() { format!("{} was not compared", file.escaped()) } else { String::new() };
    let text = |tree: String| format!("; {tree} (--roothash HASH compares it)");
    [appended, beside].into_iter().filter(|tree| !tree.is_empty()).map(text).collect()
}

/// `hint` follows the number of notes, and `trees` is text about hash trees.
fn totals_text(image: &OpenedImage, totals: &Verified, hint: &str, trees: &str) -> String {
    let mut verdict = if totals.faults == 0 { "sound".to_string() } else { count(totals.faults, "fault") };
    if totals.notes > 0 {
        verdict.push_str(&format!(", {}{hint}", count(totals.notes, "note")));
    }
    verdict.push_str(trees);
    let contents = match &image.file_system {
        FileSystem::SquashFs(_) => {
            verdict.push_str(&unchecked_text(totals));
            format!(
                "{} and {} with {} of content; {}",
                count(totals.blocks, "block"),
                count(totals.fragments, "fragment block"),
                show_bytes(totals.content),
                count(totals.metadata_blocks, "metadata block"),
            )
        }
        FileSystem::Erofs(_) => {
            if totals.unchecked > 0 {
                verdict.push_str(&format!("; {EROFS_UNCHECKED}"));
            }
            format!("{} with {} of content", count(totals.blocks, "compressed cluster"), show_bytes(totals.content))
        }
    };
    let special = totals.inodes.saturating_sub(totals.files + totals.directories + totals.symlinks);
    // Each inode has one name, except the root, which has none. Each further name is a hard link.
    let hard_links = (totals.names + 1).saturating_sub(totals.inodes);
    format!(
        "{}: {verdict}\n{}\n{contents}",
        image.display_path.escaped(),
        report::entries(totals.files, totals.directories, totals.symlinks, hard_links, special),
    )
}

/// The limits of the check of an EROFS image without a record of packline.
const EROFS_UNCHECKED: &str = "changed content cannot be found, because EROFS has no checksums of data";

/// Returns text about the data without checksum.
fn unchecked_text(totals: &Verified) -> String {
    let all = totals.blocks + totals.fragments;
    match totals.unchecked {
        0 => String::new(),
        blocks if blocks == all => {
            "; the image has no checksum of its data, so changed content cannot be found".to_string()
        }
        blocks => format!("; {blocks} of {} have no checksum, so changes in them cannot be found", count(all, "block")),
    }
}

fn totals_object(image: &OpenedImage, totals: &Verified) -> Value {
    let FileSystem::SquashFs(_) = &image.file_system else {
        return json!({
            "faults": totals.faults,
            "notes": totals.notes,
            "inodes": totals.inodes,
            "files": totals.files,
            "directories": totals.directories,
            "names": totals.names,
            "clusters": totals.blocks,
            "content_bytes": totals.content,
            "unchecked": (totals.unchecked > 0).then_some(EROFS_UNCHECKED),
        });
    };
    json!({
        "faults": totals.faults,
        "notes": totals.notes,
        "inodes": totals.inodes,
        "files": totals.files,
        "directories": totals.directories,
        "symlinks": totals.symlinks,
        "names": totals.names,
        "metadata_blocks": totals.metadata_blocks,
        "metadata_bytes": totals.metadata_bytes,
        "blocks": totals.blocks,
        "fragments": totals.fragments,
        "content_bytes": totals.content,
        "unchecked_blocks": totals.unchecked,
    })
}
