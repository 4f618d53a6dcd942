//! The command lines of programs that call squashfs-tools and tar2sqfs, run with the drop-ins and with the programs themselves.

mod erofs;
mod images;
mod mounts;
mod options;
mod readers;
mod tree;
mod writers;

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use packline_testkit::mount::{self, Mounted};
use packline_testkit::snapshot::{self, Snapshot};
use packline_testkit::{Ran, Sandbox, share, tools};

use crate::PACKLINE;

const PROGRAMS: &[&str] = &[
    "losetup",
    "mkfs.ext4",
    "mksquashfs",
    "mount",
    "setfattr",
    "setpriv",
    "sqfstar",
    "tar",
    "tar2sqfs",
    "timeout",
    "unsquashfs",
];

const DROP_INS: &[&str] =
    &["fsck.erofs", "mkfs.erofs", "mksquashfs", "sqfstar", "squashfuse_ll", "tar2sqfs", "unsquashfs"];

/// A line that a caller runs, as a shell takes it. `source` is the tree, `$IMAGE` the output.
struct Row {
    caller: &'static str,
    line: &'static str,
    /// Parts of the line that the release of the peer lacks, and their replacements.
    peer: &'static [(&'static str, &'static str)],
}

const fn row(caller: &'static str, line: &'static str) -> Row {
    Row { caller, line, peer: &[] }
}

impl Row {
    const fn peer(self, peer: &'static [(&'static str, &'static str)]) -> Row {
        Row { peer, ..self }
    }

    fn peers_line(&self) -> String {
        self.peer.iter().fold(self.line.to_string(), |line, (ours, theirs)| {
            assert!(line.contains(ours), "{}: there is no {ours:?}", self.caller);
            line.replace(ours, theirs)
        })
    }

    /// Bytes before the image.
    fn offset(&self) -> usize {
        let words: Vec<_> = self.line.split(' ').collect();
        words.iter().position(|word| ["-o", "-offset"].contains(word)).map_or(0, |at| words[at + 1].parse().unwrap())
    }
}

/// The programs that run a line.
#[derive(Clone, Copy, PartialEq)]
enum Side {
    Ours,
    Peers,
}

impl Side {
    fn name(self) -> &'static str {
        match self {
            Side::Ours => "ours",
            Side::Peers => "peers",
        }
    }
}

/// The tree as `source`, on a file system that keeps every attribute, and links to the drop-ins.
struct Stage {
    sandbox: Sandbox,
    /// Seconds since 1970. Entries without a time of their own have that of their run, which is later.
    start: i64,
    _mount: Mounted,
}

impl Stage {
    /// Returns `None` if a program or a privilege is missing.
    fn new() -> Option<Stage> {
        if !tools::need(PROGRAMS) || !mount::scratch_available() {
            return None;
        }
        let mount = Mounted::scratch(1 << 27).unwrap();
        let sandbox = Sandbox::within(PACKLINE, mount.path());
        sandbox.plant("source", &tree::root());
        tree::files(&sandbox);
        sandbox.good(&["links", "-q", sandbox.create_dir("links").to_str().unwrap()]);
        let tar = "tar -C source --sort=name --xattrs --xattrs-include='*' --sparse -cf tree.tar . 2>/dev/null";
        Ran::good(&mut sandbox.program("sh", &["-c", tar]));
        let start = fs::metadata(sandbox.at("tree.tar")).unwrap().mtime();
        let stage = Stage { sandbox, start, _mount: mount };
        for name in DROP_INS {
            let ran = stage.run(Side::Ours, &format!("command -v {name}"));
            assert!(ran.text().contains("/links/"), "{ran:?}");
        }
        Some(stage)
    }

    /// Runs a line in the sandbox.
    fn run(&self, side: Side, line: &str) -> Ran {
        self.run_on(side, side.name(), line)
    }

    /// Like [`Stage::run`], with this file as `$IMAGE`.
    fn run_on(&self, side: Side, image: &str, line: &str) -> Ran {
        let path = match side {
            Side::Ours => "PATH=$PWD/links:$PATH; ",
            Side::Peers => "",
        };
        let mut command = self.sandbox.program("timeout", &["60", "sh", "-ec", &format!("{path}{line}")]);
        Ran::of(command.env("IMAGE", self.sandbox.at(image)))
    }
}

/// Compares the lines of all callers, and panics with those that differ.
fn check(rows: &[Row], differs: impl Fn(&Row) -> Result<(), String>) {
    let name = rows.first().map_or("", |row| row.caller);
    let failed: Vec<_> = share(rows, 3, name)
        .filter_map(|row| differs(row).err().map(|cause| format!("{}: {}\n{cause}\n", row.caller, row.line)))
        .collect();
    assert!(failed.is_empty(), "{} of {} lines:\n{}", failed.len(), rows.len(), failed.join("\n"));
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, ours: &T, peers: &T) -> Result<(), String> {
    if ours == peers { Ok(()) } else { Err(format!("{what}:\n   ours {ours:?}\n  peers {peers:?}")) }
}

impl Stage {
    /// Gives entries without a time of their own the same time in all trees.
    fn without_times_of_runs(&self, tree: &mut Snapshot) {
        tree.values_mut().for_each(|entry| entry.mtime = entry.mtime.min(self.start));
    }
}

fn of_directory(root: &Path) -> Result<Snapshot, String> {
    snapshot::of_directory(root).map_err(|cause| cause.to_string())
}
