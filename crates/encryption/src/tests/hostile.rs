//! Heads made to mislead a reader: each causes an error, in bounded time and memory, and never a panic.

use super::support::{SMALL, at_offsets, chunk, content, head_of, pair, sealed, streamed};
use crate::format::Head;
use crate::{Error, Identities};

/// A head with any fixed part and wraps, whose sum and check are correct.
fn head(fields: &[(usize, &[u8])], wraps: &[u8]) -> Vec<u8> {
    let mut bytes = Head::bound(chunk(SMALL), false, &[b"w".to_vec()]).unwrap()[..32].to_vec();
    bytes[12..16].copy_from_slice(&(wraps.len() as u32).to_le_bytes());
    bytes[16..24].copy_from_slice(&blake3::hash(wraps).as_bytes()[..8]);
    for (at, value) in fields {
        bytes[*at..at + value.len()].copy_from_slice(value);
    }
    let check = blake3::hash(&bytes[..24]);
    bytes[24..].copy_from_slice(&check.as_bytes()[..8]);
    [&bytes, wraps, &[0; 32 + 20]].concat()
}

/// A wrap with its length.
fn wrap(bytes: &[u8]) -> Vec<u8> {
    [&(bytes.len() as u32).to_le_bytes()[..], bytes].concat()
}

#[test]
fn rejects_every_hostile_head() {
    let identities = pair().identities();
    let many = format!("age-encryption.org/v1\n{}--- mac\n", "-> X25519 a\nb\n".repeat(5000));
    let age = wrap(b"age-encryption.org/v1\n-> X25519 a\nb\n--- mac\n");
    let zoo: Vec<(&str, Vec<u8>)> = vec![
        ("an empty file", Vec::new()),
        ("only the magic", crate::MAGIC.to_vec()),
        ("no wraps", head(&[(10, &[0])], b"")),
        ("more wraps than there may be", head(&[(10, &[65])], &age)),
        ("more wraps than there are", head(&[(10, &[2])], &age)),
        ("fewer wraps than there are", head(&[], &[age.clone(), age.clone()].concat())),
        ("4 GiB of wraps", head(&[(12, &[255; 4])], &age)),
        ("a MiB of wraps that is not there", head(&[(12, &(1u32 << 20).to_le_bytes())], &age)),
        ("a wrap of 4 GiB", head(&[], &[255; 8])),
        ("a wrap that is empty", head(&[], &wrap(b""))),
        ("a wrap that is not an age file", head(&[], &wrap(&[7; 100]))),
        ("a wrap with a forged mac", head(&[], &age)),
        ("thousands of recipients", head(&[], &wrap(many.as_bytes()))),
        ("chunks of 1 byte", head(&[(9, &[0])], &age)),
        ("chunks of 2^255", head(&[(9, &[255])], &age)),
        ("another version", head(&[(8, &[2])], &age)),
        ("an unknown flag", head(&[(11, &[2])], &age)),
        ("a known flag and an unknown one", head(&[(11, &[0x81])], &age)),
        ("another magic", head(&[(3, b"N")], &age)),
    ];
    for (name, file) in zoo {
        let error = at_offsets(&file, &identities).expect_err(name);
        assert!(
            matches!(error, Error::Corrupt { .. } | Error::Unsupported { .. } | Error::WrongKey(_)),
            "{name}: {error:?}"
        );
        let (found, error) = streamed(&file, &identities, 1);
        assert!(found.is_empty() && error.is_some(), "{name}");
        assert!(at_offsets(&file, &Identities::default()).is_err(), "{name}");
    }
}

/// Random edits of complete files, with correct sums in the head: only sealed content is returned.
#[test]
fn edited_files_return_only_sealed_content() {
    let pair = pair();
    let content = content(3 * 4096 + 500);
    let identities = pair.identities();
    let file = sealed(&pair.recipients(), &content, SMALL);
    let length = head_of(&file).length() as usize;
    let mut random = packline_testkit::Random::new(11);
    for round in 0..3000 {
        let mut edited = file.clone();
        for _ in 0..=random.below(3) {
            let at = random.below(edited.len() as u64) as usize;
            let count = (random.below(40) as usize).min(edited.len() - at);
            match random.below(4) {
                0 => edited[at] = random.below(256) as u8,
                1 => drop(edited.drain(at..at + count)),
                2 => drop(edited.splice(at..at, random.noise(count))),
                _ => edited.copy_within(at..at + count, 0),
            }
            if edited.is_empty() {
                edited.push(0);
            }
        }
        if round % 2 == 0 && edited.len() > length {
            let wraps = edited.get(12..16).map_or(0, |four| u32::from_le_bytes(four.try_into().unwrap()) as usize);
            if let Some(wraps) = edited.get(32..32 + wraps.min(1 << 20)) {
                let sum = *blake3::hash(wraps).as_bytes();
                edited[16..24].copy_from_slice(&sum[..8]);
                let check = *blake3::hash(&edited[..24]).as_bytes();
                edited[24..32].copy_from_slice(&check[..8]);
            }
        }
        if let Ok(found) = at_offsets(&edited, &identities) {
            assert!(edited == file && found == content, "{round}");
        }
        let (found, error) = streamed(&edited, &identities, 0);
        assert!(content.starts_with(&found) && (error.is_some() || edited == file), "{round}: {error:?}");
    }
}
