//! Any bytes as a .lrz file: listed, and decompressed in little memory, with a password if it is encrypted.

use std::io;
use std::sync::Arc;

use crate::no_bug;
use packline_engine::CancelToken;
use packline_lrz::format::Protection;
use packline_lrz::{Archive, ReadOptions, Resources, Sink, Unobserved};

/// Limit of decompressed data in bytes.
const ENOUGH: usize = 4 << 20;
/// Limit of listed blocks.
const BLOCKS: usize = 1000;

/// A sink in memory with a size limit that can be read back.
struct MemorySink {
    bytes: Vec<u8>,
    cancel: CancelToken,
}

impl Sink for MemorySink {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.bytes.extend_from_slice(bytes);
        if self.bytes.len() > ENOUGH {
            self.cancel.cancel();
        }
        Ok(())
    }

    fn reads_back(&self) -> bool {
        true
    }

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        Sink::read_at(&mut self.bytes, offset, buffer)
    }
}

/// Key derivation for a password is too slow for fuzzing.
fn is_slow(bytes: &[u8]) -> bool {
    match bytes.get(22) {
        Some(1) => bytes[6] > 4,
        Some(3) => bytes.get(27..30).is_none_or(|rounds| rounds != [0; 3]),
        _ => false,
    }
}

fn list(archive: &Archive) {
    let chunks = archive.chunks().take(BLOCKS).map_while(no_bug);
    for chunk in chunks {
        for stream in 0..2 {
            let blocks = archive.blocks(&chunk, stream).take(BLOCKS).map_while(no_bug);
            assert!(blocks.into_iter().all(|block| block.data > chunk.base && block.plain > 0));
        }
    }
}

pub fn lrz(bytes: &[u8]) {
    if is_slow(bytes) {
        return;
    }
    let Some(archive) = no_bug(Archive::open(Arc::new(bytes.to_vec()), Some(b"password"))) else { return };
    list(&archive);
    let cancel = CancelToken::new();
    let mut resources = Resources::default().memory_limit(40 << 20);
    resources.cancel = cancel.clone();
    let mut kept = MemorySink { bytes: Vec::new(), cancel };
    let options = ReadOptions { md5: true };
    if let Some(unpacked) = no_bug(archive.decompress(&mut kept, &options, &resources, &mut Unobserved)) {
        assert_eq!(unpacked.plain, kept.bytes.len() as u64);
        assert!(archive.magic().size.is_none_or(|size| size == unpacked.plain));
        assert!(unpacked.stored_md5.is_none_or(|md5| Some(md5) == unpacked.md5));
        assert!(archive.magic().protection != Protection::None || no_bug(archive.md5()) == Some(unpacked.stored_md5));
    }
}
