//! Compresses, decompresses or tests one file.

use std::io;
use std::path::PathBuf;

use packline::Output;
use packline::requests::{CompressRequest, PlnUnpackRequest};
use packline_pln::{Unpacked, WriteOptions, Written};

use super::report;
use super::settings::Settings;
use crate::commands::streams::{self, CommandInput, Mode, StreamFile};
use crate::ui::escape::Escape;
use crate::ui::failure::Failure;
use crate::ui::io::Io;

/// Compresses, decompresses or tests one file.
pub fn run(settings: &Settings, place: &CommandInput, io: &mut Io) -> Result<(), Failure> {
    if let CommandInput::File(path) = place
        && path.is_dir()
    {
        let hint = "--recursive processes the files in it, and 'packline pack' packs it into an image";
        return Err(Failure::failed(format!("{}: is a directory; {hint}", path.escaped())));
    }
    match &settings.options {
        Some(options) => compress(settings, options, place, io),
        None => decompress(settings, place, io),
    }
}

fn compress(settings: &Settings, options: &WriteOptions, place: &CommandInput, io: &mut Io) -> Result<(), Failure> {
    let open = |file: &StreamFile<'_>, io: &mut Io| {
        let target = settings.style.target(file, io)?;
        let mut request = CompressRequest::new(file.place.source(file.output, io)?, target, options.clone());
        request.cache = settings.cache.clone();
        request.recipients = settings.recipients.clone();
        request.recovery = settings.recovery;
        request.verify = settings.style.remove;
        request.resources = settings.resources.clone();
        request.temporaries = io.temporaries.clone();
        Ok(request)
    };
    let counted = settings.cache.as_ref().map(|cache| cache.counts());
    let report = |file: &StreamFile<'_>, written: &Written, io: &mut Io| {
        let counts = settings.cache.as_ref().zip(counted).map(|(cache, before)| cache.counts().since(&before));
        let done = report::Compressed { options, written, cached: counts.as_ref() };
        report::compressed(settings, &done, file, io).map(|()| None)
    };
    let done = streams::run(&settings.style, place, io, open, packline::requests::pln_compress, report);
    done.map_err(Failure::of_incomplete_file)
}

fn decompress(settings: &Settings, place: &CommandInput, io: &mut Io) -> Result<(), Failure> {
    let tests = settings.style.mode == Mode::Test;
    let open = |file: &StreamFile<'_>, io: &mut Io| {
        let target = if tests {
            Output::Stream(PathBuf::from("nowhere"), Box::new(io::sink()))
        } else {
            settings.style.target(file, io)?
        };
        let mut request = PlnUnpackRequest::new(file.place.source(file.output, io)?, target);
        request.keep_broken = settings.keep_broken;
        // A file is removed only if its output is known to have its content.
        request.check = settings.style.remove && file.output.is_some();
        request.repair = !tests;
        request.identities = settings.identities.clone();
        request.resources = settings.resources.clone();
        request.temporaries = io.temporaries.clone();
        Ok(request)
    };
    let report = |file: &StreamFile<'_>, unpacked: &Unpacked, io: &mut Io| {
        report::decompressed(settings, unpacked, file, io).map(|()| None)
    };
    streams::run(&settings.style, place, io, open, packline::requests::pln_unpack, report)
}
