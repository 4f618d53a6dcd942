//! erofs-rs reads the same trees from the fixtures as our reader.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use packline_erofs::read::Image;
use packline_testkit::erofs_reader;
use packline_testkit::snapshot::{self, Attributes, Except, Kind, Snapshot};
use packline_volume::{Node, NodeId, Visit, Volume, Walk};

use super::support::{file_of, in_order, open};

/// Fixtures whose contents are on other devices.
const ON_DEVICES: [&str; 2] = ["blob.erofs", "tarindex.erofs"];

#[test]
fn erofs_rs_finds_the_same_tree() {
    let images = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/images");
    let paths = [images.clone(), images.join("compressed")].map(|directory| paths_in(&directory)).concat();
    assert!(paths.len() > 50);
    for path in paths {
        let bytes = std::fs::read(&path).unwrap();
        let what = path.display().to_string();
        let found = erofs_reader::read(&bytes).unwrap_or_else(|cause| panic!("{what}: {cause}"));
        let image = open(bytes).unwrap();
        let visits: Vec<Visit> = Walk::new(&image, image.root(), Vec::new()).map(|visit| visit.unwrap()).collect();
        snapshot::assert_same(&what, &tree(&image, &visits), &found.tree, Except::default());
        for Visit { path, inode } in visits {
            let time = inode.meta.mtime;
            assert_eq!(found.times[&path], (time.seconds(), time.nanoseconds()), "{what}: {}", path.escape_ascii());
        }
    }
}

fn paths_in(directory: &Path) -> Vec<PathBuf> {
    let paths = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let name = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
    paths.filter(|path| name(path).ends_with(".erofs") && !ON_DEVICES.contains(&name(path).as_str())).collect()
}

/// Describes the tree of an image as our reader finds it.
fn tree(image: &Image, visits: &[Visit]) -> Snapshot {
    let files: Vec<_> = visits.iter().filter_map(file_of).collect();
    let contents = in_order(image, &files, 0);
    let mut tree = Snapshot::new();
    let mut inodes: BTreeMap<Vec<u8>, NodeId> = BTreeMap::new();
    for Visit { path, inode } in visits {
        let kind = match &inode.node {
            Node::Directory(_) => Kind::Dir,
            Node::File(file) => Kind::File(file.size, *blake3::hash(&contents[path].0).as_bytes()),
            Node::Symlink(target) => Kind::Symlink(target.clone()),
            Node::BlockDevice(device) => Kind::BlockDevice(device.major, device.minor),
            Node::CharDevice(device) => Kind::CharDevice(device.major, device.minor),
            Node::Fifo => Kind::Fifo,
            Node::Socket => Kind::Socket,
        };
        let xattrs = Volume::xattrs(image, inode).unwrap();
        let attributes = Attributes {
            links: if kind == Kind::Dir { 1 } else { inode.links },
            kind,
            mode: inode.meta.mode,
            uid: inode.meta.uid,
            gid: inode.meta.gid,
            mtime: inode.meta.mtime.seconds().clamp(0, u32::MAX.into()),
            first_name: path.clone(),
            xattrs: xattrs.into_iter().map(|xattr| (xattr.name, xattr.value)).collect(),
        };
        tree.insert(path.clone(), attributes);
        inodes.insert(path.clone(), inode.at);
    }
    snapshot::group(&mut tree, |path, _| inodes[path]);
    tree
}
