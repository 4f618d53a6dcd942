//! The tables with an index: fragments, exports, ids.
//!
//! A table is a sequence of metadata blocks, followed by their absolute offsets as a u64 each. The superblock contains the offset of that index.
//! The kernel computes the length of an index from the counts, and rejects an image in which the next table does not start exactly at its end.

pub(crate) mod decode;

use crate::format::wire::Put;
use crate::write::metadata::{Closed, Destination, Metadata, Position, StreamId};
use crate::{Error, FragmentBlock};

/// Position of a table, absolute offsets in the image.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TableEnd {
    /// Start of the index, whose offset is in the superblock.
    pub(crate) start: u64,
    /// End of the index.
    pub(crate) end: u64,
}

/// Fragment blocks: offset u64, size word u32, zero u32.
pub(crate) fn write_fragments(
    out: &mut Metadata<'_>,
    offset: u64,
    stored: bool,
    fragments: &[FragmentBlock],
) -> Result<TableEnd, Error> {
    write(out, offset, stored, |out, table| {
        fragments.iter().try_for_each(|fragment| {
            let mut entry = Vec::with_capacity(16);
            entry.put_u64(fragment.start);
            entry.put_u32(fragment.size_word);
            entry.put_u32(0);
            out.put(table, &entry)
        })
    })
}

/// References to all inodes in the order of their numbers, a u64 each, for look-ups of NFS file handles.
pub(crate) fn write_exports(
    out: &mut Metadata<'_>,
    offset: u64,
    stored: bool,
    inodes: &Closed,
    places: &[Position],
) -> Result<TableEnd, Error> {
    write(out, offset, stored, |out, table| {
        places.iter().try_for_each(|place| out.put(table, &inodes.reference(*place).to_le_bytes()))
    })
}

/// User and group numbers, as [`crate::write::ids::Ids`] encodes them.
pub(crate) fn write_ids(out: &mut Metadata<'_>, offset: u64, stored: bool, ids: &[u8]) -> Result<TableEnd, Error> {
    write(out, offset, stored, |out, table| out.put(table, ids))
}

fn write<'a>(
    out: &mut Metadata<'a>,
    offset: u64,
    stored: bool,
    fill: impl FnOnce(&mut Metadata<'a>, StreamId) -> Result<(), Error>,
) -> Result<TableEnd, Error> {
    let table = out.open(Destination::Sink(offset), stored);
    fill(out, table)?;
    let closed = out.close(table)?;
    let start = offset + closed.length();
    let mut index = Vec::with_capacity(closed.blocks().len() * 8);
    closed.blocks().iter().for_each(|block| index.put_u64(offset + block));
    out.write_plain(start, &index)?;
    Ok(TableEnd { start, end: start + index.len() as u64 })
}
