//! `--nid` and `--path` print an inode, with `--ls` its entries and with `-e` its extents.

use packline::requests::ErofsImage;
use packline_erofs::read::{ExtentPlace, InodeLayout, StoredExtent};
use packline_volume::{Inode, NodeType};

use crate::compat::erofs_utils::{ChosenInode, fault, path_of};
use crate::ui::failure::Failure;
use crate::ui::io::Io;
use crate::ui::mode::mode_string;
use crate::ui::time::Moment;

/// Prints an inode; `parts` are whether its entries and its extents are printed.
pub fn print(
    image: &ErofsImage,
    chosen: &ChosenInode,
    (entries, extents): (bool, bool),
    io: &mut Io,
) -> Result<(), Failure> {
    let inode = image.volume.inode(chosen.node).map_err(|cause| fault(image, cause))?;
    let layout = image.image.layout(chosen.node).map_err(|cause| fault(image, cause))?;
    let number = image.image.inode_number(chosen.node);
    let name = if image.image.superblock().packed == Some(number) {
        b"(packed file)".to_vec()
    } else {
        path_of(image, chosen.node).map_or(b"(not found)".to_vec(), |path| [b"/", path.as_slice()].concat())
    };
    io.print_names(&[b"Path : ", name.as_slice()].concat()).map_err(Failure::printing)?;
    io.print(&attributes(&inode, number, layout, io.host.utc_offset))?;
    if entries {
        print_entries(image, &inode, io)?;
    }
    if extents { print_extents(image, &inode, &name, io) } else { Ok(()) }
}

/// Returns the lines about an inode.
fn attributes(inode: &Inode, number: u64, layout: InodeLayout, utc_offset: fn(i64) -> i64) -> String {
    let InodeLayout { size, .. } = layout;
    let stored = layout.compressed.unwrap_or(size);
    let ratio = if size == 0 { 0.0 } else { stored as f64 * 100.0 / size as f64 };
    let meta = &inode.meta;
    let seconds = meta.mtime.seconds();
    let time = Moment::of(seconds.saturating_add(utc_offset(seconds))).iso();
    let mode = meta.mode & 0o777;
    format!(
        "Size: {size}  On-disk size: {stored}  {}\n\
         NID: {number}   Links: {}   Layout: {}   Compression ratio: {ratio:.2}%\n\
         Inode size: {}   Xattr size: {}\n\
         Uid: {}   Gid: {}  Access: {mode:04o}/{}\n\
         Timestamp: {time}.{:09}\n",
        type_name(inode.node_type()),
        inode.links,
        layout.number,
        layout.inode_bytes,
        layout.xattr_bytes,
        meta.uid,
        meta.gid,
        &mode_string(inode.node_type(), mode)[1..],
        meta.mtime.nanoseconds(),
    )
}

fn print_entries(image: &ErofsImage, directory: &Inode, io: &mut Io) -> Result<(), Failure> {
    let listing = image.image.stored_entries(directory).map_err(|cause| fault(image, cause))?;
    io.print("\n       NID TYPE  FILENAME\n")?;
    for entry in listing {
        let entry = entry.map_err(|cause| fault(image, cause))?;
        let numbers = format!("{:>10}    {}  ", image.image.inode_number(entry.inode), type_number(entry.kind));
        io.print_names(&[numbers.as_bytes(), entry.name.as_slice()].concat()).map_err(Failure::printing)?;
    }
    Ok(())
}

fn print_extents(image: &ErofsImage, inode: &Inode, name: &[u8], io: &mut Io) -> Result<(), Failure> {
    let extents = image.image.extents(inode.at).map_err(|cause| fault(image, cause))?;
    io.print("\n Ext:   logical offset   |  length :     physical offset    |  length\n")?;
    let mut count = 0u64;
    for extent in extents {
        io.print(&row(count, extent.map_err(|cause| fault(image, cause))?))?;
        count += 1;
    }
    io.print_names(&[name, format!(": {count} extents found").as_bytes()].concat()).map_err(Failure::printing)
}

fn row(number: u64, extent: StoredExtent) -> String {
    let StoredExtent { start, length, place } = extent;
    let (offset, bytes, device) = match place {
        ExtentPlace::Hole | ExtentPlace::Packed => (0, 0, 0),
        ExtentPlace::Stored { offset, bytes, device } => (offset, bytes, device),
    };
    let device = if device == 0 { String::new() } else { format!("  # device {device}") };
    let end = start.saturating_add(length);
    let stored_end = offset.saturating_add(bytes);
    format!("{number:>4}: {start:>8}..{end:>8} | {length:>7} : {offset:>10}..{stored_end:>10} | {bytes:>7}{device}\n")
}

/// Returns the name of a type in erofs-utils.
fn type_name(kind: NodeType) -> &'static str {
    match kind {
        NodeType::File => "regular file",
        NodeType::Directory => "directory",
        NodeType::CharDevice => "char dev",
        NodeType::BlockDevice => "block dev",
        NodeType::Fifo => "FIFO file",
        NodeType::Socket => "SOCK file",
        NodeType::Symlink => "symlink file",
    }
}

/// Returns the number of a type in directory entries.
pub fn type_number(kind: NodeType) -> usize {
    match kind {
        NodeType::File => 1,
        NodeType::Directory => 2,
        NodeType::CharDevice => 3,
        NodeType::BlockDevice => 4,
        NodeType::Fifo => 5,
        NodeType::Socket => 6,
        NodeType::Symlink => 7,
    }
}
