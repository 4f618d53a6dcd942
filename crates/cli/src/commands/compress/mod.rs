//! `packline compress` and `decompress` convert files of any kind to .pln files and back, with options like those of zstd(1).

pub(crate) mod file;
mod list;
mod report;
mod settings;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::ArgAction;
use packline_codec::Coding;
use packline_recovery::Redundancy;

use super::streams::CommandInput;
use crate::args::cache::CacheOptions;
use crate::args::keys::{OpeningKeys, PadOption, RecipientOptions};
use crate::args::run_options::{Memory, SchedulingOptions};
use crate::args::value::{codecs_help, number, size, text, text_or_help};
use crate::args::{Command, Invocation};
use crate::commands::streams::Mode;
use crate::host::files_below::files_below;
use crate::ui::failure::Failure;
use crate::ui::io::Io;
use crate::ui::size::count;
use settings::Settings;

/// Compress files or a stream into .pln files
#[derive(Debug, clap::Args)]
pub struct Compress {
    /// Decompress the files
    #[arg(short, long)]
    decompress: bool,
    #[command(flatten)]
    shared: Shared,
    #[command(flatten)]
    compression: Compression,
}

/// Decompress .pln files or a stream
#[derive(Debug, clap::Args)]
pub struct Decompress {
    #[command(flatten)]
    shared: Shared,
}

/// The arguments of both commands.
#[derive(Debug, clap::Args)]
pub(crate) struct Shared {
    /// The files to read; - or no file reads standard input and writes standard output
    #[arg(value_name = "FILE", value_hint = clap::ValueHint::AnyPath)]
    files: Vec<OsString>,
    /// Decompress without writing, to check whether the files are intact
    #[arg(short, long)]
    test: bool,
    /// Print records, sizes, ratio and checksum of .pln files, one line each
    #[arg(short, long, conflicts_with = "test")]
    list: bool,
    /// Process the regular files in directories, to any depth: decompress names that end in .pln, and compress the others. Links are not
    /// followed
    #[arg(short, long)]
    recursive: bool,
    /// Suppress progress and summary
    #[arg(short, long, conflicts_with = "verbose")]
    quiet: bool,
    /// Print more, even if the output goes to standard output
    #[arg(short, long)]
    verbose: bool,
    /// Suppress the progress bar
    #[arg(long)]
    no_progress: bool,
    /// Print one JSON object per file
    #[arg(long)]
    json: bool,
    /// Add worker counters to the summary
    #[arg(long)]
    stats: bool,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    keys: OpeningKeys,
    #[command(flatten)]
    threads: Threads,
    #[command(flatten)]
    memory: Memory,
    #[command(flatten)]
    scheduling: SchedulingOptions,
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Output")]
struct Output {
    /// Write to standard output
    #[arg(long, conflicts_with = "output")]
    stdout: bool,
    /// Write the output to FILE; - is standard output
    #[arg(short, long, value_name = "FILE", action = ArgAction::Append)]
    output: Vec<PathBuf>,
    /// Replace existing files, and write compressed data even to a terminal
    #[arg(short, long)]
    force: bool,
    /// Keep the input files (default)
    #[arg(short, long, overrides_with = "rm")]
    keep: bool,
    /// Remove each input file after its output was verified. A file that changed meanwhile is kept
    #[arg(long)]
    rm: bool,
    /// Keep what could be decompressed of a damaged file, with zeros for lost records
    #[arg(long)]
    keep_broken: bool,
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Resources")]
struct Threads {
    /// Run N worker threads; 0 does everything on the main thread. The output does not depend on N [default: number of CPUs]
    #[arg(short, long, value_name = "N", value_parser = number::<usize>(0..=1024))]
    jobs: Option<usize>,
    /// Same as --jobs, but 0 means the number of CPUs, as with zstd
    #[arg(short = 'T', long, value_name = "N", conflicts_with = "jobs", value_parser = number::<usize>(0..=1024))]
    threads: Option<usize>,
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Compression")]
pub(crate) struct Compression {
    /// Choose the effort (short forms: -1 to -22). Level N is --codec=slack+zstd:level=N [default: 3]
    #[arg(long, conflicts_with = "codec", value_parser = number::<u32>(1..=22))]
    level: Option<u32>,
    /// Compress faster and larger than level 1: --codec=slack+zstd:level=-N. Without N, N is 1
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "1")]
    #[arg(conflicts_with_all = ["codec", "level"], value_parser = number::<u32>(1..=131_072))]
    fast: Option<u32>,
    /// Accepted without effect: levels 20 to 22 need no permission, unlike with zstd
    #[arg(long)]
    ultra: bool,
    /// Rejected: no match reaches beyond a record. Use --record-size, or lrzip for repeats at any distance
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "", hide_long_help = true)]
    long: Option<OsString>,
    /// Compress with NAME[:key=value,...], slack+NAME or auto; see NAME:help
    #[arg(short, short_alias = 'C', long, value_name = "CODING", value_parser = text_or_help(help).words(codecs))]
    codec: Vec<String>,
    /// Compress this many bytes at a time: a power of two
    #[arg(long, value_name = "SIZE", default_value = "1M", value_parser = size(4 << 10..=16 << 20))]
    record_size: u64,
    /// Append recovery data that can repair damage to up to this share of the file, from 0.01% to 100%
    #[arg(long, value_name = "PERCENT", value_parser = text(Redundancy::parse))]
    recovery: Option<Redundancy>,
    #[command(flatten)]
    cache: CacheOptions,
    #[command(flatten)]
    recipients: RecipientOptions,
    #[command(flatten)]
    padding: PadOption,
}

fn codecs() -> Vec<String> {
    Coding::names().map(str::to_string).collect()
}

fn help(text: &str) -> Option<Result<String, String>> {
    if text == "help" {
        return Some(Ok(codecs_help(Coding::names())));
    }
    let name = text.strip_suffix(":help")?.trim_start_matches("slack+");
    if name == "auto" {
        return Some(Ok("auto: slack+lz4 and slack+zstd:level=3; each record gets the smaller result\n".to_string()));
    }
    Some(Coding::help(name).map_err(|error| error.to_string()))
}

impl Command for Compress {
    const NAME: &'static str = "compress";
    const ESSENTIAL: &'static [&'static str] =
        &["level", "codec", "decompress", "output", "stdout", "force", "recovery", "recipient", "test", "list"];
    const DIGITS: Option<&'static str> = Some("level");

    const EXAMPLES: &'static [&'static str] = &[
        "packline compress -9 disk.img",
        "packline compress -c slack+lz4hc --record-size 128K -o x.pln x",
        "tar -c tree | packline compress > tree.tar.pln",
        "packline compress --cache ~/.cache/packline -kf disk.img",
        "packline compress --recovery 5% disk.img",
        "packline compress --recipient age1... --recipients-file team.txt disk.img",
        "packline compress --passphrase --pad disk.img",
        "packline compress -d disk.img.pln",
        "packline compress --stdout disk.img | ssh host 'cat > disk.img.pln'",
    ];

    fn details() -> String {
        "# Files\n\
         A .pln file consists of records, each compressed on its own and with its own checksums. Any part of it can be read \
         alone, and a truncated file can be read up to the cut. Existing files are replaced only with --force. An output gets \
         its name when it is complete, and keeps the permissions, owner and extended attributes of a file that it replaces.\n\
         With --rm, packline reads each output back from the medium, decompresses it, and compares its hash with the hash of \
         the input, before it removes the input. This takes as long as 'packline verify'.\n\
         # Codecs\n\
         slack leaves out the zeros at the end of a record. The codec auto is slack+lz4 and slack+zstd:level=3. \
         With auto, or if --codec is repeated, each record gets the smallest result.\n\
         # Recovery data\n\
         A damaged file with recovery data is decompressed from a repaired copy; 'packline repair' repairs the file itself. \
         With --recovery, an output for a stream is stored in a temporary file first. Use 'packline protect' for files of \
         other formats.\n\
         # Encryption\n\
         With recipients or a passphrase the file is encrypted: only the keys give access to its content, sizes, checksums \
         and hash. Its own size shows how well the content compresses, unless --pad hides it.\n\
         Sizes may end in K, M or G."
            .to_string()
    }

    fn run(self, invocation: &Invocation, io: &mut Io) -> Result<(), Failure> {
        let mode = if self.decompress { Mode::Decompress } else { Mode::Compress };
        self.shared.run(Some(&self.compression), mode, invocation, io)
    }
}

impl Command for Decompress {
    const NAME: &'static str = "decompress";
    const ESSENTIAL: &'static [&'static str] = &[
        "output",
        "stdout",
        "force",
        "test",
        "list",
        "identity",
        "passphrase-file",
        "keep-broken",
        "recursive",
        "quiet",
    ];

    fn details() -> String {
        "# Damage\n\
         Each byte is checked before it is written. A damaged file is read from a copy in TMPDIR or /var/tmp that is repaired \
         with the file's recovery data, if it has enough. Otherwise standard output gets everything before the damage, and no \
         file is written. --keep-broken writes the file, and continues after the damage with zeros for what is lost.\n\
         A pipe cannot be read twice: if the damaged data has recovery data, the error says so, and packline can repair the \
         data once it is in a file.\n\
         'packline cat --range' prints a part of a file."
            .to_string()
    }

    fn run(self, invocation: &Invocation, io: &mut Io) -> Result<(), Failure> {
        self.shared.run(None, Mode::Decompress, invocation, io)
    }
}

impl Shared {
    fn run(
        &self,
        compression: Option<&Compression>,
        mode: Mode,
        invocation: &Invocation,
        io: &mut Io,
    ) -> Result<(), Failure> {
        let settings = Settings::new(self, compression, mode, invocation, io)?;
        let (places, all_read) = self.places(&settings, io);
        settings.check(&places)?;
        settings.style.refuse_inputs(&places)?;
        let done = match places.as_slice() {
            several if settings.style.mode == Mode::Describe => list::run(&settings, several, io),
            [place] => file::run(&settings, place, io),
            several => each(&settings, several, io),
        };
        if let Some(cache) = &settings.cache {
            cache.finish();
        }
        let done = done.and(if all_read { Ok(()) } else { Err(Failure::AlreadyReported(1)) });
        // If there are several files, some may have succeeded.
        if done.is_err() && places.len() <= 1 {
            return done;
        }
        if settings.style.mode.writes() {
            settings.run_options.write_trace_or_warn(invocation, io);
        } else {
            settings.run_options.write_trace(invocation, io)?;
        }
        done
    }
}

impl Shared {
    /// Returns the files, with `--recursive` also those in directories, and whether all directories could be read.
    fn places(&self, settings: &Settings, io: &mut Io) -> (Vec<CommandInput>, bool) {
        let mut places = Vec::new();
        let mut skipped = 0;
        let mut all_read = true;
        let style = &settings.style;
        let compresses = style.mode == Mode::Compress;
        for name in &self.files {
            let path = PathBuf::from(name);
            if name == "-" {
                places.push(CommandInput::Stdin);
            } else if self.recursive && path.is_dir() {
                for found in files_below(&path) {
                    match found {
                        // --force replaces outputs, but does not compress the files of an earlier run again.
                        Ok(file) if style.has_suffix(&file) == compresses => skipped += 1,
                        Ok(file) => places.push(CommandInput::File(file)),
                        Err(unreadable) => {
                            io.eprintln(&format!("packline: {unreadable}"));
                            all_read = false;
                        }
                    }
                }
            } else {
                places.push(CommandInput::File(path));
            }
        }
        if self.files.is_empty() {
            places.push(CommandInput::Stdin);
        }
        if compresses && !settings.quiet && skipped > 0 {
            let files = count(skipped, "file");
            io.eprintln(&format!("{files} skipped: the name already ends in .pln"));
        }
        (places, all_read)
    }
}

/// Processes the files one after the other. If one fails, its error is printed and the others are processed.
fn each(settings: &Settings, places: &[CommandInput], io: &mut Io) -> Result<(), Failure> {
    let mut failed = false;
    for place in places {
        match file::run(settings, place, io) {
            Err(Failure::Failed(what)) => {
                io.eprintln(&format!("packline: {what}"));
                failed = true;
            }
            other => other?,
        }
    }
    if failed { Err(Failure::AlreadyReported(1)) } else { Ok(()) }
}
