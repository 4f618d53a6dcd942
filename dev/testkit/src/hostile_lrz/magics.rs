//! Faults at the beginning and at the end of a file.

use super::Specimen;
use super::draft::*;
use super::sound::{SIZE, chunk, sound};

/// The sound file with some bytes at `at` replaced.
fn with(at: usize, bytes: &[u8]) -> Vec<u8> {
    let mut file = sound();
    file[at..at + bytes.len()].copy_from_slice(bytes);
    file
}

/// The sound file with the encryption flag set.
fn encrypted(kind: u8, salt: [u8; 8], after: &[u8]) -> Vec<u8> {
    let mut file = with(22, &[kind]);
    file[6..14].copy_from_slice(&salt);
    drop(file.splice(MAGIC..MAGIC, after.iter().copied()));
    file
}

fn gcm(rounds: u32, suite: u8) -> Vec<u8> {
    let mut after = vec![suite, 16];
    after.extend_from_slice(&rounds.to_le_bytes());
    after.resize(32, 0);
    let mut file = encrypted(3, [0; 8], &after);
    file[5] = 7;
    file[23] = 1;
    file
}

pub(super) fn all() -> Vec<Specimen> {
    vec![
        Specimen::new("bad-nothing", "it ends at byte 0", "an empty file", Vec::new),
        Specimen::new("bad-magic-cut", "it ends at byte 23", "a magic of 23 bytes", || sound()[..23].to_vec()),
        Specimen::new("bad-mark", "LRZI", "another mark", || with(0, b"LRZJ")),
        Specimen::new("bad-version-3", "version 0.3", "a version before 0.4", || with(5, &[3])),
        Specimen::new("bad-version-1", "version 1.6", "a major version of 1", || with(4, &[1])),
        Specimen::new("bad-fork-11", "lrzip-next", "a version of the fork's alone", || with(5, &[11])),
        Specimen::new("bad-fork-7", "lrzip-next", "the fork's layout of version 0.7, whose magic has 18 bytes", || {
            let mut file = magic(7, SIZE);
            file[14] = 1;
            file.truncate(18);
            [file, chunk(true).bytes()].concat()
        }),
        Specimen::new("bad-digest-flag", "digest 2", "a digest of an unknown kind", || with(21, &[2])),
        Specimen::new("bad-encryption-flag", "encryption 2", "an unknown encryption", || with(22, &[2])),
        Specimen::new("bad-stretch", "stretched", "a password to be stretched for years", || {
            encrypted(1, [50, 255, 0, 0, 0, 0, 0, 0], &[])
        }),
        Specimen::new("bad-password", "password", "encrypted by its flag, but not in fact", || {
            encrypted(1, [1, 1, 0, 0, 0, 0, 0, 0], &[])
        }),
        Specimen::new("bad-gcm-rounds", "stretched", "0.7: a password to be stretched for minutes", || {
            gcm(u32::MAX, 1)
        }),
        Specimen::new("bad-gcm-suite", "AES-256-GCM", "0.7: an unknown cipher", || gcm(1, 2)),
        Specimen::new("bad-gcm-password", "password", "0.7: encrypted by its flag, but not in fact", || gcm(1, 1)),
        Specimen::new("bad-gcm-cut", "encryption", "0.7: encrypted, and it ends after the magic", || {
            gcm(1, 1)[..30].to_vec()
        }),
        Specimen::new("bad-no-room-for-md5", "MD5", "a digest that does not fit into the file", || {
            with(21, &[1])[..MAGIC + 10].to_vec()
        }),
        Specimen::new("bad-md5", "MD5", "a digest of something else", || [with(21, &[1]), vec![0; 16]].concat())
            .in_data(),
        Specimen::new("bad-size-less", "119", "a size less than there is", || file(SIZE - 1, &chunk(true))).in_data(),
        Specimen::new("bad-size-more", "121", "a size more than there is", || file(SIZE + 1, &chunk(true))).in_data(),
        Specimen::new("bad-trailing", "after the last chunk", "a byte after the last chunk", || {
            [file(0, &chunk(true)), vec![0]].concat()
        }),
        Specimen::new("bad-trailing-sized", "width of 0", "the same, where the magic has the size", || {
            [sound(), vec![0]].concat()
        }),
    ]
}
