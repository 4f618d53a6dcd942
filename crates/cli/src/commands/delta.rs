//! `packline delta` stores a file as a delta to another file, and `packline patch` rebuilds it. Both print a summary.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use packline::requests::{DeltaRequest, PatchRequest};
use packline::{Input, Output};
use packline_codec::Spec;
use packline_delta::{DeltaOptions, FileSum, Made, Patched};
use serde_json::{Map, Value, json};

use crate::args::value::{number, text_or_help};
use crate::args::work::WorkOptions;
use crate::args::{Command, Invocation, wrong};
use crate::commands::pack::options::{codec_help_request, codecs};
use crate::host::streams::STDIN;
use crate::ui::escape::{Escape, hex, put_json};
use crate::ui::failure::Failure;
use crate::ui::io::{Io, take_stdin};
use crate::ui::observer::with_observer;
use crate::ui::size::{count, show_bytes, show_ratio};
use crate::ui::target;

/// Write a delta from which 'packline patch' rebuilds NEW
#[derive(Debug, clap::Args)]
pub struct Delta {
    /// The file that exists where the delta will be applied: an image, a tar, any file or block device
    #[arg(value_hint = clap::ValueHint::FilePath)]
    old: PathBuf,
    /// The file that the delta rebuilds
    #[arg(value_hint = clap::ValueHint::FilePath)]
    new: PathBuf,
    /// The delta to write; - is standard output
    #[arg(value_hint = clap::ValueHint::AnyPath)]
    delta: PathBuf,
    /// Choose the effort. Higher levels find shorter repeats and take more memory: at least 1 GB from 8 on
    #[arg(short, long, default_value = "7", value_parser = number::<u32>(1..=9))]
    level: u32,
    /// Name the codec of NEW if it is an image, as NAME[:key=value,...] [default: from the image]
    #[arg(short, long, value_parser = text_or_help(codec_help_request).words(codecs))]
    codec: Vec<String>,
    #[command(flatten)]
    shared: Shared,
}

/// Rebuild NEW from OLD and a delta
#[derive(Debug, clap::Args)]
pub struct Patch {
    /// The file that the delta was made for
    #[arg(value_hint = clap::ValueHint::FilePath)]
    old: PathBuf,
    /// The delta to apply; - is standard input
    #[arg(value_hint = clap::ValueHint::FilePath)]
    delta: PathBuf,
    /// The file to write; - is standard output
    #[arg(value_hint = clap::ValueHint::AnyPath)]
    new: PathBuf,
    #[command(flatten)]
    shared: Shared,
}

/// The options of both commands.
#[derive(Debug, clap::Args)]
struct Shared {
    /// Replace an existing file
    #[arg(short, long, help_heading = "Output")]
    force: bool,
    #[command(flatten)]
    work: WorkOptions,
}

impl Command for Delta {
    const NAME: &'static str = "delta";
    const ESSENTIAL: &'static [&'static str] =
        &["level", "codec", "force", "jobs", "mem", "quiet", "no-progress", "json", "stats"];

    const EXAMPLES: &'static [&'static str] = &[
        "packline delta root-1.sqfs root-2.sqfs root-1-2.pld",
        "packline patch root-1.sqfs root-1-2.pld root-2.sqfs",
        "packline delta backup-1.tar backup-2.tar changes.pld --mem 1G",
    ];

    fn details() -> String {
        "# Images\n\
         packline decompresses the blocks of a SquashFS image and compares their content, whatever the codecs and block sizes \
         of OLD and NEW. This includes files that contain an image, such as an AppImage. The blocks of an EROFS image are compared as they are stored. 'packline patch' compresses NEW's blocks \
         again to the same bytes, or copies them from OLD. A delta contains unchanged blocks only if they are from another \
         packer, no codec of packline reproduces them, and OLD does not have them.\n\
         # Versions\n\
         A delta can be applied by the version of packline that wrote it, and by versions whose codecs give the same bytes; \
         other versions report an error.\n\
         The delta's bytes depend on OLD, NEW, --level and --codec alone."
            .to_string()
    }

    fn run(self, invocation: &Invocation, io: &mut Io) -> Result<(), Failure> {
        let options =
            self.shared.work.start(&[("OLD", &self.old), ("NEW", &self.new)], &[&self.delta], self.shared.force, io)?;
        let codecs = self.codec.iter().map(|text| parse(text)).collect::<Result<_, _>>()?;
        let target = self.shared.target(&self.delta, io)?;
        let mut request = DeltaRequest::new(&self.old, &self.new, target);
        let mut chosen = DeltaOptions::default();
        chosen.level = self.level;
        chosen.codecs = codecs;
        request.options = chosen;
        request.resources = options.apply(self.shared.work.machine.resources(&io.host));
        request.temporaries = io.temporaries.clone();
        let bar = self.shared.work.reporting.bar();
        let made = with_observer(io, bar, |observer| packline::requests::delta(request, observer))?;
        let (object, text) = delta_report(&made, [&self.old, &self.new, &self.delta]);
        self.shared.work.report((object, text), made.head.new.size, &options, invocation, io);
        Ok(())
    }
}

impl Command for Patch {
    const NAME: &'static str = "patch";
    const ESSENTIAL: &'static [&'static str] = &["force", "jobs", "mem", "quiet", "no-progress", "json", "stats"];

    const EXAMPLES: &'static [&'static str] = &[
        "packline patch root-1.sqfs root-1-2.pld root-2.sqfs",
        "curl -s https://host/root-1-2.pld | packline patch root-1.sqfs - root-2.sqfs",
    ];

    fn details() -> String {
        "packline compares OLD with the delta's checksum before it writes anything. NEW gets its name when it matches the delta's \
         checksum of NEW."
            .to_string()
    }

    fn run(self, invocation: &Invocation, io: &mut Io) -> Result<(), Failure> {
        let others: [&Path; 2] = [&self.delta, &self.new];
        let options = self.shared.work.start(&[("OLD", &self.old)], &others, self.shared.force, io)?;
        let delta = if self.delta.as_os_str() == "-" {
            Input::Stream(STDIN.to_string(), take_stdin(Some(&self.new), io)?)
        } else {
            Input::File(self.delta.clone())
        };
        let target = self.shared.target(&self.new, io)?;
        let mut request = PatchRequest::new(&self.old, delta, target);
        request.resources = options.apply(self.shared.work.machine.resources(&io.host));
        request.temporaries = io.temporaries.clone();
        let bar = self.shared.work.reporting.bar();
        let patched = with_observer(io, bar, |observer| packline::requests::patch(request, observer))?;
        let (object, text) = patch_report(&patched, [&self.old, &self.delta, &self.new]);
        self.shared.work.report((object, text), patched.head.new.size, &options, invocation, io);
        Ok(())
    }
}

impl Shared {
    fn target(&self, path: &Path, io: &mut Io) -> Result<Output, Failure> {
        target::image(path, self.force, io)
    }
}

fn parse(text: &str) -> Result<Spec, Failure> {
    packline_squashfs::parse_codec(text).map_err(|error| wrong("codec", error))
}

/// Returns an object and text about a written delta; the names are those of OLD, NEW and the delta.
pub fn delta_report(made: &Made, [old, new, delta]: [&PathBuf; 3]) -> (Value, String) {
    let Made { head, size, literals, blocks, codec, .. } = made;
    let codec = codec.as_ref().map(ToString::to_string);
    let object = object(
        [("old", old), ("new", new), ("delta", delta)],
        json!({
            "old_file": file(&head.old),
            "new_file": file(&head.new),
            "delta_bytes": size,
            "literal_bytes": literals,
            "blocks": { "encoded": blocks.encoded, "kept": blocks.kept, "raw": blocks.raw },
            "codec": codec,
        }),
    );
    let mut text = format!(
        "{}: {} => {}{}, {}",
        new.escaped(),
        show_bytes(head.new.size),
        show_bytes(*size),
        show_ratio(*size, head.new.size),
        delta.escaped()
    );
    if blocks.encoded + blocks.kept + blocks.raw > 0 {
        let with = codec.map_or(String::new(), |codec| format!(" with {codec}"));
        text.push_str(&format!(
            "\n{} to compress again{with}, {} copied from OLD, {} stored unchanged",
            count(blocks.encoded, "block"),
            blocks.kept,
            blocks.raw
        ));
    }
    (object, text)
}

/// Returns an object and text about an applied delta; the names are those of OLD, the delta and NEW.
pub fn patch_report(patched: &Patched, [old, delta, new]: [&PathBuf; 3]) -> (Value, String) {
    let Patched { head, encoded, kept, .. } = patched;
    let object = object(
        [("old", old), ("delta", delta), ("new", new)],
        json!({
            "old_file": file(&head.old),
            "new_file": file(&head.new),
            "blocks": { "encoded": encoded, "kept": kept },
        }),
    );
    let mut text = format!("{}: {}, BLAKE3 {}", new.escaped(), show_bytes(head.new.size), hex(&head.new.hash));
    if encoded + kept > 0 {
        text.push_str(&format!("\n{} compressed, {kept} copied from OLD", count(*encoded, "block")));
    }
    (object, text)
}

fn file(file: &FileSum) -> Value {
    json!({ "bytes": file.size, "plain_bytes": file.plain, "blake3": hex(&file.hash) })
}

/// Returns figures with the names of the files first.
fn object(names: [(&str, &PathBuf); 3], figures: Value) -> Value {
    let mut object = Map::new();
    for (key, path) in names {
        put_json(&mut object, key, path.as_os_str().as_bytes());
    }
    if let Value::Object(figures) = figures {
        object.extend(figures);
    }
    object.into()
}
