//! Checks the options and turns them into settings.

use std::path::PathBuf;
use std::sync::Arc;

use packline::requests::FileKind;
use packline::{Error, Identities, Recipients, Resources};
use packline_cache::BlockCache;
use packline_codec::{CodecError, Coding};
use packline_pln::{RecordSize, WriteOptions};
use packline_recovery::Redundancy;

use super::{Compression, Shared};
use crate::args::keys::{OPENING, RECIPIENTS};
use crate::args::run_options::RunOptions;
use crate::args::{Invocation, wrong};
use crate::commands::streams::{CommandInput, Mode, Style};
use crate::host::Host;
use crate::ui::escape::Escape;
use crate::ui::failure::Failure;
use crate::ui::io::Io;

pub struct Settings {
    pub style: Style,
    /// Set if files are compressed.
    pub options: Option<WriteOptions>,
    pub resources: Resources,
    /// The cache of all files; set if files are compressed.
    pub cache: Option<Arc<BlockCache>>,
    /// Recovery data of each output.
    pub recovery: Option<Redundancy>,
    /// The recipients of encrypted files; set if files are compressed.
    pub recipients: Option<Arc<Recipients>>,
    /// The keys that open encrypted files.
    pub identities: Option<Arc<Identities>>,
    /// Whether `--stdout` sends the output to standard output.
    pub stdout: bool,
    pub keep_broken: bool,
    pub quiet: bool,
    pub verbose: bool,
    pub json: bool,
    pub stats: bool,
    pub run_options: RunOptions,
}

/// The options that only compression has.
const OF_COMPRESSION: [&str; 9] =
    ["level", "fast", "ultra", "codec", "record-size", "recovery", "cache", "cache-size", "no-cache"];
/// The options of the output.
const OF_OUTPUT: [&str; 5] = ["stdout", "output", "force", "rm", "keep-broken"];
/// The options that have an effect with `--list`.
const OF_LIST: [&str; 4] = ["list", "recursive", "json", "decompress"];
/// A hint for users who know `-c` from zstd(1) and gzip(1).
const STDOUT_HINT: &str = "-c is the codec; --stdout writes to standard output";

impl Settings {
    /// Reads the options; `wanted` is the mode without `--test`. Only `compress` has a `compression`.
    ///
    /// # Errors
    /// [`Failure::Usage`] for options that contradict each other or have no effect.
    pub fn new(
        shared: &Shared,
        compression: Option<&Compression>,
        wanted: Mode,
        invocation: &Invocation,
        io: &mut Io,
    ) -> Result<Settings, Failure> {
        let mode = match (shared.list, shared.test) {
            (true, _) => Mode::Describe,
            (_, true) => Mode::Test,
            (false, false) => wanted,
        };
        refuse_long(compression)?;
        refuse_idle(invocation, wanted, mode)?;
        let output = &shared.output;
        let force = output.force;
        if output.output.len() > 1 {
            return Err(wrong("output", "was given more than once"));
        }
        let operands: Vec<PathBuf> = shared.files.iter().map(PathBuf::from).collect();
        let operands: Vec<_> = operands.iter().map(PathBuf::as_path).collect();
        let run_options = shared.scheduling.start(shared.stats, Some(force), &operands, io)?;
        let compression = compression.filter(|_| mode == Mode::Compress);
        let options = compression.map(write_options).transpose()?;
        let resources = run_options.apply(resources(shared, &io.host));
        let recipients = match compression {
            Some(compression) => compression.recipients.recipients(&shared.keys, compression.padding.pad, io)?,
            None => None,
        };
        // A cache would store the records unencrypted.
        let cached = compression.filter(|_| recipients.is_none());
        let cache = cached.map(|compression| compression.cache.open(resources.workers > 0, io)).transpose()?;
        let identities = if mode == Mode::Compress { None } else { shared.keys.identities(io)? };
        Ok(Settings {
            style: style(shared, mode),
            options,
            resources,
            cache: cache.flatten(),
            recovery: compression.and_then(|compression| compression.recovery),
            recipients,
            identities,
            stdout: output.stdout,
            keep_broken: output.keep_broken,
            quiet: shared.quiet,
            verbose: shared.verbose,
            json: shared.json,
            stats: shared.stats,
            run_options,
        })
    }

    /// Checks that the options allow these files.
    pub fn check(&self, places: &[CommandInput]) -> Result<(), Failure> {
        let style = &self.style;
        let goes_to_stdout = |place: &&CommandInput| style.mode.writes() && matches!(style.output_of(place), Ok(None));
        let to_stdout = places.iter().filter(goes_to_stdout).count();
        let stdout = to_stdout > 0;
        if let Some(output) = style.output.as_ref().filter(|_| places.len() > 1 && !self.stdout) {
            let what = format!("{} files cannot be written to '{}'", places.len(), output.escaped());
            return Err(wrong("output", format!("{what}; without --output each file gets its own output")));
        }
        let kind = style.output.as_deref().filter(|_| style.mode == Mode::Compress).and_then(FileKind::of_path);
        if let Some(kind) = kind.filter(|kind| *kind != FileKind::Pln) {
            let what = match self.recovery {
                Some(_) => format!(
                    "the name suggests {kind}, which cannot contain recovery data (expected .pln); 'packline protect' protects files of any kind"
                ),
                None => {
                    format!(
                        "the name suggests {kind} (expected a name that ends in .pln); use --stdout for another name"
                    )
                }
            };
            return Err(wrong("output", what));
        }
        if places.iter().filter(|place| **place == CommandInput::Stdin).count() > 1 {
            return Err(Failure::usage("standard input can be read only once"));
        }
        if to_stdout > 1 && style.mode == Mode::Compress {
            let what = format!("{} files were given, but .pln files cannot be concatenated", places.len());
            let hint = "compress one file, or a tar of them: tar -c FILE... | packline compress";
            return Err(wrong("stdout", format!("{what}; {hint}")));
        }
        if style.remove && (stdout || places.contains(&CommandInput::Stdin)) {
            return Err(wrong("rm", "works only if the inputs and the outputs are files"));
        }
        if self.json && stdout {
            return Err(wrong("json", "the output goes to standard output"));
        }
        Ok(())
    }
}

fn style(shared: &Shared, mode: Mode) -> Style {
    let output = &shared.output;
    // A user who types --stdout wants to see the content, even on a terminal.
    let shows_content = mode != Mode::Compress && output.stdout;
    let stdout = output.stdout.then(|| PathBuf::from("-"));
    Style {
        mode,
        suffix: ".pln".to_string(),
        output: stdout.or_else(|| output.output.first().cloned()),
        directory: None,
        output_options: "--output or --stdout",
        instead_of_terminal: (!shows_content && !output.force).then_some("--output, a file or a pipe, or -f"),
        force: output.force,
        compresses_again: output.force,
        skips_silently: shared.quiet,
        bar: !shared.quiet && !shared.no_progress && !shared.json,
        remove: output.rm && !output.keep,
    }
}

/// In zstd(1), --long widens the window; here every record is compressed on its own.
fn refuse_long(compression: Option<&Compression>) -> Result<(), Failure> {
    let Some(value) = compression.and_then(|compression| compression.long.as_ref()) else { return Ok(()) };
    let typed = if value.is_empty() { String::new() } else { format!("={}", value.escaped()) };
    Err(Failure::usage(format!(
        "--long{typed}: each record is compressed on its own, so no match reaches beyond it; use a larger --record-size (up to \
         16M), or 'packline lrzip', which finds repeats at any distance"
    )))
}

/// Rejects options that have no effect.
fn refuse_idle(invocation: &Invocation, wanted: Mode, mode: Mode) -> Result<(), Failure> {
    let given = |longs: &[&'static str]| longs.iter().copied().find(|long| invocation.has(long));
    if mode == Mode::Describe {
        return match invocation.explicit_except(&[&OF_LIST[..], &OPENING].concat()) {
            Some(long) => Err(wrong(long, "has no effect with --list, which reads tables only")),
            None => Ok(()),
        };
    }
    if mode != Mode::Compress
        && let Some(long) = given(&OF_COMPRESSION)
    {
        let hint = if long == "codec" { format!(" ({STDOUT_HINT})") } else { String::new() };
        return Err(wrong(long, format!("has no effect when files are decompressed{hint}")));
    }
    if mode != Mode::Compress
        && let Some(long) = given(&[&RECIPIENTS[..], &["pad"]].concat())
    {
        return Err(wrong(long, "has no effect when files are decompressed; use --identity or --passphrase-file"));
    }
    if invocation.has("cache") && given(&[&RECIPIENTS[..], &["passphrase-file"]].concat()).is_some() {
        let what = "cannot be used with encryption, because a cache would store the records unencrypted";
        return Err(wrong("cache", what));
    }
    if mode == Mode::Compress && invocation.has("identity") {
        let what = "has no effect when files are compressed; use --recipient or --recipients-file with public keys";
        return Err(wrong("identity", what));
    }
    if mode == Mode::Test
        && let Some(long) = given(&OF_OUTPUT)
    {
        return Err(wrong(long, "has no effect with --test, which writes nothing"));
    }
    if wanted == Mode::Compress && mode == Mode::Compress && invocation.has("keep-broken") {
        return Err(wrong("keep-broken", "has no effect when files are compressed"));
    }
    Ok(())
}

fn write_options(compression: &Compression) -> Result<WriteOptions, Failure> {
    let record_size = RecordSize::new(compression.record_size).map_err(|error| wrong("record-size", error))?;
    let codings = codings(compression)?;
    for coding in &codings {
        coding.validate(record_size.bytes()).map_err(|error| wrong("codec", error))?;
    }
    Ok(WriteOptions { record_size, codings })
}

/// Returns the codings of `--codec`, or zstd with `--level` or `--fast`.
fn codings(compression: &Compression) -> Result<Vec<Coding>, Failure> {
    let level = compression.fast.map_or(compression.level.unwrap_or(DEFAULT_LEVEL).into(), |fast| -i64::from(fast));
    let usual = [format!("slack+zstd:level={level}")];
    let codecs = if compression.codec.is_empty() { usual.as_slice() } else { compression.codec.as_slice() };
    packline::requests::pln_codings(codecs).map_err(|error| match error {
        Error::Codec(CodecError::UnknownCodec { found, known }) => {
            wrong("codec", format!("unknown codec '{found}' (expected one of {known}); {STDOUT_HINT}"))
        }
        error => wrong("codec", error),
    })
}

/// The default level, as in zstd(1).
const DEFAULT_LEVEL: u32 = 3;

fn resources(shared: &Shared, host: &Host) -> Resources {
    let threads = shared.threads.threads.filter(|threads| *threads > 0);
    shared.memory.resources(shared.threads.jobs.or(threads), host)
}
