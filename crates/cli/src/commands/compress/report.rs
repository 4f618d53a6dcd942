//! Reports of a file that was compressed, decompressed or tested.

use std::os::unix::ffi::OsStrExt;

use packline_cache::Counts;
use packline_pln::{Unpacked, WriteOptions, Written};
use packline_recovery::{PacketLocation, Shape};
use serde_json::{Map, Value, json};

use super::settings::Settings;
use crate::commands::recovery::report::shape_text;
use crate::commands::streams::{Mode, StreamFile};
use crate::ui::counters;
use crate::ui::escape::{Escape, hex, put_json};
use crate::ui::failure::Failure;
use crate::ui::io::Io;
use crate::ui::report::{cached_json, cached_text};
use crate::ui::size::{count, show_bytes, show_ratio, show_size};

/// A file that was compressed.
pub struct Compressed<'a> {
    pub options: &'a WriteOptions,
    pub written: &'a Written,
    /// The use of the cache, if there is one.
    pub cached: Option<&'a Counts>,
}

/// Reports a file that was compressed.
pub fn compressed(
    settings: &Settings,
    &Compressed { options, written, cached }: &Compressed<'_>,
    file: &StreamFile<'_>,
    io: &mut Io,
) -> Result<(), Failure> {
    let counted = settings.run_options.counted();
    let elapsed = file.started.elapsed(written.logical);
    let shape = settings.recovery.and_then(|redundancy| Shape::new(written.physical, redundancy).ok());
    let recovery_bytes = shape.map_or(0, |shape| shape.recovery_bytes(PacketLocation::Appended));
    let physical = written.physical + recovery_bytes;
    if settings.json {
        let mut object = json!({
            "logical_bytes": written.logical,
            "physical_bytes": physical,
            "recovery_bytes": recovery_bytes,
            "record_size": options.record_size.bytes(),
            "codings": options.codings.iter().map(|coding| coding.to_string()).collect::<Vec<_>>(),
            "records": written.records,
            "stored_records": written.stored_records,
            "blake3": hex(&written.blake3),
            "workers": written.workers,
            "cache": cached.map(cached_json),
        });
        elapsed.put_into(&mut object);
        counters::put_into(&mut object, counted.as_ref());
        return print(file, object, io);
    }
    let larger = if physical > written.logical { ", larger than the input" } else { "" };
    let mut text = format!(
        "{}: {} => {}{}{larger}{}, {}",
        file.place.display_path().escaped(),
        show_bytes(written.logical),
        show_bytes(physical),
        show_ratio(physical, written.logical),
        name(file),
        elapsed.text()
    );
    if settings.verbose {
        text.push_str(&format!(
            "\n{} of {}, {} of them stored; {}; BLAKE3 {}",
            count(written.records, "record"),
            show_size(options.record_size.bytes() as u64),
            written.stored_records,
            count(written.workers as u64, "worker"),
            hex(&written.blake3)
        ));
    }
    if let Some(shape) = shape {
        text.push_str(&format!("\nrecovery data: {}; {}", show_bytes(recovery_bytes), shape_text(&shape)));
    }
    if let Some(counts) = cached {
        text.push_str(&format!("\n{}", cached_text(counts)));
    }
    counters::add_to(&mut text, counted.as_ref());
    print_summary(settings, file, &text, io);
    Ok(())
}

/// Reports a file that was decompressed or tested.
pub fn decompressed(
    settings: &Settings,
    unpacked: &Unpacked,
    file: &StreamFile<'_>,
    io: &mut Io,
) -> Result<(), Failure> {
    let sum = unpacked.blake3.map(|sum| hex(&sum));
    let counted = settings.run_options.counted();
    let elapsed = file.started.elapsed(unpacked.bytes);
    if settings.json {
        let mut object = json!({ "bytes": unpacked.bytes, "records": unpacked.records, "blake3": sum });
        elapsed.put_into(&mut object);
        counters::put_into(&mut object, counted.as_ref());
        return print(file, object, io);
    }
    let verdict = if settings.style.mode == Mode::Test { "sound, " } else { "" };
    let path = file.place.display_path().escaped();
    let bytes = show_bytes(unpacked.bytes);
    let output = file.output.map_or(String::new(), |output| format!(" => {}", output.escaped()));
    let separator = if output.is_empty() { ": " } else { ", " };
    let mut text = format!("{path}{output}{separator}{verdict}{bytes}, {}", elapsed.text());
    if let Some(sum) = sum.filter(|_| settings.verbose) {
        text.push_str(&format!("\n{}; BLAKE3 {sum}", count(unpacked.records, "record")));
    }
    counters::add_to(&mut text, counted.as_ref());
    print_summary(settings, file, &text, io);
    Ok(())
}

fn name(file: &StreamFile<'_>) -> String {
    file.output.map_or(String::new(), |output| format!(", {}", output.escaped()))
}

/// Prints the summary. If the output goes to standard output, the next program in the pipe reports, so only -v or --stats print it.
fn print_summary(settings: &Settings, file: &StreamFile<'_>, text: &str, io: &mut Io) {
    let stream = file.output.is_none() && settings.style.mode != Mode::Test;
    if !settings.quiet && (!stream || settings.verbose || settings.stats) {
        io.eprint_lines(text);
    }
}

/// Prints an object with the names of the files first.
fn print(file: &StreamFile<'_>, figures: Value, io: &mut Io) -> Result<(), Failure> {
    let mut object = Map::new();
    put_json(&mut object, "file", file.place.display_path().as_os_str().as_bytes());
    if let Some(output) = file.output {
        put_json(&mut object, "output", output.as_os_str().as_bytes());
    }
    if let Value::Object(figures) = figures {
        object.extend(figures);
    }
    let line = format!("{}\n", Value::Object(object));
    if file.output.is_none() {
        return io.print_json(&line);
    }
    io.report_as(true, &line);
    Ok(())
}
