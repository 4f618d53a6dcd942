//! Tail ends in fragment blocks that are missing, too short, too long, or another file's.

use super::Expect::{Contents, Rules, Sound, Tree};
use super::Specimen;
use super::bytes::noise;
use super::draft::{Draft, FileFields, STORED_BLOCK};
use super::sound::with_odd;

/// A file `odd` of `size` bytes, its tail end in this fragment; there is one fragment block of 1,000 bytes.
fn tail(size: u64, index: u32, offset: u32) -> Vec<u8> {
    with_odd(|draft| {
        draft.stored_fragment(&noise(1000));
        let words = vec![4096 | STORED_BLOCK; (size / 4096) as usize];
        let start = draft.store(&noise(words.len() * 4096));
        draft.file_with(&FileFields::new(start, size, words).tail(index, offset))
    })
}

/// A file of 100 bytes in a fragment block made by `make`.
fn fragment(make: fn(&mut Draft) -> u32) -> Vec<u8> {
    with_odd(|draft| {
        let index = make(draft);
        draft.file_with(&FileFields::new(96, 100, Vec::new()).tail(index, 0))
    })
}

pub(super) fn specimens() -> Vec<Specimen> {
    [places(), blocks()].concat()
}

fn places() -> Vec<Specimen> {
    let new = Specimen::new;
    vec![
        new("bad-tail-index-1", Tree, "the fragment block after the last", || tail(100, 1, 0)),
        new("bad-tail-index-2", Tree, "a fragment block two after the last", || tail(100, 2, 0)),
        new("bad-tail-index-512", Tree, "a fragment block in a table block that is not there", || tail(100, 512, 0)),
        new("bad-tail-index-4g", Tree, "fragment block 2^32-2", || tail(100, 0xffff_fffe, 0)),
        new("bad-tail-beyond", Contents, "a tail end that reaches beyond its fragment block", || tail(100, 0, 901)),
        new("bad-tail-offset", Tree, "a tail end that begins beyond its fragment block", || tail(100, 0, 5000)),
        new("bad-tail-offset-4g", Tree, "a tail end whose end wraps at 2^32", || tail(100, 0, 0xffff_ffff)),
        new("bad-tail-of-nothing", Rules, "a file of whole blocks that has a tail end too", || tail(4096, 0, 0)),
        new("bad-tail-of-nothing-beyond", Tree, "an empty file with a tail end in fragment block 7", || tail(0, 7, 9)),
        new("odd-tails-overlapping", Sound, "two tail ends that share bytes", || {
            with_odd(|draft| {
                let index = draft.stored_fragment(&noise(1000));
                let one = draft.file_with(&FileFields::new(96, 600, Vec::new()).tail(index, 0));
                let two = draft.file_with(&FileFields::new(96, 600, Vec::new()).tail(index, 400));
                draft.directory(&[(b"one", one), (b"two", two)])
            })
        }),
    ]
}

fn blocks() -> Vec<Specimen> {
    let new = Specimen::new;
    vec![
        new("bad-fragment-long", Contents, "a stored fragment block longer than the block size", || {
            fragment(|draft| draft.stored_fragment(&noise(5000)))
        }),
        new("bad-fragment-short", Contents, "a stored fragment block of 50 bytes for a tail end of 100", || {
            fragment(|draft| draft.stored_fragment(&noise(50)))
        }),
        new("bad-fragment-garbage", Contents, "a compressed fragment block that no decoder takes", || {
            fragment(|draft| draft.fragment(&noise(500), 500))
        }),
        new("bad-fragment-word-0", Contents, "a fragment block of 0 bytes", || {
            fragment(|draft| draft.fragment(&[], 0))
        }),
        new("bad-fragment-word-ones", Contents, "a fragment block whose size word is ones", || {
            fragment(|draft| draft.fragment(&noise(100), u32::MAX))
        }),
        new("bad-fragment-beyond", Contents, "a fragment block beyond the image", || {
            fragment(|draft| {
                draft.fragments.push((1 << 40, 100 | STORED_BLOCK));
                0
            })
        }),
        new("bad-fragment-start-all-ones", Contents, "a fragment block at byte 2^64-1", || {
            fragment(|draft| {
                draft.fragments.push((u64::MAX, 100 | STORED_BLOCK));
                0
            })
        }),
        new("bad-fragment-in-superblock", Rules, "a fragment block in the superblock", || {
            fragment(|draft| {
                draft.fragments.push((0, 100 | STORED_BLOCK));
                0
            })
        }),
        new("bad-fragment-unused", Rules, "a fragment block beyond the image that no file asks for", || {
            fragment(|draft| {
                let index = draft.stored_fragment(&noise(100));
                draft.fragments.push((1 << 40, 100 | STORED_BLOCK));
                index
            })
        }),
    ]
}
