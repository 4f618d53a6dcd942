//! One file: compressed, decompressed or tested.

use std::io;
use std::path::{Path, PathBuf};

use packline::Output;
use packline::requests::{CompressRequest, PlnUnpackRequest};
use packline_pln::WriteOptions;

use super::settings::{Mode, Settings};
use super::{names, report};
use crate::ui::elapsed::Started;
use crate::ui::escape::Escape;
use crate::ui::failure::Failure;
use crate::ui::io::Io;
use crate::ui::observer::{ReadSource, remove_source, watched_and_synced};
use crate::ui::place::Place;

/// Compresses, decompresses or tests one file.
///
/// # Errors
/// Those of the library, and of names; a directory.
pub fn run(settings: &Settings, place: &Place, io: &mut Io) -> Result<(), Failure> {
    if let Place::File(path) = place
        && path.is_dir()
    {
        let expected = "a file; --recursive takes the files in a directory, packline pack makes one image of it";
        return Err(Failure::failed(format!("{}: is a directory (expected {expected})", path.escaped())));
    }
    match &settings.options {
        Some(options) => compress(settings, options, place, io),
        None => decompress(settings, place, io),
    }
}

fn compress(settings: &Settings, options: &WriteOptions, place: &Place, io: &mut Io) -> Result<(), Failure> {
    if let Place::File(path) = place
        && names::has_suffix(path)
        && !settings.force
        && settings.output.is_none()
        && !settings.stdout
    {
        if !settings.quiet {
            io.eprintln(&format!("{}: already has the suffix .pln, skipped", path.escaped()));
        }
        return Ok(());
    }
    let output = output_of(settings, place)?;
    let target = target(settings, output.as_deref(), io)?;
    let started = Started::now(&io.host);
    let before = place.stamp();
    let mut request = CompressRequest::new(place.source(output.as_deref(), io)?, target, options.clone());
    (request.resources, request.temporaries) = (settings.resources.clone(), io.temporaries.clone());
    (request.cache, request.recipients) = (settings.cache.clone(), settings.recipients.clone());
    request.recovery = settings.recovery;
    request.verify = settings.remove;
    let counted = settings.cache.as_ref().map(|cache| cache.counts());
    let (written, synced) =
        watched_and_synced(io, settings.bar, |observer| packline::requests::pln_compress(request, observer));
    let written = written?;
    let counts = settings.cache.as_ref().zip(counted).map(|(cache, before)| cache.counts().since(&before));
    let done = report::Compressed { options, written: &written, cached: counts.as_ref() };
    report::compressed(settings, &done, place, output.as_deref(), started, io)?;
    remove(settings, place, ReadSource { before, synced }, io)
}

fn decompress(settings: &Settings, place: &Place, io: &mut Io) -> Result<(), Failure> {
    let (output, target) = if settings.mode == Mode::Test {
        (None, Output::Stream(PathBuf::from("nowhere"), Box::new(io::sink())))
    } else {
        let output = output_of(settings, place)?;
        let target = target(settings, output.as_deref(), io)?;
        (output, target)
    };
    let started = Started::now(&io.host);
    let before = place.stamp();
    let mut request = PlnUnpackRequest::new(place.source(output.as_deref(), io)?, target);
    request.keep_broken = settings.keep_broken;
    // Nothing is removed whose content is not known to be in its output.
    request.check = settings.remove && output.is_some();
    request.repair = settings.mode != Mode::Test;
    request.identities = settings.identities.clone();
    (request.resources, request.temporaries) = (settings.resources.clone(), io.temporaries.clone());
    let (unpacked, synced) =
        watched_and_synced(io, settings.bar, |observer| packline::requests::pln_unpack(request, observer));
    report::decompressed(settings, place, output.as_deref(), &unpacked?, started, io)?;
    remove(settings, place, ReadSource { before, synced }, io)
}

/// The output's name; none for standard output.
pub fn output_of(settings: &Settings, place: &Place) -> Result<Option<PathBuf>, Failure> {
    if settings.to_stdout(place) {
        return Ok(None);
    }
    let Place::File(path) = place else { return Ok(settings.output.clone()) };
    let output = match &settings.output {
        Some(output) => output.clone(),
        None if settings.mode == Mode::Compress => names::with_suffix(path),
        None => names::without_suffix(path)?,
    };
    Ok(Some(output))
}

fn target(settings: &Settings, output: Option<&Path>, io: &mut Io) -> Result<Output, Failure> {
    let Some(path) = output else {
        // Content that is asked for in so many words is what a terminal shows.
        let unasked = settings.mode == Mode::Compress || !settings.stdout;
        if io.out_terminal && unasked && !settings.force {
            return Err(Failure::usage(
                "standard output is a terminal (expected --output, or a file or a pipe; or -f)",
            ));
        }
        return Ok(io.stdout_target());
    };
    Ok(Output::File { path: path.to_path_buf(), force: settings.force })
}

/// Removes the file that was read, if that is asked for.
fn remove(settings: &Settings, place: &Place, source: ReadSource, io: &mut Io) -> Result<(), Failure> {
    match place {
        Place::File(path) if settings.remove => remove_source(path, source, io),
        _ => Ok(()),
    }
}
