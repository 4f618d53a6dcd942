//! The superblock of a new image.

use packline_blocks::Error;
use packline_codec::BareCodec;
use packline_tree::{Time, Tree};

use crate::format::algorithms::{encode_record, number_of};
use crate::format::device::{DeviceSlot, SLOT_BYTES};
use crate::format::inode::CompactTimes;
use crate::format::kernel::Kernel;
use crate::format::superblock::{PREFIX_UNIT, SUPERBLOCK_BYTES, SUPERBLOCK_START, Superblock, compat, incompat};
use crate::options::{BLOCK, Form, Options, Place, Uuid};

/// What the superblock says of the metadata.
#[derive(Debug, Clone, Copy)]
pub(super) struct Facts {
    pub(super) times: CompactTimes,
    /// Features of [`incompat`] that single inodes need.
    pub(super) features: u32,
    pub(super) inodes: u64,
    pub(super) root: u64,
    pub(super) packed: Option<u64>,
    pub(super) inode_block: u32,
    pub(super) xattr_block: u32,
    /// Number of blocks of the image without padding.
    pub(super) blocks: u64,
    pub(super) device: Option<Device>,
}

/// The device that has the contents.
#[derive(Debug, Clone, Copy)]
pub(super) struct Device {
    /// Number of blocks.
    pub(super) blocks: u32,
    /// Unified number of its first block: the device may follow the image, padding included.
    pub(super) unified: u32,
}

/// Returns the number of bytes before the data or the metadata: the blocks with the superblock and the device table.
pub(super) fn head_bytes(options: &Options) -> u64 {
    let table = if options.place == Place::Image { 0 } else { SLOT_BYTES as u64 };
    let prefixes = options.prefix_table().len() as u64;
    (SUPERBLOCK_START + SUPERBLOCK_BYTES as u64 + table + prefixes).next_multiple_of(options.block())
}

/// Returns the times of compact inodes: with block numbers of 48 bits each inode has its own, otherwise all have the most frequent one.
pub(super) fn compact_times(options: &Options, tree: &Tree) -> CompactTimes {
    let wide = options.form() == Form::Extents;
    let time = if wide { Time::default() } else { majority(tree) };
    CompactTimes { epoch: time.seconds(), nanoseconds: time.nanoseconds(), wide }
}

/// Returns the time of more than half of all inodes, if there is one, or else any of their times.
fn majority(tree: &Tree) -> Time {
    let mut time = Time::default();
    let mut lead = 0u64;
    for inode in tree.inodes() {
        let mtime = tree.meta(inode).mtime;
        if lead == 0 {
            time = mtime;
        }
        lead = if mtime == time { lead + 1 } else { lead - 1 };
    }
    time
}

/// Returns the blocks with the superblock. `digest` is a digest of all other bytes.
///
/// # Errors
/// Errors of [`Options::validate`] for the kernel, if an inode needs a feature that it does not have.
pub(super) fn block(options: &Options, facts: Facts, digest: &[u8]) -> Result<Vec<u8>, Error> {
    let mut superblock = superblock(options, facts);
    let needed = superblock.least_kernel();
    if needed > options.kernel {
        return Err(unknown(options.kernel, needed));
    }
    let records = options.bare_codec().map(|codec| encode_record(codec, cluster_blocks(options)));
    // An image has a codec or a device.
    let table = facts.device.map(|device| DeviceSlot::encode(device.blocks, device.unified).to_vec());
    let mut records = records.or(table).unwrap_or_default();
    let prefixes = options.prefix_table();
    if !prefixes.is_empty() {
        records.resize(records.len().next_multiple_of(PREFIX_UNIT), 0);
        superblock.xattr_prefix_start = SUPERBLOCK_START + (SUPERBLOCK_BYTES + records.len()) as u64;
        records.extend_from_slice(&prefixes);
    }
    superblock.uuid = match options.uuid {
        Uuid::Given(uuid) => uuid,
        Uuid::Derived => derived(&superblock.encode_blocks(&records), digest),
    };
    Ok(superblock.encode_blocks(&records))
}

/// Returns the blocks of the largest cluster. It may start in the middle of a block.
fn cluster_blocks(options: &Options) -> u16 {
    let more = u64::from(options.form() == Form::Extents);
    (options.cluster_most() as u64 / BLOCK + more).min(256) as u16
}

fn superblock(options: &Options, facts: Facts) -> Superblock {
    let mut label = [0; 16];
    label.iter_mut().zip(&options.label).for_each(|(to, from)| *to = *from);
    let has_prefixes = !options.xattr_prefixes.is_empty();
    let coded = incompat::ZERO_PADDING | incompat::COMPRESSION_RECORDS;
    let flag = |is_set: bool, feature: u32| if is_set { feature } else { 0 };
    let features = flag(options.bare_codec().is_some(), coded)
        | flag(options.form() == Form::Extents, incompat::WIDE)
        | flag(options.form() != Form::Flat && shares(options), incompat::FRAGMENTS)
        | flag(facts.device.is_some(), incompat::DEVICES)
        | flag(has_prefixes, incompat::XATTR_PREFIXES);
    let devices = u16::from(facts.device.is_some());
    Superblock {
        block_bits: options.block_bits(),
        bytes: SUPERBLOCK_BYTES as u64,
        checksum: None,
        compat: compat::CHECKSUM
            | compat::MTIME
            | compat::XATTR_FILTER
            | flag(has_prefixes, compat::PLAIN_XATTR_PREFIXES),
        incompat: features | facts.features,
        root: facts.root,
        inodes: facts.inodes,
        epoch: facts.times.epoch,
        nanoseconds: facts.times.nanoseconds,
        // An image cannot say that it was made before the time of its inodes.
        build_time: u32::try_from(i64::from(options.created) - facts.times.epoch).unwrap_or(0),
        blocks: facts.blocks,
        inode_block: facts.inode_block,
        xattr_block: facts.xattr_block,
        uuid: [0; 16],
        label,
        algorithms: options.bare_codec().map_or(0, |codec| 1 << number_of(codec)),
        devices,
        device_table: u64::from(devices) * (SUPERBLOCK_START + SUPERBLOCK_BYTES as u64),
        xattr_prefixes: options.xattr_prefixes.len() as u8,
        xattr_prefix_start: 0,
        fingerprint_prefix: None,
        packed: facts.packed,
        metabox: None,
    }
}

/// Whether extents may be parts of clusters, or several files may have one cluster. Extents of deflate are always marked as parts.
fn shares(options: &Options) -> bool {
    let is_deflate = matches!(options.bare_codec(), Some(BareCodec::Deflate)) && options.form() == Form::Extents;
    options.deduplicate || is_deflate
}

/// Returns a UUID of version 8 that depends on all bytes of the image.
fn derived(block: &[u8], digest: &[u8]) -> [u8; 16] {
    let hash = blake3::Hasher::new().update(block).update(digest).finalize();
    let mut uuid: [u8; 16] = std::array::from_fn(|index| hash.as_bytes()[index]);
    uuid[6] = uuid[6] & 0x0f | 0x80;
    uuid[8] = uuid[8] & 0x3f | 0x80;
    uuid
}

fn unknown(kernel: Kernel, needed: Kernel) -> Error {
    let what = format!("an image for Linux {kernel} with features of a later version");
    Error::Limit { what, expected: format!("Linux {needed} or later") }
}
