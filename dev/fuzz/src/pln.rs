//! Any bytes as a .pln file: listed, read by its index and as a stream, and verified; and as content that is written and read again.

use std::io;
use std::sync::Arc;

use crate::no_bug;
use blake3::hazmat::HasherExt;
use packline_codec::Coding;
use packline_engine::CancelToken;
use packline_pln::{
    Error, Input, Reader, RecordSize, Resources, Sink, Source, Span, Unobserved, Unpacked, WriteOptions, compress,
    decompress, verify,
};
use packline_runtime::WorkFault;

/// Limit of content in bytes.
const ENOUGH: usize = 4 << 20;
/// Codings for writing; a byte of the input chooses one.
const CODINGS: [&str; 8] = ["none", "slack", "lz4", "slack+lzo", "zstd:level=1", "gzip:level=1", "huff0", "slack+zle"];

/// A sink in memory with a size limit.
struct MemorySink {
    bytes: Vec<u8>,
    /// Whether zeros may be skipped, as in a file with holes.
    has_holes: bool,
    cancel: CancelToken,
}

impl MemorySink {
    fn stop_at_enough(&self) {
        if self.bytes.len() > ENOUGH {
            self.cancel.cancel();
        }
    }
}

impl Sink for MemorySink {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.bytes.extend_from_slice(bytes);
        self.stop_at_enough();
        Ok(())
    }

    fn skip_zeros(&mut self, count: u64) -> io::Result<bool> {
        if self.has_holes {
            self.bytes.resize(self.bytes.len() + count as usize, 0);
            self.stop_at_enough();
        }
        Ok(self.has_holes)
    }
}

fn resources(cancel: &CancelToken) -> Resources {
    let mut resources = Resources::default().memory_limit(128 << 20);
    resources.cancel = cancel.clone();
    resources
}

/// The content up to the first error, and the result.
fn read(source: Source<'_>) -> (Vec<u8>, Result<Unpacked, Error>) {
    let cancel = CancelToken::new();
    let resources = resources(&cancel);
    // Both ways of reading must give the same.
    let has_holes = matches!(source, Source::At(_));
    let mut kept = MemorySink { bytes: Vec::new(), has_holes, cancel };
    let read = decompress(source, Span::ALL, &mut kept, &resources, &mut Unobserved);
    (kept.bytes, read)
}

/// A file that is readable one way is readable the other way, and is sound.
fn as_file(bytes: &[u8]) {
    let input: Arc<dyn Input> = Arc::new(bytes.to_vec());
    let (by_index, read_by_index) = read(Source::At(Arc::clone(&input)));
    let (onwards, read_onwards) = read(Source::Stream(&mut &*bytes));
    let cancelled = |read: &Result<Unpacked, Error>| matches!(read, Err(Error::Work(WorkFault::Cancelled)));
    if cancelled(&read_by_index) || cancelled(&read_onwards) {
        return;
    }
    let by = no_bug(read_by_index);
    let on = no_bug(read_onwards);
    assert_eq!(by, on);
    let mut findings = 0;
    let verified = verify(Source::At(input), &mut |_| findings += 1, &resources(&CancelToken::new()), &mut Unobserved);
    if let Some(unpacked) = by {
        assert!(by_index == onwards && unpacked.bytes == onwards.len() as u64);
        assert_eq!(unpacked.blake3, Some(*blake3::hash(&onwards).as_bytes()));
        assert_eq!(no_bug(verified).map(|verified| (verified.findings, verified.blake3)), Some((0, unpacked.blake3)));
        let listed = no_bug(Reader::open(Arc::new(bytes.to_vec())).and_then(|reader| reader.info()));
        assert_eq!(listed.map(|info| info.logical), Some(unpacked.bytes));
    } else if let Some(verified) = no_bug(verified) {
        assert!(verified.findings > 0 && verified.findings == findings);
    }
}

fn as_content(bytes: &[u8]) {
    let Some((first, content)) = bytes.split_first() else { return };
    let coding = CODINGS[usize::from(*first) % CODINGS.len()];
    let options = WriteOptions {
        record_size: RecordSize::new(4096 << (first >> 6)).expect("a power of two"),
        codings: vec![Coding::parse(coding).expect("a coding")],
    };
    let mut file = Vec::new();
    let resources = resources(&CancelToken::new());
    let written = compress(Source::Stream(&mut &*content), &mut file, &options, &resources, &mut Unobserved);
    let written = written.expect("content of any kind can be written");
    let (out, unpacked) = read(Source::At(Arc::new(file)));
    assert!(out == content && unpacked.expect("it is read again").blake3 == Some(written.blake3));
}

/// Corrects checks and sums that a fuzzer cannot guess.
fn repair(bytes: &mut [u8]) -> Option<()> {
    let end = bytes.len().checked_sub(72)?;
    put(bytes.get_mut(..32)?, 24, &[]);
    put(&mut bytes[end..], 64, &[]);
    let mut at = 32;
    let mut record = 0u64;
    let mut group = 0u64;
    loop {
        let size = u32::from_le_bytes(bytes.get(at + 8..at + 12)?.try_into().ok()?) as usize;
        let kind = (at + 24 + size <= end).then_some(bytes[at])?;
        let number = if kind == 0x74 { &mut group } else { &mut record };
        let (head, payload) = bytes[at..at + 24 + size].split_at_mut(24);
        let plain = kind == 0x52 && head[1..3] == [0; 2] && size > 0 && size <= 4096;
        let mut hasher = blake3::Hasher::new();
        let sum = if plain {
            hasher.set_input_offset(*number << 12).update(payload).finalize_non_root()
        } else {
            *hasher.update(payload).finalize().as_bytes()
        };
        head[12..20].copy_from_slice(&sum[..8]);
        put(head, 20, &number.to_le_bytes());
        *number += 1;
        at += 24 + size;
    }
}

/// Appends the check of the first bytes and the prefix.
fn put(part: &mut [u8], length: usize, before: &[u8]) {
    let hash = blake3::Hasher::new().update(before).update(&part[..length]).finalize();
    let rest = part.len() - length;
    part[length..].copy_from_slice(&hash.as_bytes()[..rest]);
}

pub fn pln(bytes: &[u8]) {
    as_file(bytes);
    let mut repaired = bytes.to_vec();
    repair(&mut repaired);
    as_file(&repaired);
    as_content(bytes);
}
