//! `packline compress` and `decompress`: .pln files and whatever they are made of, with options as zstd(1) has them.

pub(crate) mod file;
mod names;
mod report;
mod settings;

use std::ffi::OsString;
use std::path::PathBuf;

use packline::codec::Coding;

use crate::args::Args;
use crate::args::scheduling;
use crate::table::options::{Applet, Manners, Operand, Opt, Takes};
use crate::ui::failure::{EXIT_STATUS, Failure};
use crate::ui::io::Io;
use file::Place;
use settings::{Mode, Settings};

const OUTPUT: &str = "Output";
const COMPRESSION: &str = "Compression";
const MACHINE: &str = "Machine";

const DECOMPRESS_OPTIONS: &[Opt] = &[Opt::flag("decompress", "Decompress files").short('d')];

const GENERAL_OPTIONS: &[Opt] = &[
    Opt::flag("test", "Decompress to nowhere, to see whether files are whole").short('t'),
    Opt::flag("quiet", "No progress bar, and no words but errors").short('q'),
    Opt::flag("verbose", "Say more, also of what goes to standard output").short('v'),
    Opt::flag("no-progress", "No progress bar"),
    Opt::flag("json", "Print what came of each file as a JSON object on a line of its own"),
];

const OUTPUT_OPTIONS: &[Opt] = &[
    Opt::flag("stdout", "Write to standard output").short('c').group(OUTPUT),
    Opt::with("output", "FILE", Takes::Path, "The output; - is standard output").short('o').group(OUTPUT),
    Opt::flag("force", "Replace existing files, and write compressed data to a terminal").short('f').group(OUTPUT),
    Opt::flag("keep", "Keep the files that were read, which is the default").short('k').group(OUTPUT),
    Opt::flag("rm", "Remove each file once its output is whole").group(OUTPUT),
    Opt::flag("keep-broken", "Keep what could be decompressed of a file that is damaged or cut off").group(OUTPUT),
];

const COMPRESSION_OPTIONS: &[Opt] = &[
    Opt::with(
        "level",
        "LEVEL",
        Takes::Number { least: 1, most: 19 },
        "Effort: level N is the coding slack+zstd:level=N [default: 3]",
    )
    .digits()
    .group(COMPRESSION),
    Opt::with(
        "codec",
        "CODING",
        Takes::Text,
        "A codec, NAME[:key=value,...], slack, or slack+CODEC; or auto. Given several times, or auto, each record gets \
         what makes it smallest. CODING:help explains",
    )
    .short('C')
    .repeats()
    .group(COMPRESSION),
    Opt::with(
        "record-size",
        "SIZE",
        Takes::Size { least: 4 << 10, most: 16 << 20 },
        "Bytes that are compressed as one: a power of two",
    )
    .default("1M")
    .group(COMPRESSION),
];

const MACHINE_OPTIONS: &[Opt] = &[
    Opt::with(
        "threads",
        "COUNT",
        Takes::Number { least: 0, most: 1024 },
        "Worker threads, 0 for all processors; the output is the same [default: all]",
    )
    .short('T')
    .group(MACHINE),
    Opt::with(
        "mem",
        "SIZE",
        Takes::Size { least: 0, most: u64::MAX },
        "Most memory to use; if it is short fewer threads run, and the output is the same \
         [default: what the cgroup allows]",
    )
    .group(MACHINE),
];

const FILES: &[Operand] = &[Operand {
    name: "FILE...",
    help: "The files; - or none at all: standard input, to standard output",
    required: false,
    of: &[],
}];

/// Compresses.
pub const COMPRESS: Applet = Applet {
    name: "compress",
    about: "Compress files or a stream into .pln files",
    details: compress_details,
    options: &[
        DECOMPRESS_OPTIONS,
        GENERAL_OPTIONS,
        OUTPUT_OPTIONS,
        COMPRESSION_OPTIONS,
        MACHINE_OPTIONS,
        scheduling::OPTIONS,
        scheduling::STATS,
    ],
    operands: FILES,
    manners: Manners::Packline,
    run: |args, io| {
        let mode = if args.flag("decompress") { Mode::Decompress } else { Mode::Compress };
        run(args, io, mode)
    },
};

/// Decompresses.
pub const DECOMPRESS: Applet = Applet {
    name: "decompress",
    about: "Decompress .pln files or a stream",
    details: decompress_details,
    options: &[GENERAL_OPTIONS, OUTPUT_OPTIONS, MACHINE_OPTIONS, scheduling::OPTIONS, scheduling::STATS],
    operands: FILES,
    manners: Manners::Packline,
    run: |args, io| run(args, io, Mode::Decompress),
};

fn compress_details() -> String {
    let names: Vec<&str> = Coding::names().collect();
    format!(
        "A .pln file is cut into records, each compressed by itself with checksums of its own: any part of it is read alone, and \
         one that is cut off is read up to there. Files that exist are replaced only with --force; an output has its name \
         when it is whole.\n\
         Codecs: {}. auto is slack+lz4 and slack+zstd:level=3.\n\
         Sizes may end in K, M or G. {EXIT_STATUS}\n\
         Examples: packline compress -9 disk.img\n          \
         packline compress -C slack+lz4hc --record-size 128K -o x.pln x\n          \
         tar -c tree | packline compress -T0 > tree.tar.pln\n          \
         packline compress -d disk.img.pln",
        names.join(", ")
    )
}

fn decompress_details() -> String {
    format!(
        "Each byte is checked before it is written. Of a file that is damaged or cut off standard output gets what is whole \
         before that, and a file is there only with --keep-broken.\n\
         A part of a file is printed by packline cat --range.\n\
         {EXIT_STATUS}"
    )
}

fn run(args: &Args, io: &mut Io, mode: Mode) -> Result<(), Failure> {
    if let Some(help) = settings::codec_help(args, mode)? {
        return io.print(&help);
    }
    let settings = Settings::new(args, io, mode)?;
    let places = places(&args.operands("FILE..."));
    settings.check(args, &places)?;
    refuse_inputs(&settings, &places)?;
    let done = match places.as_slice() {
        [place] => file::run(&settings, place, io),
        several => each(&settings, several, io),
    };
    // Of several files some may have been done.
    match done.is_ok() || places.len() > 1 {
        true if settings.mode == Mode::Test => settings.scheduled.write(args, io)?,
        true => settings.scheduled.write_beside(args, io),
        false => {}
    }
    done
}

/// Refuses an output that is one of the inputs, which may not have been read by then.
fn refuse_inputs(settings: &Settings, places: &[Place]) -> Result<(), Failure> {
    if settings.mode == Mode::Test {
        return Ok(());
    }
    // A place without an output is refused when its turn comes.
    let outputs = places.iter().filter_map(|place| file::output_of(settings, place).ok().flatten());
    let inputs =
        places.iter().filter_map(|place| if let Place::File(path) = place { Some(path.clone()) } else { None });
    Ok(packline::all_must_differ(&inputs.collect::<Vec<_>>(), outputs)?)
}

/// One after the other; what is wrong with one is said, and the others are done.
fn each(settings: &Settings, places: &[Place], io: &mut Io) -> Result<(), Failure> {
    let mut failed = false;
    for place in places {
        match file::run(settings, place, io) {
            Err(Failure::Failed(what)) => {
                io.say(&format!("packline: {what}"));
                failed = true;
            }
            other => other?,
        }
    }
    if failed { Err(Failure::Said(1)) } else { Ok(()) }
}

fn places(files: &[OsString]) -> Vec<Place> {
    let place = |name: &OsString| if name == "-" { Place::Stdin } else { Place::File(PathBuf::from(name)) };
    if files.is_empty() { vec![Place::Stdin] } else { files.iter().map(place).collect() }
}
