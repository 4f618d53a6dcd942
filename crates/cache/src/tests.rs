//! Tests of a complete cache: lookups, rejected entries, and removal.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use packline_codec::{CodecError, Outcome, Spec};
use packline_testkit::Random;

use crate::entry::{Entry, HEADER};
use crate::key::KeyMaker;
use crate::{
    BlockCache, BlockCodec, BlockEncoder, Cluster, ContentDigest, Digests, EncoderForm, Error, KnownBlocks,
    LargestBlock, Lookup, Store, encoder_hash,
};

const BLOCK: usize = 16 << 10;
const NOW: i64 = 1_800_000_000;
const LARGE: u64 = 1 << 30;

/// Each codec, some with parameters that are not the defaults.
const CODECS: [&str; 11] =
    ["gzip", "gzip:level=3", "xz", "xz:x86,arm", "lzma", "zstd", "zstd:level=3", "lz4", "lz4:hc", "lzo", "bzip2"];

fn open(directory: &Path) -> Arc<BlockCache> {
    Arc::new(BlockCache::open(directory, LARGE, NOW).unwrap())
}

/// Blocks that compress well, badly and not at all, and a short block.
fn blocks() -> Vec<Vec<u8>> {
    let text = prose(1, BLOCK);
    let mut half = noise(2, BLOCK);
    half[BLOCK / 2..].fill(7);
    vec![text.clone(), half, noise(3, BLOCK), vec![0; BLOCK], text[..100].to_vec()]
}

fn encoder(cache: &Arc<BlockCache>, spec: &Spec) -> BlockEncoder {
    BlockEncoder::new(&Lookup { known: Vec::new(), cache: Some(cache.clone()) }, spec, BLOCK).unwrap()
}

fn looked_up(encoder: &mut BlockEncoder, block: &[u8]) -> Option<Vec<u8>> {
    let mut to = vec![0; block.len()];
    let outcome = encoder.compress(block, None, &mut to).unwrap();
    bytes_of(outcome, to)
}

fn compressed(spec: &Spec, block: &[u8]) -> Option<Vec<u8>> {
    let mut to = vec![0; block.len()];
    let outcome = spec.encoder(BLOCK).unwrap().compress(block, &mut to).unwrap();
    bytes_of(outcome, to)
}

fn bytes_of(outcome: Outcome, mut to: Vec<u8>) -> Option<Vec<u8>> {
    match outcome {
        Outcome::Smaller(size) => to.truncate(size),
        Outcome::NotSmaller => return None,
    }
    Some(to)
}

/// Compresses all blocks with all codecs through the cache, and compares the results with those of the encoders.
fn check(cache: &Arc<BlockCache>) {
    for spec in CODECS.map(|text| Spec::parse(text).unwrap()) {
        let mut cached = encoder(cache, &spec);
        for block in blocks() {
            assert!(looked_up(&mut cached, &block) == compressed(&spec, &block), "{spec}: {}", block.len());
        }
    }
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    let below = |path: PathBuf| fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
    let directories = below(directory.join("v1")).filter(|path| path.is_dir() && !path.ends_with("new"));
    let mut files: Vec<PathBuf> = directories.flat_map(below).collect();
    files.sort();
    files
}

#[test]
fn found_blocks_equal_compressed_ones() {
    let directory = tempfile::tempdir().unwrap();
    let all = (CODECS.len() * blocks().len()) as u64;
    for (found, added) in [(0, all), (all, 0)] {
        let cache = open(directory.path());
        check(&cache);
        let counts = cache.counts();
        assert_eq!((counts.found, counts.missed, counts.added), (found, all - found, added));
        assert!(counts.error.is_none() && counts.damaged == 0);
    }
    let contents = Store::existing(directory.path(), NOW).unwrap().contents().unwrap();
    assert_eq!(contents.entries, all);
    assert!(fs::read_dir(directory.path().join("v1/new")).unwrap().next().is_none());
}

/// Knows one block.
#[derive(Debug)]
struct One(ContentDigest, Outcome, &'static [u8]);

impl KnownBlocks for One {
    fn find(&self, content: &ContentDigest, dst: &mut [u8], _: &mut Vec<Cluster>) -> Option<Outcome> {
        dst[..self.2.len()].copy_from_slice(self.2);
        (*content == self.0).then_some(self.1)
    }

    fn is_exact(&self) -> bool {
        false
    }
}

#[test]
fn known_blocks_come_first_and_are_not_cached() {
    let directory = tempfile::tempdir().unwrap();
    let cache = open(directory.path());
    let spec = Spec::parse("zstd").unwrap();
    let all = blocks();
    let one = |number: usize, outcome, bytes| -> Arc<dyn KnownBlocks> {
        Arc::new(One(ContentDigest::of(&all[number]), outcome, bytes))
    };
    let known =
        vec![one(0, Outcome::Smaller(3), b"abc"), one(0, Outcome::Smaller(1), b"d"), one(1, Outcome::NotSmaller, b"")];
    for (cache, misses) in [(None, 0), (Some(cache.clone()), 3), (Some(cache.clone()), 3)] {
        let counts = || cache.as_ref().map_or(0, |cache| cache.counts().added);
        let mut encoder =
            BlockEncoder::new(&Lookup { known: known.clone(), cache: cache.clone() }, &spec, BLOCK).unwrap();
        let found: Vec<_> = all.iter().map(|block| looked_up(&mut encoder, block)).collect();
        assert_eq!(found[..2], [Some(b"abc".to_vec()), None]);
        assert!(found[2..] == [2, 3, 4].map(|number| compressed(&spec, &all[number])));
        assert_eq!(counts(), misses);
    }
}

/// The result does not depend on whether the digest was known before.
#[test]
fn a_known_digest_finds_the_same_entry() {
    let directory = tempfile::tempdir().unwrap();
    let spec = Spec::parse("zstd").unwrap();
    let block = prose(1, BLOCK);
    let cache = open(directory.path());
    let mut encoder = encoder(&cache, &spec);
    let digest = ContentDigest::of(&block);
    for content in [None, Some(&digest), None] {
        encoder.compress(&block, content, &mut vec![0; BLOCK]).unwrap();
    }
    assert_eq!((cache.counts().missed, cache.counts().found), (1, 2));
}

/// Joined blocks are found by the digests of their parts, but known blocks are asked for the joined content.
#[test]
fn joined_blocks_are_found_by_their_parts() {
    let directory = tempfile::tempdir().unwrap();
    let spec = Spec::parse("zstd").unwrap();
    let block = prose(1, BLOCK);
    let cache = open(directory.path());
    let parts = ContentDigest::of(b"parts");
    let known: Vec<Arc<dyn KnownBlocks>> = vec![Arc::new(One(ContentDigest::of(&block), Outcome::Smaller(1), b"d"))];
    let joined = |known: &[Arc<dyn KnownBlocks>], content| {
        let lookup = Lookup { known: known.to_vec(), cache: Some(cache.clone()) };
        let mut encoder = BlockEncoder::new(&lookup, &spec, BLOCK).unwrap();
        let mut to = vec![0; BLOCK];
        let outcome = encoder.compress_block(&block, &Digests { content, parts: Some(parts) }, &mut to).unwrap();
        bytes_of(outcome, to)
    };
    assert!(joined(&[], None) == compressed(&spec, &block) && joined(&[], None) == compressed(&spec, &block));
    assert_eq!((cache.counts().missed, cache.counts().found), (1, 1));
    assert_eq!(joined(&known, None), Some(b"d".to_vec()));
    assert_eq!(joined(&known, Some(ContentDigest::of(&block))), Some(b"d".to_vec()));
    // The same parts, but another content.
    let mut to = vec![0; BLOCK];
    let digests = Digests { content: None, parts: Some(parts) };
    let outcome = encoder(&cache, &spec).compress_block(&prose(2, BLOCK), &digests, &mut to).unwrap();
    assert!(bytes_of(outcome, to) == compressed(&spec, &prose(2, BLOCK)) && cache.counts().damaged == 1);
}

/// Cuts blocks into clusters of up to 5000 bytes, stored as they are but for a byte less in a whole block.
struct Cutting;

impl BlockCodec for Cutting {
    fn encode(&mut self, src: &[u8], dst: &mut [u8], clusters: &mut Vec<Cluster>) -> Result<Outcome, CodecError> {
        dst[..src.len() - 1].copy_from_slice(&src[1..]);
        let cluster = |part: &[u8]| Cluster { length: part.len() as u32, size_word: part.len() as u32 };
        clusters.extend(src.chunks(5000).map(cluster));
        Ok(Outcome::Smaller(src.len() - 1))
    }

    fn is_block_of(&mut self, content: &[u8], stored: &[u8], clusters: &[Cluster]) -> bool {
        content[1..] == *stored && clusters.len() == content.len().div_ceil(5000)
    }
}

#[test]
fn clusters_are_found_with_their_block() {
    let directory = tempfile::tempdir().unwrap();
    let block = prose(1, BLOCK);
    let digest = ContentDigest::of(&block);
    let form = EncoderForm { hash: [3; 32], largest: LargestBlock { bytes: BLOCK, clusters: 4 } };
    let packed = |cache: &Arc<BlockCache>| {
        let lookup = Lookup { known: Vec::new(), cache: Some(cache.clone()) };
        let mut encoder = BlockEncoder::of_codec(lookup, &form, Box::new(Cutting));
        let mut to = vec![0; BLOCK];
        let mut clusters = Vec::new();
        let digests = Digests { content: Some(digest), parts: None };
        let outcome = encoder.compress_clusters(&block, &digests, &mut to, &mut clusters).unwrap();
        (bytes_of(outcome, to), clusters.iter().map(|cluster| cluster.length).collect::<Vec<_>>())
    };
    let cache = open(directory.path());
    for (found, damaged) in [(0, 0), (1, 0)] {
        assert_eq!(packed(&cache), (Some(block[1..].to_vec()), vec![5000, 5000, 5000, 1384]));
        assert_eq!((cache.counts().found, cache.counts().damaged), (found, damaged));
    }
    // Entries with valid checksums: other clusters, and lists that are not complete.
    let key = KeyMaker::for_encoder(&form.hash).key(&digest);
    let file = fs::read(&entries(directory.path())[0]).unwrap();
    let list = &file[HEADER..];
    for wrong in [&list[4..], &list[..20], &[3], &[], &[&[3], &list[1..]].concat(), &[0; BLOCK + 36], &[255; 50]] {
        Store::open(directory.path(), NOW).unwrap().write(&key, Entry::Compressed(wrong)).unwrap();
        let cache = open(directory.path());
        assert_eq!(packed(&cache).0, Some(block[1..].to_vec()));
        assert_eq!((cache.counts().found, cache.counts().damaged), (0, 1), "{} bytes", wrong.len());
    }
}

#[test]
fn damage_costs_only_time() {
    let directory = tempfile::tempdir().unwrap();
    check(&open(directory.path()));
    let whole: Vec<(PathBuf, Vec<u8>)> =
        entries(directory.path()).into_iter().map(|path| (path.clone(), fs::read(path).unwrap())).collect();
    for damage in 0..6 {
        for (number, (path, bytes)) in whole.iter().enumerate() {
            let mut bytes = bytes.clone();
            let at = number * 37 % bytes.len();
            let other = &whole[(number + 1) % whole.len()].1;
            match damage {
                0 => bytes[at] ^= 1 << (number % 8),
                1 => bytes.truncate(at),
                2 => bytes.push(0),
                3 => bytes.resize(4 << 20, 1),
                4 => bytes.clone_from(other),
                _ => bytes.fill(0),
            }
            fs::write(path, bytes).unwrap();
        }
        let cache = open(directory.path());
        check(&cache);
        let counts = cache.counts();
        assert!(
            counts.error.is_none() && counts.found == 0 && counts.added == whole.len() as u64,
            "{damage}: {counts:?}"
        );
        for (path, bytes) in &whole {
            assert!(fs::read(path).unwrap() == *bytes, "{damage}");
        }
    }
}

/// An entry with a valid checksum and the block of another content.
#[test]
fn a_block_of_other_content_is_not_used() {
    let directory = tempfile::tempdir().unwrap();
    let spec = Spec::parse("zstd").unwrap();
    let block = prose(1, BLOCK);
    let other = prose(9, BLOCK);
    let wrong = compressed(&spec, &other).unwrap();
    let short = compressed(&spec, &block[..BLOCK - 1]).unwrap();
    let key = KeyMaker::for_encoder(&encoder_hash(&spec, BLOCK)).key(&ContentDigest::of(&block));
    for payload in [&wrong[..], &short, b"", b"nonsense", &block] {
        Store::open(directory.path(), NOW).unwrap().write(&key, Entry::Compressed(payload)).unwrap();
        let cache = open(directory.path());
        check(&cache);
        assert!(looked_up(&mut encoder(&cache, &spec), &block) == compressed(&spec, &block));
        assert_eq!(cache.counts().damaged, 1);
    }
}

/// A call of one address from a position: the x86 filter makes all such calls equal.
fn call(place: u32) -> [u8; 5] {
    let [a, b, c, d] = (0x10_0000u32.wrapping_sub(place)).to_le_bytes();
    [0xe8, a, b, c, d]
}

/// The kernel does not decode the ia64 filter, nor a filter that was not requested if the kernel was built without it.
#[test]
fn a_block_with_other_parameters_is_not_used() {
    let directory = tempfile::tempdir().unwrap();
    let spec = Spec::parse("xz").unwrap();
    let block: Vec<u8> = (0..1u32 << 20).step_by(5).flat_map(call).take(BLOCK).collect();
    let filtered = compressed(&Spec::parse("xz:x86").unwrap(), &block).unwrap();
    assert!(Some(&filtered) != compressed(&spec, &block).as_ref(), "the filter is used");
    let key = KeyMaker::for_encoder(&encoder_hash(&spec, BLOCK)).key(&ContentDigest::of(&block));
    Store::open(directory.path(), NOW).unwrap().write(&key, Entry::Compressed(&filtered)).unwrap();
    let cache = open(directory.path());
    assert!(looked_up(&mut encoder(&cache, &spec), &block) == compressed(&spec, &block));
    assert_eq!((cache.counts().damaged, cache.counts().added), (1, 1));
}

#[test]
fn never_waits_for_pipes_in_the_directory() {
    let directory = tempfile::tempdir().unwrap();
    let pipe = |path: PathBuf| rustix::fs::mkfifoat(rustix::fs::CWD, path, 0o600.into()).unwrap();
    pipe(directory.path().join("CACHEDIR.TAG"));
    let error = BlockCache::open(directory.path(), LARGE, NOW).unwrap_err().to_string();
    assert!(error.contains("CACHEDIR.TAG"), "{error}");
    fs::remove_file(directory.path().join("CACHEDIR.TAG")).unwrap();
    check(&open(directory.path()));
    pipe(directory.path().join("v1/lock"));
    let first = entries(directory.path())[0].clone();
    fs::remove_file(&first).unwrap();
    pipe(first);
    let store = Store::existing(directory.path(), NOW).unwrap();
    let all = store.contents().unwrap().entries;
    assert_eq!(store.verify().unwrap(), (all, 1));
    // Without the lock no entry is removed.
    assert_eq!(store.trim(0).unwrap().entries, 0);
}

#[test]
fn stops_using_a_directory_with_other_files_in_place_of_entries() {
    let directory = tempfile::tempdir().unwrap();
    check(&open(directory.path()));
    let first = &entries(directory.path())[0];
    fs::remove_file(first).unwrap();
    fs::create_dir(first).unwrap();
    let cache = open(directory.path());
    check(&cache);
    assert!(cache.counts().error.is_some_and(|error| error.to_string().contains("v1/")));
}

#[test]
fn rejects_a_directory_with_other_files() {
    let directory = tempfile::tempdir().unwrap();
    let missing = directory.path().join("a/b");
    assert!(Store::existing(&missing, NOW).is_err());
    drop(open(&missing));
    assert!(missing.join("CACHEDIR.TAG").is_file());
    for path in [directory.path(), &missing.join("v1")] {
        assert!(matches!(BlockCache::open(path, LARGE, NOW), Err(Error::NotACache(_))), "{}", path.display());
    }
    fs::write(directory.path().join("file"), "x").unwrap();
    assert!(Store::existing(directory.path(), NOW).is_err());
    let file = directory.path().join("file");
    assert!(matches!(BlockCache::open(&file, LARGE, NOW), Err(Error::NotACache(_))));
}

#[test]
fn the_oldest_entries_are_removed() {
    let directory = tempfile::tempdir().unwrap();
    let spec = Spec::parse("zstd").unwrap();
    // More than an hour passes between uses.
    let use_at = |hours: i64, seeds: std::ops::Range<u64>| {
        let cache = Arc::new(BlockCache::open(directory.path(), LARGE, NOW + hours * 4000).unwrap());
        for seed in seeds {
            looked_up(&mut encoder(&cache, &spec), &noise(seed, BLOCK / 2));
        }
        cache.counts()
    };
    use_at(0, 0..50);
    // New files have times of this machine's clock. All are set to the time of the first use.
    let store = |hours: i64| Store::open(directory.path(), NOW + hours * 4000).unwrap();
    for path in entries(directory.path()) {
        fs::File::options().write(true).open(path).unwrap().set_modified(at(NOW)).unwrap();
    }
    assert_eq!(use_at(1, 20..30).found, 10);
    let contents = store(2).contents().unwrap();
    assert_eq!((contents.entries, contents.used), (50, Some((NOW, NOW + 4000))));
    assert_eq!(store(2).trim(contents.bytes).unwrap().entries, 0);
    let one = contents.bytes / 50;
    assert_eq!(store(2).trim(one * 20).unwrap().entries, 32);
    assert_eq!(use_at(2, 20..30).found, 10);
    assert_eq!(store(3).clear().unwrap().entries, 18);
    assert_eq!(store(3).contents().unwrap().entries, 0);
}

#[test]
fn a_limit_holds_while_blocks_are_added() {
    let directory = tempfile::tempdir().unwrap();
    let spec = Spec::parse("lz4").unwrap();
    let cache = Arc::new(BlockCache::open(directory.path(), 200 << 10, NOW).unwrap());
    let mut encoder = encoder(&cache, &spec);
    for seed in 0..200 {
        let mut block = noise(seed, BLOCK);
        block[BLOCK / 2..].fill(0);
        looked_up(&mut encoder, &block);
        let bytes = Store::open(directory.path(), NOW).unwrap().contents().unwrap().bytes;
        assert!(bytes <= (200 << 10) * 17 / 16 + 20_000, "{bytes} bytes after {seed}");
    }
    cache.finish();
    assert!(Store::open(directory.path(), NOW).unwrap().contents().unwrap().bytes <= 200 << 10);
}

#[test]
fn damaged_entries_are_found_and_removed() {
    let directory = tempfile::tempdir().unwrap();
    check(&open(directory.path()));
    let all = entries(directory.path());
    fs::write(&all[3], "nonsense").unwrap();
    fs::write(&all[5], "").unwrap();
    let store = Store::existing(directory.path(), NOW).unwrap();
    assert_eq!(store.verify().unwrap(), (all.len() as u64, 2));
    assert_eq!(store.verify().unwrap(), (all.len() as u64 - 2, 0));
}

#[test]
fn removes_old_leftovers_of_killed_processes() {
    let directory = tempfile::tempdir().unwrap();
    drop(open(directory.path()));
    let old = directory.path().join("v1/new/old");
    let new = directory.path().join("v1/new/new");
    for (path, time) in [(&old, NOW - 5000), (&new, NOW - 5)] {
        fs::write(path, "part").unwrap();
        fs::File::options().write(true).open(path).unwrap().set_modified(at(time)).unwrap();
    }
    Store::open(directory.path(), NOW).unwrap().trim(LARGE).unwrap();
    assert!(!old.exists() && new.exists());
}

fn at(seconds: i64) -> std::time::SystemTime {
    std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds as u64)
}

fn prose(seed: u64, length: usize) -> Vec<u8> {
    Random::new(seed).prose(length)
}

fn noise(seed: u64, length: usize) -> Vec<u8> {
    Random::new(seed).noise(length)
}
