//! The positions of all metadata. The numbers of inodes are their offsets in slots.

use packline_blocks::Error;
use packline_tree::{NodeId, Tree};

use super::contents::Owner;
use super::directory;
use super::inodes::{Body, Inodes, Plan, kind_of};
use super::order::for_each;
use super::placer::{Placer, SLOT};
use super::superblock::{Device, Facts};
use super::xattrs::Xattrs;
use crate::format::inode::CompactTimes;
use crate::format::superblock::incompat;

/// The positions of the inodes of a tree. They do not depend on where the data area ends, or on the contents of directories.
pub(super) struct Numbers {
    /// Number of each inode.
    numbers: Vec<u32>,
    placer: Placer,
    /// Offset of the first inode from the block of inode 0.
    first_inode: u64,
    /// Number of blocks of directories and targets.
    blocks: u64,
    features: u32,
}

impl Numbers {
    /// Plans all inodes.
    pub(super) fn new(inodes: &Inodes<'_>) -> Result<Numbers, Error> {
        // Inodes follow shared attributes in the same block. Inode 0 is not used.
        let first_inode = (shared_xattrs(inodes) % inodes.block).next_multiple_of(SLOT) % inodes.block;
        let first_inode = if first_inode == 0 { SLOT } else { first_inode };
        let mut placer = Placer::new(first_inode, inodes.block);
        let mut numbers = vec![0; inodes.tree.inode_count()];
        let mut blocks = 0;
        let mut features = 0;
        for_each(inodes.tree, &mut |node| {
            let plan = inodes.plan(node)?;
            blocks += plan.blocks();
            features |= features_of(&plan);
            numbers[inodes.tree.inode(node).index()] = place(&mut placer, &plan)?;
            Ok(())
        })?;
        Ok(Numbers { numbers, placer, first_inode, blocks, features })
    }

    fn number(&self, tree: &Tree, node: NodeId) -> u32 {
        self.numbers[tree.inode(node).index()]
    }

    /// Calls `put` with each block of a directory, the last one without padding.
    pub(super) fn for_each_block(
        &self,
        inodes: &Inodes<'_>,
        node: NodeId,
        put: &mut dyn FnMut(&[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let tree = inodes.tree;
        let inode = |target| (self.number(tree, target).into(), kind_of(tree, target));
        directory::for_each_block(tree, node, inodes.block as usize, &inode, put)
    }

    /// Adds the packed inode, which `inodes` now plans with all of its content. `data_end`: offset of the first byte after all contents.
    pub(super) fn complete(mut self, inodes: &Inodes<'_>, data_end: u64) -> Result<Shape, Error> {
        let block = inodes.block;
        let shared_xattrs = shared_xattrs(inodes);
        let mut packed = None;
        if inodes.maps.contents.content(Owner::Packed).is_some_and(|content| content.size > 0) {
            let plan = inodes.plan_packed()?;
            self.features |= incompat::FRAGMENTS;
            packed = Some(place(&mut self.placer, &plan)?);
        }
        let first_block = data_end.div_ceil(block);
        let xattr_block = first_block + self.blocks;
        let shape = Shape {
            first_block,
            xattr_block,
            shared_xattrs,
            inode_block: xattr_block + shared_xattrs.next_multiple_of(SLOT) / block,
            first_inode: self.first_inode,
            end: self.placer.end(),
            root: self.number(inodes.tree, inodes.tree.root()),
            packed,
            count: self.numbers.len() as u64 + u64::from(packed.is_some()),
            features: self.features,
            numbers: self,
        };
        shape.check(block)
    }
}

/// The positions of all metadata.
pub(super) struct Shape {
    /// First block after the data area: where blocks of directories and targets start.
    pub(super) first_block: u64,
    /// Block of shared attributes.
    xattr_block: u64,
    pub(super) shared_xattrs: u64,
    /// Block of inode 0.
    pub(super) inode_block: u64,
    /// Offset of the first inode from there.
    pub(super) first_inode: u64,
    /// Offset of the end of all inodes from there.
    pub(super) end: u64,
    pub(super) numbers: Numbers,
    root: u32,
    pub(super) packed: Option<u32>,
    pub(super) count: u64,
    features: u32,
}

impl Shape {
    /// Block numbers have 32 bits.
    fn check(self, block: u64) -> Result<Shape, Error> {
        let blocks = self.inode_block + self.end.div_ceil(block);
        if blocks < u32::MAX.into() {
            return Ok(self);
        }
        Err(Error::Limit {
            what: format!("an image of {blocks} blocks of {block} bytes"),
            expected: "fewer than 2^32 - 1 blocks".into(),
        })
    }

    pub(super) fn facts(&self, times: CompactTimes, blocks: u64, device: Option<Device>) -> Facts {
        Facts {
            times,
            features: self.features,
            inodes: self.count,
            root: self.root.into(),
            packed: self.packed.map(u64::from),
            inode_block: self.inode_block as u32,
            xattr_block: self.xattr_block as u32,
            blocks,
            device,
        }
    }
}

fn shared_xattrs(inodes: &Inodes<'_>) -> u64 {
    inodes.xattrs.as_ref().map_or(0, Xattrs::shared_bytes)
}

fn features_of(plan: &Plan) -> u32 {
    match plan.body {
        Body::Map(map, _) => map.features(),
        _ => 0,
    }
}

/// Returns the number of an inode.
fn place(placer: &mut Placer, plan: &Plan) -> Result<u32, Error> {
    let at = placer.place(plan.extent());
    u32::try_from(at / SLOT).map_err(|_| Error::Limit {
        what: format!("inodes with their maps of {at} bytes"),
        expected: "at most 128 GiB".into(),
    })
}
