//! Faults of headers, tables, indexes and trailers.

use super::draft::{Draft, sound};
use super::{Specimen, with};

pub(super) fn all() -> Vec<Specimen> {
    [heads(), tables(), indexes(), trailers()].concat()
}

fn heads() -> Vec<Specimen> {
    vec![
        Specimen::new("bad-empty", "the head", "no bytes at all", Vec::new),
        Specimen::new("bad-magic", "begins with", "another magic", || with(|draft| draft.head = |head| head[0] = 0x8A)),
        Specimen::new("bad-head-check", "its check", "a wrong check", || {
            with(|draft| draft.head = |head| head.extend_from_slice(&[0; 8]))
        }),
        Specimen::new("bad-version", "version 2", "a version to come", || {
            with(|draft| draft.head = |head| head[8] = 2)
        }),
        Specimen::new("bad-flags-that-must", "0x80000000", "a flag that must be understood", || {
            with(|draft| draft.head = |head| head[15] = 0x80)
        }),
        Specimen::new("bad-head-reserved", "reserved", "a reserved byte of the head", || {
            with(|draft| draft.head = |head| head[23] = 1)
        }),
        Specimen::new("bad-record-size-small", "2^11", "records too small", || {
            with(|draft| draft.head = |head| head[9] = 11)
        }),
        Specimen::new("bad-record-size-large", "2^25", "records too large", || {
            with(|draft| draft.head = |head| head[9] = 25)
        }),
        Specimen::new("bad-record-size-huge", "2^255", "a shift that no number has", || {
            with(|draft| draft.head = |head| head[9] = 255)
        }),
        Specimen::new("bad-record-size-other", "group 0", "another record size than it has", || {
            with(|draft| draft.head = |head| head[9] = 13)
        }),
        Specimen::new("bad-cut-behind-head", "cut off at byte 32", "nothing but the head", || sound()[..32].to_vec()),
        Specimen::new("bad-behind", "more bytes", "a byte after the trailer", || [sound(), vec![0]].concat()),
        Specimen::new("bad-twice", "more bytes", "two files, one after the other", || [sound(), sound()].concat()),
    ]
}

fn tables() -> Vec<Specimen> {
    vec![
        Specimen::new("bad-table-kind", "kind 117", "a table of another kind", || {
            with(|draft| draft.table.first[0] = 117)
        }),
        Specimen::new("bad-table-number", "the check of its head", "the table of another group", || {
            with(|draft| draft.table.off = 1)
        }),
        Specimen::new("bad-table-codec", "reserved", "a codec of a table", || with(|draft| draft.table.first[1] = 1)),
        Specimen::new("bad-table-count", "3 entries", "one entry less than there are records", || {
            with(|draft| draft.table.counts = Some((3, 120)))
        }),
        Specimen::new("bad-table-huge", "4294967295 entries", "entries without end", || {
            with(|draft| draft.table.counts = Some((u32::MAX, u32::MAX)))
        }),
        Specimen::new("bad-table-uneven", "in 159 bytes", "entries that do not fill it", || {
            with(|draft| draft.table.counts = Some((4, 159)))
        }),
        Specimen::new("bad-entry-size", "table of group 0", "a record with too large a size", || {
            with(|draft| draft.table.entries = |entries| entries[40] += 1)
        }),
        Specimen::new("bad-entry-sizes", "record", "two records, each as long as the other is", || {
            with(|draft| {
                draft.table.entries = |entries| {
                    entries[40] += 1;
                    entries[80] -= 1;
                }
            })
        })
        .in_data(),
        Specimen::new("bad-entry-codec", "codec 99", "a codec that there is not, in the table alone", || {
            with(|draft| draft.table.entries = |entries| entries[44] = 99)
        }),
        Specimen::new("bad-entry-slack", "record 1", "slack that is not so, in the table alone", || {
            with(|draft| draft.table.entries = |entries| entries[45] = 1)
        })
        .in_data(),
        Specimen::new("bad-entry-reserved", "reserved", "a reserved byte of an entry", || {
            with(|draft| draft.table.entries = |entries| entries[46] = 1)
        }),
        Specimen::new("bad-entry-node", "table of group 0", "another hash of a record", || {
            with(|draft| draft.table.entries = |entries| entries[50] ^= 1)
        }),
        Specimen::new("bad-no-table", "expected", "records without a table", || with(|draft| draft.odd_table = true)),
        Specimen::new("bad-table-of-nothing", "expected", "a table without records", || {
            let mut draft = Draft::new(vec![]);
            draft.odd_table = true;
            draft.bytes()
        }),
    ]
}

fn indexes() -> Vec<Specimen> {
    vec![
        Specimen::new("bad-index-kind", "kind 104", "an index of another kind", || {
            with(|draft| draft.index.first[0] = 104)
        }),
        Specimen::new("bad-index-number", "the check of its head", "the index of a longer file", || {
            with(|draft| draft.index.off = 1)
        }),
        Specimen::new("bad-index-flags", "reserved", "flags of an index", || with(|draft| draft.index.first[2] = 1)),
        Specimen::new("bad-index-huge", "4294967295 entries", "groups without end", || {
            with(|draft| draft.index.counts = Some((u32::MAX, u32::MAX)))
        }),
        Specimen::new("bad-index-before", "the index", "a table before the first record", || {
            with(|draft| draft.index.entries = |entries| entries[..8].fill(0))
        }),
        Specimen::new("bad-index-beyond", "the index", "a table after the end of all files", || {
            with(|draft| draft.index.entries = |entries| entries[..8].fill(0xFF))
        }),
        Specimen::new("bad-index-off", "the index", "a table that begins a byte later", || {
            with(|draft| draft.index.entries = |entries| entries[0] += 1)
        }),
        Specimen::new("bad-index-node", "group 0", "another hash of a group", || {
            with(|draft| draft.index.entries = |entries| entries[20] ^= 1)
        }),
    ]
}

fn trailers() -> Vec<Specimen> {
    vec![
        Specimen::new("bad-trailer-magic", "begins with", "another magic", || {
            with(|draft| draft.trailer = |trailer| trailer[1] = b'P')
        }),
        Specimen::new("bad-trailer-check", "its check", "a wrong check", || {
            with(|draft| draft.trailer = |trailer| trailer.extend_from_slice(&[0; 8]))
        }),
        Specimen::new("bad-trailer-index", "the trailer", "an index elsewhere", || {
            with(|draft| draft.trailer = |trailer| trailer[8] ^= 1)
        }),
        Specimen::new("bad-trailer-index-huge", "the trailer", "an index after the end of all files", || {
            with(|draft| draft.trailer = |trailer| trailer[8..16].fill(0xFF))
        }),
        Specimen::new("bad-trailer-records", "5 records", "one record more than there are", || {
            with(|draft| draft.trailer = |trailer| trailer[16] = 5)
        }),
        Specimen::new(
            "bad-trailer-records-huge",
            "the trailer",
            "records without end, and content for all of them",
            || {
                with(|draft| {
                    draft.trailer = |trailer| {
                        trailer[16..24].copy_from_slice(&(1u64 << 36).to_le_bytes());
                        trailer[24..32].copy_from_slice(&(1u64 << 48).to_le_bytes());
                    }
                })
            },
        ),
        Specimen::new("bad-trailer-content-huge", "the trailer", "as much content as a number can say", || {
            with(|draft| draft.trailer = |trailer| trailer[24..32].fill(0xFF))
        }),
        Specimen::new("bad-trailer-content", "content", "a byte more of content than there is", || {
            with(|draft| draft.trailer = |trailer| trailer[24] += 1)
        }),
        Specimen::new("bad-trailer-hash", "the hash of the content", "the hash of something else", || {
            with(|draft| draft.trailer = |trailer| trailer[40] ^= 1)
        }),
        Specimen::new("bad-hash-alone", "the hash of the content", "the same, in a file of one record", || {
            with(|draft| {
                draft.records.truncate(1);
                draft.trailer = |trailer| trailer[40] ^= 1;
            })
        })
        .in_data(),
        Specimen::new("bad-hash-of-nothing", "the hash of the content", "the same, in a file of none", || {
            let mut draft = Draft::new(vec![]);
            draft.trailer = |trailer| trailer[40] ^= 1;
            draft.bytes()
        }),
    ]
}
