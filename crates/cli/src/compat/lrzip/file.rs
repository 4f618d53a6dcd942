//! Compresses, decompresses, tests or describes one file.

use std::path::Path;

use packline::requests::{CompressRequest, LrzUnpackRequest, OpenedLrz};
use packline::{Observer, Output};
use packline_lrz::{Unpacked, WriteOptions, Written};
use packline_runtime::Temporaries;

use super::settings::Settings;
use crate::commands::info::lrz as info;
use crate::commands::streams::{self, CommandInput, Mode, StreamFile};
use crate::host::streams::STDIN;
use crate::ui::escape::{Escape, hex};
use crate::ui::failure::Failure;
use crate::ui::io::{Io, take_stdin};
use crate::ui::password::{self, Secret, wants_password};
use crate::ui::size::show_bytes;

/// Processes one input.
pub fn run(settings: &Settings, place: &CommandInput, io: &mut Io) -> Result<(), Failure> {
    match settings.style.mode {
        Mode::Compress => compress(settings, place, io),
        Mode::Decompress | Mode::Test => decompress(settings, place, io),
        Mode::Describe => {
            let detail = info::Detail { json: settings.json, verbosity: settings.verbosity };
            info::show(detail, place.display_path(), open(settings, place, None, io), io)
        }
    }
}

/// Prints lines unless the command is silent: to standard output, unless the output goes there. A reader that is gone is not a failure.
fn print(settings: &Settings, file: &StreamFile<'_>, text: &str, io: &mut Io) {
    if settings.silent {
        return;
    }
    if settings.style.mode.writes() && file.output.is_none() {
        io.eprint_lines(text);
    } else {
        drop(io.print(&format!("{text}\n")));
    }
}

fn target(settings: &Settings, file: &StreamFile<'_>, io: &mut Io) -> Result<Output, Failure> {
    if let Some(path) = file.output {
        print(settings, file, &format!("Output filename is: {}", path.escaped()), io);
    }
    settings.style.target(file, io)
}

// Compressing.

fn compress(settings: &Settings, place: &CommandInput, io: &mut Io) -> Result<(), Failure> {
    let open = |file: &StreamFile<'_>, io: &mut Io| {
        let password = password_to_write(settings, place, io)?;
        let options = WriteOptions { password: password.map(password::for_writing), ..settings.options.clone() };
        let target = target(settings, file, io)?;
        let mut request = CompressRequest::new(place.source(file.output, io)?, target, options);
        request.verify = settings.style.remove && *place != CommandInput::Stdin && file.output.is_some();
        request.resources = settings.resources.clone();
        request.temporaries = io.temporaries.clone();
        Ok(request)
    };
    let report = |file: &StreamFile<'_>, written: &Written, io: &mut Io| {
        print(settings, file, &compressed(settings, place, written), io);
        Ok(None)
    };
    streams::run(&settings.style, place, io, open, packline::requests::lrz_pack, report)
}

/// Returns the password for a new file; the terminal is asked twice.
fn password_to_write(settings: &Settings, place: &CommandInput, io: &mut Io) -> Result<Option<Vec<u8>>, Failure> {
    match &settings.secret {
        Secret::None => Ok(None),
        Secret::Known(password) => Ok(Some(password.clone())),
        Secret::Ask if *place == CommandInput::Stdin => Err(no_way_to_ask()),
        Secret::Ask => password::ask(io, true).map(Some),
    }
}

fn no_way_to_ask() -> Failure {
    Failure::failed("standard input cannot provide both the content and a password; use --encrypt=PASSWORD")
}

fn compressed(settings: &Settings, place: &CommandInput, written: &Written) -> String {
    let ratio = written.plain as f64 / written.stored.max(1) as f64;
    let mut text = format!("{} - Compression Ratio: {ratio:.3}.", place.display_path().escaped());
    if settings.verbosity > 0 {
        let [opcodes, literals] = written.streams;
        text = format!(
            "{} chunks, {} matches of {}, {} literals of {}, {} workers\n\
             Stream 0: {} blocks, {} of {}; stream 1: {} blocks, {} of {}\n{text}",
            written.chunks,
            written.matches,
            show_bytes(written.match_bytes),
            written.literals,
            show_bytes(written.literal_bytes),
            written.workers,
            opcodes.blocks,
            show_bytes(opcodes.stored),
            show_bytes(opcodes.plain),
            literals.blocks,
            show_bytes(literals.stored),
            show_bytes(literals.plain),
        );
    }
    if settings.verbosity > 1 {
        let options = &settings.options;
        text = format!(
            "Back end {}, level {}, {:?} window, {} processors\n{text}",
            options.back_end.name(),
            options.level,
            options.window,
            settings.resources.workers
        );
    }
    if settings.hash || settings.verbosity > 0 { format!("{text}\nMD5: {}", hex(&written.md5)) } else { text }
}

// Decompressing.

struct Unpacking {
    opened: OpenedLrz,
    /// `None` tests the file.
    target: Option<Output>,
    temporaries: Temporaries,
}

fn decompress(settings: &Settings, place: &CommandInput, io: &mut Io) -> Result<(), Failure> {
    let open = |file: &StreamFile<'_>, io: &mut Io| {
        let opened = open(settings, place, file.output, io)?;
        let writes = settings.style.mode.writes();
        let target = if writes { Some(target(settings, file, io)?) } else { None };
        if settings.check && writes && file.output.is_none() {
            return Err(Failure::failed("standard output cannot be read again; leave out --check, or write to a file"));
        }
        Ok(Unpacking { opened, target, temporaries: io.temporaries.clone() })
    };
    let run = |Unpacking { opened, target, temporaries }: Unpacking, observer: &mut dyn Observer| {
        // A file is removed only if its output is known to have its content.
        let removes = settings.style.remove && matches!(target, Some(Output::File { .. }));
        let mut request = LrzUnpackRequest::new(&opened, target);
        request.check = (settings.check && request.target.is_some()) || removes;
        request.md5 = settings.hash;
        request.keep_broken = settings.keep_broken;
        request.resources = settings.resources.clone();
        request.temporaries = temporaries;
        let unpacked = packline::requests::lrz_unpack(request, observer)?;
        Ok((unpacked, opened.archive.has_checksum()))
    };
    let report = |file: &StreamFile<'_>, (unpacked, has_checksum): &(Unpacked, bool), io: &mut Io| {
        print(settings, file, &decompressed(settings, unpacked), io);
        Ok((!has_checksum).then_some("it has no checksum of its content"))
    };
    streams::run(&settings.style, place, io, open, run, report)
}

fn decompressed(settings: &Settings, unpacked: &Unpacked) -> String {
    let mut lines = Vec::new();
    if let Some(md5) = unpacked.md5.filter(|_| settings.hash || settings.check || settings.verbosity > 0) {
        lines.push(format!("MD5: {}", hex(&md5)));
    }
    if settings.check && settings.style.mode == Mode::Decompress {
        lines.push("MD5 integrity of written file matches archive".to_string());
    }
    lines.push(format!("[OK] - {} bytes", unpacked.plain));
    lines.join("\n")
}

/// Opens a file. The password of an encrypted file is given or asked for.
fn open(settings: &Settings, place: &CommandInput, output: Option<&Path>, io: &mut Io) -> Result<OpenedLrz, Failure> {
    let given = match &settings.secret {
        Secret::Known(password) => Some(password.as_slice()),
        _ => None,
    };
    let path = match place {
        CommandInput::Stdin => {
            let mut stream = take_stdin(output, io)?;
            let opened = packline::requests::lrz_open_stream(STDIN, &mut stream, given, &settings.resources);
            return opened.map_err(|error| {
                if wants_password(&error) && given.is_none() { no_way_to_ask() } else { error.into() }
            });
        }
        CommandInput::File(path) => path,
    };
    match settings.style.mode {
        Mode::Describe if given.is_none() => info::without_password(path),
        Mode::Describe => Ok(packline::requests::lrz_open(path, given)?),
        _ => open_asking(path, &settings.secret, io),
    }
}

/// Opens a file. The password of an encrypted file is given or asked for.
pub fn open_asking(path: &Path, secret: &Secret, io: &mut Io) -> Result<OpenedLrz, Failure> {
    let given = match secret {
        Secret::Known(password) => Some(password.as_slice()),
        _ => None,
    };
    match packline::requests::lrz_open(path, given) {
        Err(error) if given.is_none() && wants_password(&error) => {
            Ok(packline::requests::lrz_open(path, Some(&password::ask(io, false)?))?)
        }
        opened => Ok(opened?),
    }
}
