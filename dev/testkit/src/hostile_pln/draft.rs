//! Builds .pln files, sound or not: every field can be set freely, and all sums are correct unless changed on purpose.

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
