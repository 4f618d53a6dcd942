//! What the tests of `list`, `cat`, `info`, `diff`, `rdsquashfs` and `sqfsdiff` share: trees, images by every packer, runs.

use packline_testkit::model::{Content, Node, NodeKind};
use packline_testkit::{generate, plant, tar, tools};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A place to work: a planted tree in `source`, and `source.tar` of the same.
pub struct Place {
    directory: tempfile::TempDir,
}

/// What a program did.
#[derive(Debug)]
pub struct Ran {
    pub status: i32,
    pub out: Vec<u8>,
    pub err: String,
}

impl Ran {
    pub fn text(&self) -> String {
        String::from_utf8(self.out.clone()).unwrap()
    }
}

impl Place {
    pub fn new(nodes: &[Node]) -> Place {
        let place = Place { directory: tempfile::tempdir().unwrap() };
        fs::create_dir(place.at("source")).unwrap();
        plant::plant(nodes, &place.at("source")).unwrap();
        fs::write(place.at("source.tar"), tar::to_bytes(nodes)).unwrap();
        place
    }

    pub fn at(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Runs a command in the place.
    pub fn run(&self, mut command: Command) -> Ran {
        command
            .current_dir(self.directory.path())
            .env_remove("SOURCE_DATE_EPOCH")
            .env("TZ", "UTC")
            .stdin(Stdio::null());
        let Output { status, stdout, stderr } = command.output().unwrap();
        Ran { status: status.code().unwrap_or(-1), out: stdout, err: String::from_utf8_lossy(&stderr).into_owned() }
    }

    /// Runs `packline ARGUMENTS`.
    pub fn ours(&self, arguments: &[&str]) -> Ran {
        let mut command = Command::new(binary());
        command.args(arguments);
        self.run(command)
    }

    pub fn peer(&self, program: &str, arguments: &[&str]) -> Ran {
        let mut command = Command::new(program);
        command.args(arguments);
        self.run(command)
    }

    /// Runs ours; fails unless it succeeds quietly.
    pub fn good(&self, arguments: &[&str]) -> Ran {
        let ran = self.ours(arguments);
        assert_eq!((ran.status, ran.err.as_str()), (0, ""), "{arguments:?}");
        ran
    }

    /// Packs `source` with our packer.
    pub fn pack(&self, image: &str, options: &[&str]) {
        let arguments = [&["pack", "source", image, "-q"], options].concat();
        self.good(&arguments);
    }

    /// Images of the same tree by every packer there is: names.
    pub fn images(&self) -> Vec<&'static str> {
        self.pack("ours.sqfs", &["-c", "zstd"]);
        self.pack("small.sqfs", &["-c", "gzip", "-b", "4K", "--exportable"]);
        let mksquashfs = ["source", "mk.sqfs", "-quiet", "-no-progress", "-comp", "xz", "-b", "16K"];
        let gensquashfs = ["-D", "source", "-k", "-x", "-q", "-c", "zstd", "gen.sqfs"];
        for (program, arguments) in [("mksquashfs", &mksquashfs[..]), ("gensquashfs", &gensquashfs)] {
            let ran = self.peer(program, arguments);
            assert_eq!(ran.status, 0, "{program}: {}", ran.err);
        }
        let mut tar2sqfs = Command::new("sh");
        tar2sqfs.args(["-c", "tar2sqfs -q -c gzip tar.sqfs < source.tar"]);
        let ran = self.run(tar2sqfs);
        assert_eq!(ran.status, 0, "tar2sqfs: {}", ran.err);
        vec!["ours.sqfs", "small.sqfs", "mk.sqfs", "gen.sqfs", "tar.sqfs"]
    }
}

pub fn binary() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_packline"))
}

/// Whether all programs are installed that the comparisons run, and this is root.
pub fn ready() -> bool {
    tools::need(&["mksquashfs", "unsquashfs", "gensquashfs", "rdsquashfs", "sqfsdiff", "tar2sqfs"]) && tools::root()
}

/// A generated tree, within what all peers can keep.
pub fn tree() -> Vec<Node> {
    let mut nodes = generate::small_tree(5, 16_384);
    for node in &mut nodes {
        node.mtime = node.mtime.max(0);
        node.xattrs.retain(|(_, value)| !value.is_empty());
    }
    nodes
}

/// A small tree with one of everything.
pub fn zoo() -> Vec<Node> {
    let text = |length: usize, seed: u32| -> Vec<u8> {
        let words = (seed..).map(|number| format!("{} ", number.wrapping_mul(2_654_435_761) >> 20));
        words.flat_map(String::into_bytes).take(length).collect()
    };
    vec![
        Node::dir(""),
        Node::dir("d").mode(0o1777),
        Node::file("d/big", text(300_000, 1)).owner(1000, 100),
        Node::file("d/f", "hello").xattr("user.note", "value").mode(0o4755),
        Node::new("d/hard", NodeKind::HardLink(b"d/f".to_vec())),
        Node::new("d/hole", NodeKind::File(Content::sparse(400_000, vec![(200_000, text(9_000, 7))]))),
        Node::new("d/link", NodeKind::Symlink(b"f".to_vec())),
        Node::file("d/sp ace", "x"),
        Node::dir("d/sub"),
        Node::new("d/up", NodeKind::Symlink(b"../e/../d/f".to_vec())),
        Node::new("dev", NodeKind::CharDevice(5, 70_000)),
        Node::dir("e").owner(12, 34).time(900_000_000),
        Node::new("e/block", NodeKind::BlockDevice(8, 1)),
        Node::new("e/pipe", NodeKind::Fifo),
        Node::new("e/root", NodeKind::Symlink(b"/d/big".to_vec())),
        Node::file("e/small", text(900, 3)),
        Node::new("loop", NodeKind::Symlink(b"loop".to_vec())),
        Node::file("q\"uote", "y"),
    ]
}
