//! A description of each path of a tree, in one form for models, directories, mounts and images; and differences of two.

use crate::model::{Bytes, Content, Node, NodeKind};
use rustix::fs::{FileType, Stat};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Attributes by path below the root; the root's path is empty.
pub type Snapshot = BTreeMap<Bytes, Attributes>;

/// All attributes of one path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attributes {
    /// Type and content.
    pub kind: Kind,
    /// The lower 12 bits of `st_mode`.
    pub mode: u16,
    pub uid: u32,
    pub gid: u32,
    /// Modification time, whole seconds since 1970, clamped to SquashFS's range (0 to 2^32-1).
    pub mtime: i64,
    /// The first path of the same inode; its own path for directories and files with one name.
    pub first_name: Bytes,
    /// Link count; 1 for directories, whose counts differ between file systems.
    pub links: u32,
    pub xattrs: BTreeMap<Bytes, Bytes>,
}

/// Type and content of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// A regular file: its size in bytes and the BLAKE3 hash of its content.
    File(u64, [u8; 32]),
    Dir,
    /// A symbolic link: its target.
    Symlink(Bytes),
    /// A block device: major and minor number.
    BlockDevice(u32, u32),
    /// A character device: major and minor number.
    CharDevice(u32, u32),
    Fifo,
    Socket,
}

/// A property that a comparison ignores, because a program does not show it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Except {
    /// Names of one inode, and link counts.
    pub links: bool,
    /// Names of one inode. Link counts are compared.
    pub groups: bool,
    pub xattrs: bool,
    pub root: bool,
    /// The attribute `security.capability`.
    pub capability: bool,
}

/// The snapshot of a model. Sockets are left out if `sockets` is false, as in a tar.
pub fn of_model(nodes: &[Node], sockets: bool) -> Snapshot {
    let wanted = |node: &&Node| sockets || !matches!(node.kind, NodeKind::Socket);
    let mut found = Snapshot::new();
    for node in nodes.iter().filter(wanted) {
        let attributes = match &node.kind {
            NodeKind::HardLink(target) => found[target].clone(),
            _ => of_node(node),
        };
        found.insert(node.path.clone(), attributes);
    }
    group(&mut found, |_, attributes| attributes.first_name.clone());
    found
}

fn of_node(node: &Node) -> Attributes {
    let kind = match &node.kind {
        NodeKind::File(content) => Kind::File(content.size, hash_content(content)),
        NodeKind::Symlink(target) => Kind::Symlink(target.clone()),
        NodeKind::BlockDevice(major, minor) => Kind::BlockDevice(*major, *minor),
        NodeKind::CharDevice(major, minor) => Kind::CharDevice(*major, *minor),
        NodeKind::Fifo => Kind::Fifo,
        NodeKind::Socket => Kind::Socket,
        NodeKind::Dir | NodeKind::HardLink(_) => Kind::Dir,
    };
    Attributes {
        kind,
        mode: node.mode,
        uid: node.uid,
        gid: node.gid,
        mtime: clamp_time(node.mtime),
        first_name: node.path.clone(),
        links: 1,
        xattrs: node.xattrs.iter().cloned().collect(),
    }
}

fn hash_content(content: &Content) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    content.each(&mut |bytes| {
        hasher.update(bytes);
    });
    *hasher.finalize().as_bytes()
}

/// The tree below `root`, which may be a mount point. Reads every file.
pub fn of_directory(root: &Path) -> io::Result<Snapshot> {
    let mut found = Snapshot::new();
    let mut inodes: BTreeMap<Bytes, (u64, u64)> = BTreeMap::new();
    let mut pending = vec![Bytes::new()];
    while let Some(path) = pending.pop() {
        let place = crate::plant::place(root, &path);
        let stat = rustix::fs::lstat(&place).map_err(|cause| naming(&place, cause.into()))?;
        let attributes = of_place(&place, &stat, &path).map_err(|cause| naming(&place, cause))?;
        if attributes.kind == Kind::Dir {
            children(&place, &path, &mut pending).map_err(|cause| naming(&place, cause))?;
        } else {
            inodes.insert(path.clone(), (stat.st_dev, stat.st_ino));
        }
        found.insert(path, attributes);
    }
    group(&mut found, |path, _| inodes.get(path).copied());
    Ok(found)
}

fn naming(place: &Path, cause: io::Error) -> io::Error {
    io::Error::new(cause.kind(), format!("{}: {cause}", place.display()))
}

fn children(place: &Path, path: &[u8], pending: &mut Vec<Bytes>) -> io::Result<()> {
    for entry in std::fs::read_dir(place)? {
        let name = entry?.file_name();
        let separator: &[u8] = if path.is_empty() { b"" } else { b"/" };
        pending.push([path, separator, name.as_bytes()].concat());
    }
    Ok(())
}

fn of_place(place: &Path, stat: &Stat, path: &[u8]) -> io::Result<Attributes> {
    let kind = kind_of(place, stat)?;
    Ok(Attributes {
        links: if kind == Kind::Dir { 1 } else { u32::try_from(stat.st_nlink).unwrap_or(u32::MAX) },
        kind,
        mode: (stat.st_mode & 0o7777) as u16,
        uid: stat.st_uid,
        gid: stat.st_gid,
        mtime: clamp_time(stat.st_mtime),
        first_name: path.to_vec(),
        xattrs: xattrs_of(place)?,
    })
}

fn kind_of(place: &Path, stat: &Stat) -> io::Result<Kind> {
    let device = (rustix::fs::major(stat.st_rdev), rustix::fs::minor(stat.st_rdev));
    Ok(match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => hash_file(place)?,
        FileType::Directory => Kind::Dir,
        FileType::Symlink => Kind::Symlink(std::fs::read_link(place)?.as_os_str().as_bytes().to_vec()),
        FileType::BlockDevice => Kind::BlockDevice(device.0, device.1),
        FileType::CharacterDevice => Kind::CharDevice(device.0, device.1),
        FileType::Fifo => Kind::Fifo,
        FileType::Socket => Kind::Socket,
        FileType::Unknown => return Err(io::Error::other("unknown file type")),
    })
}

fn hash_file(place: &Path) -> io::Result<Kind> {
    let mut file = File::open(place)?;
    let mut hasher = blake3::Hasher::new();
    let mut buffer = vec![0; 1 << 18];
    let mut size = 0;
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(Kind::File(size, *hasher.finalize().as_bytes())),
            length => {
                hasher.update(&buffer[..length]);
                size += length as u64;
            }
        }
    }
}

fn xattrs_of(place: &Path) -> io::Result<BTreeMap<Bytes, Bytes>> {
    let mut names = vec![0; 1 << 16];
    let length = match rustix::fs::llistxattr(place, names.as_mut_slice()) {
        Err(rustix::io::Errno::NOTSUP) => return Ok(BTreeMap::new()),
        other => other?,
    };
    let mut found = BTreeMap::new();
    for name in names[..length].split(|&byte| byte == 0).filter(|name| !name.is_empty()) {
        let mut value = vec![0; 1 << 16];
        // squashfuse lists an attribute with an empty value and then reports that it does not exist.
        let length = match rustix::fs::lgetxattr(place, name, value.as_mut_slice()) {
            Err(rustix::io::Errno::NODATA) => 0,
            other => other?,
        };
        value.truncate(length);
        found.insert(name.to_vec(), value);
    }
    Ok(found)
}

pub(crate) fn clamp_time(seconds: i64) -> i64 {
    seconds.clamp(0, i64::from(u32::MAX))
}

/// Groups the paths of each inode under the first of them, and counts links where the count is not known yet.
pub fn group<K: Ord>(found: &mut Snapshot, mut inode: impl FnMut(&Bytes, &Attributes) -> K) {
    let mut first: BTreeMap<K, (Bytes, u32)> = BTreeMap::new();
    for (path, attributes) in found.iter().filter(|(_, attributes)| attributes.kind != Kind::Dir) {
        first.entry(inode(path, attributes)).or_insert_with(|| (path.clone(), 0)).1 += 1;
    }
    for (path, attributes) in found.iter_mut().filter(|(_, attributes)| attributes.kind != Kind::Dir) {
        let key = inode(path, attributes);
        let (name, count) = &first[&key];
        attributes.first_name.clone_from(name);
        attributes.links = attributes.links.max(*count);
    }
}

/// The differences of `found` from `expected`, a line each; empty if there are none.
pub fn differences(expected: &Snapshot, found: &Snapshot, except: Except) -> Vec<String> {
    let mut lines = Vec::new();
    for (path, wanted) in expected {
        match found.get(path) {
            Some(got) => lines.extend(compare(path, wanted, got, except)),
            None => lines.push(format!("{}: missing", show(path))),
        }
    }
    let more = found.keys().filter(|path| !expected.contains_key(*path));
    lines.extend(more.map(|path| format!("{}: not in the source", show(path))));
    lines
}

fn compare(path: &[u8], wanted: &Attributes, got: &Attributes, except: Except) -> Vec<String> {
    let mut lines = Vec::new();
    let mut check = |what: &str, same: bool, wanted: String, got: String| {
        if !same {
            lines.push(format!("{}: {what} is {got}, expected {wanted}", show(path)));
        }
    };
    if path.is_empty() && except.root {
        return Vec::new();
    }
    check("kind", wanted.kind == got.kind, format!("{:?}", wanted.kind), format!("{:?}", got.kind));
    check("mode", wanted.mode == got.mode, format!("{:04o}", wanted.mode), format!("{:04o}", got.mode));
    let owners = ((wanted.uid, wanted.gid), (got.uid, got.gid));
    check("owner", owners.0 == owners.1, format!("{:?}", owners.0), format!("{:?}", owners.1));
    check("time", wanted.mtime == got.mtime, wanted.mtime.to_string(), got.mtime.to_string());
    let same_group = except.groups || wanted.first_name == got.first_name;
    let same_links = same_group && wanted.links == got.links;
    let link = |attributes: &Attributes| format!("{} of {}", attributes.links, show(&attributes.first_name));
    check("links", except.links || same_links, link(wanted), link(got));
    let shown = |attributes: &Attributes| {
        let mut xattrs = attributes.xattrs.clone();
        xattrs.retain(|name, _| !except.capability || name != b"security.capability");
        xattrs
    };
    let same_xattrs = except.xattrs || shown(wanted) == shown(got);
    check("xattrs", same_xattrs, show_xattrs(&wanted.xattrs), show_xattrs(&got.xattrs));
    lines
}

fn show(path: &[u8]) -> String {
    format!("/{}", path.escape_ascii())
}

fn show_xattrs(xattrs: &BTreeMap<Bytes, Bytes>) -> String {
    let pairs: Vec<String> = xattrs
        .iter()
        .map(|(name, value)| format!("{}={}", name.escape_ascii(), value[..value.len().min(60)].escape_ascii()))
        .collect();
    format!("[{}]", pairs.join(" "))
}

/// Panics with the first differences in its message if there are any. `what` names the comparison.
#[allow(clippy::panic, reason = "this is an assertion for tests")]
pub fn assert_same(what: &str, expected: &Snapshot, found: &Snapshot, except: Except) {
    let lines = differences(expected, found, except);
    if !lines.is_empty() {
        let shown = lines[..lines.len().min(20)].join("\n  ");
        panic!("{what}: {} differences:\n  {shown}", lines.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate;

    fn planted(nodes: &[Node]) -> (tempfile::TempDir, Snapshot) {
        let directory = tempfile::tempdir().unwrap();
        crate::plant::plant(nodes, directory.path()).unwrap();
        let found = of_directory(directory.path()).unwrap();
        (directory, found)
    }

    #[test]
    fn planted_tree_equals_its_model() {
        if !crate::tools::root() {
            return;
        }
        let nodes = generate::small_tree(1, 4096);
        let (_directory, found) = planted(&nodes);
        assert_same("planted", &of_model(&nodes, true), &found, Except::default());
    }

    #[test]
    fn each_kind_of_change_is_seen() {
        let base = [
            Node::dir("d"),
            Node::file("d/f", "abc"),
            Node::new("d/h", NodeKind::HardLink(b"d/f".to_vec())),
            Node::new("d/s", NodeKind::Symlink(b"t".to_vec())),
        ];
        let expected = of_model(&base, true);
        let changes: [fn(&mut Vec<Node>); 9] = [
            |nodes| nodes[1] = Node::file("d/f", "abd"),
            |nodes| nodes[1].mode = 0o600,
            |nodes| nodes[1].uid = 1,
            |nodes| nodes[0].mtime += 1,
            |nodes| nodes[2] = Node::file("d/h", "abc"),
            |nodes| nodes[3].kind = NodeKind::Symlink(b"u".to_vec()),
            |nodes| nodes[1].xattrs.push((b"user.a".to_vec(), b"b".to_vec())),
            |nodes| drop(nodes.pop()),
            |nodes| nodes.push(Node::dir("e")),
        ];
        assert_eq!(differences(&expected, &expected, Except::default()), Vec::<String>::new());
        for (index, change) in changes.iter().enumerate() {
            let mut nodes = base.to_vec();
            change(&mut nodes);
            let lines = differences(&expected, &of_model(&nodes, true), Except::default());
            assert!(!lines.is_empty(), "change {index} was not seen");
        }
    }
}
