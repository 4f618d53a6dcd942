//! Seeds of the targets: small inputs, mostly valid ones.

mod images;
mod programs;
mod texts;

use std::io;
use std::sync::Arc;

use packline_codec::{Huff0Block, Huff0Encoder, Huff0Streams};
use packline_delta::DeltaOptions;
use packline_recovery::{PacketLocation, Redundancy, protect};
use packline_runtime::{Input, Resources, Unobserved};
use packline_testkit::hostile::Part;
use packline_testkit::{Random, hostile, hostile_erofs};

#[derive(Debug, Clone)]
pub struct Seed {
    /// Unique among the seeds of a target, and valid as the name of a file.
    pub name: String,
    pub bytes: Vec<u8>,
}

impl Seed {
    fn new(name: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Seed {
        Seed { name: name.into(), bytes: bytes.into() }
    }
}

type Seeds = io::Result<Vec<Seed>>;
type MakeSeeds = fn() -> Seeds;

/// Each target with its seeds.
const SEEDS: [(&str, MakeSeeds); 28] = [
    ("action", || Ok(texts::action())),
    ("cache_answer", || Ok(cache_answer())),
    ("cpio", programs::cpio),
    ("decompress", programs::decompress),
    ("delta", || Ok(delta())),
    ("directory", || Ok(part(Part::Listing))),
    ("encode", || Ok(encode())),
    ("encrypted", || Ok(encrypted())),
    ("erofs", images::erofs),
    ("erofs_index", || Ok(erofs_parts(hostile_erofs::Part::Index))),
    ("erofs_writer", || Ok(erofs_writer())),
    ("erofs_xattr", || Ok(erofs_parts(hostile_erofs::Part::Xattrs))),
    ("huff0", || Ok(huff0())),
    ("image", || Ok(images::image())),
    ("inode", || Ok(part(Part::Inodes))),
    ("layers", || Ok(layers())),
    ("lrz", images::lrz),
    ("metadata", || Ok(part(Part::Metadata))),
    ("mtree", || Ok(texts::mtree())),
    ("oci", || Ok(texts::oci())),
    ("pln", || Ok(images::pln())),
    ("pseudo_file", || Ok(texts::pseudo_file())),
    ("recovery", || Ok(recovery())),
    ("squashfs_old", images::squashfs_old),
    ("superblock", || Ok(images::superblock())),
    ("tar_reader", programs::tar_reader),
    ("verity", || Ok(verity())),
    ("zip", programs::zip),
];

/// The names of all targets.
pub fn targets() -> impl Iterator<Item = &'static str> {
    SEEDS.iter().map(|(name, _)| *name)
}

/// Returns the seeds of a target: at least one. Those that installed programs make are the same for the same versions of the programs.
///
/// # Errors
/// There is no such target, or a file of the repository or a temporary file is not readable.
pub fn of(target: &str) -> io::Result<Vec<Seed>> {
    let found = SEEDS.iter().find(|(name, _)| *name == target);
    let (_, seeds) = found.ok_or_else(|| io::Error::other(format!("{target} is not in the list of seeds")))?;
    seeds()
}

/// The sound form of a part of an image.
fn part(part: Part) -> Vec<Seed> {
    vec![Seed::new("sound", hostile::sound_part(part))]
}

/// The sound forms of a part of an EROFS image.
fn erofs_parts(part: hostile_erofs::Part) -> Vec<Seed> {
    let parts = hostile_erofs::sound_parts(part);
    parts.into_iter().enumerate().map(|(number, bytes)| Seed::new(number.to_string(), bytes)).collect()
}

/// Recipes of trees. The first bytes choose the options.
fn erofs_writer() -> Vec<Seed> {
    let recipe = |number: u64| {
        let mut recipe = Random::new(number).noise(60 + 10 * number as usize);
        recipe[..2].copy_from_slice(&[number as u8 % 8, number as u8 / 6]);
        Seed::new(number.to_string(), recipe)
    };
    (0..48).map(recipe).collect()
}

/// A recipe of a block for each encoder.
fn encode() -> Vec<Seed> {
    let recipe = |number: u64| {
        let steps = Random::new(number).noise(120);
        Seed::new(number.to_string(), [&[number as u8][..], &steps].concat())
    };
    (0..18).map(recipe).collect()
}

/// Blocks and contents. The first byte chooses the form, the next two are the size.
fn huff0() -> Vec<Seed> {
    let content = Random::new(1).prose(1000);
    let size = (content.len() as u16).to_le_bytes();
    let block = |streams| {
        let mut block = vec![0; content.len()];
        match Huff0Encoder::new().compress_block(&content, &mut block, streams).expect("a block") {
            Huff0Block::Compressed(size) => block[..size].to_vec(),
            other => panic!("text is compressed, but not to {other:?}"),
        }
    };
    vec![
        Seed::new("one", [&[0][..], &size, &block(Huff0Streams::One)].concat()),
        Seed::new("four", [&[1][..], &size, &block(Huff0Streams::Four)].concat()),
        Seed::new("headers", [&[2][..], &size, &block(Huff0Streams::Four)].concat()),
        Seed::new("content", [&[3][..], &size, &content].concat()),
    ]
}

/// A delta between texts, and one between images. As files they are two files that share little.
fn delta() -> Vec<Seed> {
    let text = Random::new(1).prose(20_000);
    let image = hostile::good();
    let pairs = [("text", text), ("image", image)];
    let delta = |(name, old): (&str, Vec<u8>)| {
        let (first, rest) = old.split_at(old.len() / 3);
        let new = [rest, b"something new", first].concat();
        let [old, new]: [Arc<dyn Input>; 2] = [Arc::new(old), Arc::new(new)];
        let mut delta = Vec::new();
        let resources = Resources::new(0);
        packline_delta::delta(&old, &new, &mut delta, &DeltaOptions::default(), &resources, &mut Unobserved)
            .expect("any files have a delta");
        Seed::new(name, delta)
    };
    pairs.into_iter().map(delta).collect()
}

/// A file with recovery data, and the recovery data alone, of the file that the target repairs.
fn recovery() -> Vec<Seed> {
    let file = Random::new(1).prose(20_000);
    let input: Arc<dyn Input> = Arc::new(file.clone());
    let protected = |location, mut to: Vec<u8>| {
        let redundancy = Redundancy::parse("10%").expect("it is valid");
        protect(&input, redundancy, location, &mut to, &Resources::new(0), &mut Unobserved).expect("memory suffices");
        to
    };
    vec![
        Seed::new("appended", protected(PacketLocation::Appended, file.clone())),
        Seed::new("sidecar", protected(PacketLocation::Sidecar, Vec::new())),
    ]
}

/// A file and a directory; a whiteout, an opaque directory and a link over them.
fn layers() -> Vec<Seed> {
    let three = b"\x00\x00\x01\x02\x01\x00\x00\x41\x02\xff\x00\x02\x00\x42\x01\x00\x05\x07\x41\xff\x06\x01\x00";
    vec![Seed::new("three", three)]
}

/// A head without sums around a wrapped key, edits of a file, and padded contents. The first byte selects one.
fn encrypted() -> Vec<Seed> {
    let wrap = b"age-encryption.org/v1\n-> X25519 a\nb\n-> scrypt salt 18\nb\n--- mac\n";
    let fixed = [&[1; 9][..], &[12, 1, 0], &[wrap.len() as u8 + 4, 0, 0, 0], &[0; 16]].concat();
    let length = wrap.len() as u8;
    vec![
        Seed::new("head", [&fixed[..], &[length, 0, 0, 0], wrap, &[0; 52]].concat()),
        Seed::new("edits", b"\x02\x00\x08\x04\x01\x20\x01\x00\x14\x00\x20\x03\x00"),
        Seed::new("edits-of-padded", b"\x03\x00\x38\x02\x00"),
        Seed::new("padding", [&b"\x04content"[..], &[0; 5000], &7u64.to_le_bytes()].concat()),
    ]
}

/// A hash tree of three blocks, with a block of hashes that belong to no block.
fn verity() -> Vec<Seed> {
    let mut tree = vec![0; 2 * 4096];
    for (at, field) in [
        (0, &b"verity"[..]),
        (8, &[1, 0, 0, 0, 1]),
        (32, b"sha256"),
        (64, &[0, 16, 0, 0, 0, 16, 0, 0, 3]),
        (80, &[4]),
        (88, b"salt"),
        (4096, &[0xa5; 96]),
    ] {
        tree[at..at + field.len()].copy_from_slice(field);
    }
    vec![Seed::new("three", tree)]
}

/// Messages with an entry, and with other fields around it.
fn cache_answer() -> Vec<Seed> {
    let entry = [&b"plbc\x00\x00\x00\x00"[..], &[7; 16], b"block"].concat();
    let message = [&[0x2a, entry.len() as u8][..], &entry].concat();
    let worker = b"\x4a\x0b\x0a\x09127.0.0.1";
    vec![
        Seed::new("entry", message.clone()),
        Seed::new("worker", [&message[..], worker].concat()),
        Seed::new("exit-code", [b"\x20\xac\x02", &message[..], b"\x7d1234\x7912345678"].concat()),
        Seed::new("address", "https://user:password@[::1]:8080/a/b"),
    ]
}
