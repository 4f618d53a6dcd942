//! The command lines of programs that call squashfs-tools and tar2sqfs, run with the drop-ins and with the programs themselves.

mod tree;
mod writers;

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use packline_testkit::mount::{self, Mounted};
use packline_testkit::reader;
use packline_testkit::snapshot::{self, Except, Snapshot};
use packline_testkit::{Ran, Sandbox, tools};

use crate::PACKLINE;

const PROGRAMS: &[&str] =
    &["losetup", "mkfs.ext4", "mksquashfs", "mount", "setfattr", "sqfstar", "tar", "tar2sqfs", "timeout", "unsquashfs"];

/// A line that a caller runs, as a shell takes it. `source` is the tree, `$IMAGE` the output.
struct Row {
    caller: &'static str,
    line: &'static str,
    /// Parts of the line that the release of the peer lacks, and what stands for them there.
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
        words.iter().position(|&word| word == "-offset").map_or(0, |at| words[at + 1].parse().unwrap())
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
    /// `None` where a program or a privilege is missing.
    fn new() -> Option<Stage> {
        if !tools::need(PROGRAMS) || !tools::root() {
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
        Some(Stage { sandbox, start, _mount: mount })
    }

    /// Runs a line in the sandbox.
    fn run(&self, side: Side, line: &str) -> Ran {
        let path = match side {
            Side::Ours => "PATH=$PWD/links:$PATH; ",
            Side::Peers => "",
        };
        let mut command = self.sandbox.program("timeout", &["60", "sh", "-ec", &format!("{path}{line}")]);
        Ran::of(command.env("IMAGE", self.sandbox.at(side.name())))
    }

    /// Runs each line with both, and panics with the callers whose lines differ.
    fn check(&self, rows: &[Row]) {
        let failed: Vec<_> = rows
            .iter()
            .filter_map(|row| self.differs(row).err().map(|cause| format!("{}: {}\n{cause}\n", row.caller, row.line)))
            .collect();
        assert!(failed.is_empty(), "{} of {} lines:\n{}", failed.len(), rows.len(), failed.join("\n"));
    }

    fn differs(&self, row: &Row) -> Result<(), String> {
        let [ours, peers] =
            [(Side::Ours, row.line.to_string()), (Side::Peers, row.peers_line())].map(|(side, line)| {
                self.sandbox.remove(side.name());
                let ran = self.run(side, &line);
                if ran.status == 0 { Ok((ran, Packed::of(self, side, row.offset())?)) } else { Err(format!("{ran:?}")) }
            });
        let ((ours_ran, ours), (peers_ran, peers)) = (ours?, peers?);
        if row.line.contains("-quiet") {
            printed(&ours_ran.stdout, &peers_ran.stdout)?;
        }
        let (_, expected) = &peers.trees[0];
        for (reader, tree) in ours.trees.iter().chain(&peers.trees[1..]) {
            let lines = snapshot::differences(expected, tree, Except::default());
            if !lines.is_empty() {
                return Err(format!("{reader}:\n  {}", lines[..lines.len().min(12)].join("\n  ")));
            }
        }
        if !ours.problems.is_empty() {
            return Err(format!("faults: {:#?}", ours.problems));
        }
        same("superblock", &ours.superblock, &peers.superblock)
    }
}

/// Nothing but percentages is printed, and nothing but a progress bar by the peer.
fn printed(ours: &[u8], peers: &[u8]) -> Result<(), String> {
    let ours = String::from_utf8_lossy(ours);
    let numbers = ours.lines().map(str::parse).collect::<Result<Vec<u8>, _>>();
    let rises = numbers.is_ok_and(|numbers| numbers.is_sorted() && numbers.last().is_none_or(|&last| last == 100));
    let bar = |line: &str| line.is_empty() || line.starts_with('[');
    let peers = String::from_utf8_lossy(peers);
    if rises && peers.split(['\r', '\n']).all(bar) { Ok(()) } else { Err(format!("prints {ours}, the peer {peers}")) }
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, ours: &T, peers: &T) -> Result<(), String> {
    if ours == peers { Ok(()) } else { Err(format!("{what}:\n   ours {ours:?}\n  peers {peers:?}")) }
}

/// An image as all readers see it.
struct Packed {
    superblock: String,
    problems: Vec<String>,
    /// Names of readers, and the trees they see.
    trees: Vec<(String, Snapshot)>,
}

impl Packed {
    fn of(stage: &Stage, side: Side, offset: usize) -> Result<Packed, String> {
        let (sandbox, name) = (&stage.sandbox, side.name());
        let bytes = sandbox.read(name);
        let whole = bytes.len() % 4096 == 0;
        // A kernel reads whole blocks of a device only.
        let mut image = bytes[offset..].to_vec();
        image.resize(image.len().next_multiple_of(4096), 0);
        let image = sandbox.write("image", image);
        let report = reader::inspect(&image)?;
        let about = &report.superblock;
        let superblock = format!(
            "flags {:#06x}, compressor {} {:?}, blocks of {}, {} inodes, {} ids, created {}, is padded: {whole}, before it: {:?}",
            about.flags,
            about.compressor,
            report.options,
            about.block_size,
            about.inodes,
            about.ids,
            i64::from(about.created).min(stage.start),
            bytes[..offset].iter().find(|&&byte| byte != 0),
        );
        let mut trees = vec![("the reader".to_string(), report.tree)];
        if mount::kernel_reads(about.codec()?) {
            let mounted = Mounted::kernel(&image)?;
            trees.push(("the kernel".to_string(), of_directory(mounted.path())?));
        }
        for reader in [Side::Ours, Side::Peers] {
            let ran = stage.run(reader, &format!("unsquashfs -n -q -o {offset} -d tree {}", name));
            if ran.status != 0 {
                return Err(format!("unsquashfs of {}: {ran:?}", reader.name()));
            }
            trees.push((format!("unsquashfs of {}", reader.name()), of_directory(&sandbox.at("tree"))?));
            sandbox.remove("tree");
        }
        for (reader, tree) in &mut trees {
            *reader = format!("image of {name}, {reader}");
            tree.values_mut().for_each(|entry| entry.mtime = entry.mtime.min(stage.start));
        }
        Ok(Packed { superblock, problems: report.problems, trees })
    }
}

fn of_directory(root: &Path) -> Result<Snapshot, String> {
    snapshot::of_directory(root).map_err(|cause| cause.to_string())
}
