//! Uses any bytes as recovery data and as a file, and changes recovery data with corrected checks: a repair is correct or is an error.

use std::sync::{Arc, LazyLock};

use crate::no_bug;
use packline_recovery::{MAGIC, PacketLocation, RecoverySet, Redundancy, examine, protect, prove, repair, strip};
use packline_runtime::{Input, Resources, Unobserved};
use packline_testkit::Random;

/// Bytes of a packet's head, and of the part that the check covers.
const HEAD: usize = 80;
const CHECKED: usize = 64;
/// Maximum bytes of a file that a repair may write here.
const ENOUGH: u64 = 1 << 20;

/// A file, and the same file with appended recovery data.
static FILES: LazyLock<[Vec<u8>; 2]> = LazyLock::new(|| {
    let file = Random::new(1).prose(20_000);
    let input: Arc<dyn Input> = Arc::new(file.clone());
    let mut behind = file.clone();
    let redundancy = Redundancy::parse("20%").unwrap();
    protect(&input, redundancy, PacketLocation::Appended, &mut behind, &resources(), &mut Unobserved).unwrap();
    [file, behind]
});

fn resources() -> Resources {
    Resources::new(0).memory_limit(256 << 20)
}

/// The protected bytes; `None` for an error, which is not a bug.
fn repaired(file: &[u8], sidecar: Option<&[u8]>) -> Option<Vec<u8>> {
    let file: Arc<dyn Input> = Arc::new(file.to_vec());
    let resources = resources();
    let set = match sidecar {
        Some(sidecar) => RecoverySet::sidecar(Arc::new(sidecar.to_vec()), &resources),
        None => RecoverySet::appended(Arc::clone(&file), &resources),
    };
    let set = no_bug(set)?;
    let examined = no_bug(examine(&file, &set, &resources, &mut Unobserved))?;
    if set.shape().length() > ENOUGH {
        return None;
    }
    let mut out = Vec::new();
    no_bug(repair(&file, &set, &examined, &mut out, &resources, &mut Unobserved))?;
    let made: Arc<dyn Input> = Arc::new(out.clone());
    no_bug(prove(&made, &set, &resources, &mut Unobserved))?;
    assert_eq!(*blake3::hash(&out).as_bytes(), set.blake3());
    Some(out)
}

/// Corrects the check of each packet as long as it reaches to the next one.
fn correct_checks(bytes: &mut [u8]) {
    let starts: Vec<usize> = (0..bytes.len()).filter(|&at| bytes[at..].starts_with(&MAGIC)).collect();
    for (number, &start) in starts.iter().enumerate() {
        let end = starts.get(number + 1).copied().unwrap_or(bytes.len());
        if end - start > HEAD {
            let check = blake3::hash(&[&bytes[start..start + CHECKED], &bytes[start + HEAD..end]].concat());
            bytes[start + CHECKED..start + HEAD].copy_from_slice(&check.as_bytes()[..HEAD - CHECKED]);
        }
    }
}

pub fn recovery(data: &[u8]) {
    let [file, behind] = &*FILES;
    repaired(file, Some(data));
    repaired(data, Some(&behind[file.len()..]));
    repaired(data, None);
    strip(Arc::new(data.to_vec())).unwrap();
    let mut corrected = data.to_vec();
    correct_checks(&mut corrected);
    repaired(file, Some(&corrected));
    // Three bytes each change a byte of a file with its recovery data.
    let mut changed = behind.clone();
    for change in data.chunks_exact(3) {
        let at = usize::from(u16::from_le_bytes([change[0], change[1]])) % changed.len();
        changed[at] ^= change[2];
    }
    if let Some(out) = repaired(&changed, None) {
        assert!(out == *file, "a repair is wrong");
    }
    correct_checks(&mut changed);
    repaired(&changed, None);
}
