//! All inodes of the inode table: each is valid, with the fields that reading ignores, and each number occurs once.

use packline_runtime::WorkFault;
use packline_runtime::memory::{size_at_least, size_at_most};
use packline_volume::Report;

use super::VerifySettings;
use crate::format::inode::{NO_FRAGMENT, NO_XATTR};
use crate::read::inode::each_inode;
use crate::read::{DirEntry, FileData, Image, Inode, InodeRef, Node, NodeType, ReadError};

#[derive(Debug, Clone, Copy)]
pub(super) struct Record {
    /// Reference in the lower 48 bits, type above.
    packed: u64,
    /// A directory's parent, or the number of names of any other inode, as the inode says.
    pub(super) says: u32,
    /// A directory's parent, or the number of names of any other inode, as listings say.
    pub(super) found: u32,
}

const EMPTY: Record = Record { packed: u64::MAX, says: 0, found: 0 };

impl Record {
    fn new(inode: &Inode) -> Record {
        let says = match &inode.node {
            Node::Directory(directory) => directory.parent,
            _ => inode.links,
        };
        Record { packed: inode.at.0 & 0xffff_ffff_ffff | (inode.node_type() as u64) << 48, says, found: 0 }
    }

    /// Returns the position; `None` if no inode has this number.
    pub(super) fn at(&self) -> Option<InodeRef> {
        (self.packed != u64::MAX).then_some(InodeRef(self.packed & 0xffff_ffff_ffff))
    }

    pub(super) fn is(&self, kind: NodeType) -> bool {
        self.packed >> 48 == kind as u64
    }
}

/// Fragment blocks, ids and attribute sets that inodes refer to.
#[derive(Debug)]
pub(super) struct Uses {
    pub(super) fragments: Vec<bool>,
    /// Owners and groups, sorted, and whether an inode uses them.
    pub(super) ids: Vec<(u32, bool)>,
    pub(super) xattrs: Vec<bool>,
}

/// All inodes by number.
#[derive(Debug)]
pub(super) struct Inodes {
    pub(super) records: Vec<Record>,
    pub(super) uses: Uses,
    /// Whether a listing could not be read completely, so that names may be missing.
    pub(super) names_missing: bool,
}

impl Inodes {
    /// Reads the table twice: first to count the inodes, so that memory is allocated only for inodes that exist.
    pub(super) fn read(image: &Image, settings: &VerifySettings, report: &mut Report<'_>) -> Result<Inodes, ReadError> {
        let mut count = 0;
        let mut tails = 0;
        let mut sets = 0;
        let outcome = for_each_inode(image, settings, |inode, _| {
            count += 1;
            if let Node::File(file) = &inode.node {
                tails = tails.max(file.tail.map_or(0, |tail| tail.fragment as usize + 1));
            }
            sets = sets.max(inode.xattr.map_or(0, |index| index as usize + 1));
        });
        if let Err(error) = outcome {
            report.unread(None, error)?;
        }
        check_count(image, count, report);
        check_memory(count * size_of::<Record>() as u64 + (tails + sets) as u64, settings)?;
        let mut ids: Vec<(u32, bool)> = image.ids().iter().map(|id| (*id, false)).collect();
        ids.sort_unstable();
        let uses = Uses { fragments: vec![false; tails], ids, xattrs: vec![false; sets] };
        let most = count.min(u64::from(image.superblock().inodes)) as usize;
        let mut inodes = Inodes { records: vec![EMPTY; most], uses, names_missing: false };
        // The first pass reported the fault.
        let mut failed = Ok(());
        let again = for_each_inode(image, settings, |inode, offset| {
            inodes.note(inode, offset, report);
            if failed.is_ok() {
                failed = check(image, inode, offset, report);
            }
        });
        if let Err(cancelled @ ReadError::Work(WorkFault::Cancelled)) = again {
            return Err(cancelled);
        }
        failed?;
        Ok(inodes)
    }

    /// Returns the record of a number; `None` if the number exceeds the image's number of inodes.
    pub(super) fn get(&self, number: u32) -> Option<&Record> {
        self.records.get((number as usize).checked_sub(1)?).filter(|record| record.at().is_some())
    }

    /// Returns the record of the inode whose number a directory entry has.
    pub(super) fn of_entry(&mut self, entry: &DirEntry) -> Option<&mut Record> {
        let index = usize::try_from(entry.number).ok()?.checked_sub(1)?;
        self.records.get_mut(index).filter(|record| record.at().is_some())
    }

    fn note(&mut self, inode: &Inode, offset: u64, report: &mut Report<'_>) {
        self.uses.note(inode);
        report.totals.inodes += 1;
        match inode.node {
            Node::Directory(_) => report.totals.directories += 1,
            Node::File(_) => report.totals.files += 1,
            Node::Symlink(_) => report.totals.symlinks += 1,
            _ => {}
        }
        let number = inode.number;
        let most = self.records.len();
        match self.records.get_mut(number as usize - 1) {
            Some(record) if record.at().is_none() => *record = Record::new(inode),
            Some(_) => report.fault(offset, format!("inode number {number} is used a second time"), "each number once"),
            None => {
                report.fault(offset, format!("inode number {number}"), format!("1 to {most}, the number of inodes"))
            }
        }
    }
}

impl Uses {
    fn note(&mut self, inode: &Inode) {
        for id in [inode.meta.uid, inode.meta.gid] {
            let first = self.ids.partition_point(|(other, _)| *other < id);
            self.ids.iter_mut().skip(first).take_while(|(other, _)| *other == id).for_each(|(_, used)| *used = true);
        }
        let tail = if let Node::File(file) = &inode.node { file.tail } else { None };
        if let Some(used) = tail.and_then(|tail| self.fragments.get_mut(tail.fragment as usize)) {
            *used = true;
        }
        if let Some(used) = inode.xattr.and_then(|index| self.xattrs.get_mut(index as usize)) {
            *used = true;
        }
    }
}

/// Calls `visit` with each inode of the table and the offset of its metadata block.
fn for_each_inode(image: &Image, settings: &VerifySettings, visit: impl FnMut(&Inode, u64)) -> Result<(), ReadError> {
    each_inode(image, &settings.reading.engine.cancel, visit)
}

fn check_count(image: &Image, count: u64, report: &mut Report<'_>) {
    let stated = u64::from(image.superblock().inodes);
    if count != stated {
        report.fault(4, format!("{stated} inodes in the superblock"), format!("{count}, as the inode table has"));
    }
}

pub(super) fn check_memory(needed: u64, settings: &VerifySettings) -> Result<(), ReadError> {
    if needed <= settings.records as u64 {
        return Ok(());
    }
    let what = format!("verification of all inodes needs {} of memory", size_at_least(needed));
    Err(ReadError::unsupported(what, format!("at most {}", size_at_most(settings.records as u64))))
}

/// Bits of the permissions that hold the type in other file systems.
const TYPE_BITS: u16 = 0xf000;

/// Checks an inode's fields that do not affect the tree. `offset` is the offset of its metadata block.
pub(super) fn check(image: &Image, inode: &Inode, offset: u64, report: &mut Report<'_>) -> Result<(), ReadError> {
    let raw = image.raw_inode(inode)?;
    let bits = raw.mode & TYPE_BITS;
    if bits != 0 && bits != type_bits(inode.node_type()) {
        let what = format!("inode {}, a {}, with mode {:#o}", inode.number, inode.node_type(), raw.mode);
        report.fault(offset, what, "permissions, and above them nothing or the same type");
    }
    if raw.xattr != NO_XATTR && image.tables().xattrs.is_none() {
        let what = format!("inode {} has set {} of extended attributes", inode.number, raw.xattr);
        report.fault(offset, what, "none, in an image without a table of them");
    }
    if let Node::File(file) = &inode.node {
        let tail = raw.fragment.is_some_and(|(index, _)| index != NO_FRAGMENT);
        file_fields(image, inode, (file, tail), offset, report);
    }
    Ok(())
}

fn file_fields(image: &Image, inode: &Inode, (file, tail): (&FileData, bool), offset: u64, report: &mut Report<'_>) {
    let FileData { size, sparse, .. } = *file;
    if tail && size % u64::from(image.superblock().block_size) == 0 {
        let what = format!("inode {}, a file of {size} bytes, with a tail end", inode.number);
        report.fault(offset, what, "none in a file of whole blocks");
    }
    if sparse > size {
        let what = format!("inode {} with {sparse} bytes in holes", inode.number);
        report.fault(offset, what, format!("at most {size}, the size of the file"));
    }
}

/// Returns the type in POSIX's numbering.
fn type_bits(kind: NodeType) -> u16 {
    match kind {
        NodeType::Fifo => 0o010_000,
        NodeType::CharDevice => 0o020_000,
        NodeType::Directory => 0o040_000,
        NodeType::BlockDevice => 0o060_000,
        NodeType::File => 0o100_000,
        NodeType::Symlink => 0o120_000,
        NodeType::Socket => 0o140_000,
    }
}
