//! Runs every command that reads .lrz files on every hostile one: each run ends soon, in little memory, with the expected status and a
//! message that names the file. The output gets its name only if it is complete.

use std::fs::{self, File};
use std::io::{Seek, Write};

use crate::hostile::support::{Canary, Ended, Wrong};
use packline_testkit::hostile_lrz::{self, Specimen};
use packline_testkit::share;

/// For encrypted specimens; ignored by the others.
const PASSWORD: &str = "--encrypt=password";
/// The content of most specimens, ten times.
const WORDS: &[u8] = b"some words, ";

/// The part of a file that a command reads.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reads {
    /// Headers and records.
    Records,
    /// All of it.
    All,
    /// All of it, which has to be a tar.
    Tar,
}

impl Reads {
    /// Returns whether a command that reads this much finds a fault.
    fn finds_fault(self, specimen: &Specimen) -> bool {
        match self {
            Reads::Records => !specimen.lists,
            Reads::All => !specimen.is_sound(),
            // None of them holds a tar; an empty file is not a tar either.
            Reads::Tar => true,
        }
    }
}

/// How a command is run on every specimen.
struct Case<'w> {
    reads: Reads,
    words: &'w [&'w str],
    /// The name of the file in messages.
    called: &'w str,
}

impl Case<'_> {
    fn on_all(&self) {
        let canary = Canary::new();
        let mut wrong = Wrong::default();
        for specimen in share(hostile_lrz::all(), 4, &self.words.concat()) {
            let faults = [self.run(&canary, &specimen), canary.check()];
            faults.into_iter().flatten().for_each(|what| wrong.note_of(specimen.name, self.words, &what));
        }
        wrong.end();
    }

    /// Runs it on one specimen; the fault found, if any.
    fn run(&self, canary: &Canary, specimen: &Specimen) -> Option<String> {
        let path = canary.sandbox.write("bad.lrz", specimen.bytes());
        let input = if self.called == "bad.lrz" { typed() } else { File::open(&path).unwrap() };
        if self.words.contains(&"-O") {
            canary.sandbox.create_dir("dest");
        }
        let ran = canary.run_on(self.words, input.into());
        let output = canary.sandbox.at("out");
        let made = fs::read(&output).ok();
        made.iter().for_each(|_| fs::remove_file(&output).unwrap());
        let left = made.is_some() || self.left_a_tree(canary);
        ran.broken().or_else(|| self.judge(specimen, &ran, left)).or_else(|| {
            let wrong = ran.status == 0 && self.words.contains(&"out") && !is_right(made.as_deref());
            wrong.then(|| "made something else".to_string())
        })
    }

    /// Returns whether there is a destination, or content in an existing destination.
    fn left_a_tree(&self, canary: &Canary) -> bool {
        let was_there = self.words.contains(&"-O");
        fs::read_dir(canary.sandbox.at("dest")).is_ok_and(|mut names| !was_there || names.next().is_some())
    }

    fn judge(&self, specimen: &Specimen, ran: &Ended, left: bool) -> Option<String> {
        let fault = self.reads.finds_fault(specimen);
        let what = if ran.status != i32::from(fault) {
            "unexpected"
        } else if fault && left {
            "left an output"
        } else if fault && !(ran.stderr.contains(self.called) && ran.stderr.contains("expected")) {
            "does not name the file and what was expected"
        } else if fault && self.reads == Reads::All && !ran.stderr.contains(specimen.says) {
            "says something else"
        } else {
            return None;
        };
        Some(format!("{what}: {}", ran.shown()))
    }
}

/// The password on standard input.
fn typed() -> File {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(b"password\n").unwrap();
    file.rewind().unwrap();
    file
}

/// Returns whether the bytes are the content of an intact specimen: words or a letter, repeated, or nothing.
fn is_right(made: Option<&[u8]>) -> bool {
    let whole =
        |made: &[u8]| made.iter().all(|&byte| byte == b'x') || made.chunks(WORDS.len()).all(|part| part == WORDS);
    made.is_some_and(whole)
}

fn file(reads: Reads, words: &[&str]) {
    Case { reads, words, called: "bad.lrz" }.on_all();
}

#[test]
fn decompress_to_a_file() {
    file(Reads::All, &["lrzip", "-d", PASSWORD, "-o", "out", "bad.lrz"]);
    file(Reads::All, &["lrunzip", "--check", PASSWORD, "-o", "out", "bad.lrz"]);
}

#[test]
fn decompress_between_pipes() {
    Case { reads: Reads::All, words: &["lrzip", "-d", PASSWORD], called: "standard input" }.on_all();
    file(Reads::All, &["lrzcat", PASSWORD, "bad.lrz"]);
}

#[test]
fn test() {
    file(Reads::All, &["lrzip", "-t", PASSWORD, "bad.lrz"]);
}

#[test]
fn info() {
    file(Reads::Records, &["lrzip", "-i", "-vv", PASSWORD, "bad.lrz"]);
    file(Reads::Records, &["lrzip", "-i", "-vv", "--json", PASSWORD, "bad.lrz"]);
}

#[test]
fn unpack() {
    file(Reads::Tar, &["unpack", "-q", "bad.lrz", "dest"]);
    file(Reads::Tar, &["lrzuntar", "-O", "dest", "bad.lrz"]);
}
