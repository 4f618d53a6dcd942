//! Fixtures, and all that an image has as text.
//!
//! `tests/images/tree.txt` describes the tree of the fixtures as the system showed it, one entry in a line: path, type, permissions, owner, time,
//! content, first name of a hard link, extended attributes. The content is a target, the numbers of a device, or size and hash (FNV-1a, 64 bits);
//! values of attributes are hashed, too.
//!
//! The fixtures are `mkfs.erofs -U 11111111-2222-3333-4444-555555555555 -L fixture --mkfs-time -T 1700000000` of that tree with:
//!
//! | fixture | options |
//! |---|---|
//! | plain | `-E^inline_data` (of a part of the tree) |
//! | inline | |
//! | b512, b1024 | `-b512 -Eforce-inode-extended`, `-b1024` |
//! | chunks, indexes | `--chunksize 4096`, `-b512 --chunksize 1024 -Eforce-chunk-indexes` |
//! | blob, with blob.bin | `--chunksize 4096 --blobdev=blob.bin` |
//! | wide, dotless | `-E48bit`, `-b1024 -E48bit,dot-omitted` |
//! | prefixes | `--xattr-prefix=trusted.overlay. --xattr-prefix=user.com -x1` |
//! | plainprefixes | `-b1024 -Eplain-xattr-prefixes --xattr-prefix=trusted.overlay. -x0` |
//! | metabox, metaplain | `-zlz4 -m4096 --xattr-prefix=trusted.overlay. -x0`, `-b1024 -m1024:lz4` |
//! | fragments | `-b1024 -zlz4 -Eall-fragments --xattr-prefix=trusted.overlay.` |
//! | fragplain | `-b1024 -zlz4 -Efragments,dedupe` |
//! | large, largeshared | `-zzstd -C65536`, `-zzstd -C4096 -Eall-fragments` of a file of 6,000,000 bytes of a line that repeats, and `seq` |
//! | tarindex, with small.tar | `--tar=i` of a tar of a part of the tree |

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

use packline_engine::Config;
use packline_erofs::read::{Image, Input, ReadError};
use packline_volume::{
    Event, FileData, Files, Inode, Node, NodeId, RandomSettings, ReadSettings, Reading, Request, SharedUses, Visit,
    Volume, Walk,
};

/// Returns the bytes of a file of `tests/images`.
pub fn fixture(name: &str) -> Vec<u8> {
    std::fs::read(format!("{}/tests/images/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

pub fn open_with(bytes: Vec<u8>, devices: &[Vec<u8>]) -> Result<Image, ReadError> {
    let devices: Vec<Arc<dyn Input>> = devices.iter().map(|bytes| Arc::new(bytes.clone()) as Arc<dyn Input>).collect();
    Image::open(Arc::new(bytes), &devices, 0, 1 << 20)
}

pub fn open(bytes: Vec<u8>) -> Result<Image, ReadError> {
    open_with(bytes, &[])
}

/// Returns the lines of the tree's description whose paths are chosen.
pub fn expected(chosen: impl Fn(&str) -> bool) -> String {
    let text = String::from_utf8(fixture("tree.txt")).unwrap();
    let is_chosen = |line: &&str| line.split(' ').next().is_some_and(&chosen);
    text.lines().filter(is_chosen).map(|line| format!("{line}\n")).collect()
}

/// Describes a volume as `tree.txt` does.
pub fn described(image: &Image) -> String {
    let visits: Vec<Visit> = Walk::new(image, image.root(), Vec::new()).map(|visit| visit.unwrap()).collect();
    let contents = contents(image, &visits);
    let mut firsts = BTreeMap::new();
    let mut text = String::new();
    for visit in &visits {
        let path = shown(&visit.path);
        let first = firsts.entry(visit.inode.at).or_insert_with(|| path.clone());
        let link = if *first == path { "-" } else { first.as_str() };
        let name = if path.is_empty() { "." } else { &path };
        let (kind, content) = kind_of(&visit.inode, contents.get(&visit.path));
        let meta = visit.inode.meta;
        let time = format!("{}.{:09}", meta.mtime.seconds(), meta.mtime.nanoseconds());
        let xattrs = xattrs(image, &visit.inode);
        writeln!(text, "{name} {kind} {:o} {}:{} {time} {content} {link} {xattrs}", meta.mode, meta.uid, meta.gid)
            .unwrap();
    }
    text
}

fn kind_of(inode: &Inode, content: Option<&Vec<u8>>) -> (&'static str, String) {
    match &inode.node {
        Node::Directory(_) => ("dir", "-".into()),
        Node::File(file) => {
            let content = content.unwrap();
            assert_eq!(content.len() as u64, file.size);
            ("file", format!("{},{:016x}", content.len(), hash(content)))
        }
        Node::Symlink(target) => ("link", shown(target)),
        Node::CharDevice(device) => ("char", format!("{},{}", device.major, device.minor)),
        Node::BlockDevice(device) => ("block", format!("{},{}", device.major, device.minor)),
        Node::Fifo => ("fifo", "-".into()),
        Node::Socket => ("socket", "-".into()),
    }
}

fn xattrs(image: &Image, inode: &Inode) -> String {
    let mut all = Volume::xattrs(image, inode).unwrap();
    all.sort_by(|one, other| one.name.cmp(&other.name));
    let all: Vec<String> =
        all.iter().map(|xattr| format!("{}={:016x}", shown(&xattr.name), hash(&xattr.value))).collect();
    if all.is_empty() { "-".into() } else { all.join(";") }
}

fn shown(bytes: &[u8]) -> String {
    let shown = |byte: &u8| match byte {
        b'\\' | b'=' => format!("\\x{byte:02x}"),
        33..127 => char::from(*byte).to_string(),
        _ => format!("\\x{byte:02x}"),
    };
    bytes.iter().map(shown).collect()
}

fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}

/// Reads all files: in order without workers, and with two; in parts at random. All must be the same.
pub fn contents(image: &Image, visits: &[Visit]) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let files: Vec<(Vec<u8>, FileData)> = visits.iter().filter_map(file_of).collect();
    let all = in_order(image, &files, 0);
    assert!(all.values().all(|(_, faults)| faults.is_empty()), "{all:?}");
    assert_eq!(all, in_order(image, &files, 2));
    let random = Files::new(image, RandomSettings { workers: 0, cache: 1 << 20, ahead: 0 }).unwrap();
    for (path, file) in &files {
        let expected = &all[path].0;
        let open = random.open(file);
        let mut out = Vec::new();
        for part in [1, 777, 5000, 1 << 20] {
            for at in (0..file.size as usize).step_by(part).rev().take(50) {
                random.read(&open, at as u64, part, &mut out).unwrap();
                let end = expected.len().min(at + part);
                assert!(out == expected[at..end], "{} at {at}", shown(path));
            }
        }
    }
    all.into_iter().map(|(path, (bytes, _))| (path, bytes)).collect()
}

pub fn file_of(visit: &Visit) -> Option<(Vec<u8>, FileData)> {
    match &visit.inode.node {
        Node::File(file) => Some((visit.path.clone(), file.clone())),
        _ => None,
    }
}

/// The content of each file, and its faults.
pub type Contents = BTreeMap<Vec<u8>, (Vec<u8>, Vec<String>)>;

/// Maximum number of bytes of holes and missing content that are counted for one image.
const ENOUGH: usize = 8 << 20;

/// Reads files in order, up to a limit.
pub fn in_order(image: &Image, files: &[(Vec<u8>, FileData)], workers: usize) -> Contents {
    let mut uses = SharedUses::new();
    files.iter().for_each(|(_, file)| uses.note(image, file));
    let requests = files
        .iter()
        .map(|(path, file)| Ok(Request { tag: path.clone(), file: Some(file.clone()), weight: path.len() }));
    let settings =
        ReadSettings { shared: 2 << 20, scratch: None, engine: Config::new(workers, 32 << 20), listener: None };
    let mut reading = Reading::new(image, Box::new(requests), uses, &settings).unwrap();
    let mut all = Contents::new();
    let mut path = Vec::new();
    let mut left = ENOUGH;
    let mut events = 100_000;
    while let Some(event) = reading.next_event().unwrap() {
        let (bytes, faults) = match &event {
            Event::Begin(tag) => {
                path.clone_from(tag);
                all.entry(path.clone()).or_default()
            }
            _ => all.get_mut(&path).unwrap(),
        };
        events -= 1;
        let length = match event {
            Event::Begin(_) => 0,
            Event::Data(chunk) => {
                bytes.extend_from_slice(&chunk);
                chunk.len()
            }
            Event::Hole(length) => {
                let length = (length as usize).min(left);
                bytes.resize(bytes.len() + length, 0);
                length
            }
            Event::Failed { length, error } => {
                assert!(!matches!(error, ReadError::Work(_)), "{error}");
                faults.push(format!("{length} bytes: {error}"));
                0
            }
        };
        left = left.saturating_sub(length);
        if left == 0 || events == 0 {
            break;
        }
    }
    all
}

/// Returns the inode at a path that exists.
pub fn at(image: &Image, path: &str) -> Inode {
    image.resolve(path.as_bytes()).unwrap().unwrap_or_else(|| panic!("no {path}"))
}

/// Returns the number of nodes with more than one name.
pub fn hard_links(image: &Image) -> usize {
    let mut names: BTreeMap<NodeId, usize> = BTreeMap::new();
    for visit in Walk::new(image, image.root(), Vec::new()) {
        *names.entry(visit.unwrap().inode.at).or_default() += 1;
    }
    names.values().filter(|names| **names > 1).count()
}
