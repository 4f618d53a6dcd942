//! One file: compressed, decompressed, tested or described.

use std::path::{Path, PathBuf};

use packline::Output;
use packline::requests::{CompressRequest, LrzUnpackRequest, OpenedLrz};
use packline_lrz::{Unpacked, Written};

use super::names;
use super::settings::{Mode, Settings};
use crate::commands::info::lrz as info;
use crate::host::streams::STDIN;
use crate::ui::escape::{Escape, hex};
use crate::ui::failure::Failure;
use crate::ui::io::Io;
use crate::ui::io::take_stdin;
use crate::ui::observer::{ReadSource, remove_source, watched_and_synced};
use crate::ui::password::{self, Secret, wants_password};
use crate::ui::place::Place;
use crate::ui::size::show_bytes;

/// Processes one input.
pub fn run(settings: &Settings, place: &Place, io: &mut Io) -> Result<(), Failure> {
    match settings.mode {
        Mode::Compress => compress(settings, place, io),
        Mode::Decompress | Mode::Test => decompress(settings, place, io),
        Mode::Info => {
            let detail = info::Detail { json: settings.json, verbosity: settings.verbosity };
            info::show(detail, place.display_path(), open(settings, place, None, io), io)
        }
    }
}

// Compressing.

fn compress(settings: &Settings, place: &Place, io: &mut Io) -> Result<(), Failure> {
    if let Place::File(path) = place
        && is_skipped(settings, path)
    {
        io.eprintln(&format!("{}: already has the suffix {}, skipped", path.escaped(), settings.suffix));
        return Ok(());
    }
    let password = password_to_write(settings, place, io)?;
    let options =
        packline_lrz::WriteOptions { password: password.map(password::for_writing), ..settings.options.clone() };
    let output = output_of(settings, place)?;
    let (target, mut messages) = target(settings, place, output.as_deref(), io)?;
    let before = place.stamp();
    let mut request = CompressRequest::new(place.source(output.as_deref(), io)?, target, options);
    (request.resources, request.temporaries) = (settings.resources.clone(), io.temporaries.clone());
    request.verify = settings.delete && *place != Place::Stdin && output.is_some();
    let (written, synced) =
        watched_and_synced(io, settings.bar(), |observer| packline::requests::lrz_pack(request, observer));
    messages.print(settings, io, &compressed(settings, place, &written?));
    delete(settings, place, output.as_deref(), ReadSource { before, synced }, io)
}

/// Whether a file is not compressed because its name has the suffix already.
pub fn is_skipped(settings: &Settings, path: &Path) -> bool {
    settings.mode == Mode::Compress && names::has_suffix(path, &settings.suffix) && settings.outfile.is_none()
}

/// A password for a new file; the terminal is asked twice.
fn password_to_write(settings: &Settings, place: &Place, io: &mut Io) -> Result<Option<Vec<u8>>, Failure> {
    match &settings.secret {
        Secret::None => Ok(None),
        Secret::Given(password) => Ok(Some(password.clone())),
        Secret::Ask if *place == Place::Stdin => Err(no_way_to_ask()),
        Secret::Ask => password::ask(io, true).map(Some),
    }
}

fn no_way_to_ask() -> Failure {
    Failure::failed("standard input cannot give content and a password (expected --encrypt=PASSWORD)")
}

/// Summary of a file that was compressed.
fn compressed(settings: &Settings, place: &Place, written: &Written) -> String {
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

fn decompress(settings: &Settings, place: &Place, io: &mut Io) -> Result<(), Failure> {
    let output = if settings.mode == Mode::Test { None } else { Some(output_of(settings, place)?) };
    let name = output.clone().flatten();
    let before = place.stamp();
    let opened = open(settings, place, output.as_ref().and_then(Option::as_deref), io)?;
    let (target, mut messages) = match output {
        None => (None, MessageStream::Stdout),
        Some(output) => {
            let (target, messages) = target(settings, place, output.as_deref(), io)?;
            (Some(target), messages)
        }
    };
    if settings.check && matches!(target, Some(Output::Stream(..)) | None) && settings.mode == Mode::Decompress {
        return Err(Failure::failed("standard output cannot be read again (expected no --check, or a file)"));
    }
    // Nothing is removed whose content is not known to be in its output.
    let removes = settings.delete && matches!(target, Some(Output::File { .. }));
    let check = (settings.check && target.is_some()) || removes;
    let mut request = LrzUnpackRequest::new(&opened, target);
    (request.check, request.md5, request.keep_broken) = (check, settings.hash, settings.keep_broken);
    (request.resources, request.temporaries) = (settings.resources.clone(), io.temporaries.clone());
    let (unpacked, synced) =
        watched_and_synced(io, settings.bar(), |observer| packline::requests::lrz_unpack(request, observer));
    let unpacked = unpacked?;
    messages.print(settings, io, &decompressed(settings, &unpacked));
    match place {
        Place::File(path) if removes && !opened.archive.has_checksum() => {
            io.warn(&format!("{}: not removed, because it has no checksum of its content", path.escaped()));
        }
        _ if settings.mode != Mode::Test => {
            delete(settings, place, name.as_deref(), ReadSource { before, synced }, io)?
        }
        _ => {}
    }
    Ok(())
}

fn decompressed(settings: &Settings, unpacked: &Unpacked) -> String {
    let mut lines = Vec::new();
    if let Some(md5) = unpacked.md5.filter(|_| settings.hash || settings.check || settings.verbosity > 0) {
        lines.push(format!("MD5: {}", hex(&md5)));
    }
    if settings.check && settings.mode == Mode::Decompress {
        lines.push("MD5 integrity of written file matches archive".to_string());
    }
    lines.push(format!("[OK] - {} bytes", unpacked.plain));
    lines.join("\n")
}

/// Opens a file; an encrypted one with the password that was given, or is asked for.
fn open(settings: &Settings, place: &Place, output: Option<&Path>, io: &mut Io) -> Result<OpenedLrz, Failure> {
    let given = match &settings.secret {
        Secret::Given(password) => Some(password.as_slice()),
        _ => None,
    };
    let path = match place {
        Place::Stdin => {
            let mut stream = take_stdin(output, io)?;
            let opened = packline::requests::lrz_open_stream(STDIN, &mut stream, given, &settings.resources);
            return opened.map_err(|error| {
                if wants_password(&error) && given.is_none() { no_way_to_ask() } else { error.into() }
            });
        }
        Place::File(path) => path,
    };
    match settings.mode {
        Mode::Info if given.is_none() => info::without_password(path),
        Mode::Info => Ok(packline::requests::lrz_open(path, given)?),
        _ => open_asking(path, &settings.secret, io),
    }
}

/// Opens a file; an encrypted one with the password that was given, or else is asked for.
pub fn open_asking(path: &Path, secret: &Secret, io: &mut Io) -> Result<OpenedLrz, Failure> {
    let given = match secret {
        Secret::Given(password) => Some(password.as_slice()),
        _ => None,
    };
    match packline::requests::lrz_open(path, given) {
        Err(error) if given.is_none() && wants_password(&error) => {
            Ok(packline::requests::lrz_open(path, Some(&password::ask(io, false)?))?)
        }
        opened => Ok(opened?),
    }
}

/// The output's name; none for standard output.
fn output_of(settings: &Settings, place: &Place) -> Result<Option<PathBuf>, Failure> {
    let output = match place {
        Place::Stdin => settings.outfile.clone(),
        Place::File(path) => Some(names::output_of(path, settings)?),
    };
    Ok(output.filter(|output| output.as_os_str() != "-"))
}

/// Stream for messages: not standard output if that is the output.
enum MessageStream {
    Stdout,
    Stderr,
}

impl MessageStream {
    /// Prints lines unless the command is silent; a reader that is gone is not a failure.
    fn print(&mut self, settings: &Settings, io: &mut Io, text: &str) {
        match self {
            _ if settings.silent => {}
            MessageStream::Stdout => drop(io.print(&format!("{text}\n"))),
            MessageStream::Stderr => io.eprint_lines(text),
        }
    }
}

fn target(
    settings: &Settings,
    place: &Place,
    output: Option<&Path>,
    io: &mut Io,
) -> Result<(Output, MessageStream), Failure> {
    let Some(path) = output else {
        if let Place::File(input) = place {
            io.refuse_input(input)?;
        }
        if io.out_terminal && settings.mode == Mode::Compress {
            return Err(Failure::usage("standard output is a terminal (expected --outfile, or a file or a pipe)"));
        }
        return Ok((io.stdout_target(), MessageStream::Stderr));
    };
    let mut messages = MessageStream::Stdout;
    messages.print(settings, io, &format!("Output filename is: {}", path.escaped()));
    Ok((Output::File { path: path.to_path_buf(), force: settings.force }, messages))
}

/// Deletes the file that was read, if that is asked for and the output is a file, which was verified.
fn delete(
    settings: &Settings,
    place: &Place,
    output: Option<&Path>,
    source: ReadSource,
    io: &mut Io,
) -> Result<(), Failure> {
    match place {
        Place::File(path) if settings.delete && output.is_none() => {
            io.warn(&format!("{}: not removed, because standard output cannot be read again", path.escaped()));
            Ok(())
        }
        Place::File(path) if settings.delete => remove_source(path, source, io),
        _ => Ok(()),
    }
}
