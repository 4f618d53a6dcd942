//! SquashFS images.

use packline_delta::{DeltaOptions, Error, Made};
use packline_runtime::MemoryFault;
use packline_testkit::{Random, hostile};

use super::support::{applied, image, made, resources, round_trip};

const CODECS: [&str; 10] = [
    "gzip",
    "gzip:level=12",
    "gzip:level=12,engine=libdeflate",
    "xz",
    "xz:level=2,x86",
    "lzma",
    "zstd",
    "zstd:level=3",
    "lz4",
    "lzo",
];
const BLOCK: u32 = 16 << 10;

type Files = Vec<(String, Vec<u8>)>;

fn tree(seed: u64) -> Files {
    let mut random = Random::new(seed);
    let mut files: Files =
        (0..60).map(|number| (format!("file{number:03}"), random.prose(number * number * 40 + 500))).collect();
    files.push(("noise".into(), random.noise(50_000)));
    files
}

/// Returns the files with a new first file, a changed file, and one file less.
fn changed(files: &Files) -> Files {
    let mut files = files.clone();
    let mut random = Random::new(99);
    files[50].1[1000..1010].copy_from_slice(b"0123456789");
    files.remove(20);
    files.insert(0, ("a-first".into(), random.prose(40_000)));
    files
}

#[test]
fn images_of_every_codec() {
    let files = tree(1);
    for codec in CODECS {
        let old = image(&files, codec, BLOCK);
        let new = image(&changed(&files), codec, BLOCK);
        let (delta, Made { blocks, .. }) = round_trip(&old, &new);
        assert_eq!(blocks.raw, 0, "{codec}: {blocks:?}");
        assert!(blocks.encoded > 0 && blocks.kept > 0, "{codec}: {blocks:?}");
        let first = image(&[("a-first".into(), Random::new(99).prose(40_000))], "xz", BLOCK).len();
        assert!(delta.len() < first + 4000, "{codec}: {} bytes, {first} of the new file", delta.len());
    }
}

#[test]
fn images_of_different_codecs_and_block_sizes() {
    let files = tree(2);
    let old = image(&files, "gzip", 128 << 10);
    let new = image(&files, "zstd:level=5", 64 << 10);
    let (delta, made) = round_trip(&old, &new);
    assert!(made.blocks.raw == 0 && delta.len() < new.len() / 20, "{} of {} bytes: {made:?}", delta.len(), new.len());
}

#[test]
fn an_image_and_another_kind_of_file() {
    let files = tree(3);
    let whole = image(&files, "zstd", BLOCK);
    let contents: Vec<u8> = files.iter().flat_map(|(_, content)| content.clone()).collect();
    let (delta, _) = round_trip(&contents, &whole);
    assert!(delta.len() < whole.len() / 5, "{} of {} bytes", delta.len(), whole.len());
    let (delta, made) = round_trip(&whole, &contents);
    assert!(delta.len() < whole.len() / 5 && made.literals < contents.len() as u64 / 20, "{} bytes", delta.len());
}

#[test]
fn an_image_between_other_bytes() {
    let files = tree(4);
    let mut random = Random::new(5);
    let before = random.noise(10_000);
    let behind = random.noise(3000);
    let old = [&before[..], &image(&files, "xz", BLOCK), &behind].concat();
    let new = [&before[..9000], &image(&changed(&files), "xz", BLOCK), &behind, b"more"].concat();
    let (delta, made) = round_trip(&old, &new);
    assert!(made.blocks.raw == 0 && delta.len() < 20_000, "{}: {:?}", delta.len(), made.blocks);
}

#[test]
fn keeps_blocks_of_the_old_image_if_the_codec_is_wrong() {
    let files = tree(6);
    let old = image(&files, "zstd:level=7", BLOCK);
    let new = image(&changed(&files), "zstd:level=7", BLOCK);
    let mut options = DeltaOptions::default();
    options.codecs = vec!["zstd:level=2".parse().unwrap()];
    let (delta, made) = made(&old, &new, &options, &resources(2)).unwrap();
    assert!(made.codec.is_none() && made.blocks.raw > 0 && made.blocks.kept > 10, "{:?}", made.blocks);
    assert!(applied(&old, &delta, &resources(2)).unwrap() == new);
}

#[test]
fn detects_each_flipped_bit_of_a_delta_for_an_image() {
    let files: Files = tree(7).into_iter().take(12).collect();
    let mut changed = files.clone();
    changed[3].1[7] ^= 1;
    changed.remove(5);
    let old = image(&files, "gzip", 4096);
    let new = image(&changed, "gzip", 4096);
    let (delta, _) = round_trip(&old, &new);
    for (at, bit) in (0..delta.len()).flat_map(|at| (0..8).map(move |bit| (at, bit))) {
        let mut damaged = delta.clone();
        damaged[at] ^= 1 << bit;
        if let Ok(made) = applied(&old, &damaged, &resources(0)) {
            assert!(made == new, "bit {bit} of byte {at}");
        }
    }
}

#[test]
fn memory_changes_no_byte() {
    let files = tree(8);
    let old = image(&files, "xz", BLOCK);
    let new = image(&changed(&files), "xz", BLOCK);
    let options = DeltaOptions::default();
    let (whole, _) = made(&old, &new, &options, &resources(7)).unwrap();
    let mut limit = 1 << 20;
    let small = loop {
        match made(&old, &new, &options, &resources(7).memory_limit(limit)) {
            Err(Error::Memory(MemoryFault { needed, .. })) => limit = needed,
            made => break made.unwrap().0,
        }
    };
    assert!(small == whole && limit < 300 << 20, "{limit} bytes of memory");
    let Err(Error::Memory(MemoryFault { needed, .. })) = applied(&old, &whole, &resources(7).memory_limit(1 << 20))
    else {
        panic!("1 MiB suffices");
    };
    assert!(applied(&old, &whole, &resources(7).memory_limit(needed)).unwrap() == new);
}

#[test]
fn reproduces_hostile_images() {
    let good = hostile::good();
    let mut options = DeltaOptions::default();
    options.level = 1;
    for specimen in hostile::all() {
        let bad = specimen.bytes();
        for (old, new) in [(&good, &bad), (&bad, &good), (&bad, &bad)] {
            let (delta, _) = made(old, new, &options, &resources(1)).unwrap();
            let back = applied(old, &delta, &resources(1));
            assert!(back.unwrap() == *new, "{}", specimen.name);
        }
    }
}
