//! Runs every command on every hostile image: each run ends soon, in little memory, with the expected status, without a panic, and
//! without writing outside the destination.

use std::os::unix::fs::symlink;

use crate::hostile::support::{Canary, Ended, Wrong};
use packline_testkit::hostile::{self, Expect, Specimen};
use packline_testkit::{share, tools};

/// The part of an image that a command reads.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reads {
    /// The superblock and the tables that it points to.
    Head,
    /// Every name.
    Tree,
    /// Every name and its attributes.
    Attributes,
    /// Every name, content and attribute.
    All,
    /// Every rule of the format.
    Rules,
    /// A part, or two images: the status does not depend on the specimen alone.
    Some,
    /// Like `Some`, with contents up to their end.
    Most,
}

impl Reads {
    /// Returns whether this outcome is allowed for a command that reads this much.
    fn allows(self, expect: Expect, ran: &Ended) -> bool {
        let fault = match self {
            Reads::Some | Reads::Most => return true,
            Reads::Head => expect == Expect::Refused,
            Reads::Tree => matches!(expect, Expect::Refused | Expect::Tree),
            Reads::Attributes => matches!(expect, Expect::Refused | Expect::Tree | Expect::Attributes),
            Reads::All => !matches!(expect, Expect::Rules | Expect::Sound | Expect::Huge),
            Reads::Rules => !matches!(expect, Expect::Sound | Expect::Huge),
        };
        ran.endless || fault == (ran.status != 0)
    }
}

/// Runs a command on every specimen; `before` prepares the sandbox for each.
fn each(reads: Reads, words: &[&str], before: impl Fn(&Canary)) {
    if !tools::root() {
        return;
    }
    let canary = Canary::new();
    let mut wrong = Wrong::default();
    for specimen in share(zoo(reads), 4, &words.concat()) {
        canary.put(&specimen);
        before(&canary);
        let ran = canary.run(words);
        wrong.judge(reads, &specimen, words, &ran);
        canary.check().into_iter().for_each(|what| wrong.note(&specimen, words, &what));
    }
    wrong.end();
}

/// Specimens that a command of this kind can read to the end.
fn zoo(reads: Reads) -> impl Iterator<Item = Specimen> {
    let all = matches!(reads, Reads::All | Reads::Rules | Reads::Most);
    hostile::all().into_iter().filter(move |specimen| !all || specimen.expect != Expect::Huge)
}

impl Wrong {
    fn judge(&mut self, reads: Reads, specimen: &Specimen, words: &[&str], ran: &Ended) {
        if let Some(what) = ran.broken() {
            self.note(specimen, words, &what);
        } else if !reads.allows(specimen.expect, ran) {
            self.note(specimen, words, &format!("unexpected: {}", ran.shown()));
        } else if ran.status != 0 && !ran.endless && !names_the_image(reads, ran) {
            self.note(specimen, words, &format!("does not name the image: {}", ran.shown()));
        }
    }
}

/// A fault is reported with the image's name. `verify` prints it on standard output; a difference is not a fault.
fn names_the_image(reads: Reads, ran: &Ended) -> bool {
    match (reads, ran.stderr.is_empty()) {
        (Reads::Rules, true) => String::from_utf8_lossy(&ran.stdout).contains("bad.sqfs"),
        (_, silent) => silent || ran.stderr.contains("bad.sqfs"),
    }
}

fn nothing(_: &Canary) {}

/// A destination with links out of it, under names in the zoo's images.
fn planted(canary: &Canary) {
    let dest = canary.sandbox.create_dir("dest");
    for name in ["odd", "dir", "name", "inner", "many", "ring", "a", "d", "sparse"] {
        symlink("../outside", dest.join(name)).unwrap();
    }
    for name in ["good", "file", "n00000", "one", "sound", "link", "node0"] {
        symlink("../outside/victim", dest.join(name)).unwrap();
    }
}

fn empty(canary: &Canary) {
    canary.sandbox.create_dir("dest");
}

#[test]
fn list() {
    each(Reads::Tree, &["list", "bad.sqfs"], nothing);
    each(Reads::Attributes, &["list", "--json", "bad.sqfs"], nothing);
}

#[test]
fn info() {
    each(Reads::Head, &["info", "--quick", "bad.sqfs"], nothing);
    each(Reads::Some, &["info", "--json", "bad.sqfs"], nothing);
}

#[test]
fn cat() {
    each(Reads::Some, &["cat", "bad.sqfs", "good", "odd", "file"], nothing);
}

#[test]
fn verify() {
    each(Reads::Rules, &["verify", "bad.sqfs"], nothing);
}

#[test]
fn pack() {
    let packed = |reads, words: &[&str]| {
        each(reads, &[&["pack", "-q", "-c", "none", "bad.sqfs", "dest"], words].concat(), nothing)
    };
    packed(Reads::All, &[]);
    packed(Reads::Most, &["-j0", "-x", "*o*"]);
}

#[test]
fn diff() {
    each(Reads::Most, &["diff", "bad.sqfs", "bad.sqfs"], nothing);
    each(Reads::Most, &["sqfsdiff", "-a", "bad.sqfs", "-b", "good.sqfs", "-T", "-I"], nothing);
}

#[test]
fn unpack() {
    each(Reads::All, &["unpack", "-q", "bad.sqfs", "dest"], nothing);
}

#[test]
fn pack_with_it_as_a_base() {
    each(Reads::Some, &["pack", "-q", "-f", "outside", "dest", "-c", "gzip", "--base", "bad.sqfs"], nothing);
    each(
        Reads::Some,
        &["pack", "-q", "-f", "outside", "dest", "-c", "gzip", "--base", "bad.sqfs", "--base-any"],
        nothing,
    );
}

#[test]
fn unpack_and_go_on() {
    each(Reads::All, &["unpack", "-q", "--continue", "bad.sqfs", "dest"], empty);
}

#[test]
fn unpack_among_planted_links() {
    each(Reads::Most, &["unpack", "-q", "--force", "--continue", "bad.sqfs", "dest"], planted);
}

#[test]
fn unpack_to_a_tar() {
    each(Reads::All, &["unpack", "-q", "bad.sqfs", "-"], nothing);
    each(Reads::Some, &["sqfs2tar", "bad.sqfs"], nothing);
}

#[test]
fn rdsquashfs() {
    each(Reads::Some, &["rdsquashfs", "-d", "bad.sqfs"], nothing);
    each(Reads::Some, &["rdsquashfs", "-s", "/odd", "bad.sqfs"], nothing);
}

#[test]
fn rdsquashfs_unpacks() {
    each(Reads::Most, &["rdsquashfs", "-q", "-u", "/", "-p", "dest", "bad.sqfs"], planted);
}
