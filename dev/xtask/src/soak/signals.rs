//! Sends signals at random moments to every command that writes. Afterwards the name of the output has its earlier content or the
//! complete output. A source is removed only if the output is complete. No other files remain.

use super::scene::{Scene, ensure};
use crate::clock;
use rustix::process::{Pid, Signal, kill_process};
use std::process::ExitStatus;
use std::time::Duration;

/// A command with its files.
struct Writer {
    words: &'static [&'static str],
    /// Commands that run first and create the sources.
    before: &'static [&'static [&'static str]],
    output: &'static str,
    /// The file that the command removes or replaces after it wrote the output.
    removes: Option<&'static str>,
    /// The output is a file that the command changes.
    in_place: bool,
}

const MOMENTS: u64 = 8;
const IMAGE: &[&str] = &["pack", "-q", "tree", "image.sqfs"];

const WRITERS: [Writer; 17] = [
    output(&["pack", "-q", "-f", "tree", "out.sqfs"], &[], "out.sqfs"),
    output(&["pack", "-q", "-f", "tree", "out.lrz"], &[], "out.lrz"),
    output(&["pack", "-q", "-f", "-c", "lz4", "image.sqfs", "out.sqfs"], &[IMAGE], "out.sqfs"),
    output(&["mksquashfs", "tree", "out.sqfs", "-noappend", "-quiet", "-no-progress"], &[], "out.sqfs"),
    output(&["gensquashfs", "-q", "-f", "-D", "tree", "out.sqfs"], &[], "out.sqfs"),
    output(&["unpack", "-q", "-f", "image.sqfs", "out.tar"], &[IMAGE], "out.tar"),
    output(&["unpack", "-q", "-f", "image.sqfs", "out.tar.zst"], &[IMAGE], "out.tar.zst"),
    output(&["compress", "-q", "-f", "-k", "file"], &[], "file.pln"),
    output(&["lrzip", "-q", "-f", "file"], &[], "file.lrz"),
    output(&["lrunzip", "-q", "-f", "-o", "out", "file.lrz"], &[&["lrzip", "-q", "file"]], "out"),
    output(&["delta", "-q", "-f", "file", "other", "out.pld"], &[], "out.pld"),
    output(&["patch", "-q", "-f", "file", "d.pld", "out"], &[&["delta", "-q", "file", "other", "d.pld"]], "out"),
    output(&["protect", "-q", "-f", "file"], &[], "file.recovery"),
    Writer { removes: Some("file"), ..output(&["compress", "-q", "-f", "--rm", "file"], &[], "file.pln") },
    Writer {
        removes: Some("other.pln"),
        ..output(&["decompress", "-q", "-f", "--rm", "other.pln"], &[&["compress", "-q", "-k", "other"]], "other")
    },
    Writer {
        in_place: true,
        ..output(&["mksquashfs", "more", "image.sqfs", "-quiet", "-no-progress"], &[IMAGE], "image.sqfs")
    },
    Writer { in_place: true, ..output(&["verity", "-q", "--append", "image.sqfs"], &[IMAGE], "image.sqfs") },
];

const fn output(words: &'static [&str], before: &'static [&'static [&str]], output: &'static str) -> Writer {
    Writer { words, before, output, removes: None, in_place: false }
}

pub fn round(scene: &mut Scene) -> Result<(), String> {
    let writer = &WRITERS[scene.random.below(WRITERS.len() as u64) as usize];
    let limit = 1 << (12 + scene.random.below(12));
    scene.plant("tree", 12, limit / 4)?;
    scene.plant("more", 2, limit / 4)?;
    for name in ["file", "other"] {
        let mut content = scene.content(limit);
        if content.is_empty() {
            // `protect` rejects an empty file.
            content.push(b'x');
        }
        scene.write(name, &content)?;
    }
    for words in writer.before {
        scene.succeed(words)?;
    }
    attack(scene, writer).map_err(|finding| format!("{}: {finding}", writer.words.join(" ")))
}

fn attack(scene: &mut Scene, writer: &Writer) -> Result<(), String> {
    let source = writer.removes.and_then(|name| scene.read(name));
    let names = scene.names()?;
    let original = scene.read(writer.output).filter(|_| writer.in_place);
    let start = clock::monotonic_seconds();
    scene.succeed(writer.words)?;
    let whole_time = clock::monotonic_seconds() - start;
    let complete = scene.read(writer.output);
    let complete_names = scene.names()?;
    for moment in 0..MOMENTS {
        scene.remove(writer.output);
        for name in scene.names()?.iter().filter(|&name| !names.contains(name)) {
            scene.remove(name);
        }
        let before = if moment % 2 == 1 { Some(b"an older file".to_vec()) } else { None };
        let before = original.clone().or(before);
        if let Some(bytes) = &before {
            scene.write(writer.output, bytes)?;
        }
        if let (Some(name), Some(bytes)) = (writer.removes, &source) {
            scene.write(name, bytes)?;
        }
        let signal = signal(scene);
        let fraction = scene.random.below(1100) as f64 / 1000.0;
        let status = interrupt(scene, writer.words, signal, whole_time * fraction)?;
        let checks = Checks { scene, writer, status, before: &before, complete: &complete, source: &source };
        checks.run().map_err(|finding| format!("{signal:?} after {fraction} of the time, {status}: {finding}"))?;
        if signal != Signal::KILL {
            let whole = scene.read(writer.output) == complete;
            checks.nothing_is_left(if whole { &complete_names } else { &names })?;
        }
    }
    Ok(())
}

fn signal(scene: &mut Scene) -> Signal {
    match scene.random.below(4) {
        0 => Signal::TERM,
        1 => Signal::INT,
        2 => Signal::HUP,
        _ => Signal::KILL,
    }
}

fn interrupt(scene: &Scene, words: &[&str], signal: Signal, seconds: f64) -> Result<ExitStatus, String> {
    let mut child = scene.command(words).spawn().map_err(|cause| cause.to_string())?;
    std::thread::sleep(Duration::from_secs_f64(seconds));
    // The process has not been waited for, so its number is its own.
    let sent = kill_process(Pid::from_child(&child), signal);
    sent.map_err(|cause| cause.to_string())?;
    child.wait().map_err(|cause| cause.to_string())
}

struct Checks<'a> {
    scene: &'a Scene,
    writer: &'a Writer,
    status: ExitStatus,
    before: &'a Option<Vec<u8>>,
    complete: &'a Option<Vec<u8>>,
    source: &'a Option<Vec<u8>>,
}

impl Checks<'_> {
    fn run(&self) -> Result<(), String> {
        let found = self.scene.read(self.writer.output);
        let complete = found == *self.complete;
        ensure(complete || found == *self.before, || "the output is neither the old file nor complete".to_owned())?;
        ensure(complete || !self.status.success(), || "exit status 0, and the output is not complete".to_owned())?;
        if let Some(name) = self.writer.removes {
            let source = self.scene.read(name);
            ensure(source.is_none() || source == *self.source, || format!("{name} was changed"))?;
            ensure(source.is_some() || complete, || format!("{name} is gone, and the output is not complete"))?;
        }
        Ok(())
    }

    /// SIGKILL alone may leave a temporary file.
    fn nothing_is_left(&self, names: &[String]) -> Result<(), String> {
        let mut left = self.scene.names()?;
        left.retain(|name| name != self.writer.output && !names.contains(name));
        ensure(left.is_empty(), || format!("left behind: {}", left.join(", ")))
    }
}
