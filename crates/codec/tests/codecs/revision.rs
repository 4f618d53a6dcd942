//! The revision of each encoder. An encoder that writes other bytes for the same input needs another revision, because stored blocks are
//! reused by it.

use packline_codec::{Outcome, Spec};
use packline_testkit::Random;

/// Each codec with parameters of each kind, its revision, and the hash of its output for [`blocks`].
const RECORDED: [(&[&str], u32, &str); 12] = [
    (&["none"], 1, "db27f030ad8e467c"),
    (&["gzip", "gzip:level=1", "gzip:level=11", "gzip:level=12,engine=libdeflate"], 1, "70130e0ae64cf0fd"),
    (&["gzip:level=12"], 3, "b1a4830830760637"),
    (
        &[
            "xz",
            "xz:x86,arm",
            "xz:lc=0,lp=2,pb=2",
            "xz:level=1",
            "xz:level=4",
            "xz:level=9",
            "xz:auto",
            "xz:level=max,x86",
        ],
        5,
        "a45ec4313dd59dec",
    ),
    (&["lzma", "lzma:level=1", "lzma:level=4", "lzma:level=9", "lzma:level=max"], 4, "ac3569132f725db9"),
    (
        &[
            "zstd",
            "zstd:level=1",
            "zstd:level=12",
            "zstd:level=13",
            "zstd:level=14",
            "zstd:level=17",
            "zstd:level=22",
            "zstd:level=max",
        ],
        7,
        "46e20c1c36349ef6",
    ),
    (&["lz4", "lz4:hc,level=10"], 1, "a98f646201739faa"),
    (&["lz4:hc", "lz4:hc,level=11"], 2, "9d625a4f3ae949d8"),
    (&["lzo", "lzo:level=1", "lzo:level=5"], 1, "6c3fd242cb2e683e"),
    (&["bzip2"], 1, "5a0c3649162995bd"),
    (&["huff0"], 1, "98ccefc0114d80cc"),
    (&["zle"], 1, "88f97526597605b4"),
];

/// Text, zeros between noise, and a short block.
fn blocks() -> [Vec<u8>; 3] {
    let mut random = Random::new(77);
    let mut holes = random.noise(60_000);
    holes[10_000..40_000].fill(0);
    [random.prose(128 << 10), holes, random.prose(700)]
}

/// Codecs that use a library, for [`large_block`].
const LARGE: [&str; 12] = [
    "gzip",
    "gzip:level=1",
    "gzip:level=6,filtered",
    "bzip2",
    "xz:level=1",
    "zstd:level=3",
    "zstd:level=5",
    "zstd:level=7",
    "zstd:level=11",
    "lz4",
    "lz4:hc,level=2",
    "lz4:hc,level=9",
];

/// Text, noise and letters in parts of many sizes. The libraries divide it into blocks of their own.
fn large_block() -> Vec<u8> {
    let mut random = Random::new(78);
    let mut bytes = Vec::new();
    for part in 0..60 {
        let size = 1 + random.below(25_000) as usize;
        match part % 3 {
            0 => bytes.extend(random.prose(size)),
            1 => bytes.extend((0..size).map(|_| (random.below(60) + random.below(60)) as u8)),
            _ => bytes.extend(random.noise(size / 8)),
        }
    }
    bytes
}

fn digest(specs: &[Spec], blocks: &[Vec<u8>]) -> String {
    let mut hasher = blake3::Hasher::new();
    let largest = blocks.iter().map(Vec::len).max().unwrap();
    for spec in specs {
        let mut encoder = spec.encoder(largest).unwrap();
        for block in blocks {
            let mut to = vec![0; block.len()];
            match encoder.compress(block, &mut to).unwrap() {
                Outcome::Smaller(size) => hasher.update(&(size as u64).to_le_bytes()).update(&to[..size]),
                Outcome::NotSmaller => hasher.update(&[0; 8]),
            };
        }
    }
    hasher.finalize().to_hex()[..16].to_string()
}

#[test]
fn other_bytes_have_another_revision() {
    let found = RECORDED.map(|(texts, ..)| {
        let specs: Vec<_> = texts.iter().map(|text| Spec::parse(text).unwrap()).collect();
        (texts, specs[0].encoder_revision(), digest(&specs, &blocks()))
    });
    let recorded = RECORDED.map(|(texts, revision, digest)| (texts, revision, digest.to_owned()));
    assert_eq!(found, recorded, "raise the codec's revision in libraries.rs, and record the digest here");
}

#[test]
fn large_blocks_are_the_same_on_all_processors() {
    let specs = LARGE.map(|text| Spec::parse(text).unwrap());
    assert_eq!(digest(&specs, &[large_block()]), "e48ce3dd580e770e");
}
