//! Images of versions before 4.0. They have no checksums and fewer numbers: an inode is identified by its position in the table.

use packline_codec::METADATA_BLOCK_SIZE;
use packline_volume::Report;

use super::inodes::check_memory;
use super::{VerifySettings, check_cancelled, content, metadata};
use crate::read::inode::each_inode;
use crate::read::{BlockDecoder, DirEntry, Image, Inode, InodeRef, Node, NodeType, ReadError};

/// An inode of the table.
#[derive(Debug, Clone, Copy)]
struct Record {
    at: u64,
    number: u32,
    kind: NodeType,
    /// Whether a listing has it.
    is_named: bool,
}

/// Checks everything but the superblock.
pub(super) fn check(image: &Image, settings: &VerifySettings, report: &mut Report<'_>) -> Result<(), ReadError> {
    let listed = metadata::all(image, settings, report)?;
    let mut table = Table { image, records: Vec::new(), fragments: Vec::new() };
    let listings = table.read(settings, report)?;
    table.check_exports(settings, report)?;
    table.check_fragments(settings, report)?;
    if listings > listed {
        // A walk could then take for ever.
        let what = format!("listings of {listings} bytes in a directory table of {listed} bytes");
        report.fault(image.tables().directories.start, what, "listings that do not overlap");
        return Ok(());
    }
    table.check_listings(settings, report)?;
    let slot = |inode: &packline_volume::Inode| table.position(inode.at);
    content::check(image, content::Slots { count: table.records.len(), of: &slot }, settings, report)
}

struct Table<'i> {
    image: &'i Image,
    /// In the order of their positions.
    records: Vec<Record>,
    /// Fragment blocks that a file uses.
    fragments: Vec<bool>,
}

impl Table<'_> {
    /// Reads all inodes, first to count them. Returns the length in bytes of all listings.
    fn read(&mut self, settings: &VerifySettings, report: &mut Report<'_>) -> Result<u64, ReadError> {
        let image = self.image;
        let cancel = &settings.reading.engine.cancel;
        let mut count = 0u64;
        let mut tails = 0;
        let outcome = each_inode(image, cancel, |inode, _| {
            count += 1;
            tails = fragment_of(inode).map_or(tails, |fragment| tails.max(fragment + 1));
        });
        if let Err(error) = outcome {
            report.unread(None, error)?;
        }
        let stated = u64::from(image.superblock().inodes);
        if count != stated {
            report.fault(4, format!("{stated} inodes in the superblock"), format!("{count}, as the inode table has"));
        }
        check_memory(count * size_of::<Record>() as u64 + tails as u64, settings)?;
        self.records.reserve_exact(count as usize);
        self.fragments = vec![false; tails];
        let mut listings = 0u64;
        let again = each_inode(image, cancel, |inode, _| {
            report.totals.inodes += 1;
            match &inode.node {
                Node::Directory(directory) => {
                    report.totals.directories += 1;
                    listings = listings.saturating_add(directory.length.into());
                }
                Node::File(_) => report.totals.files += 1,
                Node::Symlink(_) => report.totals.symlinks += 1,
                _ => {}
            }
            if let Some(used) = fragment_of(inode).and_then(|fragment| self.fragments.get_mut(fragment)) {
                *used = true;
            }
            let Inode { at, number, .. } = *inode;
            self.records.push(Record { at: at.0, number, kind: inode.node_type(), is_named: false });
        });
        match again {
            // The first pass reported the fault.
            Ok(()) | Err(ReadError::Corrupt(_)) => Ok(listings),
            Err(error) => Err(error),
        }
    }

    /// Returns the index of the record of an inode.
    fn position(&self, at: InodeRef) -> Option<usize> {
        self.records.binary_search_by_key(&at.0, |record| record.at).ok()
    }

    /// Checks that the export table of version 3 has the position of each inode.
    fn check_exports(&self, settings: &VerifySettings, report: &mut Report<'_>) -> Result<(), ReadError> {
        let Some(table) = &self.image.tables().exports else { return Ok(()) };
        for record in &self.records {
            check_cancelled(settings)?;
            match self.image.export(record.number) {
                Ok(found) if found == Some(packline_volume::NodeId(record.at)) => {}
                Ok(found) => {
                    let what = format!("export table: inode {} at {:#x}", record.number, found.map_or(0, |at| at.0));
                    report.fault(table.area.start, what, format!("{:#x}", record.at));
                }
                Err(error) => report.unread(None, error)?,
            }
        }
        Ok(())
    }

    /// Decodes the fragment blocks that no file uses; the others are decoded with the files.
    fn check_fragments(&self, settings: &VerifySettings, report: &mut Report<'_>) -> Result<(), ReadError> {
        let mut unused = 0u64;
        let mut decoder = BlockDecoder::new(self.image)?;
        let mut bytes = Vec::new();
        for index in 0..self.image.superblock().fragments {
            check_cancelled(settings)?;
            report.totals.fragments += 1;
            let is_used = self.fragments.get(index as usize) == Some(&true);
            unused += u64::from(!is_used);
            let read = self.image.fragment(index).and_then(|place| {
                report.totals.unchecked += u64::from(!super::record::has_checksum(self.image, &place));
                if is_used { Ok(()) } else { decoder.fragment(place, &mut bytes) }
            });
            if let Err(error) = read {
                report.unread(None, error)?;
            }
        }
        if let Some(table) = self.image.tables().fragments.as_ref().filter(|_| unused > 0) {
            report.note(table.area.start, format!("{unused} fragment blocks that no file uses"), "none");
        }
        Ok(())
    }

    /// Checks that each entry leads to an inode of its type, and that each directory has one name.
    fn check_listings(&mut self, settings: &VerifySettings, report: &mut Report<'_>) -> Result<(), ReadError> {
        for index in 0..self.records.len() {
            check_cancelled(settings)?;
            let record = self.records[index];
            if record.kind != NodeType::Directory {
                continue;
            }
            let directory = self.image.inode(packline_volume::NodeId(record.at))?;
            for entry in self.image.entries(&directory)? {
                match entry {
                    Ok(entry) => self.check_entry(&entry, report),
                    Err(error) => report.unread(None, error)?,
                }
            }
        }
        let root = self.image.root();
        let unnamed = self.records.iter().filter(|record| !record.is_named && record.at != root.0).count();
        if unnamed > 0 {
            let what = format!("{unnamed} inodes without a name");
            report.fault(self.image.tables().directories.start, what, "one name at least");
        }
        Ok(())
    }

    fn check_entry(&mut self, entry: &DirEntry, report: &mut Report<'_>) {
        report.totals.names += 1;
        let start = self.image.tables().directories.start;
        let mut fault = |what: String, expected: String| {
            report.fault(start, format!("entry \"{}\": {what}", entry.name.escape_ascii()), expected);
        };
        let Some(record) = self.position(entry.inode).and_then(|index| self.records.get_mut(index)) else {
            let [block, offset] = [entry.inode.0 >> 16, entry.inode.0 % METADATA_BLOCK_SIZE as u64];
            return fault(format!("inode in block {block} at offset {offset}"), "the start of an inode".into());
        };
        if entry.kind != record.kind {
            return fault(format!("type {}", entry.kind), format!("{}, as its inode says", record.kind));
        }
        if entry.number != u64::from(record.number) {
            return fault(format!("inode number {}", entry.number), format!("{}", record.number));
        }
        let is_second = record.is_named || record.at == self.image.root().0;
        if record.kind == NodeType::Directory && is_second {
            fault(format!("a second name of directory {}", record.number), "one name".into());
        }
        record.is_named = true;
    }
}

/// The fragment block that has the tail end of a file.
fn fragment_of(inode: &Inode) -> Option<usize> {
    match &inode.node {
        Node::File(file) => file.tail.map(|tail| tail.fragment as usize),
        _ => None,
    }
}
