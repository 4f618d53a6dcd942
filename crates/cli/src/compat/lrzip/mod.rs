//! `lrzip`, `lrunzip` and `lrzcat`: .lrz files both ways, with the options and exit codes of lrzip 0.651.
//!
//! Differences, all on purpose: the bytes written depend on the input and the options alone, never on processors, memory or
//! time; an option of the command line comes before one of `lrzip.conf`; a file to decompress must have the suffix.

pub(crate) mod conf;
mod file;
pub(crate) mod info;
mod names;
pub(crate) mod password;
pub(crate) mod settings;
pub mod tar;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::args::Args;
use crate::table::options::{Applet, Manners, Operand, Opt, Takes};
use crate::ui::escape::Escape;
use crate::ui::failure::{EXIT_STATUS, Failure};
use crate::ui::io::Io;
use file::Place;
pub(crate) use file::{hex, open_asking};
use settings::{Mode, Settings};

const OUTPUT: &str = "Output";
const COMPRESSION: &str = "Compression";
const LOW: &str = "Low level";

const GENERAL_OPTIONS: &[Opt] = &[
    Opt::flag("check", "Read what was decompressed to a file again and compare it").short('c').also(&['C']),
    Opt::flag("decompress", "Decompress files").short('d'),
    ENCRYPT,
    Opt::flag("hash", "Show the MD5 of the content").short('H'),
    Opt::flag("info", "Show what is in a file; with -v its chunks and blocks, with -vv where they are").short('i'),
    Opt::flag("json", "With --info: as JSON, an object a line"),
    QUIET,
    Opt::flag("very-quiet", "Print nothing but errors").short('Q'),
    Opt::flag("recursive", "Go into directories and do each file by itself").short('r'),
    Opt::flag("test", "Decompress to nowhere, to see whether a file is whole").short('t'),
    VERBOSE,
];

/// The password. It stands alone where the terminal is asked for it.
pub(crate) const ENCRYPT: Opt = Opt::with(
    "encrypt",
    "PASSWORD",
    Takes::Attached,
    "Encrypt, or the password of what is encrypted; the terminal is asked for one that is not given",
)
.short('e');

/// No progress bar.
pub(crate) const QUIET: Opt = Opt::flag("quiet", "No progress bar").short('q');

/// More words.
pub(crate) const VERBOSE: Opt = Opt::flag("verbose", "Say more; twice: still more").short('v').repeats();

const OUTPUT_OPTIONS: &[Opt] = &[
    Opt::flag("delete", "Delete a file once it is compressed or decompressed").short('D').group(OUTPUT),
    FORCE,
    Opt::flag("keep-broken", "Keep what could not be decompressed to its end").short('K').also(&['k']).group(OUTPUT),
    OUTFILE,
    OUTDIR,
    SUFFIX,
];

/// Replace files.
pub(crate) const FORCE: Opt = Opt::flag("force", "Replace existing files").short('f').group(OUTPUT);

/// The output's name.
pub(crate) const OUTFILE: Opt =
    Opt::with("outfile", "FILE", Takes::Path, "The output; - is standard output").short('o').group(OUTPUT);

/// The output's directory.
pub(crate) const OUTDIR: Opt =
    Opt::with("outdir", "DIR", Takes::Path, "Directory of the outputs, where --outfile is not given")
        .short('O')
        .group(OUTPUT);

/// What names of .lrz files end in.
pub(crate) const SUFFIX: Opt =
    Opt::with("suffix", "SUFFIX", Takes::Text, "What names of compressed files end in [default: .lrz]")
        .short('S')
        .group(OUTPUT);

/// How files are compressed.
pub(crate) const COMPRESSION_OPTIONS: &[Opt] = &[
    Opt::flag("lzma", "Compress with LZMA, which is the default").group(COMPRESSION),
    Opt::flag("bzip2", "Compress with bzip2").short('b').group(COMPRESSION),
    Opt::flag("gzip", "Compress with zlib's deflate").short('g').group(COMPRESSION),
    Opt::flag("lzo", "Compress with LZO: quickest").short('l').group(COMPRESSION),
    Opt::flag("no-compress", "Only find repeats, for another program to compress").short('n').group(COMPRESSION),
    Opt::flag("zpaq", "Compress with zpaq: smallest, and slowest").short('z').group(COMPRESSION),
    Opt::with("level", "LEVEL", Takes::Number { least: 1, most: 9 }, "Effort [default: 7]")
        .short('L')
        .group(COMPRESSION),
];

/// Machine and window.
pub(crate) const LOW_OPTIONS: &[Opt] = &[
    Opt::with(
        "nice-level",
        "VALUE",
        Takes::Number { least: -20, most: 19 },
        "Priority of the process [default: what it was started with]",
    )
    .short('N')
    .group(LOW),
    Opt::with(
        "threads",
        "COUNT",
        Takes::Number { least: 1, most: 1024 },
        "Worker threads; the output is the same [default: processors]",
    )
    .short('p')
    .group(LOW),
    Opt::with(
        "maxram",
        "SIZE",
        Takes::Number { least: 1, most: 1 << 40 },
        "Most memory to use, in hundreds of MiB; the output is the same [default: a third of what there is]",
    )
    .short('m')
    .group(LOW),
    Opt::flag("threshold", "Try to compress also what a quick test finds incompressible").short('T').group(LOW),
    Opt::flag("unlimited", "Look for repeats in the whole input, up to 64 GiB").short('U').group(LOW),
    Opt::with(
        "window",
        "SIZE",
        Takes::Number { least: 1, most: 1 << 40 },
        "How far to look for repeats, in hundreds of MiB [default: 4 GiB]",
    )
    .short('w')
    .group(LOW),
];

const OPTIONS: &[&[Opt]] = &[GENERAL_OPTIONS, OUTPUT_OPTIONS, COMPRESSION_OPTIONS, LOW_OPTIONS];
const FILES: &[Operand] = &[Operand {
    name: "FILE...",
    help: "The files; - or none at all: standard input, to standard output",
    required: false,
    of: &[],
}];

/// Compresses.
pub const LRZIP: Applet = Applet {
    name: "lrzip",
    about: "Compress files of any size, repeats far apart included (drop-in for lrzip)",
    details,
    options: OPTIONS,
    operands: FILES,
    manners: Manners::DropInDiff,
    run: |args, io| run(args, io, Mode::Compress, false),
};

/// Decompresses.
pub const LRUNZIP: Applet = Applet {
    name: "lrunzip",
    about: "Decompress .lrz files (drop-in for lrunzip)",
    run: |args, io| run(args, io, Mode::Decompress, false),
    ..LRZIP
};

/// Decompresses to standard output.
pub const LRZCAT: Applet = Applet {
    name: "lrzcat",
    about: "Decompress .lrz files to standard output (drop-in for lrzcat)",
    run: |args, io| run(args, io, Mode::Decompress, true),
    ..LRZIP
};

fn details() -> String {
    format!(
        "Settings are read from lrzip.conf in the present directory, ~/.lrzip or /etc/lrzip, the first there is, unless \
         LRZIP=NOCONFIG; options come before them. What memory has no room for goes to TMPDIR, or /var/tmp.\n\
         {EXIT_STATUS}"
    )
}

fn run(args: &Args, io: &mut Io, preset: Mode, to_stdout: bool) -> Result<(), Failure> {
    let mut settings = Settings::new(args, io, preset)?;
    if to_stdout {
        settings.outfile.get_or_insert_with(|| PathBuf::from("-"));
        settings.silent = true;
    }
    let files = args.operands("FILE...");
    settings.check_files(args, files.len())?;
    refuse_inputs(&settings, &files)?;
    if files.is_empty() {
        return file::run(&settings, &Place::Stdin, io);
    }
    files.iter().try_for_each(|name| one(&settings, name, io))
}

/// Refuses an output that is one of the inputs, which may not have been read by then.
fn refuse_inputs(settings: &Settings, files: &[OsString]) -> Result<(), Failure> {
    if !matches!(settings.mode, Mode::Compress | Mode::Decompress) {
        return Ok(());
    }
    let inputs: Vec<PathBuf> = files.iter().map(PathBuf::from).collect();
    // A file without an output is refused when its turn comes.
    let outputs = inputs.iter().filter_map(|input| names::output_of(input, settings).ok());
    Ok(packline::all_must_differ(&inputs, outputs.collect::<Vec<_>>())?)
}

fn one(settings: &Settings, name: &OsString, io: &mut Io) -> Result<(), Failure> {
    if name == "-" {
        return file::run(settings, &Place::Stdin, io);
    }
    let path = Path::new(name);
    let about = std::fs::metadata(path).map_err(|cause| cannot_open(path, &cause))?;
    if !about.is_dir() {
        return file::run(settings, &Place::File(path.to_path_buf()), io);
    }
    if settings.recursive {
        return below(settings, path, io);
    }
    let what = "is a directory (expected a file; -r goes into directories, lrztar packs one)";
    Err(Failure::failed(format!("{}: {what}", path.escaped())))
}

/// Each file below a directory, by name; links are left alone, and what has the suffix or, to decompress, has none.
fn below(settings: &Settings, top: &Path, io: &mut Io) -> Result<(), Failure> {
    let mut waiting = vec![top.to_path_buf()];
    while let Some(path) = waiting.pop() {
        let about = std::fs::symlink_metadata(&path).map_err(|cause| cannot_open(&path, &cause))?;
        if about.is_dir() {
            let mut names: Vec<PathBuf> = list(&path)?;
            names.sort_unstable_by(|one, other| other.cmp(one));
            waiting.append(&mut names);
        } else if about.is_file() && (settings.mode == Mode::Compress || names::has_suffix(&path, &settings.suffix)) {
            file::run(settings, &Place::File(path), io)?;
        }
    }
    Ok(())
}

fn list(path: &Path) -> Result<Vec<PathBuf>, Failure> {
    let entries = std::fs::read_dir(path).map_err(|cause| cannot_open(path, &cause))?;
    let names: std::io::Result<Vec<PathBuf>> = entries.map(|entry| entry.map(|entry| entry.path())).collect();
    names.map_err(|cause| cannot_open(path, &cause))
}

fn cannot_open(path: &Path, cause: &std::io::Error) -> Failure {
    Failure::failed(format!("{}: cannot open: {cause}", path.escaped()))
}
