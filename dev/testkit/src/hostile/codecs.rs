//! For each codec: blocks that are garbage, truncated, followed by more, too short, too long, and bombs.

use packline_codec::Spec;

use super::Expect::Contents;
use super::Specimen;
use super::bytes::{compressed_block, noise};
use super::draft::{Draft, FileFields};
use super::sound::{compressor, lz4_options, with_entry};

/// Block size.
const BLOCK: usize = 1 << 17;

/// A file of one block of `BLOCK` bytes with this compressed form.
pub(super) fn file_of(codec: &str, payload: &[u8]) -> Vec<u8> {
    file_of_length(codec, payload, BLOCK as u64)
}

/// The same for a file of any length up to a block.
pub(super) fn file_of_length(codec: &str, payload: &[u8], length: u64) -> Vec<u8> {
    let mut draft = draft_for(codec);
    let start = draft.store(payload);
    let file = draft.file_with(&FileFields::new(start, length, vec![payload.len() as u32]));
    with_entry(draft, b"odd", file)
}

/// A draft with a codec's number and blocks of `BLOCK` bytes.
pub(super) fn draft_for(codec: &str) -> Draft {
    let mut draft = Draft::new();
    draft.block_log = 17;
    draft.compressor = compressor(codec);
    draft.options = if codec == "lz4" { lz4_options() } else { Vec::new() };
    draft
}

/// `length` equal bytes, compressed.
#[allow(clippy::panic, reason = "this builds inputs for tests")]
pub(super) fn packed(codec: &str, length: usize) -> Vec<u8> {
    let spec: Spec = codec.parse().unwrap_or_else(|cause| panic!("{codec}: {cause}"));
    let mut raw = b"packline ".repeat(100);
    raw.resize(length, 0);
    compressed_block(&spec, &raw).unwrap_or_else(|| panic!("{codec} does not make {length} bytes smaller"))
}

fn cut(codec: &str) -> Vec<u8> {
    let mut bytes = packed(codec, BLOCK);
    bytes.truncate(bytes.len() - 5);
    file_of(codec, &bytes)
}

fn followed(codec: &str) -> Vec<u8> {
    file_of(codec, &[packed(codec, BLOCK), noise(20)].concat())
}

/// A tail end in a fragment block that decompresses to more than a block.
fn fragment(codec: &str) -> Vec<u8> {
    let mut draft = draft_for(codec);
    let payload = packed(codec, 4 * BLOCK);
    let index = draft.fragment(&payload, payload.len() as u32);
    let file = draft.file_with(&FileFields::new(96, 100, Vec::new()).tail(index, 0));
    with_entry(draft, b"odd", file)
}

macro_rules! zoo {
    ($($codec:literal)*) => {
        vec![$(
            Specimen::new(concat!("bad-", $codec, "-garbage"), Contents, concat!("an ", $codec, " block of noise"), || {
                file_of($codec, &noise(4000))
            }),
            Specimen::new(concat!("bad-", $codec, "-zeros"), Contents, concat!("an ", $codec, " block of zeros"), || {
                file_of($codec, &[0; 4000])
            }),
            Specimen::new(concat!("bad-", $codec, "-one-byte"), Contents, concat!("an ", $codec, " block of one byte"), || {
                file_of($codec, &[0xff])
            }),
            Specimen::new(concat!("bad-", $codec, "-cut"), Contents, concat!("an ", $codec, " block without its last bytes"), || {
                cut($codec)
            }),
            Specimen::new(concat!("bad-", $codec, "-followed"), Contents, concat!("an ", $codec, " block with more after it"), || {
                followed($codec)
            }),
            Specimen::new(concat!("bad-", $codec, "-short"), Contents, concat!("an ", $codec, " block that is a byte short"), || {
                file_of($codec, &packed($codec, BLOCK - 1))
            }),
            Specimen::new(concat!("bad-", $codec, "-long"), Contents, concat!("an ", $codec, " block that is a byte too long"), || {
                file_of($codec, &packed($codec, BLOCK + 1))
            }),
            Specimen::new(concat!("bad-", $codec, "-bomb"), Contents, concat!("an ", $codec, " block of 4 MiB in one of 128 KiB"), || {
                file_of($codec, &packed($codec, 4 << 20))
            }),
            Specimen::new(concat!("bad-", $codec, "-fragment-bomb"), Contents, concat!("an ", $codec, " fragment block of four blocks"), || {
                fragment($codec)
            }),
        )*]
    };
}

pub(super) fn specimens() -> Vec<Specimen> {
    zoo!("gzip" "lzma" "lzo" "xz" "lz4" "zstd")
}
