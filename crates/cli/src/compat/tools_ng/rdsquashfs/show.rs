//! Shows single entries for `rdsquashfs`: listings, inodes, extended attributes.

use std::io::Write;

use packline::requests::SquashFsImage;
use packline_image::{Omit, SelectedWalk, Selection};
use packline_squashfs::device_number;
use packline_squashfs::read::{DirData, FileData, Inode, InodeRef, Node, NodeType};

use crate::ui::escape::{Escape, escaped};
use crate::ui::failure::Failure;
use crate::ui::io::Io;
use crate::ui::mode::mode_string;
use crate::ui::time::Moment;

/// Returns the entry at a path; links are not followed.
pub fn find(image: &SquashFsImage, path: &[u8]) -> Result<Inode, Failure> {
    let found = image.image.resolve(path).map_err(|cause| image.fault_at(path, cause))?;
    let missing = || {
        format!(
            "{}: reading filesystem tree: no such file or directory: {}",
            image.display_path.escaped(),
            escaped(path)
        )
    };
    found.ok_or_else(|| Failure::failed(missing()))
}

struct Row {
    mode: String,
    uid: u32,
    gid: u32,
    size: String,
    name: String,
}

/// Prints the entries of a directory, or the line of another entry.
pub fn list(image: &SquashFsImage, path: &[u8], omit: Omit, io: &mut Io) -> Result<(), Failure> {
    let inode = find(image, path)?;
    let fault = |cause| Failure::from(image.fault_at(path, cause));
    if inode.node_type() != NodeType::Directory {
        let row = row(&inode, last_name(path));
        let line = format!("{} {}/{} {} {}\n", row.mode, row.uid, row.gid, row.size, row.name);
        return io.print(&line);
    }
    let kept = |inode: &Inode| -> Result<bool, Failure> {
        let directory = inode.node_type() == NodeType::Directory;
        let empty = directory && omit.empty_directories && is_empty(image, inode.at, path, omit)?;
        Ok(!empty && !omit.omits(inode.node_type()))
    };
    // Columns are as wide as the widest entry. The directory is read twice rather than kept in memory.
    let mut widths = [0; 3];
    for entry in image.image.entries(&inode).map_err(fault)? {
        let entry = entry.map_err(fault)?;
        let inode = image.image.entry_inode(&entry).map_err(fault)?;
        if kept(&inode)? {
            let row = row(&inode, &entry.name);
            let wide = [digits(row.uid), digits(row.gid), row.size.len()];
            (0..3).for_each(|column| widths[column] = widths[column].max(wide[column]));
        }
    }
    for entry in image.image.entries(&inode).map_err(fault)? {
        let entry = entry.map_err(fault)?;
        let inode = image.image.entry_inode(&entry).map_err(fault)?;
        if kept(&inode)? {
            let Row { mode, uid, gid, size, name } = row(&inode, &entry.name);
            let [uids, gids, sizes] = widths;
            let line = writeln!(io.stdout, "{mode} {uid:>uids$}/{gid:<gids$} {size:>sizes$} {name}");
            line.map_err(Failure::printing)?;
        }
    }
    io.stdout.flush().map_err(Failure::printing)
}

/// Returns whether a directory has no entries except excluded ones.
fn is_empty(image: &SquashFsImage, at: InodeRef, path: &[u8], omit: Omit) -> Result<bool, Failure> {
    let selection = Selection { omit, ..Selection::all() };
    match SelectedWalk::below(&image.volume, at, &selection).next() {
        None => Ok(true),
        Some(Ok(_)) => Ok(false),
        Some(Err((_, cause))) => Err(image.fault_at(path, cause).into()),
    }
}

fn row(inode: &Inode, name: &[u8]) -> Row {
    let mut name = escaped(name);
    if let Node::Symlink(target) = &inode.node {
        name = format!("{name} -> {}", escaped(target));
    }
    let mode = mode_string(inode.node_type(), inode.meta.mode);
    Row { mode, uid: inode.meta.uid, gid: inode.meta.gid, size: size(&inode.node), name }
}

fn last_name(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or_default()
}

fn size(node: &Node) -> String {
    match node {
        Node::Symlink(target) => rounded(target.len() as u64),
        Node::File(file) => rounded(file.size),
        Node::Directory(directory) => rounded(u64::from(directory.length) + 3),
        Node::BlockDevice(device) | Node::CharDevice(device) => format!("{}:{}", device.major, device.minor),
        Node::Fifo | Node::Socket => "0".to_string(),
    }
}

/// Returns a size in the largest unit that leaves more than 1, with halves rounded up. 1,024 of a unit are not yet 1 of the next.
fn rounded(mut size: u64) -> String {
    let mut unit = None;
    let mut rest = 0;
    let mut units = "kMGTPEZY".chars();
    while size > 1024 {
        unit = units.next();
        rest = size % 1024;
        size /= 1024;
    }
    match unit {
        Some(letter) => format!("{}{letter}", size + u64::from(rest >= 512)),
        None => size.to_string(),
    }
}

/// Returns the number of decimal digits as the program counts them for its columns: 10 has one.
fn digits(mut number: u32) -> usize {
    let mut count = 1;
    while number > 10 {
        count += 1;
        number /= 10;
    }
    count
}

/// Prints the extended attributes of an entry, one per line.
pub fn xattrs(image: &SquashFsImage, path: &[u8], io: &mut Io) -> Result<(), Failure> {
    let inode = find(image, path)?;
    for xattr in image.image.xattrs(&inode).map_err(|cause| image.fault_at(path, cause))? {
        let mut out = Vec::new();
        if printable(&xattr.name) {
            out.extend_from_slice(&xattr.name);
        } else {
            out.extend_from_slice(hex(&xattr.name).as_bytes());
        }
        out.push(b'=');
        match xattr.value.strip_suffix(b"\0").unwrap_or(&xattr.value) {
            text if printable(text) => out.extend_from_slice(text),
            _ => out.extend_from_slice(hex(&xattr.value).as_bytes()),
        }
        io.print_names(&out).map_err(Failure::printing)?;
    }
    io.stdout.flush().map_err(Failure::printing)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold("0x".to_string(), |text, byte| text + &format!("{byte:02X}"))
}

/// Returns whether the bytes are UTF-8 without control characters other than those from bell to carriage return.
fn printable(bytes: &[u8]) -> bool {
    let tame = |byte: &u8| !matches!(byte, 0..=6 | 14..=31 | 127);
    bytes.iter().all(tame) && std::str::from_utf8(bytes).is_ok()
}

/// Prints all fields of an inode.
pub fn stat(image: &SquashFsImage, path: &[u8], io: &mut Io) -> Result<(), Failure> {
    let inode = find(image, path)?;
    let fault = |cause| Failure::from(image.fault_at(path, cause));
    let raw = image.image.raw_inode(&inode).map_err(fault)?;
    let meta = inode.meta;
    let mut lines = vec![
        format!("Name: {}", escaped(last_name(path))),
        format!("Inode type: {}", form(&inode)),
        format!("Inode number: {}", inode.number),
        format!("Access: 0{:o}", meta.mode),
        format!("UID: {} (index = {})", meta.uid, raw.uid_index),
        format!("GID: {} (index = {})", meta.gid, raw.gid_index),
        format!("Last modified: {} ({})", Moment::of(meta.mtime.seconds()).mail(), meta.mtime),
    ];
    if inode.node_type() != NodeType::File || inode.extended {
        lines.push(format!("Hard link count: {}", inode.links));
    }
    if inode.extended {
        lines.push(format!("Xattr index: 0x{:X}", inode.xattr.unwrap_or(u32::MAX)));
    }
    match &inode.node {
        Node::Symlink(target) => lines.push(format!("Link target: {}", escaped(target))),
        Node::BlockDevice(device) | Node::CharDevice(device) => {
            lines.push(format!("Device number: {}:{} ({})", device.major, device.minor, device_number(*device)));
        }
        Node::File(file) => lines.extend(file_lines(file, raw.fragment, inode.extended)),
        Node::Directory(directory) => lines.extend(directory_lines(image, directory, inode.extended)),
        Node::Fifo | Node::Socket => {}
    }
    lines.iter().try_for_each(|line| writeln!(io.stdout, "{line}")).map_err(Failure::printing)?;
    match &inode.node {
        Node::File(file) => blocks(image, path, file, io)?,
        Node::Directory(directory) if inode.extended => index(image, path, directory, io)?,
        _ => {}
    }
    io.stdout.flush().map_err(Failure::printing)
}

fn form(inode: &Inode) -> String {
    let name = match inode.node_type() {
        NodeType::Directory => "directory",
        NodeType::File => "file",
        NodeType::Symlink => "symbolic link",
        NodeType::BlockDevice => "block device",
        NodeType::CharDevice => "character device",
        NodeType::Fifo => "named pipe",
        NodeType::Socket => "socket",
    };
    format!("{}{name}", if inode.extended { "extended " } else { "" })
}

fn file_lines(file: &FileData, fragment: Option<(u32, u32)>, extended: bool) -> Vec<String> {
    let (index, offset) = fragment.unwrap_or((u32::MAX, 0));
    let mut lines = vec![
        format!("Fragment index: 0x{index:X}"),
        format!("Fragment offset: {offset}"),
        format!("File size: {}", file.size),
    ];
    if extended {
        lines.push(format!("Sparse: {}", file.sparse));
    }
    lines.push(format!("Blocks start: {}", file.start));
    lines.push(format!("Block count: {}", file.blocks));
    lines
}

fn directory_lines(image: &SquashFsImage, directory: &DirData, extended: bool) -> Vec<String> {
    let place = image.image.listing_place(directory);
    let mut lines = vec![
        format!("Start block: {}", place.block),
        format!("Offset: {}", place.offset),
        format!("Listing size: {}", u64::from(directory.length) + 3),
        format!("Parent inode: {}", directory.parent),
    ];
    if extended {
        lines.push(format!("Directory index entries: {}", directory.indices));
    }
    lines
}

fn blocks(image: &SquashFsImage, path: &[u8], file: &FileData, io: &mut Io) -> Result<(), Failure> {
    for (number, block) in image.image.blocks(file).enumerate() {
        let block = block.map_err(|cause| image.fault_at(path, cause))?;
        let (size, how) = match block.place {
            Some(place) if !place.compressed => (place.stored, "uncompressed"),
            place => (place.map_or(0, |place| place.stored), "compressed"),
        };
        writeln!(io.stdout, "\tBlock #{number} size: {size} ({how})").map_err(Failure::printing)?;
    }
    Ok(())
}

fn index(image: &SquashFsImage, path: &[u8], directory: &DirData, io: &mut Io) -> Result<(), Failure> {
    for entry in image.image.directory_index(directory) {
        let entry = entry.map_err(|cause| image.fault_at(path, cause))?;
        let line = format!("\t'{}' -> block {}, header offset {}", escaped(&entry.name), entry.block, entry.position);
        writeln!(io.stdout, "{line}").map_err(Failure::printing)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_sizes_like_rdsquashfs() {
        let cases = [
            (0, "0"),
            (1023, "1023"),
            (1024, "1024"),
            (1025, "1k"),
            (1536, "2k"),
            (300_000, "293k"),
            (1 << 20, "1024k"),
            ((1 << 20) + 1024, "1M"),
        ];
        for (size, text) in cases {
            assert_eq!(rounded(size), text, "{size}");
        }
        assert_eq!([0, 9, 10, 11, 100, 1000, 1001].map(digits), [1, 1, 1, 2, 2, 3, 3]);
    }

    #[test]
    fn prints_attributes_as_text_or_hexadecimal() {
        assert!(printable(b"plain text\n") && printable("größe".as_bytes()) && printable(b""));
        assert!(!printable(b"\x01") && !printable(b"a\0b") && !printable(b"\xff") && !printable(b"\x7f"));
        assert_eq!(hex(b"\x01\xab"), "0x01AB");
    }
}
