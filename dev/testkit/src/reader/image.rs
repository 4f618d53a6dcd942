//! Opens an image, reads all of it, and reports.

use super::disk::Disk;
use super::metadata::Table;
use super::superblock::{self, Superblock};
use super::tree::Parts;
use super::{inodes, tables, tree, xattrs};
use crate::snapshot::Snapshot;
use std::collections::BTreeSet;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Length of a record in bytes; docs/format/squashfs-record.md.
const RECORD: usize = 64;

/// The content of an image and its faults.
#[derive(Debug)]
pub struct Report {
    pub superblock: Superblock,
    /// The tree, with hashes of contents.
    pub tree: Snapshot,
    /// Violated rules, a line each. Empty for a sound image.
    pub problems: Vec<String>,
    /// Range in bytes of the data and fragment blocks.
    pub data_area: Range<u64>,
    /// Bytes of the data area, and of decoded fragment blocks, that no file uses.
    pub unused: u64,
    /// BLAKE3 hash of the data area's bytes.
    pub data_hash: [u8; 32],
    /// The codec's options, without their header; empty if there are none.
    pub options: Vec<u8>,
}

/// Reads all tables and blocks of an image. The error is a fault that prevents reading the rest.
pub fn inspect(path: &Path) -> Result<Report, String> {
    let (file, superblock) = open(path)?;
    let size = file.metadata().map_err(|cause| cause.to_string())?.len();
    let mut disk = Disk::new(file, size, superblock.codec()?, superblock.block_size as usize)?;
    superblock.check(size, &mut disk.problems);
    check_padding(&mut disk, &superblock)?;
    read_all(disk, superblock)
}

/// The codec in an image's superblock.
pub fn codec_of(path: &Path) -> Result<&'static str, String> {
    open(path)?.1.codec()
}

fn open(path: &Path) -> Result<(File, Superblock), String> {
    let named = |cause: std::io::Error| format!("{}: {cause}", path.display());
    let file = File::open(path).map_err(named)?;
    let mut head = vec![0; superblock::SIZE as usize];
    file.read_exact_at(&mut head, 0).map_err(named)?;
    Ok((file, Superblock::read(&head)?))
}

fn read_all(mut disk: Disk, superblock: Superblock) -> Result<Report, String> {
    let (options, data_start) = read_options(&mut disk, &superblock)?;
    let inode_table = Table::read(&mut disk, superblock.inode_table..superblock.directory_table, "inode table")?;
    let inodes = inodes::read(&mut disk, &inode_table, &superblock)?;
    let tables = tables::read(&mut disk, &superblock)?;
    let directories = superblock.directory_table..tables.directories_end;
    let directories = Table::read(&mut disk, directories, "directory table")?;
    let xattrs = xattrs::read(&mut disk, &superblock, tables.ids_end)?;
    check_ids(&mut disk, &tables.ids, &inodes);
    let parts = Parts { superblock, inode_table, inodes, directories, tables, xattrs };
    let (tree, usage) = tree::read(&mut disk, &parts)?;
    let data_area = data_start..parts.superblock.inode_table;
    let unused = usage.check(&mut disk, &parts.tables.fragments, data_area.clone())?;
    let data_hash = hash_area(&mut disk, data_area.clone())?;
    let Parts { superblock, .. } = parts;
    Ok(Report { superblock, tree, problems: disk.problems, data_area, unused, data_hash, options })
}

/// The image ends with a record of its encoder, or none, and zeros up to a multiple of at least 1 KiB, as block devices need.
fn check_padding(disk: &mut Disk, superblock: &Superblock) -> Result<(), String> {
    let padding = disk.size.saturating_sub(superblock.bytes_used);
    let bytes = disk.bytes(superblock.bytes_used, padding.min(1 << 20), "padding")?;
    let record = if bytes.starts_with(b"packline") { RECORD.min(bytes.len()) } else { 0 };
    if bytes[record..].iter().any(|&byte| byte != 0) || !disk.size.is_multiple_of(1024) {
        disk.problems.push(format!("{padding} bytes of padding in a file of {}: not zeros to a whole KiB", disk.size));
    }
    Ok(())
}

fn read_options(disk: &mut Disk, superblock: &Superblock) -> Result<(Vec<u8>, u64), String> {
    let codec = superblock.codec()?;
    if !superblock.has_options() {
        if codec == "lz4" {
            disk.problems.push("no compressor options, which lz4 must have".into());
        }
        return Ok((Vec::new(), superblock::SIZE));
    }
    let header = disk.bytes(superblock::SIZE, 2, "compressor options")?;
    let (options, end) = super::metadata::read_block(disk, superblock::SIZE, "compressor options")?;
    if header[1] & 0x80 == 0 || Some(options.len()) != superblock::options_length(codec) {
        disk.problems.push(format!("compressor options of {} bytes, header {header:x?}", options.len()));
    }
    Ok((options, end))
}

/// No id occurs twice in the table, and each is used.
fn check_ids(disk: &mut Disk, ids: &[u32], inodes: &inodes::Inodes) {
    let different: BTreeSet<u32> = ids.iter().copied().collect();
    let used: BTreeSet<u16> = inodes.values().flat_map(|inode| [inode.uid, inode.gid]).collect();
    if different.len() != ids.len() || used.len() != ids.len() {
        disk.problems.push(format!("{} ids, {} of them different, {} used", ids.len(), different.len(), used.len()));
    }
}

fn hash_area(disk: &mut Disk, area: Range<u64>) -> Result<[u8; 32], String> {
    let mut hasher = blake3::Hasher::new();
    let mut at = area.start;
    while at < area.end {
        let length = (area.end - at).min(1 << 20);
        hasher.update(&disk.bytes(at, length, "data area")?);
        at += length;
    }
    Ok(*hasher.finalize().as_bytes())
}
