//! Applies any bytes as a delta, also with corrected checksums, and makes deltas of any two files.

use std::io;
use std::sync::{Arc, LazyLock};

use packline_delta::{DeltaOptions, Error, patch};
use packline_engine::CancelToken;
use packline_runtime::{Input, Resources, Sink, Unobserved, WorkFault};
use packline_testkit::{Random, hostile};

/// Maximum size in bytes of the file that a delta builds.
const ENOUGH: usize = 4 << 20;
/// Bytes of the head, and of the head of a part.
const HEAD: usize = 136;
const PART: usize = 20;

/// The files that deltas are applied to: no image, and an image.
static OLD: LazyLock<[Vec<u8>; 2]> = LazyLock::new(|| [Random::new(1).prose(20_000), hostile::good()]);

/// A sink in memory that cancels the work when it has enough.
struct MemorySink(Vec<u8>, CancelToken);

impl Sink for MemorySink {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.extend_from_slice(bytes);
        if self.0.len() > ENOUGH {
            self.1.cancel();
        }
        Ok(())
    }
}

/// The file that a delta builds; `None` for an error, which is not a bug.
fn applied(old: &[u8], delta: &[u8]) -> Option<Vec<u8>> {
    let mut resources = Resources::new(0).memory_limit(256 << 20);
    let mut out = MemorySink(Vec::new(), CancelToken::new());
    resources.cancel = out.1.clone();
    let old: Arc<dyn Input> = Arc::new(old.to_vec());
    let delta: Arc<dyn Input> = Arc::new(delta.to_vec());
    match patch(&old, &delta, &mut out, &resources, &mut Unobserved) {
        Ok(patched) => {
            assert_eq!(patched.head.new.hash, *blake3::hash(&out.0).as_bytes());
            Some(out.0)
        }
        Err(Error::Work(WorkFault::Internal(bug))) => panic!("{bug}"),
        Err(error) => {
            assert!(!error.to_string().is_empty());
            None
        }
    }
}

/// Corrects the values that a fuzzer cannot guess: the old file in the head, and all checks.
fn repair(bytes: &mut [u8], old: &[u8]) -> Option<()> {
    let head = bytes.get_mut(..HEAD)?;
    head[..9].copy_from_slice(b"\x8bPLD\r\n\x1a\n\x01");
    head[32..40].copy_from_slice(&(old.len() as u64).to_le_bytes());
    head[48..80].copy_from_slice(blake3::hash(old).as_bytes());
    let check = *blake3::hash(&head[..HEAD - 8]).as_bytes();
    head[HEAD - 8..].copy_from_slice(&check[..8]);
    let mut at = HEAD;
    loop {
        let stored = u32::from_le_bytes(bytes.get(at + 8..at + 12)?.try_into().ok()?) as usize;
        let end = at.checked_add(PART + stored).filter(|end| *end <= bytes.len())?;
        let check =
            *blake3::Hasher::new().update(&bytes[at..at + 12]).update(&bytes[at + PART..end]).finalize().as_bytes();
        bytes[at + 12..at + PART].copy_from_slice(&check[..8]);
        at = end;
    }
}

/// Returns two files. The first byte is the length of the first file.
fn as_files(bytes: &[u8]) {
    let Some((first, rest)) = bytes.split_first() else { return };
    let (old, new) = rest.split_at(rest.len() * usize::from(*first) / 256);
    let old: Arc<dyn Input> = Arc::new(old.to_vec());
    let new: Arc<dyn Input> = Arc::new(new.to_vec());
    let mut options = DeltaOptions::default();
    options.level = 1;
    let mut out = Vec::new();
    let made = packline_delta::delta(&old, &new, &mut out, &options, &Resources::new(0), &mut Unobserved);
    assert_eq!(made.expect("any files have a delta").size, out.len() as u64);
    let mut back = Vec::new();
    patch(&old, &(Arc::new(out) as Arc<dyn Input>), &mut back, &Resources::new(0), &mut Unobserved)
        .expect("it is applied");
    let mut expected = vec![0; new.size() as usize];
    new.read_at(0, &mut expected).expect("it is in memory");
    assert!(back == expected);
}

pub fn delta(bytes: &[u8]) {
    for old in OLD.iter() {
        applied(old, bytes);
        let mut repaired = bytes.to_vec();
        repair(&mut repaired, old);
        applied(old, &repaired);
    }
    as_files(bytes);
}
