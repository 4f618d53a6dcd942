//! `-stat` prints the superblock in the words of squashfs-tools.

use packline::requests::SquashFsImage;
use packline_codec::{Bcj, Choice, LzoAlgorithm, Strategy};
use packline_squashfs::read::{ByteOrder, Layout};
use packline_squashfs::{Superblock, flags};

use crate::ui::escape::Escape;
use crate::ui::failure::Failure;
use crate::ui::io::Io;
use crate::ui::time::Moment;

/// The name of the table of sets of extended attributes.
const XATTR_SETS: &str = "xattr table";

/// lz4's flag for high compression, and the flag for a level after it.
const LZ4_HC: u32 = 1;
const LZ4_LEVEL: u32 = 2;

/// Prints the superblock; `utc_offset` gives the local creation time.
pub fn print(image: &SquashFsImage, utc_offset: fn(i64) -> i64, io: &mut Io) -> Result<(), Failure> {
    let superblock = image.image.superblock();
    let layout = image.image.layout();
    if layout.major < 4 {
        let created = i64::from(superblock.created);
        let created = Moment::of(created + utc_offset(created)).asctime();
        let counts = image.image.id_counts();
        return io.print(&old_text(superblock, layout, &image.display_path.escaped(), &created, counts));
    }
    let stored = image.image.compressor_options().map_err(|cause| image.fault(cause))?;
    let options = stored.map_or(String::new(), |bytes| options_text(superblock.compressor, &bytes));
    let xattr_sets = image.image.table_places().into_iter().find(|place| place.name == XATTR_SETS);
    let xattr_sets = xattr_sets.and_then(|place| place.entries).unwrap_or(0);
    let created = i64::from(superblock.created);
    let created = Moment::of(created + utc_offset(created)).asctime();
    io.print(&text(superblock, &image.display_path.escaped(), &created, &options, xattr_sets))
}

fn text(superblock: &Superblock, name: &str, created: &str, options: &str, xattr_sets: u64) -> String {
    let flag = |bit: u16| superblock.flags & bit != 0;
    let un = |bit: u16| if flag(bit) { "un" } else { "" };
    let not = |yes: bool| if yes { "" } else { "not " };
    let bytes = superblock.bytes_used;
    let kilo = bytes as f64 / 1024.0;
    let mega = bytes as f64 / (1024.0 * 1024.0);
    let ids = if flag(flags::STORED_INODES) { "un" } else { un(flags::STORED_IDS) };
    let mut out = format!(
        "Found a valid SQUASHFS 4:0 superblock on {name}.\n\
         Creation or last append time {created}\n\
         Filesystem size {bytes} bytes ({kilo:.2} Kbytes / {mega:.2} Mbytes)\n\
         Compression {}\n\
         {options}\
         Block size {}\n\
         Filesystem is {}exportable via NFS\n\
         Inodes are {}compressed\n\
         Data is {}compressed\n\
         Uids/Gids (Id table) are {ids}compressed\n",
        compressor_name(superblock.compressor),
        superblock.block_size,
        not(flag(flags::EXPORTABLE)),
        un(flags::STORED_INODES),
        un(flags::STORED_DATA),
    );
    if flag(flags::NO_FRAGMENTS) {
        out.push_str("Fragments are not stored\n");
    } else {
        out.push_str(&format!("Fragments are {}compressed\n", un(flags::STORED_FRAGMENTS)));
        out.push_str(&format!("Tailends are {}packed into fragments\n", not(flag(flags::ALWAYS_FRAGMENTS))));
    }
    if flag(flags::NO_XATTRS) {
        out.push_str("Xattrs are not stored\n")
    } else {
        out.push_str(&format!("Xattrs are {}compressed\n", un(flags::STORED_XATTRS)))
    }
    out.push_str(&format!(
        "Duplicates are {}removed\n\
         Number of fragments {}\n\
         Number of inodes {}\n\
         Number of ids {}\n",
        not(flag(flags::DUPLICATES)),
        superblock.fragments,
        superblock.inodes,
        superblock.ids,
    ));
    if !flag(flags::NO_XATTRS) {
        out.push_str(&format!("Number of xattr ids {xattr_sets}\n"));
    }
    out
}

/// The text for versions before 4.0. `counts`: owners and groups.
fn old_text(
    superblock: &Superblock,
    layout: &Layout,
    name: &str,
    created: &str,
    (owners, groups): (usize, usize),
) -> String {
    let flag = |bit: u16| superblock.flags & bit != 0;
    let un = |bit: u16| if flag(bit) { "un" } else { "" };
    let not = |yes: bool| if yes { "" } else { "not " };
    let bytes = superblock.bytes_used;
    let kilo = bytes as f64 / 1024.0;
    let mega = bytes as f64 / (1024.0 * 1024.0);
    let order = if layout.order == ByteOrder::Big { "big endian" } else { "little endian" };
    let mut out = format!(
        "Found a valid {order} SQUASHFS {}:{} superblock on {name}.\n\
         Creation or last append time {created}\n\
         Filesystem size {bytes} bytes ({kilo:.2} Kbytes / {mega:.2} Mbytes)\n\
         Block size {}\n\
         Filesystem is {}exportable via NFS\n\
         Inodes are {}compressed\n\
         Data is {}compressed\n",
        layout.major,
        layout.minor,
        superblock.block_size,
        not(flag(flags::EXPORTABLE)),
        un(flags::STORED_INODES),
        un(flags::STORED_DATA),
    );
    let has_fragments = layout.major > 1;
    if has_fragments && flag(flags::NO_FRAGMENTS) {
        out.push_str("Fragments are not stored\n");
    } else if has_fragments {
        out.push_str(&format!("Fragments are {}compressed\n", un(flags::STORED_FRAGMENTS)));
        out.push_str(&format!("Always-use-fragments option is {}specified\n", not(flag(flags::ALWAYS_FRAGMENTS))));
    }
    out.push_str(&format!("Check data is {}present in the filesystem\n", not(flag(flags::CHECK_DATA))));
    out.push_str(&format!("Duplicates are {}removed\n", not(!has_fragments || flag(flags::DUPLICATES))));
    if has_fragments {
        out.push_str(&format!("Number of fragments {}\n", superblock.fragments));
    }
    let inodes = superblock.inodes;
    out.push_str(&format!("Number of inodes {inodes}\nNumber of uids {owners}\nNumber of gids {groups}\n"));
    out
}

/// Returns the name of a compressor's number in the superblock.
pub fn compressor_name(id: u16) -> &'static str {
    match id {
        2 => "lzma",
        3 => "lzo",
        4 => "xz",
        5 => "lz4",
        6 => "zstd",
        _ => "gzip",
    }
}

/// Returns lines about the compressor's options; none if the options have a wrong length.
fn options_text(compressor: u16, bytes: &[u8]) -> String {
    let half = |at: usize| bytes.get(at..at + 2).map_or(0, |bytes| u16::from_le_bytes([bytes[0], bytes[1]]));
    let word = |at: usize| u32::from(half(at)) | u32::from(half(at + 2)) << 16;
    match (compressor, bytes.len()) {
        (1, 8..) => {
            let strategies = chosen::<Strategy>(u32::from(half(6)), gzip_strategy);
            let strategies = strategies.unwrap_or_else(|| "default".to_string());
            format!("\tcompression-level {}\n\twindow-size {}\n\tStrategies selected: {strategies}\n", word(0), half(4))
        }
        (3, 8..) => match LzoAlgorithm::ALL.get(word(0) as usize) {
            Some(LzoAlgorithm::Lzo1x999) => format!("\talgorithm lzo1x_999\n\tcompression level {}\n", word(4)),
            Some(algorithm) => format!("\talgorithm {}\n", algorithm.name()),
            None => String::new(),
        },
        (4, 8) => {
            let filters = chosen::<Bcj>(word(4), Bcj::name);
            let filters =
                filters.map_or("No filters specified".to_string(), |names| format!("Filters selected: {names}"));
            format!("\tDictionary size {}\n\t{filters}\n", word(0))
        }
        (5, 8 | 12) => lz4_text(word(4), (bytes.len() == 12).then(|| word(8))),
        (6, 4..) => format!("\tcompression-level {}\n", word(0)),
        _ => String::new(),
    }
}

fn lz4_text(flags: u32, level: Option<u32>) -> String {
    let level = level.filter(|_| flags & LZ4_LEVEL != 0);
    let default = |level: u32, default: u32| if level == default { " (default)" } else { "" };
    if flags & LZ4_HC != 0 {
        let level = level.unwrap_or(12);
        return format!(
            "\tHigh Compression option specified (-Xhc)\n\tCompression-level {level}{}\n",
            default(level, 12)
        );
    }
    let level = level.unwrap_or(1);
    format!("\tAcceleration {level}{}\n", default(level, 1))
}

fn gzip_strategy(strategy: Strategy) -> &'static str {
    match strategy {
        Strategy::Huffman => "huffman_only",
        Strategy::Rle => "run_length_encoded",
        other => other.name(),
    }
}

/// Returns the names of the choices whose bits are set, if any.
fn chosen<T: Choice>(bits: u32, name: fn(T) -> &'static str) -> Option<String> {
    let set = T::ALL.iter().enumerate().filter(|(bit, _)| bits >> bit & 1 != 0);
    let names: Vec<&str> = set.map(|(_, choice)| name(*choice)).collect();
    (!names.is_empty()).then(|| names.join(", "))
}
