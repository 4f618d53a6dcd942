//! Valid files.

use super::draft::{Draft, RECORD, Record};
use super::{Specimen, with};

const WORDS: &[u8] = b"some words, ";

/// The content of sound files, or of a prefix of it.
pub fn content() -> Vec<u8> {
    [words(RECORD), vec![0; RECORD], [words(500), vec![0; RECORD - 500]].concat(), words(77)].concat()
}

fn words(length: usize) -> Vec<u8> {
    WORDS.iter().copied().cycle().take(length).collect()
}

/// Records of all kinds: stored, ZLE, slack, short.
pub(super) fn draft() -> Draft {
    let content = content();
    let record = |number: usize, codec, flags, payload: &[u8]| {
        let end = content.len().min((number + 1) * RECORD);
        Record::new(number as u64, codec, flags, payload, &content[number * RECORD..end])
    };
    let zeros = [vec![255; RECORD / 192], vec![63 + (RECORD % 192) as u8]].concat();
    Draft::new(vec![
        record(0, 0, 0, &content[..RECORD]),
        record(1, 9, 0, &zeros),
        record(2, 0, 1, &words(500)),
        record(3, 0, 0, &words(77)),
    ])
}

/// A sound file of four records.
pub fn sound() -> Vec<u8> {
    draft().bytes()
}

pub(super) fn all() -> Vec<Specimen> {
    vec![
        Specimen::new("odd-sound", "", "nothing", sound),
        Specimen::new("odd-ignored-flags", "", "flags that may be ignored", || {
            with(|draft| draft.head = |head| head[16..20].fill(0xFF))
        }),
        Specimen::new("odd-no-bytes", "", "no content at all", || Draft::new(vec![]).bytes()),
        Specimen::new("odd-one-record", "", "one record, of which no tree can be made", || {
            with(|draft| draft.records.truncate(1))
        }),
        Specimen::new("odd-two-records", "", "two records that differ only in their place", || {
            with(|draft| draft.records.truncate(2))
        }),
        Specimen::new("odd-much-slack", "", "a record of zeros of which some are stored", || {
            with(|draft| {
                draft.records[1].first[1..3].copy_from_slice(&[0, 1]);
                draft.records[1].payload = vec![0; 4000];
            })
        }),
        Specimen::new("odd-all-slack", "", "slack where nothing is left out", || {
            with(|draft| draft.records[0].first[2] = 1)
        }),
        Specimen::new("odd-no-payload", "", "a record of zeros of which none is stored", || {
            with(|draft| {
                draft.records[1].first[1..3].copy_from_slice(&[0, 1]);
                draft.records[1].payload.clear();
            })
        }),
    ]
}
