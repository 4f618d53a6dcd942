//! Independent readers of an image: the kernel, erofs-rs, and the installed fsck.erofs and dump.erofs.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use packline_erofs::Kernel;
use packline_erofs::read::{ExtentPlace, Image, StoredExtent, incompat};
use packline_testkit::filefrag::Extent;
use packline_testkit::model::{Node, NodeKind};
use packline_testkit::mount::Mounted;
use packline_testkit::snapshot::{self, Except, Kind, Snapshot};
use packline_testkit::{Sandbox, erofs_reader, filefrag, plant, tools};
use packline_volume::Volume as _;

use super::tree::{self, HOLES};

/// Files whose extents dump.erofs prints.
const DUMPED: [&str; 4] = ["shared/all", "shared/noise", "sizes/prose-20000", "sizes/noise-4097"];

/// An image in the sandbox.
pub struct Packed<'a> {
    sandbox: &'a Sandbox,
    name: &'a str,
    /// Words for messages.
    what: String,
    bytes: Vec<u8>,
    image: Image,
}

impl<'a> Packed<'a> {
    pub fn open(sandbox: &'a Sandbox, name: &'a str, what: String) -> Packed<'a> {
        let bytes = sandbox.read(name);
        let image = Image::open(Arc::new(bytes.clone()), &[], 0, 1 << 20).unwrap();
        Packed { sandbox, name, what, bytes, image }
    }

    /// Returns the number of the layout of a file's content.
    pub fn layout(&self, path: &str) -> u8 {
        self.image.layout(self.image.resolve(path.as_bytes()).unwrap().unwrap().at).unwrap().number
    }

    /// Returns the extents of a file as our reader finds them.
    fn extents(&self, path: &[u8]) -> Vec<StoredExtent> {
        let inode = self.image.resolve(path).unwrap().unwrap();
        self.image.extents(inode.at).unwrap().map(|extent| extent.unwrap()).collect()
    }
}

/// Returns an extent as the kernel reports it; `None` for a hole.
fn as_reported(extent: &StoredExtent) -> Option<Extent> {
    let physical = match extent.place {
        ExtentPlace::Hole => return None,
        ExtentPlace::Packed => 0,
        ExtentPlace::Stored { offset, .. } => offset,
    };
    Some(Extent { start: extent.start, length: extent.length, physical })
}

/// Returns the numbers that dump.erofs prints for an extent: two ranges and their lengths.
fn as_dumped(extent: &StoredExtent) -> [u64; 6] {
    let (offset, bytes) = match extent.place {
        ExtentPlace::Hole | ExtentPlace::Packed => (0, 0),
        ExtentPlace::Stored { offset, bytes, .. } => (offset, bytes),
    };
    let StoredExtent { start, length, .. } = *extent;
    [start, start + length, length, offset, offset + bytes, bytes]
}

/// A tree, and what readers must find.
pub struct Source {
    pub nodes: Vec<Node>,
    tree: Snapshot,
}

impl Source {
    pub fn new() -> Source {
        let nodes = tree::nodes();
        Source { tree: snapshot::of_model(&nodes, true), nodes }
    }

    /// Compares the tree, the times and the extents of all files in the mounted image.
    pub fn kernel_agrees(&self, packed: &Packed<'_>) {
        let mounted = Mounted::erofs(&packed.sandbox.at(packed.name)).unwrap();
        let found = snapshot::of_directory(mounted.path()).unwrap();
        snapshot::assert_same(&format!("{}: the kernel", packed.what), &self.tree, &found, Except::default());
        for node in self.nodes.iter().filter(|node| !matches!(node.kind, NodeKind::HardLink(_))) {
            let found = plant::place(mounted.path(), &node.path).symlink_metadata().unwrap();
            let what = format!("{}: {}", packed.what, node.path.escape_ascii());
            assert_eq!((found.mtime(), found.mtime_nsec()), (node.mtime, 0), "{what}");
        }
        self.reported_extents_agree(packed, mounted.path());
    }

    fn reported_extents_agree(&self, packed: &Packed<'_>, mounted: &Path) {
        let has_content = |node: &&Node| matches!(&node.kind, NodeKind::File(content) if content.size > 0);
        let files: Vec<&[u8]> = self.nodes.iter().filter(has_content).map(|node| node.path.as_slice()).collect();
        let places: Vec<PathBuf> = files.iter().map(|path| plant::place(mounted, path)).collect();
        for (path, found) in files.iter().zip(filefrag::extents(&places).unwrap()) {
            let ours: Vec<Extent> = packed.extents(path).iter().filter_map(as_reported).collect();
            assert_eq!(ours, found, "{}: {}", packed.what, path.escape_ascii());
        }
    }

    /// Compares what erofs-rs reads.
    pub fn erofs_rs_agrees(&self, packed: &Packed<'_>) {
        let found = erofs_reader::read(&packed.bytes).unwrap_or_else(|cause| panic!("{}: {cause}", packed.what));
        snapshot::assert_same(&format!("{}: erofs-rs", packed.what), &self.tree, &found.tree, Except::default());
        for node in self.nodes.iter().filter(|node| !matches!(node.kind, NodeKind::HardLink(_))) {
            let what = format!("{}: {}", packed.what, node.path.escape_ascii());
            assert_eq!(found.times[&node.path], (node.mtime, 0), "{what}");
            if matches!(node.kind, NodeKind::Dir) {
                assert_eq!(found.links[&node.path], 2 + self.directories_in(&node.path), "{what}");
            }
        }
    }

    fn directories_in(&self, directory: &[u8]) -> u32 {
        let parent = |path: &[u8]| path.iter().rposition(|&byte| byte == b'/').map_or(0, |at| at);
        let is_in = |path: &[u8]| !path.is_empty() && path[..parent(path)] == *directory;
        self.nodes.iter().filter(|node| matches!(node.kind, NodeKind::Dir) && is_in(&node.path)).count() as u32
    }

    /// Compares what the installed erofs-utils read.
    pub fn erofs_utils_agree(&self, packed: &Packed<'_>) {
        let superblock = packed.image.superblock();
        let text = packed.sandbox.peer("dump.erofs", &["-s", packed.name]).text();
        let count = text.lines().find_map(|line| line.strip_prefix("Filesystem inode count:")).map(str::trim);
        assert_eq!(count, Some(&*superblock.inodes.to_string()), "{}", packed.what);
        DUMPED.iter().for_each(|path| dumped_extents_agree(packed, path));
        packed.sandbox.peer("fsck.erofs", &["--extract", packed.name]);
        // Release 1.9.3 decodes packed tail ends, but does not extract them.
        if !superblock.has(incompat::FRAGMENTS) {
            self.extracted_files_agree(packed);
        }
    }

    fn extracted_files_agree(&self, packed: &Packed<'_>) {
        packed.sandbox.remove("out");
        packed.sandbox.peer("fsck.erofs", &["--extract=out", packed.name]);
        let found = packed.sandbox.snapshot("out");
        // fsck.erofs extracts these kinds, and cuts files that end in a hole.
        let is_extracted = |kind: &Kind| matches!(kind, Kind::File(..) | Kind::Dir | Kind::Symlink(_));
        for (path, expected) in self.tree.iter().filter(|(path, _)| !path.starts_with(HOLES)) {
            if is_extracted(&expected.kind) {
                assert_eq!(found[path].kind, expected.kind, "{}: {}", packed.what, path.escape_ascii());
            }
        }
    }
}

fn dumped_extents_agree(packed: &Packed<'_>, path: &str) {
    let text = packed.sandbox.peer("dump.erofs", &["-e", &format!("--path=/{path}"), packed.name]).text();
    let rows = text.lines().skip_while(|line| !line.starts_with(" Ext:")).skip(1);
    // The number of the extent precedes the numbers of `as_dumped`; the last line counts the extents.
    let numbers = |row: &str| -> Vec<u64> {
        row.split(|symbol: char| !symbol.is_ascii_digit()).filter_map(|number| number.parse().ok()).skip(1).collect()
    };
    let found: Vec<Vec<u64>> = rows.take_while(|row| row.starts_with(' ')).map(numbers).collect();
    let ours: Vec<Vec<u64>> = packed.extents(path.as_bytes()).iter().map(|extent| as_dumped(extent).to_vec()).collect();
    assert_eq!(ours, found, "{}: {path}", packed.what);
}

/// The installed erofs-utils.
pub struct Release {
    /// Major and minor number.
    version: (u32, u32),
}

impl Release {
    /// The first release that reads all features and codecs of our images.
    const COMPLETE: (u32, u32) = (1, 9);
    /// The last kernel whose features release 1.5 reads.
    const LAST: Kernel = Kernel::new(5, 17);

    /// Returns the installed release; `None` if it is not installed, in which case the caller ends without testing it.
    pub fn installed(sandbox: &Sandbox) -> Option<Release> {
        if !tools::need(&["fsck.erofs", "dump.erofs"]) {
            return None;
        }
        let text = sandbox.peer("fsck.erofs", &["-V"]).text();
        let last = text.lines().next().and_then(|line| line.rsplit(' ').next()).unwrap_or_default();
        let mut numbers = last.split('.').map(|number| number.parse().unwrap_or(0));
        Some(Release { version: (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) })
    }

    /// Returns whether the release reads images with a codec. Debian builds releases before 1.9 with lz4 only.
    pub fn decodes(&self, codec: &str) -> bool {
        self.version >= Release::COMPLETE || codec == "none" || codec.starts_with("lz4")
    }

    /// Returns whether the release knows the features of an image.
    pub fn knows(&self, packed: &Packed<'_>) -> bool {
        self.version >= Release::COMPLETE || packed.image.superblock().least_kernel() <= Release::LAST
    }
}
