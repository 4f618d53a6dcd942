//! Blocks and segments come from a cache, and the image has the same bytes.

use std::fs;
use std::path::{Path, PathBuf};

use packline_cache::{BlockCache, BlockCodec, Cluster, Lookup, STORED_BLOCK};
use packline_codec::Outcome;
use packline_testkit::Random;

use super::writer::{all, nodes, pack_with};
use super::*;
use crate::Start;
use crate::write::coder::{ImageCoders, SegmentCodec};

const NOW: i64 = 1_800_000_000;

/// Options of each form and codec that compresses, of which none is slow. No cluster is as large as the test's files.
pub(super) fn looked_up() -> impl Iterator<Item = Options> {
    let fast = |options: Options| match options.codec {
        Spec::Zstd(_) => Options { codec: Spec::parse("zstd:level=3").unwrap(), ..options },
        _ => options,
    };
    all().filter(|options| options.looks_up() && options.block_size <= BlockSize::default()).map(fast)
}

fn lookup(directory: &Path) -> Lookup {
    let cache = BlockCache::open(directory, 1 << 30, NOW).unwrap();
    Lookup { known: Vec::new(), cache: Some(Arc::new(cache)) }
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    let below = |path: PathBuf| fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
    let directories = below(directory.join("v1")).filter(|path| path.is_dir() && !path.ends_with("new"));
    let mut files: Vec<PathBuf> = directories.flat_map(below).collect();
    files.sort();
    files
}

#[test]
fn the_image_is_the_same_with_any_state_of_the_cache() {
    let nodes = nodes(21);
    for options in looked_up() {
        let what = format!("{} for {}", options.codec, options.kernel);
        let (clean, _) = pack_with(&nodes, &options, 0, false, Lookup::default());
        let directory = tempfile::tempdir().unwrap();
        let packed = |workers, verify| {
            let lookup = lookup(directory.path());
            let (image, _) = pack_with(&nodes, &options, workers, verify, lookup.clone());
            assert!(image == clean, "{what}");
            lookup.cache.unwrap().counts()
        };
        let first = packed(2, false);
        let all = first.missed;
        assert!(first.found == 0 && all > 5 && first.added == all, "{what}: {first:?}");
        let second = packed(2, true);
        assert_eq!((second.found, second.missed, second.added), (all, 0, 0), "{what}");
        let files = entries(directory.path());
        files.iter().step_by(2).for_each(|path| fs::remove_file(path).unwrap());
        assert_eq!(packed(0, false).missed, files.len().div_ceil(2) as u64, "{what}");
        for (number, path) in files.iter().enumerate() {
            let mut bytes = fs::read(path).unwrap();
            let at = number * 31 % bytes.len();
            bytes[at] ^= 1 << (number % 8);
            fs::write(path, bytes).unwrap();
        }
        assert_eq!(packed(0, false).damaged, all, "{what}");
        assert_eq!(packed(0, false).found, all, "{what}");
    }
}

#[test]
fn images_of_other_kernels_and_block_sizes_have_other_entries() {
    let nodes = nodes(22);
    let directory = tempfile::tempdir().unwrap();
    let options = |minor, block_size| Options {
        kernel: Kernel::new(6, minor),
        block_size: BlockSize::new(block_size).unwrap(),
        ..Options::new(Spec::parse("gzip:level=3").unwrap())
    };
    for options in [options(6, 128 << 10), options(15, 128 << 10), options(6, 32 << 10), options(15, 32 << 10)] {
        let lookup = lookup(directory.path());
        let (image, _) = pack_with(&nodes, &options, 0, false, lookup.clone());
        assert!(image == pack_with(&nodes, &options, 0, false, Lookup::default()).0);
        let counts = lookup.cache.unwrap().counts();
        assert_eq!((counts.found, counts.damaged), (0, 0));
    }
}

fn segment_codec(options: &Options) -> SegmentCodec {
    let meta = Meta { mode: 0o755, uid: 0, gid: 0, mtime: Time::default() };
    let start = Start {
        root: meta,
        defaults: meta,
        input: String::new(),
        memory: usize::MAX,
        verify: false,
        lookup: Lookup::default(),
        scratch: None,
    };
    SegmentCodec::new(&ImageCoders::new(options, &start))
}

#[test]
fn a_segment_of_eight_blocks_has_eight_clusters_of_similar_content() {
    let forms = looked_up().filter(|options| options.form() == Form::Clusters);
    for (options, size) in forms.flat_map(|options| [128, 256].map(|size| (options.clone(), size << 10))) {
        let content = Random::new(24).prose(8 * size);
        let clusters = |headroom| {
            let block_size = BlockSize::new(size as u64).unwrap();
            let options = Options { block_size, headroom, ..options.clone() };
            let mut clusters = Vec::new();
            segment_codec(&options).encode(&content, &mut vec![0; content.len()], &mut clusters).unwrap();
            assert!(clusters.iter().all(|cluster| cluster.length as usize <= options.cluster_most()));
            clusters.into_iter().map(|cluster| cluster.length as usize).collect::<Vec<_>>()
        };
        let lengths = clusters(true);
        let what = format!("{} {size}: {lengths:?}", options.codec);
        assert!(lengths.len() == 8 && lengths.iter().all(|length| *length > size / 2), "{what}");
        assert!(clusters(false).len() > 8, "{what}");
    }
}

/// A segment with compressed and uncompressed clusters, in its clusters.
fn segment(codec: &mut SegmentCodec) -> (Vec<u8>, Vec<u8>, Vec<Cluster>) {
    let mut random = Random::new(23);
    let content = [random.prose(400_000), random.noise(300_000), random.prose(50_000)].concat();
    let mut stored = vec![0; content.len()];
    let mut clusters = Vec::new();
    let outcome = codec.encode(&content, &mut stored, &mut clusters).unwrap();
    let Outcome::Smaller(size) = outcome else { panic!("not smaller") };
    stored.truncate(size);
    assert!(clusters.iter().any(|cluster| !cluster.is_compressed()));
    (content, stored, clusters)
}

/// An entry can have a valid checksum and any clusters.
#[test]
fn clusters_that_are_not_of_the_segment_are_not_used() {
    for options in looked_up().filter(|options| options.form() == Form::Clusters) {
        let mut codec = segment_codec(&options);
        let (content, stored, clusters) = segment(&mut codec);
        assert!(codec.is_block_of(&content, &stored, &clusters), "{}", options.codec);
        let mut refused = |stored: &[u8], clusters: &[Cluster], what: &str| {
            assert!(!codec.is_block_of(&content, stored, clusters), "{}: {what}", options.codec);
        };
        refused(&stored, &[], "no clusters");
        refused(&stored, &clusters[..clusters.len() - 1], "a cluster less");
        refused(&stored, &[&clusters[..], &clusters[..1]].concat(), "a cluster more");
        refused(&stored, &[&clusters[..], &[Cluster { length: 0, size_word: 0 }]].concat(), "an empty cluster");
        refused(&stored[..stored.len() - 1], &clusters, "a byte less");
        refused(&[&stored[..], &[0; 4096]].concat(), &clusters, "a block more");
        for number in 0..clusters.len() {
            for change in 0..4 {
                let mut clusters = clusters.clone();
                let cluster = &mut clusters[number];
                match change {
                    0 => cluster.size_word ^= STORED_BLOCK,
                    1 => cluster.length += 1,
                    2 => cluster.size_word += 1,
                    _ => cluster.length = u32::MAX,
                }
                refused(&stored, &clusters, &format!("change {change} of cluster {number}"));
            }
        }
        // Two clusters in one.
        let mut joined = clusters.clone();
        let first = joined.remove(0);
        joined[0].length += first.length;
        joined[0].size_word += first.size_word;
        refused(&stored, &joined, "two clusters as one");
        // A block of zeros before a cluster.
        let mut padded = clusters.clone();
        padded[0].size_word += 4096;
        refused(&[&[0; 4096], &stored[..]].concat(), &padded, "a block of zeros");
    }
}
