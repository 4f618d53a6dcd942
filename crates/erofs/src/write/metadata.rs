//! Everything after the data area, and the superblock.

use packline_blocks::{Error, Written};
use packline_runtime::Sink;
use packline_tree::{Content as Node, NO_XATTR, NodeId, Tree};

use super::contents::{Contents, Owner};
use super::inode_area::InodeArea;
use super::inodes::{Body, Inodes, Plan};
use super::map::{self, MapMaker, Zeros};
use super::order::for_each;
use super::output::Output;
use super::packed_listings::{self, Packer, WithListings};
use super::placer::Placer;
use super::positions::{Numbers, Shape};
use super::record::EndRecord;
use super::superblock::{self, Device};
use super::xattrs::Xattrs;
use crate::format::algorithms;
use crate::format::inode::Layout;
use crate::format::superblock::uuid_in;
use crate::options::Options;
use crate::xattrs::XattrTable;

/// What the metadata is about.
pub(crate) struct Source<'a> {
    pub(crate) tree: &'a Tree,
    /// The payload of a file in `tree` is a number for it.
    pub(crate) contents: &'a dyn Contents,
    /// The sets of attributes that `tree` refers to.
    pub(crate) xattrs: &'a XattrTable,
    pub(crate) options: &'a Options,
    /// Stored zeros. Clusters need them if there are holes.
    pub(crate) zeros: Option<Zeros>,
    /// Offset of the first byte after the data area.
    pub(crate) data_end: u64,
    /// Checksum of the data area.
    pub(crate) data_sum: u32,
    /// The record at the end, if there is one.
    pub(crate) record: Option<EndRecord>,
    /// Number of blocks of the device that has the contents, if they are not in the image.
    pub(crate) device: Option<u64>,
}

/// Sizes and counts of an image for a summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ImageEnd {
    /// Length in bytes of the image without padding.
    pub bytes_used: u64,
    /// Length with padding, bytes: a multiple of [`Options::pad`].
    pub padded: u64,
    /// Bytes of metadata after the data area, with compressed directories.
    pub metadata: u64,
    pub inodes: u64,
    /// Bytes of extended attributes that inodes share.
    pub shared_xattrs: u64,
    /// Bytes of a block.
    pub block: u64,
    /// Number of blocks of the device that has the contents; 0 without a device.
    pub device_blocks: u64,
    pub uuid: [u8; 16],
}

/// Complete metadata.
pub(crate) struct Metadata {
    pub(crate) end: ImageEnd,
    /// The first blocks of the image. The image is valid when it is written.
    pub(crate) superblock: Vec<u8>,
    pub(crate) written: Written,
}

/// Writes all metadata except the superblock. With a packer, most directories are compressed. The output depends on the other arguments alone, and on whether
/// there is a packer. Takes 4 bytes of memory for each inode, and 16 for each distinct attribute.
///
/// # Errors
/// [`Error::Limit`], with the entry's path, if the tree exceeds the format; [`Error::Sink`]; errors of the codec; [`Error::Work`] if the tree refers
/// to a missing file or set.
pub(crate) fn write_metadata(
    sink: &mut dyn Sink,
    written: Written,
    source: &Source<'_>,
    packer: Option<Packer<'_>>,
) -> Result<Metadata, Error> {
    let Source { tree, options, xattrs, .. } = *source;
    let times = superblock::compact_times(options, tree);
    let maps = MapMaker {
        contents: source.contents,
        form: options.form(),
        algorithm: options.bare_codec().map_or(0, algorithms::number_of),
        zeros: source.zeros,
        device_block_bits: source.device.map(|_| options.block_bits()),
    };
    let block = options.block();
    let has_xattrs = options.xattrs || options.marks_whiteouts;
    let xattrs = if has_xattrs { Some(Xattrs::new(xattrs, tree, options.long_prefixes())?) } else { None };
    let inodes = Inodes { tree, xattrs, maps, times, block, packs_listings: packer.is_some() };
    let numbers = Numbers::new(&inodes)?;
    let checksum = source.record.as_ref().map_or(0, EndRecord::checksum);
    let mut out = Output::new(sink, source.data_end, written, checksum);
    let listings = match packer {
        Some(packer) => packed_listings::store(packer, &inodes, &numbers, &mut out)?,
        None => Vec::new(),
    };
    let contents = WithListings { files: source.contents, listings };
    let inodes = Inodes { maps: MapMaker { contents: &contents, ..maps }, ..inodes };
    let shape = numbers.complete(&inodes, out.position())?;
    out.pad(block)?;
    let files_in_packed = source.contents.content(Owner::Packed).map_or(0, |content| content.size);
    let writer = Writer { inodes: &inodes, shape: &shape, files_in_packed };
    writer.write_blocks(&mut out)?;
    if let Some(xattrs) = &inodes.xattrs {
        xattrs.write_shared(&mut out)?;
    }
    writer.write_inodes(&mut out)?;
    if let Some(record) = &source.record {
        record.put(&mut out)?;
    }
    out.pad(block)?;
    let bytes_used = out.position();
    out.pad(u64::from(options.pad).next_multiple_of(block).max(block))?;
    let padded = out.position();
    let device = source.device.map(|blocks| device(blocks, padded, block)).transpose()?;
    let (written, hash) = out.end();
    let digest = [&hash.as_bytes()[..], &source.data_sum.to_le_bytes()].concat();
    let superblock = superblock::block(options, shape.facts(times, bytes_used / block, device), &digest)?;
    let end = ImageEnd {
        bytes_used,
        padded,
        metadata: bytes_used - source.data_end,
        inodes: shape.count,
        shared_xattrs: shape.shared_xattrs,
        block,
        device_blocks: source.device.unwrap_or(0),
        uuid: uuid_in(&superblock),
    };
    Ok(Metadata { end, superblock, written })
}

/// Returns the device after an image of `image` bytes. Block numbers have 32 bits.
fn device(blocks: u64, image: u64, block: u64) -> Result<Device, Error> {
    let unified = image / block;
    let number = |number: u64| u32::try_from(number).ok();
    let end = number(unified + blocks).and_then(|_| Some((number(blocks)?, number(unified)?)));
    let (blocks, unified) = end.ok_or_else(|| Error::Limit {
        what: format!("contents of {blocks} blocks of {block} bytes on a device"),
        expected: "fewer than 2^32 blocks".into(),
    })?;
    Ok(Device { blocks, unified })
}

/// Writes what was planned.
struct Writer<'a> {
    inodes: &'a Inodes<'a>,
    shape: &'a Shape,
    /// Bytes of the packed inode before listings.
    files_in_packed: u64,
}

impl Writer<'_> {
    /// Writes what has blocks of its own, in the order of inodes.
    fn write_blocks(&self, out: &mut Output<'_>) -> Result<(), Error> {
        let tree = self.inodes.tree;
        for_each(tree, &mut |node| {
            if !matches!(tree.content(tree.inode(node)), Node::Dir | Node::Symlink(_)) {
                return Ok(());
            }
            let plan = self.inodes.plan(node)?;
            match plan.body {
                _ if plan.blocks() == 0 => Ok(()),
                Body::Listing => self.write_listing_blocks(node, plan.blocks(), out),
                _ => {
                    out.put(self.target(node))?;
                    out.pad(self.inodes.block)
                }
            }
        })
    }

    /// Writes the first `blocks` blocks of a listing.
    fn write_listing_blocks(&self, node: NodeId, blocks: u64, out: &mut Output<'_>) -> Result<(), Error> {
        let mut left = blocks;
        self.shape.numbers.for_each_block(self.inodes, node, &mut |block| {
            if left == 0 {
                return Ok(());
            }
            left -= 1;
            out.put(block)?;
            out.pad(self.inodes.block)
        })
    }

    fn target(&self, node: NodeId) -> &[u8] {
        match self.inodes.tree.content(self.inodes.tree.inode(node)) {
            Node::Symlink(target) => target,
            _ => &[],
        }
    }

    fn write_inodes(&self, out: &mut Output<'_>) -> Result<(), Error> {
        let Shape { inode_block, first_inode, end, .. } = *self.shape;
        out.fill(inode_block * self.inodes.block + first_inode)?;
        let mut area = InodeArea::new(out, first_inode);
        let mut placer = Placer::new(first_inode, self.inodes.block);
        let mut block = self.shape.first_block;
        // Listings follow all other content of the packed inode.
        let mut packed = self.files_in_packed;
        let mut count = 0;
        for_each(self.inodes.tree, &mut |node| {
            let mut plan = self.inodes.plan(node)?;
            if plan.blocks() > 0 {
                plan.raw.start = block;
                block += plan.blocks();
            }
            if let Body::PackedListing(offset) = &mut plan.body {
                *offset = packed;
                packed += plan.raw.size;
            }
            count += 1;
            let at = placer.place(plan.extent());
            self.write_inode(&mut area, at, &plan, count)?;
            self.write_inline(&mut area, at + plan.head(), &plan, node)
        })?;
        if self.shape.packed.is_some() {
            let plan = self.inodes.plan_packed()?;
            let at = placer.place(plan.extent());
            self.write_inode(&mut area, at, &plan, count + 1)?;
        }
        area.finish(end)
    }

    /// Writes an inode with its attributes and its map.
    fn write_inode(&self, area: &mut InodeArea<'_, '_>, at: u64, plan: &Plan, number: u32) -> Result<(), Error> {
        let head = plan.raw.bytes();
        area.put(at, &plan.raw.encode(self.inodes.times.epoch, number)[..head as usize])?;
        if let (Some(xattrs), false) = (&self.inodes.xattrs, plan.xattr == NO_XATTR) {
            let mut bytes = Vec::with_capacity(plan.raw.xattr_bytes as usize);
            xattrs.encode(plan.xattr, &mut bytes);
            area.put(at + head, &bytes)?;
        }
        let mut next = at + plan.head();
        let mut put = |bytes: &[u8]| {
            area.put(next, bytes)?;
            next += bytes.len() as u64;
            Ok(())
        };
        match plan.body {
            Body::Map(map, owner) => self.inodes.maps.write(&map, owner, plan.head(), &mut put),
            Body::PackedListing(offset) => map::write_fragment(offset, plan.head(), &mut put),
            Body::Nothing | Body::Listing | Body::Target => Ok(()),
        }
    }

    /// Writes the part of a listing or a target that follows the inode.
    fn write_inline(&self, area: &mut InodeArea<'_, '_>, at: u64, plan: &Plan, node: NodeId) -> Result<(), Error> {
        if plan.raw.layout != Layout::Inline {
            return Ok(());
        }
        let mut before = plan.blocks();
        match plan.body {
            Body::Listing => self.shape.numbers.for_each_block(self.inodes, node, &mut |block| {
                if before == 0 {
                    return area.put(at, block);
                }
                before -= 1;
                Ok(())
            }),
            Body::Target => area.put(at, self.target(node)),
            // The map has the end of a file.
            Body::Map(..) | Body::PackedListing(_) | Body::Nothing => Ok(()),
        }
    }
}
