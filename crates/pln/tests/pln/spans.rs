//! Spans of the content.

use packline_pln::{Error, Span};
use packline_testkit::Random;

use crate::support::*;

fn span(start: u64, length: u64) -> Span {
    Span { start, length: Some(length) }
}

#[test]
fn reads_any_span() {
    let content = mixed(4096 * 1030 + 77, 1);
    let size = content.len() as u64;
    let file = file(&content, &["slack+lz4"], 4096);
    let mut random = Random::new(2);
    let mut spans: Vec<Span> = [0, 1, 4095, 4096, 4097, 4096 * 1024, size - 1, size]
        .into_iter()
        .flat_map(|start| [0, 1, 4096, size - start].map(|length| span(start, length.min(size - start))))
        .collect();
    spans.extend((0..20).map(|_| {
        let start = random.below(size);
        span(start, random.below((size - start).min(50_000)))
    }));
    spans.push(Span { start: 5000, length: None });
    for span in spans {
        let end = span.length.map_or(size, |length| span.start + length);
        let expected = &content[span.start as usize..end as usize];
        for (out, read) in [read_span(&file, span, &resources(2)), read_span_piped(&file, span, &resources(2))] {
            let read = read.unwrap_or_else(|error| panic!("{span:?}: {error}"));
            assert!(out == expected, "{span:?}");
            assert_eq!(read.bytes, expected.len() as u64);
            let records = if expected.is_empty() { 0 } else { end.div_ceil(4096) - span.start / 4096 };
            assert_eq!(read.records, records, "{span:?}");
        }
    }
}

#[test]
fn rejects_spans_outside_of_the_content() {
    let file = file(&mixed(10_000, 3), &["lz4"], 4096);
    for wrong in [
        span(10_001, 0),
        span(9999, 2),
        span(0, 10_001),
        span(u64::MAX, u64::MAX),
        Span { start: 20_000, length: None },
    ] {
        for (_, read) in [read_span(&file, wrong, &resources(2)), read_span_piped(&file, wrong, &resources(0))] {
            assert!(matches!(read, Err(Error::Range { size: 10_000, .. })), "{wrong:?}: {read:?}");
        }
    }
}

#[test]
fn damage_elsewhere_does_not_matter() {
    let content = mixed(100_000, 4);
    let mut file = file(&content, &["lz4"], 4096);
    let first = span(0, 5000);
    let last = span(90_000, 10_000);
    let middle = file.len() / 2;
    file[middle] ^= 1;
    for piped in [false, true] {
        let read = if piped { read_span_piped } else { read_span };
        assert!(read(&file, first, &resources(2)).0 == content[..5000]);
        assert!(read(&file, last, &resources(2)).0 == content[90_000..]);
        assert!(read(&file, Span::ALL, &resources(2)).1.is_err());
    }
    // Damage of the index does not matter either.
    let end = file.len() - 100;
    file[end] ^= 1;
    assert!(read_span(&file, first, &resources(2)).0 == content[..5000]);
}

/// A sink that skips zeros and counts them.
#[derive(Default)]
struct Holes {
    bytes: Vec<u8>,
    skipped: u64,
}

impl packline_pln::Sink for Holes {
    fn append(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    fn skip_zeros(&mut self, count: u64) -> std::io::Result<bool> {
        self.skipped += count;
        self.bytes.resize(self.bytes.len() + count as usize, 0);
        Ok(true)
    }
}

#[test]
fn skips_zeros_that_are_not_stored() {
    let content = [vec![7; 70_000], vec![0; 300_000], vec![8; 100]].concat();
    let file = std::sync::Arc::new(file(&content, &["slack+lz4"], 65_536));
    // Records 2 to 4 have only zeros, and so does record 1 from byte 70,000.
    for (start, length, skipped) in
        [(0, 370_100, 61_072 + 3 * 65_536), (72_000, 1000, 1000), (0, 90_000, 0), (200_000, 1, 1), (0, 110_000, 40_000)]
    {
        for resources in resource_sets() {
            let mut holes = Holes::default();
            let source = packline_pln::Source::At(file.clone());
            let read = packline_pln::decompress(
                source,
                span(start, length),
                &mut holes,
                &resources,
                &mut packline_pln::Unobserved,
            );
            assert_eq!(read.unwrap().bytes, length);
            assert!(holes.bytes == content[start as usize..(start + length) as usize], "{start} {length}");
            assert_eq!(holes.skipped, skipped, "{start} {length}");
        }
    }
}
