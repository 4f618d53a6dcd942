//! `packline compress` and `decompress`: .pln files and whatever they are made of, with options as zstd(1) has them.

pub(crate) mod file;
mod list;
mod report;
mod settings;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::ArgAction;
use packline_codec::Coding;
use packline_recovery::Redundancy;

use crate::args::cache::CacheOptions;
use crate::args::keys::{OpeningKeys, RecipientOptions};
use crate::args::machine::Memory;
use crate::args::run_options::SchedulingOptions;
use crate::args::value::{codecs_help, number, size, text, text_or_help};
use crate::args::{Command, Invocation};
use crate::commands::streams::Mode;
use crate::host::files_below::files_below;
use crate::ui::failure::Failure;
use crate::ui::io::Io;
use crate::ui::place::Place;
use crate::ui::size::count;
use settings::Settings;

/// Compress files or a stream into .pln files
#[derive(Debug, clap::Args)]
pub struct Compress {
    /// Decompress files
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

/// What both commands take.
#[derive(Debug, clap::Args)]
pub(crate) struct Shared {
    /// The files; - or none at all: standard input, to standard output
    #[arg(value_name = "FILE", value_hint = clap::ValueHint::AnyPath)]
    files: Vec<OsString>,
    /// Decompress to nowhere, to see whether files are whole
    #[arg(short, long)]
    test: bool,
    /// Print records, sizes, ratio and checksum of .pln files, a line each
    #[arg(short, long, conflicts_with = "test")]
    list: bool,
    /// Do the regular files in directories too, to any depth. Files whose name ends in .pln are decompressed, and others are
    /// compressed. Links are not followed
    #[arg(short, long)]
    recursive: bool,
    /// Suppress progress and summary
    #[arg(short, long, conflicts_with = "verbose")]
    quiet: bool,
    /// Print more, also about what goes to standard output
    #[arg(short, long)]
    verbose: bool,
    /// Suppress the progress bar
    #[arg(long)]
    no_progress: bool,
    /// Print one JSON object per file
    #[arg(long)]
    json: bool,
    /// Add counters of the workers to the summary
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
    /// The output; - is standard output
    #[arg(short, long, value_name = "FILE", action = ArgAction::Append)]
    output: Vec<PathBuf>,
    /// Replace existing files, and write compressed data to a terminal
    #[arg(short, long)]
    force: bool,
    /// Keep the files that were read, which is the default
    #[arg(short, long, overrides_with = "rm")]
    keep: bool,
    /// Remove each file after its output was read back and verified. A file that changed while it was read stays
    #[arg(long)]
    rm: bool,
    /// Keep what could be decompressed of a file that is damaged or cut off. In a .pln file that is read from a file, zeros stand for
    /// records that are lost
    #[arg(long)]
    keep_broken: bool,
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Resources")]
struct Threads {
    /// Worker threads; 0 does everything on the main thread. The output is the same [default: number of CPUs]
    #[arg(short, long, value_name = "N", value_parser = number::<usize>(0..=1024))]
    jobs: Option<usize>,
    /// Same as --jobs, as zstd has it: 0 is the number of CPUs
    #[arg(short = 'T', long, value_name = "N", conflicts_with = "jobs", value_parser = number::<usize>(0..=1024))]
    threads: Option<usize>,
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Compression")]
pub(crate) struct Compression {
    /// Also -1, -2 and so on. Effort: level N is the coding slack+zstd:level=N [default: 3]
    #[arg(long, conflicts_with = "codec", value_parser = number::<u32>(1..=22))]
    level: Option<u32>,
    /// Faster than level 1, and larger: the coding slack+zstd:level=-N; --fast is --fast=1
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "1")]
    #[arg(conflicts_with_all = ["codec", "level"], value_parser = number::<u32>(1..=131_072))]
    fast: Option<u32>,
    /// Does nothing: levels 20 to 22, for which zstd wants it, need no permission
    #[arg(long)]
    ultra: bool,
    /// Refused, since no match reaches beyond a record: --record-size makes those longer, and lrzip finds repeats at any distance
    #[arg(long, value_name = "N", hide_short_help = true, num_args = 0..=1, require_equals = true, default_missing_value = "")]
    long: Option<OsString>,
    /// A codec, NAME[:key=value,...], slack, or slack+CODEC; or auto. Given several times, or auto, each record gets what makes
    /// it smallest. CODING:help explains
    #[arg(short, short_alias = 'C', long, value_name = "CODING", value_parser = text_or_help(help).words(codecs))]
    codec: Vec<String>,
    /// Bytes that are compressed as one: a power of two
    #[arg(long, value_name = "SIZE", default_value = "1M", value_parser = size(4 << 10..=16 << 20))]
    record_size: u64,
    /// Put recovery data behind the records, with which damage to any part of the file is repaired, as much of it as this share: from 0.01% to
    /// 100%
    #[arg(long, value_name = "PERCENT", value_parser = text(Redundancy::parse))]
    recovery: Option<Redundancy>,
    #[command(flatten)]
    cache: CacheOptions,
    #[command(flatten)]
    recipients: RecipientOptions,
}

fn codecs() -> Vec<String> {
    Coding::names().map(str::to_string).collect()
}

fn help(text: &str) -> Option<Result<String, String>> {
    if text == "help" {
        return Some(Ok(codecs_help(Coding::names())));
    }
    let name = text.strip_suffix(":help")?.trim_start_matches("slack+");
    Some(Coding::help(name).map_err(|error| error.to_string()))
}

impl Command for Compress {
    const NAME: &'static str = "compress";
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
        "A .pln file is cut into records, each compressed by itself with checksums of its own: any part of it is read alone, and one that \
         is cut off is read up to there. Files that exist are replaced only with --force; an output has its name when it is whole. It keeps the \
         permissions, owner and extended attributes of a file that it replaces.\n\
         With --rm, each output is read back from the medium and decompressed, and its hash is compared with the hash of what was read, \
         before the file is removed. This takes as long as 'packline verify'.\n\
         The codec auto is slack+lz4 and slack+zstd:level=3.\n\
         A damaged file with recovery data is decompressed from a copy that it repairs; 'packline repair' repairs the file. What goes to a stream \
         is stored first with --recovery. Other files are protected by 'packline protect'.\n\
         With recipients or a passphrase the file is encrypted: its content, sizes, checksums and hash are read only with one of the keys. Its \
         own size tells how well the content compresses, unless --pad hides that.\n\
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

    fn details() -> String {
        "Each byte is checked before it is written. A file that is damaged is read from a copy that its recovery data repairs, in TMPDIR or \
         /var/tmp, if it has any and it suffices. Of others that are damaged or cut off, standard output gets what is whole before \
         that, and a file is made only with --keep-broken, which also reads on behind the damage: zeros stand for what is lost. A pipe cannot be read twice: the error says if what came from it has recovery data, and \
         once that is in a file, it is repaired.\n\
         A part of a file is printed by packline cat --range."
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
        // Of several files some may have been done.
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
    /// The files, with `--recursive` those in directories, and whether all directories could be read.
    fn places(&self, settings: &Settings, io: &mut Io) -> (Vec<Place>, bool) {
        let mut places = Vec::new();
        let mut skipped = 0;
        let mut all_read = true;
        let style = &settings.style;
        let compresses = style.mode == Mode::Compress;
        for name in &self.files {
            let path = PathBuf::from(name);
            if name == "-" {
                places.push(Place::Stdin);
            } else if self.recursive && path.is_dir() {
                for found in files_below(&path) {
                    match found {
                        // --force replaces outputs, and does not compress the files of an earlier run again.
                        Ok(file) if style.has_suffix(&file) == compresses => skipped += 1,
                        Ok(file) => places.push(Place::File(file)),
                        Err(unreadable) => {
                            io.eprintln(&format!("packline: {unreadable}"));
                            all_read = false;
                        }
                    }
                }
            } else {
                places.push(Place::File(path));
            }
        }
        if self.files.is_empty() {
            places.push(Place::Stdin);
        }
        if compresses && !settings.quiet && skipped > 0 {
            let files = count(skipped, "file");
            io.eprintln(&format!("{files} skipped: the suffix is .pln already"));
        }
        (places, all_read)
    }
}

/// One after the other; if one fails, its error is printed and the others are done.
fn each(settings: &Settings, places: &[Place], io: &mut Io) -> Result<(), Failure> {
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
