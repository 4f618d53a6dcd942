//! The output is the same with any resources, and reads back.

use std::sync::Arc;

use packline_cache::{BlockCache, Lookup};
use packline_codec::Coding;
use packline_pln::{CodecId, Error, Reader, RecordSize, Source, Unobserved, WriteOptions, compress, compress_with};
use packline_runtime::{WorkFault, hex};
use packline_testkit::Random;
use packline_testkit::tools::need;

use crate::support::*;

/// Writes and reads with all resources, from a file and from a pipe.
fn round(content: &[u8], options: &WriteOptions, what: &str) -> Vec<u8> {
    let (file, written) = written_by(content, options, &resource_sets()[0]);
    assert_eq!(written.blake3, *blake3::hash(content).as_bytes(), "{what}");
    for resources in resource_sets() {
        assert!(written_by(content, options, &resources).0 == file, "{what}: {resources:?}");
        let mut piped = Vec::new();
        compress(Source::Stream(&mut Drip(content, 1)), &mut piped, options, &resources, &mut Unobserved).unwrap();
        assert!(piped == file, "{what}: from a pipe: {resources:?}");
        for (out, read) in [read(&file, &resources), read_piped(&file, &resources)] {
            let read = read.unwrap_or_else(|error| panic!("{what}: {resources:?}: {error}"));
            assert!(out == content, "{what}: {resources:?}");
            assert_eq!((read.bytes, read.records), (content.len() as u64, written.records), "{what}");
            assert_eq!(read.blake3, Some(written.blake3), "{what}");
        }
    }
    for piped in [false, true] {
        let (found, verified) = verified(&file, piped);
        assert!(found.is_empty(), "{what}: {found:?}");
        assert_eq!((verified.bytes, verified.blake3), (content.len() as u64, Some(written.blake3)), "{what}");
        assert_eq!(verified.physical, file.len() as u64, "{what}");
    }
    file
}

#[test]
fn every_codec_with_all_resources() {
    let content = mixed(150_000, 1);
    for coding in CODINGS {
        round(&content, &options(&[coding], 16 << 10), coding);
    }
}

/// With several codings, a record has several entries in the cache, and `none` has no entry.
#[test]
fn a_cache_changes_no_byte() {
    let content = mixed(150_000, 4);
    for codings in CODINGS.map(|coding| vec![coding]).into_iter().chain([vec!["slack+lz4", "slack+zstd", "gzip"]]) {
        let options = options(&codings, 16 << 10);
        let directory = tempfile::tempdir().unwrap();
        let expected = written_by(&content, &options, &resources(0)).0;
        let mut all = None;
        for resources in resource_sets() {
            let cache = Arc::new(BlockCache::open(directory.path(), 1 << 30, 0).unwrap());
            let lookup = Lookup { known: Vec::new(), cache: Some(cache.clone()) };
            let mut out = Vec::new();
            let source = Source::At(Arc::new(content.clone()));
            compress_with(&lookup, source, &mut out, &options, &resources, &mut Unobserved).unwrap();
            assert!(out == expected, "{codings:?}: {resources:?}");
            let counts = cache.finish();
            let missed = if all.is_none() { counts.missed } else { 0 };
            let all = *all.get_or_insert(counts.missed);
            assert_eq!((counts.found + counts.missed, counts.missed), (all, missed), "{codings:?}: {resources:?}");
            assert!(all >= 7 || ["none", "slack"].contains(&codings[0]), "{codings:?}: {all}");
        }
    }
}

#[test]
fn every_length() {
    for length in [0, 1, 2, 4095, 4096, 4097, 8192, 12_287, 40_960] {
        round(&mixed(length, 2), &options(&["slack+lz4"], 4096), &format!("{length} bytes"));
    }
}

#[test]
fn every_record_size() {
    let content = mixed(300_000, 3);
    for log in 12..=24 {
        let (file, written) = written_by(&content, &options(&["zstd:level=1"], 1 << log), &resources(2));
        assert_eq!(written.records, 300_000u64.div_ceil(1 << log));
        assert!(read(&file, &resources(2)).0 == content && read_piped(&file, &resources(0)).0 == content, "{log}");
    }
}

/// More than two groups of records, so that tables, the index and the tree have several entries.
#[test]
fn several_groups() {
    let content = mixed(4096 * 2100 + 5, 4);
    let file = file(&content, &["slack+lz4"], 4096);
    for resources in [resources(0), resources(2)] {
        assert!(read(&file, &resources).0 == content);
        let (out, read) = read_piped(&file, &resources);
        assert!(out == content);
        assert_eq!(read.unwrap().blake3, Some(*blake3::hash(&content).as_bytes()));
    }
    let reader = Reader::open(Arc::new(file)).unwrap();
    assert_eq!(reader.info().unwrap().groups, 3);
    for exact in [1024 * 4096, 2048 * 4096] {
        let content = &content[..exact];
        let file = crate::support::file(content, &["zstd:level=1"], 4096);
        assert!(read_piped(&file, &resources(2)).0 == content && read(&file, &resources(2)).0 == content);
    }
}

#[test]
fn stores_records_that_do_not_get_smaller() {
    let noise = Random::new(5).noise(40_000);
    for coding in CODINGS {
        let (file, written) = written_by(&noise, &options(&[coding], 4096), &resources(1));
        let coded = written.records - written.stored_records;
        // An entropy coder may save a byte of noise now and then.
        assert!(coded <= 1 && file.len() <= noise.len() + 32 + 10 * 24 + 24 + 10 * 40 + 24 + 40 + 72, "{coding}");
    }
}

#[test]
fn keeps_the_shortest_form_and_the_first_of_equals() {
    let content = [Random::new(6).prose(8192), vec![0; 4096], Random::new(7).noise(4096)].concat();
    let kinds = |codings: &[&str]| {
        let info = Reader::open(Arc::new(file(&content, codings, 4096))).unwrap().info().unwrap();
        info.kinds.iter().map(|kind| (kind.codec, kind.slack, kind.records)).collect::<Vec<_>>()
    };
    assert_eq!(
        kinds(&["lz4", "slack+zstd:level=3"]),
        [(CodecId::None, false, 1), (CodecId::None, true, 1), (CodecId::Zstd, false, 2)]
    );
    // The codings are the same, so the order decides only between equals.
    let both = [file(&content, &["lz4", "zstd:level=3"], 4096), file(&content, &["zstd:level=3", "lz4"], 4096)];
    assert!(both[0] == both[1]);
    assert_eq!(kinds(&["slack", "slack+lz4"]).len(), 3);
    let auto = WriteOptions { record_size: RecordSize::MIN, codings: WriteOptions::auto().unwrap() };
    round(&mixed(60_000, 8), &auto, "auto");
    assert!(WriteOptions::usual().is_ok());
}

#[test]
fn lists_kinds_and_sizes() {
    let content = [vec![0; 4096], Random::new(8).noise(4096), vec![b'a'; 100]].concat();
    let file = file(&content, &["slack+gzip"], 4096);
    let info = Reader::open(Arc::new(file.clone())).unwrap().info().unwrap();
    assert_eq!((info.logical, info.physical, info.records), (8292, file.len() as u64, 3));
    let sizes: u64 = info.kinds.iter().map(|kind| kind.stored).sum();
    assert_eq!(sizes + 32 + 3 * 24 + 24 + 3 * 40 + 24 + 40 + 72, file.len() as u64);
    assert_eq!(info.kinds.iter().map(|kind| kind.logical).sum::<u64>(), 8292);
    assert_eq!(info.blake3, *blake3::hash(&content).as_bytes());
}

#[test]
fn zeros_cost_little() {
    let size = 256u64 << 20;
    let sparse = tempfile::tempfile().unwrap();
    sparse.set_len(size).unwrap();
    let mut out = Vec::new();
    let input = Arc::new(packline_pln::FileInput::new(sparse).unwrap());
    let options = options(&["slack"], 1 << 20);
    let written = compress(Source::At(input), &mut out, &options, &resources(2), &mut Unobserved).unwrap();
    assert_eq!((written.logical, written.records), (size, 256));
    assert!(out.len() < 256 * 64 + 300, "{}", out.len());
    let (found, verified) = verified(&out, false);
    assert_eq!((found.len(), verified.bytes), (0, size));
}

#[test]
fn rejects_invalid_options() {
    for size in [0, 1, 4095, 5000, 1 << 11, 1 << 25, u64::MAX] {
        assert!(matches!(RecordSize::new(size), Err(Error::Unsupported { .. })), "{size}");
    }
    let wrong = WriteOptions::with(Coding::parse("zstd:level=3").unwrap());
    let little = resources(2).memory_limit(1 << 20);
    let outcome =
        compress(Source::Stream(&mut &b"x"[..]), &mut Vec::new(), &wrong, &little, &mut Unobserved).unwrap_err();
    assert!(outcome.to_string().contains("or more is needed"), "{outcome}");
}

/// A sink that fails after this many bytes.
struct Narrow(usize);

impl packline_pln::Sink for Narrow {
    fn append(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.0 = self.0.checked_sub(bytes.len()).ok_or(std::io::ErrorKind::StorageFull)?;
        Ok(())
    }
}

#[test]
fn reports_failures_of_the_sink() {
    let content = mixed(100_000, 9);
    for resources in resource_sets() {
        for limit in [0, 40, 5000, 15_000] {
            let options = options(&["lz4"], 4096);
            let input = Arc::new(content.clone());
            let outcome =
                compress(Source::At(input), &mut Narrow(limit), &options, &resources, &mut Unobserved).unwrap_err();
            assert!(matches!(outcome, Error::Output(_)), "{outcome}");
            let file = file(&content, &["lz4"], 4096);
            let source = Source::At(Arc::new(file));
            let span = packline_pln::Span::ALL;
            let read = packline_pln::decompress(source, span, &mut Narrow(limit), &resources, &mut Unobserved);
            assert!(matches!(read, Err(Error::Output(_))));
        }
        resources.cancel.cancel();
        let options = options(&["lz4"], 4096);
        let source = Source::Stream(&mut &content[..]);
        let outcome = compress(source, &mut Vec::new(), &options, &resources, &mut Unobserved).unwrap_err();
        assert!(matches!(outcome, Error::Work(WorkFault::Cancelled)), "{outcome}");
    }
}

/// A source that returns some bytes and then fails.
struct Broken(usize);

impl std::io::Read for Broken {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        if self.0 == 0 {
            return Err(std::io::ErrorKind::ConnectionReset.into());
        }
        let bytes = into.len().min(self.0);
        self.0 -= bytes;
        into[..bytes].fill(b'x');
        Ok(bytes)
    }
}

#[test]
fn reports_failures_of_the_source() {
    let options = options(&["lz4"], 4096);
    let mut out = Vec::new();
    let outcome = compress(Source::Stream(&mut Broken(9000)), &mut out, &options, &resources(2), &mut Unobserved);
    assert!(matches!(outcome, Err(Error::Input(_))));
    // The records before the failure were written.
    assert!(out.len() > 32 + 2 * 24);
}

/// A file that is longer than its size.
struct Growing(Vec<u8>);

impl packline_pln::Input for Growing {
    fn size(&self) -> u64 {
        self.0.len() as u64 - 1
    }

    fn read_at(&self, at: u64, into: &mut [u8]) -> std::io::Result<()> {
        self.0.read_at(at, into)
    }
}

#[test]
fn stores_a_growing_file_up_to_its_size_at_the_start() {
    let options = options(&["lz4"], 4096);
    let content = mixed(5000, 11);
    let (expected, _) = written_by(&content[..4999], &options, &resources(2));
    let mut out = Vec::new();
    compress(Source::At(Arc::new(Growing(content))), &mut out, &options, &resources(2), &mut Unobserved).unwrap();
    assert!(out == expected);
}

#[test]
fn hash_equals_that_of_b3sum() {
    if !need(&["b3sum"]) {
        return;
    }
    let content = mixed(100_000, 10);
    let place = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(place.path(), &content).unwrap();
    let outcome = std::process::Command::new("b3sum").arg("--no-names").arg(place.path()).output().unwrap();
    let (_, written) = written_by(&content, &options(&["lz4"], 4096), &resources(2));
    assert_eq!(String::from_utf8_lossy(&outcome.stdout).trim(), hex(&written.blake3));
}
