//! Every change is rejected before a byte of the changed chunk is returned.

use super::support::{SMALL, at_offsets, chunk, content, head_of, pair, sealed, streamed};
use crate::{Error, Identities, Part, Recipients};

const SIZE: usize = 4096;

/// Checks that both ways of reading reject the file, and that the stream returns only complete chunks before the change.
fn assert_refused(file: &[u8], identities: &Identities, content: &[u8], before: usize, what: &str) {
    let error = at_offsets(file, identities).expect_err(what);
    assert!(error.is_of_file() || matches!(error, Error::Unsupported { .. }), "{what}: {error:?}");
    for workers in [0, 2] {
        let (found, error) = streamed(file, identities, workers);
        assert!(error.is_some(), "{what}: nothing was found");
        assert!(found.len() <= before && found == content[..found.len()], "{what}: {} bytes", found.len());
    }
}

#[test]
fn rejects_every_flipped_bit_of_a_small_file() {
    let pair = pair();
    let content = content(300);
    let identities = pair.identities();
    let file = sealed(&pair.recipients(), &content, SMALL);
    for at in 0..file.len() {
        for bit in 0..8 {
            let mut changed = file.clone();
            changed[at] ^= 1 << bit;
            assert_refused(&changed, &identities, &content, 0, &format!("bit {bit} of byte {at}"));
        }
    }
}

/// A file as its head and its chunks.
struct Parts {
    head: Vec<u8>,
    chunks: Vec<Vec<u8>>,
}

impl Parts {
    fn of(file: &[u8]) -> Parts {
        let (head, body) = file.split_at(head_of(file).length() as usize);
        Parts { head: head.to_vec(), chunks: body.chunks(chunk(SMALL).stride()).map(<[u8]>::to_vec).collect() }
    }

    fn file(&self) -> Vec<u8> {
        [self.head.clone(), self.chunks.concat()].concat()
    }
}

/// A file of six chunks, five of them full.
fn six(recipients: &Recipients, identities: &Identities) -> (Vec<u8>, Vec<u8>) {
    let content = content(5 * SIZE + 100);
    let file = sealed(recipients, &content, SMALL);
    assert!(at_offsets(&file, identities).unwrap() == content && Parts::of(&file).chunks.len() == 6);
    (content, file)
}

#[test]
fn rejects_reordered_and_missing_chunks() {
    let pair = pair();
    let identities = pair.identities();
    let (content, file) = six(&pair.recipients(), &identities);
    for one in 0..6 {
        for two in one + 1..6 {
            let mut parts = Parts::of(&file);
            parts.chunks.swap(one, two);
            assert_refused(&parts.file(), &identities, &content, one * SIZE, &format!("{one} and {two} swapped"));
        }
        let mut parts = Parts::of(&file);
        parts.chunks.remove(one);
        assert_refused(&parts.file(), &identities, &content, one * SIZE, &format!("{one} dropped"));
        for place in 0..=6 {
            let mut parts = Parts::of(&file);
            parts.chunks.insert(place, parts.chunks[one].clone());
            // The chunk before its own copy is in its place.
            let before = if place == one || place == one + 1 { one + 1 } else { place };
            let what = format!("{one} repeated as {place}");
            assert_refused(&parts.file(), &identities, &content, (before * SIZE).min(content.len()), &what);
        }
    }
}

#[test]
fn rejects_cut_and_extended_files() {
    let pair = pair();
    let identities = pair.identities();
    let (content, file) = six(&pair.recipients(), &identities);
    let start = head_of(&file).length() as usize;
    for length in 0..file.len() {
        // The complete head, and the edges of chunks.
        let within = length.saturating_sub(start) % chunk(SMALL).stride();
        if length > start && (30..chunk(SMALL).stride() - 30).contains(&within) {
            continue;
        }
        let before = length.saturating_sub(start) / chunk(SMALL).stride() * SIZE;
        assert_refused(&file[..length], &identities, &content, before, &format!("cut off at {length}"));
    }
    for extra in [1, 3, 4, 19, 20, 21, 100, 4115, 4116, 4117, 10_000] {
        let extended = [file.clone(), vec![0; extra]].concat();
        assert_refused(&extended, &identities, &content, content.len(), &format!("{extra} bytes more"));
    }
    let full = sealed(&pair.recipients(), &content[..2 * SIZE], SMALL);
    let cut = &full[..full.len() - chunk(SMALL).stride()];
    assert_refused(cut, &identities, &content, SIZE, "the last chunk, a whole one, dropped");
}

#[test]
fn rejects_the_head_of_another_file() {
    let pair = pair();
    let identities = pair.identities();
    let (content, file) = six(&pair.recipients(), &identities);
    let other = sealed(&pair.recipients(), &content, SMALL);
    let mixed = Parts { head: Parts::of(&other).head, ..Parts::of(&file) };
    assert_refused(&mixed.file(), &identities, &content, 0, "another head");
    let mut parts = Parts::of(&file);
    parts.chunks[3] = Parts::of(&other).chunks[3].clone();
    assert_refused(&parts.file(), &identities, &content, 3 * SIZE, "a chunk of another file");
    // The wrapped key of one file in the head of another, which is a valid head by its sums.
    let wraps = |file: &[u8]| head_of(file).wraps().map(|(_, wrap)| wrap.to_vec()).collect::<Vec<_>>();
    let wraps = [wraps(&file), wraps(&other)].concat();
    let mut head = crate::format::Head::bound(chunk(SMALL), false, &wraps).unwrap();
    head.extend_from_slice(&head_of(&file).key_check);
    let forged = Parts { head, ..Parts::of(&file) };
    assert_refused(&forged.file(), &identities, &content, 0, "a wrap more");
    let error = at_offsets(&forged.file(), &identities).unwrap_err();
    assert!(matches!(error, Error::Corrupt { part: Part::Head, .. }), "{error}");
}

#[test]
fn no_content_follows_an_error() {
    use std::io::Read;
    let pair = pair();
    let (content, mut file) = six(&pair.recipients(), &pair.identities());
    let at = head_of(&file).length() as usize + chunk(SMALL).stride() + 50;
    file[at] ^= 1;
    let mut rest = &file[..];
    let head = crate::SealedHead::read(&mut rest).unwrap().open(&pair.identities(), None).unwrap();
    let mut stream = head.stream(rest, &packline_runtime::Resources::new(2), Some(*b"or other")).unwrap();
    let mut found = Vec::new();
    assert!(stream.read_to_end(&mut found).unwrap_err().to_string().contains("encrypted chunk 1, at byte"));
    assert!(found == content[..SIZE]);
    for _ in 0..3 {
        stream.read(&mut [0; 100]).unwrap_err();
    }
}
