//! Faults of records: headers, stored data, content.
//!
//! Long because each specimen is an entry of one table.

use super::{Specimen, with};

pub(super) fn all() -> Vec<Specimen> {
    let heads = vec![
        Specimen::new("bad-codec", "codec 10", "a codec that there is not", || {
            with(|draft| draft.records[1].first[1] = 10)
        }),
        Specimen::new("bad-codec-255", "codec 255", "a codec far from all there are", || {
            with(|draft| draft.records[1].first[1] = 255)
        }),
        Specimen::new("bad-flags", "flags 0x02", "a flag that there is not", || {
            with(|draft| draft.records[1].first[2] = 2)
        }),
        Specimen::new("bad-stored-long", "4097 bytes stored", "more is stored than there is content", || {
            with(|draft| draft.records[1].payload = vec![63; 4097])
        }),
        Specimen::new("bad-stored-huge", "4294967295 bytes stored", "a stored size of 4 GiB", || {
            with(|draft| draft.records[1].stored = Some(u32::MAX))
        }),
        Specimen::new("bad-stored-none", "0 bytes stored", "nothing is stored, and the record is not slack", || {
            with(|draft| draft.records[1].payload.clear())
        }),
        Specimen::new("bad-plain-short", "4095 bytes stored", "stored as it is, but a byte is missing", || {
            with(|draft| draft.records[0].payload.truncate(4095))
        }),
    ];
    let contents = vec![
        Specimen::new("bad-record-kind", "kind 83", "a piece of a kind that there is not", || {
            with(|draft| draft.records[1].first[0] = 83)
        }),
        Specimen::new("bad-record-reserved", "reserved", "a reserved byte of a head", || {
            with(|draft| draft.records[1].first[3] = 1)
        }),
        Specimen::new("bad-record-number", "check of its head", "a record of another place", || {
            with(|draft| draft.records[1].number = 2)
        }),
        Specimen::new("bad-logical-none", "0 bytes of content", "a record without content", || {
            with(|draft| draft.records[1].logical = 0)
        }),
        Specimen::new("bad-logical-more", "4097 bytes of content", "a record larger than the record size", || {
            with(|draft| draft.records[1].logical = 4097)
        }),
        Specimen::new("bad-logical-huge", "4294967295 bytes of content", "a record of 4 GiB", || {
            with(|draft| draft.records[1].logical = u32::MAX)
        }),
        Specimen::new("bad-bomb", "holds more than 4096 bytes", "zeros without end in a few bytes", || {
            with(|draft| draft.records[1].payload = vec![255; 4096])
        }),
        Specimen::new("bad-too-little", "it holds 192 bytes", "content that is too short, and no slack", || {
            with(|draft| draft.records[1].payload = vec![255])
        }),
        Specimen::new("bad-payload", "zle: bad compressed data", "data that is cut off", || {
            with(|draft| draft.records[1].payload.push(5))
        }),
        Specimen::new("bad-zlib", "gzip: bad compressed data", "no zlib stream", || {
            with(|draft| draft.records[1].first[1] = 1)
        }),
        Specimen::new("bad-xz", "xz: bad compressed data", "no .xz stream", || {
            with(|draft| draft.records[1].first[1] = 4)
        }),
        Specimen::new("bad-lzma", "lzma", "no LZMA", || with(|draft| draft.records[1].first[1] = 2)),
        Specimen::new("bad-lzma-dictionary", "lzma", "a dictionary of 4 GiB for a record of 4 KiB", || {
            with(|draft| {
                draft.records[1].first[1] = 2;
                draft.records[1].payload = [&[0x5D][..], &[0xFF; 12], &[0; 8]].concat();
            })
        }),
        Specimen::new("bad-lzo", "lzo: bad compressed data", "no LZO", || with(|draft| draft.records[1].first[1] = 3)),
        Specimen::new("bad-lz4", "lz4: bad compressed data", "no LZ4", || with(|draft| draft.records[1].first[1] = 5)),
        Specimen::new("bad-zstd", "zstd: bad compressed data", "no Zstandard frame", || {
            with(|draft| draft.records[1].first[1] = 6)
        }),
        Specimen::new(
            "odd-zstd-window",
            "",
            "a window of 128 MiB for a record of 4 KiB, which a reader may decode",
            || {
                with(|draft| {
                    draft.records[1].first[1] = 6;
                    draft.records[1].payload = vec![0x28, 0xB5, 0x2F, 0xFD, 0, 0x88, 3, 0x80, 0, 0];
                })
            },
        ),
        Specimen::new("bad-bzip2", "bzip2: bad compressed data", "no .bz2 stream", || {
            with(|draft| draft.records[1].first[1] = 7)
        }),
        Specimen::new("bad-huff0", "huff0: bad compressed data", "no Huff0", || {
            with(|draft| draft.records[1].first[1] = 8)
        }),
    ];
    [heads, contents.into_iter().map(Specimen::in_data).collect()].concat()
}
