//! The revision of the encoders: other bytes for the same input need another number, since compressed blocks are kept by it.

use packline_codec::{ENCODERS_REVISION, Outcome, Spec};
use packline_testkit::Random;

/// Encoders of our own, and of libraries with parameters of each kind.
const CODECS: [&str; 21] = [
    "gzip",
    "gzip:level=1",
    "gzip:level=12",
    "xz",
    "xz:x86,arm",
    "xz:lc=0,lp=2,pb=2",
    "lzma",
    "lzma:level=1",
    "zstd",
    "zstd:level=1",
    "zstd:level=17",
    "zstd:level=22",
    "lz4",
    "lz4:hc",
    "lzo",
    "lzo:level=1",
    "lzo:level=5",
    "bzip2",
    "huff0",
    "zle",
    "none",
];

/// The hash of what they make of a block of text, of zeros between noise, and of a short one.
fn digest() -> String {
    let mut random = Random::new(77);
    let mut holes = random.noise(60_000);
    holes[10_000..40_000].fill(0);
    let blocks = [random.prose(128 << 10), holes, random.prose(700)];
    let mut hasher = blake3::Hasher::new();
    for spec in CODECS.map(|text| Spec::parse(text).unwrap()) {
        let mut encoder = spec.encoder(128 << 10).unwrap();
        for block in &blocks {
            let mut to = vec![0; block.len()];
            match encoder.compress(block, &mut to).unwrap() {
                Outcome::Smaller(size) => hasher.update(&(size as u64).to_le_bytes()).update(&to[..size]),
                Outcome::NotSmaller => hasher.update(&[0; 8]),
            };
        }
    }
    hasher.finalize().to_hex()[..32].to_string()
}

#[test]
fn other_bytes_have_another_revision() {
    let recorded = (2, "84a977c6b97dcfa043c97bd1d93c2969");
    assert_eq!((ENCODERS_REVISION, &*digest()), recorded, "raise ENCODERS_REVISION, and record the digest here");
}
