//! Directories that are compressed in the packed inode.

use packline_cache::{BlockCache, KnownBlocks, Lookup};
use packline_engine::Config;
use packline_testkit::mount::{self, Mounted};
use packline_testkit::snapshot::{Except, assert_same, of_directory, of_model};
use packline_volume::BaseSettings;

use super::cache::looked_up;
use super::writer::{findings, pack, pack_with};
use super::*;
use crate::Base;
use crate::format::inode::Layout;
use crate::options::Inline;

/// Options of each form and codec that compresses.
fn compressed() -> impl Iterator<Item = Options> {
    looked_up().map(|options| Options { compress_directories: true, ..options })
}

/// Listings of all sizes, and files. All listings fit into the cache of the reader.
fn with_listings(seed: u64) -> Vec<Node> {
    let mut nodes = trees::random(seed, 60);
    nodes.extend(trees::edges().into_iter().skip(1));
    for directory in 0..30 {
        nodes.push(Node::dir(format!("{directory:0200}")).xattr("user.number", directory.to_string()));
        let name = |file| format!("{directory:0200}/{file:0150}");
        nodes.extend((0..3 * directory).map(|file| Node::new(name(file), NodeKind::Fifo)));
    }
    nodes
}

fn layout(image: &Image, path: &str) -> Layout {
    image.inodes().fields(image.resolve(path.as_bytes()).unwrap().unwrap().at).unwrap().raw.layout
}

#[test]
fn directories_are_compressed_in_the_packed_inode() {
    let nodes = with_listings(41);
    for options in compressed() {
        let what = format!("{} for {}", options.codec, options.kernel);
        let (bytes, summary) = pack(&nodes, &options, 0, true);
        assert_eq!(summary.read_back.unwrap().bytes, summary.end.padded, "{what}");
        let plain = pack(&nodes, &Options { compress_directories: false, ..options.clone() }, 0, false).1;
        assert_eq!(summary.data_bytes, plain.data_bytes, "{what}");
        assert!(summary.end.metadata + 150_000 < plain.end.metadata, "{what}: {:?}, {:?}", summary.end, plain.end);
        for workers in [1, 2, 7] {
            assert!(pack(&nodes, &options, workers, false).0 == bytes, "{what}: {workers} workers");
        }
        let image = open(bytes);
        assert_eq!(findings(&image), [], "{what}");
        compare(&nodes, &image);
        assert!(image.superblock().least_kernel() <= options.kernel, "{what}");
        let layouts = ["many", "exact", "deep", "empty"].map(|path| layout(&image, path));
        let [whole, inline] = [Layout::CompressedFull, Layout::Inline];
        assert_eq!(layouts, [whole, whole, whole, inline], "{what}");
    }
}

#[test]
fn listings_of_several_segments_are_read_in_order() {
    let name = |number: usize| format!("{:0240}", number / 500);
    let mut nodes = vec![Node::dir("")];
    for number in 0..5000 {
        if number % 500 == 0 {
            nodes.push(Node::dir(name(number)));
        }
        nodes.push(Node::new(format!("{}/{number:0249}", name(number)), NodeKind::Fifo));
    }
    let listed: u64 = nodes.iter().map(|node| node.path.len() as u64 / 2).sum();
    for options in compressed() {
        let what = format!("{} for {}", options.codec, options.kernel);
        assert!(listed > options.segment_size().bytes() as u64, "{what}");
        let (bytes, _) = pack(&nodes, &options, 0, true);
        assert!(pack(&nodes, &options, 2, false).0 == bytes, "{what}");
        let image = open(bytes);
        assert_eq!(findings(&image), [], "{what}");
        let walked: Vec<Vec<u8>> =
            Walk::new(&image, image.root(), Vec::new()).map(|visit| visit.unwrap().path).collect();
        assert!(walked.iter().eq(nodes.iter().map(|node| &node.path)), "{what}");
    }
}

#[test]
fn directories_are_compressed_without_packed_ends_of_files() {
    let nodes = with_listings(42);
    for (options, inline) in compressed().zip([Inline::Ends, Inline::Never, Inline::SmallFiles].into_iter().cycle()) {
        let what = format!("{} for {}, {inline:?}", options.codec, options.kernel);
        let alone = Options { fragments: Fragments::Never, deduplicate: false, sparse: false, inline, ..options };
        let (bytes, summary) = pack(&nodes, &alone, 2, true);
        assert_eq!(summary.fragments, 0, "{what}");
        let image = open(bytes);
        assert_eq!(findings(&image), [], "{what}");
        compare(&nodes, &image);
        assert!(image.superblock().has(incompat::FRAGMENTS), "{what}");
        assert_eq!(layout(&image, "many"), Layout::CompressedFull, "{what}");
    }
}

#[test]
fn a_directory_that_takes_no_space_after_its_inode_stays_there() {
    // The entries "." and ".." have 27 bytes, and the map of a packed listing has 8.
    let nodes = [
        Node::dir(""),
        Node::dir("none"),
        Node::dir("28-bytes").xattr("user.a", "a".repeat(10)),
        Node::dir("20-bytes").xattr("user.a", "a"),
        Node::dir("one"),
        Node::new("one/a", NodeKind::Fifo),
    ];
    for options in compressed() {
        let (bytes, summary) = pack(&nodes, &options, 0, true);
        let image = open(bytes);
        compare(&nodes, &image);
        assert_eq!(findings(&image), []);
        let layouts = ["none", "28-bytes", "20-bytes", "one", ""].map(|path| layout(&image, path));
        let [whole, inline] = [Layout::CompressedFull, Layout::Inline];
        assert_eq!(layouts, [inline, inline, whole, whole, whole], "{}", options.codec);
        // A tree without entries needs no packed inode.
        let empty = pack(&nodes[..1], &options, 0, true).1.end;
        assert_eq!((summary.end.inodes, empty.inodes), (7, 1));
    }
}

#[test]
fn the_bytes_are_the_same_with_a_base_and_a_cache() {
    let nodes = with_listings(43);
    for options in compressed().filter(|options| matches!(options.codec, Spec::Lz4(_) | Spec::Gzip(_))) {
        let what = format!("{} for {}", options.codec, options.kernel);
        let clean = pack(&nodes, &options, 0, false).0;
        let settings = BaseSettings { any: false, memory: None, engine: Config::new(0, 1 << 20) };
        let base = Arc::new(Base::open(&open(clean.clone()), &options, &settings).unwrap());
        assert_eq!(base.counts().damaged, 0, "{what}");
        let directory = tempfile::tempdir().unwrap();
        let packed = || {
            let cache = Arc::new(BlockCache::open(directory.path(), 1 << 30, 1_800_000_000).unwrap());
            let known: Vec<Arc<dyn KnownBlocks>> = vec![base.clone()];
            let lookup = Lookup { known, cache: Some(cache.clone()) };
            assert!(pack_with(&nodes, &options, 2, true, lookup).0 == clean, "{what}");
            cache.counts()
        };
        // The base has all segments but those of directories.
        let first = packed();
        assert!(first.missed > 0 && first.found == 0, "{what}: {first:?}");
        let second = packed();
        assert_eq!((second.missed, second.found), (0, first.missed), "{what}");
    }
}

#[test]
fn the_kernel_reads_compressed_directories() {
    let nodes = with_listings(44);
    for options in compressed() {
        let name = options.codec.name();
        if !mount::kernel_mounts_erofs(name) {
            continue;
        }
        for fragments in [Fragments::Always, Fragments::Never] {
            let options = Options { fragments, ..options.clone() };
            let file = tempfile::NamedTempFile::new().unwrap();
            std::fs::write(file.path(), pack(&nodes, &options, 2, false).0).unwrap();
            let mounted = Mounted::erofs(file.path()).unwrap();
            let found = of_directory(mounted.path()).unwrap();
            let what = format!("{name} for {}, {fragments:?}", options.kernel);
            assert_same(&what, &of_model(&nodes, true), &found, Except::default());
        }
    }
}

#[test]
fn directories_need_a_codec_and_a_kernel_with_a_packed_inode() {
    let with =
        |codec, kernel| Options { kernel, compress_directories: true, ..Options::new(Spec::parse(codec).unwrap()) };
    let fault = |options: Options| options.validate().unwrap_err().to_string();
    assert_eq!(
        fault(with("none", Kernel::new(6, 15))),
        "compressed directories with codec none (expected a codec that compresses)"
    );
    let mut old = with("lz4", Kernel::new(5, 17));
    old.without_unknown_sharing();
    assert_eq!(fault(old), "compressed directories for Linux 5.17 (expected Linux 6.1 or later)");
    let prefixed = Options {
        xattr_prefixes: vec![b"user.".to_vec()],
        deduplicate: false,
        sparse: false,
        ..with("lz4", Kernel::new(6, 4))
    };
    let alone = Options { fragments: Fragments::Never, ..prefixed };
    assert!(fault(alone).starts_with("long prefixes of attribute names with packed tail ends"), "a packed inode");
    assert!(with("lz4", Kernel::new(6, 1)).validate().is_ok());
}
