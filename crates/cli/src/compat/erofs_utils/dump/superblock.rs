//! `-s` prints the superblock.

use packline::requests::ErofsImage;
use packline_erofs::read::{Superblock, compat, incompat};
use packline_verity::Uuid;

use crate::ui::failure::Failure;
use crate::ui::io::Io;
use crate::ui::time::Moment;

/// The compatible features and their names in erofs-utils.
const COMPATIBLE: [(u32, &str); 6] = [
    (compat::CHECKSUM, "sb_csum"),
    (compat::MTIME, "mtime"),
    (compat::XATTR_FILTER, "xattr_filter"),
    (compat::SHARED_XATTRS_IN_METABOX, "shared_ea_in_metabox"),
    (compat::PLAIN_XATTR_PREFIXES, "plain_xattr_pfx"),
    (compat::FINGERPRINTS, "ishare_xattrs"),
];

/// The incompatible features and their names in erofs-utils. A bit with two meanings has two names.
const INCOMPATIBLE: [(u32, &str); 11] = [
    (incompat::ZERO_PADDING, "lz4_0padding"),
    (incompat::COMPRESSION_RECORDS, "compr_cfgs"),
    (incompat::COMPRESSION_RECORDS, "big_pcluster"),
    (incompat::CHUNKS, "chunked_file"),
    (incompat::DEVICES, "device_table"),
    (incompat::INLINE_CLUSTERS, "ztailpacking"),
    (incompat::FRAGMENTS, "fragments"),
    (incompat::FRAGMENTS, "dedupe"),
    (incompat::XATTR_PREFIXES, "xattr_prefixes"),
    (incompat::WIDE, "48bit"),
    (incompat::METABOX, "metabox"),
];

/// The algorithms by their bits.
const ALGORITHMS: [&str; 4] = ["lz4", "lzma", "deflate", "zstd"];

/// The magic number of an EROFS image.
const MAGIC: u32 = 0xe0f5_e1e2;

/// Prints the superblock.
pub fn print(image: &ErofsImage, io: &mut Io) -> Result<(), Failure> {
    let superblock = image.image.superblock();
    let of_devices = image.image.devices().iter().map(|device| device.blocks);
    let blocks = of_devices.fold(superblock.blocks, u64::saturating_add);
    let created = superblock.epoch.saturating_add(superblock.build_time.into());
    let created = created.saturating_add((io.host.utc_offset)(created));
    io.print(&text(superblock, blocks, &Moment::of(created).asctime()))
}

/// Returns the lines, with the values in column 46.
fn text(superblock: &Superblock, blocks: u64, created: &str) -> String {
    let algorithms = || {
        let bits = ALGORITHMS.iter().enumerate().filter(|(bit, _)| superblock.algorithms >> bit & 1 == 1);
        bits.map(|(_, name)| *name).collect::<Vec<_>>().join(", ")
    };
    let compression = if superblock.has(incompat::COMPRESSION_RECORDS) {
        ("compr_algs", algorithms())
    } else {
        ("lz4_max_distance", superblock.algorithms.to_string())
    };
    let mut lines = vec![
        ("magic number", format!("{MAGIC:#010X}")),
        ("blocksize", superblock.block_size().to_string()),
        ("blocks", blocks.to_string()),
        ("inode metadata start block", superblock.inode_block.to_string()),
        ("shared xattr metadata start block", superblock.xattr_block.to_string()),
        ("root nid", superblock.root.to_string()),
    ];
    lines.extend(superblock.packed.map(|packed| ("packed nid", packed.to_string())));
    lines.extend(superblock.metabox.map(|metabox| ("metabox nid", metabox.to_string())));
    lines.extend([
        compression,
        ("sb_size", superblock.bytes.to_string()),
        ("inode count", superblock.inodes.to_string()),
        ("created", created.to_string()),
        ("compatible features", names(&COMPATIBLE, superblock.compat)),
        ("incompatible features", names(&INCOMPATIBLE, superblock.incompat)),
        ("UUID", Uuid(superblock.uuid).to_string()),
    ]);
    let mut out: String =
        lines.into_iter().map(|(name, value)| format!("{:<46}{value}\n", format!("Filesystem {name}:"))).collect();
    if superblock.incompat != 0 {
        let kernel = superblock.least_kernel();
        out.push_str(&format!("{:<46}{kernel}\n", "Required upstream Linux kernel version:"));
    }
    out
}

/// Returns the names of features, each with a blank after it.
fn names(known: &[(u32, &str)], features: u32) -> String {
    known.iter().filter(|(bit, _)| features & bit != 0).map(|(_, name)| format!("{name} ")).collect()
}
