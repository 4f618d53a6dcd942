//! Builds .pln files, sound or not: every field can be set freely, and all sums are correct unless changed on purpose.

use super::{Specimen, with};
use blake3::hazmat::{HasherExt, Mode, merge_subtrees_non_root, merge_subtrees_root};

/// Record size of most files here.
pub(super) const RECORD: usize = 4096;
/// Kind bytes of pieces.
pub(super) const RECORD_KIND: u8 = 0x52;
const TABLE_KIND: u8 = 0x74;
const INDEX_KIND: u8 = 0x69;

/// A record with replaceable fields.
#[derive(Clone)]
pub(super) struct Record {
    /// Kind, codec, flags, reserved.
    pub(super) first: [u8; 4],
    pub(super) logical: u32,
    /// Replaces the stored size in its header.
    pub(super) stored: Option<u32>,
    pub(super) payload: Vec<u8>,
    /// The number in its check.
    pub(super) number: u64,
    /// Its content, of which its node is computed.
    pub(super) content: Vec<u8>,
}

impl Record {
    pub(super) fn new(number: u64, codec: u8, flags: u8, payload: &[u8], content: &[u8]) -> Record {
        let payload = payload.to_vec();
        let content = content.to_vec();
        let logical = content.len() as u32;
        Record { first: [RECORD_KIND, codec, flags, 0], logical, stored: None, payload, number, content }
    }

    fn node(&self, place: usize) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new();
        hasher.set_input_offset((place * RECORD) as u64);
        hasher.update(&self.content).finalize_non_root()
    }

    fn entry(&self, place: usize) -> Vec<u8> {
        let mut entry = self.stored.unwrap_or(self.payload.len() as u32).to_le_bytes().to_vec();
        entry.extend_from_slice(&[self.first[1], self.first[2], 0, 0]);
        entry.extend_from_slice(&self.node(place));
        entry
    }

    fn bytes(&self, place: usize) -> Vec<u8> {
        let plain = self.first[1] == 0 && self.first[2] == 0;
        let sum = if plain { self.node(place) } else { *blake3::hash(&self.payload).as_bytes() };
        let stored = self.stored.unwrap_or(self.payload.len() as u32);
        [head(self.first, self.logical, stored, &sum, self.number), self.payload.clone()].concat()
    }
}

fn head(first: [u8; 4], logical: u32, stored: u32, sum: &[u8; 32], number: u64) -> Vec<u8> {
    let mut head = first.to_vec();
    head.extend_from_slice(&logical.to_le_bytes());
    head.extend_from_slice(&stored.to_le_bytes());
    head.extend_from_slice(&sum[..8]);
    let mut hasher = blake3::Hasher::new();
    hasher.update(&number.to_le_bytes()).update(&head);
    head.extend_from_slice(&hasher.finalize().as_bytes()[..4]);
    head
}

/// A change made before the sums are computed.
pub(super) type Edit = fn(&mut Vec<u8>);

/// A table or an index.
#[derive(Clone)]
pub(super) struct Listed {
    /// Changes its entries.
    pub(super) entries: Edit,
    /// The header's first bytes, and its numbers of entries and bytes.
    pub(super) first: [u8; 4],
    pub(super) counts: Option<(u32, u32)>,
    /// Added to the number in its check.
    pub(super) off: u64,
}

impl Listed {
    fn new(kind: u8) -> Listed {
        Listed { entries: |_| {}, first: [kind, 0, 0, 0], counts: None, off: 0 }
    }

    fn bytes(&self, mut entries: Vec<u8>, number: u64) -> Vec<u8> {
        (self.entries)(&mut entries);
        let sum = *blake3::hash(&entries).as_bytes();
        let (count, bytes) = self.counts.unwrap_or((entries.len() as u32 / 40, entries.len() as u32));
        [head(self.first, count, bytes, &sum, number + self.off), entries].concat()
    }
}

/// A file of up to 1024 records, sound unless changed.
#[derive(Clone)]
pub(super) struct Draft {
    /// Changes the header.
    pub(super) head: Edit,
    pub(super) records: Vec<Record>,
    pub(super) table: Listed,
    pub(super) index: Listed,
    /// Changes the trailer.
    pub(super) trailer: Edit,
    /// Inverts the presence of the table.
    pub(super) odd_table: bool,
}

impl Draft {
    pub(super) fn new(records: Vec<Record>) -> Draft {
        let table = Listed::new(TABLE_KIND);
        let index = Listed::new(INDEX_KIND);
        Draft { head: |_| {}, records, table, index, trailer: |_| {}, odd_table: false }
    }

    fn content(&self) -> Vec<u8> {
        self.records.iter().flat_map(|record| record.content.clone()).collect()
    }

    /// The root node of all records, without and with the root flag.
    fn nodes(&self) -> ([u8; 32], [u8; 32]) {
        let nodes: Vec<_> = (0..).zip(&self.records).map(|(place, record)| record.node(place)).collect();
        match nodes.as_slice() {
            [] => ([0; 32], *blake3::hash(b"").as_bytes()),
            [node] => (*node, *blake3::hash(&self.content()).as_bytes()),
            nodes => {
                let half = nodes.len().next_power_of_two() / 2;
                let left = join(&nodes[..half]);
                let right = join(&nodes[half..]);
                let root = merge_subtrees_root(&left, &right, Mode::Hash);
                (merge_subtrees_non_root(&left, &right, Mode::Hash), *root.as_bytes())
            }
        }
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut out = vec![0x8B, b'P', b'L', b'N', 13, 10, 26, 10, 1, 12];
        out.resize(24, 0);
        (self.head)(&mut out);
        checked(&mut out, 24);
        let mut entries = Vec::new();
        for (place, record) in self.records.iter().enumerate() {
            out.extend(record.bytes(place));
            entries.extend(record.entry(place));
        }
        let (node, root) = self.nodes();
        let mut places = Vec::new();
        if self.records.is_empty() == self.odd_table {
            places = [&(out.len() as u64).to_le_bytes()[..], &node].concat();
            out.extend(self.table.bytes(entries, 0));
        }
        let index = out.len() as u64;
        out.extend(self.index.bytes(places, self.records.len() as u64));
        let mut trailer = vec![0x8B, b'p', b'l', b'n', 13, 10, 26, 10];
        for number in [index, self.records.len() as u64, self.content().len() as u64] {
            trailer.extend_from_slice(&number.to_le_bytes());
        }
        trailer.extend_from_slice(&root);
        (self.trailer)(&mut trailer);
        checked(&mut trailer, 64);
        [out, trailer].concat()
    }
}

fn join(nodes: &[[u8; 32]]) -> [u8; 32] {
    match nodes {
        [node] => *node,
        _ => {
            let (left, right) = nodes.split_at(nodes.len().next_power_of_two() / 2);
            merge_subtrees_non_root(&join(left), &join(right), Mode::Hash)
        }
    }
}

/// Appends the check of `length` bytes, unless `bytes` is longer.
fn checked(bytes: &mut Vec<u8>, length: usize) {
    if bytes.len() == length {
        let check = *blake3::hash(bytes).as_bytes();
        bytes.extend_from_slice(&check[..8]);
    }
}

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
