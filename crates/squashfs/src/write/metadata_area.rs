//! Everything after the data: inode and directory tables, the tables with an index, padding, and finally the superblock.
//!
//! The kernel requires the tables in this order, without gaps: inodes, directories, fragments, exports, ids, xattrs. Inode blocks go to the sink
//! when they are finished. The directory table grows at the same time, so its compressed blocks stay in memory until the end of the inode table.

use packline_runtime::{TaskError, zeros};
use packline_tree::{Content, Tree};

use crate::format::compressor::{compressor_id, options_block};
use crate::format::record::Record;
use crate::format::superblock::{NO_TABLE, SUPERBLOCK_BYTES, Superblock, flags, option_flags};
use crate::format::tables::{TableEnd, write_exports, write_fragments, write_ids};
use crate::write::inode_table::{InodeTables, write_inodes};
use crate::write::metadata::Metadata;
use crate::write::numbering::Numbering;
use crate::{DataLayout, Error, Layout, MetadataCompressor, Options, Sink, XattrTable};

/// Sizes and counts of an image for a summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ImageEnd {
    /// Length in bytes of the image without padding, as in the superblock.
    pub bytes_used: u64,
    /// Length with the record and padding, bytes: a multiple of [`Options::pad`].
    pub padded: u64,
    /// Length of the inode table in bytes.
    pub inode_table: u64,
    /// Length of the directory table in bytes.
    pub directory_table: u64,
    /// Length in bytes of all other tables with their indices.
    pub other_tables: u64,
    pub inodes: u32,
    /// Number of fragment blocks.
    pub fragments: u32,
    /// Number of different user and group numbers.
    pub ids: u16,
    /// Number of different sets of extended attributes.
    pub xattr_sets: u32,
}

/// Writes everything after the data area, from [`DataLayout::end`] on, and then the superblock and the compressor's options. The image is then
/// complete. The output depends on the arguments alone, not on how `compressor` works.
///
/// The payload of a file in `tree` is an index into [`DataLayout::files`], and its attribute set is an index into `xattrs`. Holds about 16 bytes
/// for each inode and the compressed directory table. The time is proportional to the size of the tree.
///
/// # Errors
/// [`Error::Limit`], with the entry's path, if the tree exceeds the format: too many ids, a device number or a directory too large, tables of 4
/// GiB or more. [`Error::Sink`] if the sink fails. Errors of `compressor`. [`Error::Work`] if the tree refers to a missing file or set.
pub fn write_metadata(
    compressor: &mut dyn MetadataCompressor,
    sink: &mut dyn Sink,
    tree: &Tree,
    data: &DataLayout,
    xattrs: &XattrTable,
    options: &Options,
) -> Result<ImageEnd, Error> {
    let mut out = Metadata::new(compressor, sink);
    let (end, superblock) = write_tables(&mut out, tree, data, xattrs, (options, None))?;
    out.write_plain(0, &superblock)?;
    Ok(end)
}

/// Writes as [`write_metadata`], with the record, if any, after the tables. Returns the superblock instead of writing it.
pub(crate) fn write_tables(
    out: &mut Metadata<'_>,
    tree: &Tree,
    data: &DataLayout,
    xattrs: &XattrTable,
    (options, record): (&Options, Option<&Record>),
) -> Result<(ImageEnd, Vec<u8>), Error> {
    // Files with blocks come last, so that the other inodes stay the same when data moves.
    let has_blocks = |node| match tree.content(tree.inode(node)) {
        Content::File(payload) => data.files.get(payload as usize).is_some_and(|file| file.start > 0),
        _ => false,
    };
    let numbering = Numbering::new(tree, &|node| options.layout != Layout::Compact && has_blocks(node))?;
    let xattrs = Some(xattrs).filter(|table| options.xattrs && !table.is_empty());
    let source = Source { tree, numbering: &numbering, data, options, xattrs };
    let mut tables = write_inodes(out, &source)?;
    let directories = data.end + tables.inodes.length();
    out.write_held(directories, &mut tables.directories)?;
    let (superblock, bytes_used) = write_indexed(out, &source, &tables, directories)?;
    let head = superblock.encode();
    let compressor = options_block(options)?;
    let record = record.map_or_else(Vec::new, |record| record.encode(&[&*head, &compressor].concat()));
    out.write_plain(bytes_used, &record)?;
    let padded = write_padding(out, bytes_used + record.len() as u64, options.pad)?;
    out.write_plain(SUPERBLOCK_BYTES, &compressor)?;
    let after = directories + tables.directories.length();
    let end = ImageEnd {
        bytes_used,
        padded,
        inode_table: tables.inodes.length(),
        directory_table: tables.directories.length(),
        other_tables: bytes_used - after,
        inodes: superblock.inodes,
        fragments: superblock.fragments,
        ids: superblock.ids,
        xattr_sets: xattrs.map_or(0, XattrTable::count),
    };
    Ok((end, head))
}

/// Input of the metadata.
pub(crate) struct Source<'a> {
    pub(crate) tree: &'a Tree,
    pub(crate) numbering: &'a Numbering,
    pub(crate) data: &'a DataLayout,
    pub(crate) options: &'a Options,
    /// The table, if the image gets one.
    pub(crate) xattrs: Option<&'a XattrTable>,
}

/// Writes the tables after the directory table. Returns the superblock with their positions, and the end of the image.
fn write_indexed(
    out: &mut Metadata<'_>,
    source: &Source<'_>,
    tables: &InodeTables,
    directories: u64,
) -> Result<(Superblock, u64), Error> {
    let stored = source.options.stored;
    let missing = |at| TableEnd { start: NO_TABLE, end: at };
    let fragments = match directories + tables.directories.length() {
        // unsquashfs 4.4 and 4.5 expect an empty table at the start of the next one, as mksquashfs writes it.
        at if source.data.fragments.is_empty() => TableEnd { start: at, end: at },
        at => write_fragments(out, at, stored.inodes, &source.data.fragments)?,
    };
    let exports = match fragments.end {
        at if source.options.exportable => write_exports(out, at, stored.inodes, &tables.inodes, &tables.places)?,
        at => missing(at),
    };
    let ids = write_ids(out, exports.end, stored.ids, &tables.ids.encode())?;
    let xattrs = match source.xattrs {
        Some(table) => table.write(out, ids.end, stored.xattrs)?,
        None => missing(ids.end),
    };
    let mut superblock = base_superblock(source, tables)?;
    superblock.directory_table = directories;
    superblock.fragment_table = fragments.start;
    superblock.export_table = exports.start;
    superblock.id_table = ids.start;
    superblock.xattr_table = xattrs.start;
    superblock.bytes_used = xattrs.end;
    Ok((superblock, xattrs.end))
}

/// Returns the superblock without the positions of tables.
fn base_superblock(source: &Source<'_>, tables: &InodeTables) -> Result<Superblock, Error> {
    let options = source.options;
    let without_xattrs = source.xattrs.is_none() && (options.mark_without_xattrs || !options.xattrs);
    let optional = [(without_xattrs, flags::NO_XATTRS), (!options_block(options)?.is_empty(), flags::OPTIONS)];
    let more = optional.iter().filter(|(set, _)| *set).fold(0, |all, (_, flag)| all | flag);
    let fragments = u32::try_from(source.data.fragments.len());
    Ok(Superblock {
        inodes: source.numbering.count(),
        created: options.created,
        block_size: options.block_size,
        fragments: fragments.map_err(|_| Error::internal("2^32 fragment blocks or more".into()))?,
        compressor: compressor_id(&options.codec)?,
        flags: option_flags(options) | more,
        ids: tables.ids.count(),
        root: tables.root,
        inode_table: source.data.end,
        bytes_used: 0,
        id_table: NO_TABLE,
        xattr_table: NO_TABLE,
        directory_table: NO_TABLE,
        fragment_table: NO_TABLE,
        export_table: NO_TABLE,
    })
}

/// Writes zeros up to a multiple of `unit`. Returns the padded length of the image.
fn write_padding(out: &mut Metadata<'_>, length: u64, unit: u32) -> Result<u64, Error> {
    let padded = length.next_multiple_of(u64::from(unit.max(1)));
    let mut at = length;
    for piece in zeros(padded - length) {
        out.write_plain(at, piece)?;
        at += piece.len() as u64;
    }
    Ok(padded)
}
