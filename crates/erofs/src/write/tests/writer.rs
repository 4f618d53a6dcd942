//! The writer stores files, and the images are read again.

use packline_cache::Lookup;
use packline_engine::Config;
use packline_testkit::Random;
use packline_testkit::mount::{self, Mounted};
use packline_testkit::snapshot::{Except, assert_same, of_directory, of_model};
use packline_tree::{Extent, Source as EntrySource};
use packline_volume::ReadSettings;

use super::*;
use crate::verify::{Examiner, Finding, VerifySettings, verify};
use crate::{FileHints, Start, Summary, Writer};

/// The content of a file, and how far it was read.
pub(super) struct Reader(pub(super) Vec<u8>, pub(super) usize);

impl EntrySource for Reader {
    fn next_entry(&mut self) -> Result<Option<Entry>, packline_tree::Error> {
        Ok(None)
    }

    fn read(&mut self, buffer: &mut [u8]) -> Result<Extent, packline_tree::Error> {
        let count = buffer.len().min(self.0.len() - self.1);
        buffer[..count].copy_from_slice(&self.0[self.1..][..count]);
        self.1 += count;
        Ok(if count == 0 { Extent::End } else { Extent::Data(count) })
    }

    fn progress(&self) -> (u64, Option<u64>) {
        (0, None)
    }
}

pub(super) fn pack(nodes: &[Node], options: &Options, workers: usize, verify: bool) -> (Vec<u8>, Summary) {
    pack_with(nodes, options, workers, verify, Lookup::default())
}

pub(super) fn pack_with(
    nodes: &[Node],
    options: &Options,
    workers: usize,
    verify: bool,
    lookup: Lookup,
) -> (Vec<u8>, Summary) {
    let meta = Meta { mode: 0o755, uid: 0, gid: 0, mtime: Time::default() };
    let (input, memory, scratch) = ("test".into(), usize::MAX, None);
    let start = Start { root: meta, defaults: meta, input, memory, verify, lookup, scratch };
    let mut image = Vec::new();
    let mut writer = Writer::new(&mut image, options.clone(), Config::new(workers, 4 << 20), start).unwrap();
    for node in nodes {
        let mut bytes = Vec::new();
        if let NodeKind::File(content) = &node.kind {
            content.each(&mut |part| bytes.extend_from_slice(part));
        }
        writer.add(&entry(node), FileHints::default(), &mut Reader(bytes, 0)).unwrap();
    }
    let summary = writer.finish().unwrap();
    (image, summary)
}

/// Options of each form and codec.
pub(super) fn all() -> impl Iterator<Item = Options> {
    let options = |codec, minor| Options { kernel: Kernel::new(6, minor), ..Options::new(Spec::parse(codec).unwrap()) };
    let large = Options { block_size: BlockSize::new(512 << 10).unwrap(), ..options("zstd", 10) };
    forms().into_iter().chain([
        options("lzma:level=2", 1),
        options("gzip:level=3", 6),
        options("lzma:level=2", 15),
        options("gzip:level=3", 15),
        large,
    ])
}

/// A tree with files that have blocks in common.
pub(super) fn nodes(seed: u64) -> Vec<Node> {
    let mut nodes = trees::random(seed, 80);
    let mut random = Random::new(seed);
    let common = random.prose(600_000);
    let noise = random.noise(300_000);
    nodes.push(Node::dir("shared"));
    nodes.push(Node::file("shared/all", common.clone()));
    nodes.push(Node::file("shared/start", &common[..400_000]));
    nodes.push(Node::file("shared/end", &common[262_144..]));
    nodes.push(Node::file("shared/noise", noise.clone()));
    nodes.push(Node::file("shared/noise2", [&noise[..], b"more"].concat()));
    nodes.push(Node::file("shared/zeros", vec![0; 1_000_000]));
    nodes.push(Node::file("shared/hole", [&common[..131_072], &[0; 300_000], &common[..5000]].concat()));
    nodes.extend((0..300).map(|number| Node::file(format!("shared/small{number}"), random.prose(number * 37))));
    nodes
}

#[test]
fn images_are_read_as_they_were_packed() {
    for seed in 0..2 {
        let nodes = nodes(seed);
        // The second tree is for the codecs without a header of their own.
        for options in all().skip(seed as usize * 6) {
            let (image, summary) = pack(&nodes, &options, 0, true);
            assert_eq!(image.len() as u64, summary.end.padded);
            assert_eq!(summary.read_back.unwrap().bytes, summary.end.padded);
            compare(&nodes, &open(image));
        }
    }
}

#[test]
fn images_without_fragments_or_sharing_or_holes() {
    let nodes = nodes(7);
    for options in forms() {
        let plain = Options { fragments: Fragments::Never, deduplicate: false, sparse: false, ..options.clone() };
        let (image, summary) = pack(&nodes, &plain, 0, true);
        assert_eq!((summary.fragments, summary.saved), (0, Default::default()));
        compare(&nodes, &open(image));
        let small = Options { block_size: BlockSize::new(8192).unwrap(), fragments: Fragments::SmallFiles, ..options };
        compare(&nodes, &open(pack(&nodes, &small, 0, true).0));
    }
}

#[test]
fn short_holes_of_large_blocks() {
    let mut nodes = vec![Node::dir("")];
    for length in [1, 4095, 4096, 5000, 8192, 8193, 1 << 20, (1 << 20) + 5000] {
        let zeros = vec![0; length];
        nodes.push(Node::file(format!("zeros{length}"), zeros.clone()));
        nodes.push(Node::file(format!("start{length}"), [&[7; 5000], &zeros[..]].concat()));
        nodes.push(Node::file(format!("end{length}"), [&zeros[..], &[7; 5000]].concat()));
    }
    let block_size = BlockSize::MAX;
    for options in forms().into_iter().filter(|options| options.form() == Form::Clusters) {
        compare(&nodes, &open(pack(&nodes, &Options { block_size, ..options }, 0, true).0));
    }
}

/// A file that is a hole.
struct Hole(u64);

impl EntrySource for Hole {
    fn next_entry(&mut self) -> Result<Option<Entry>, packline_tree::Error> {
        Ok(None)
    }

    fn read(&mut self, _: &mut [u8]) -> Result<Extent, packline_tree::Error> {
        let bytes = std::mem::take(&mut self.0);
        Ok(if bytes == 0 { Extent::End } else { Extent::Hole(bytes) })
    }

    fn progress(&self) -> (u64, Option<u64>) {
        (0, None)
    }
}

/// The size of a hole is only a number in the input.
#[test]
fn lists_of_blocks_of_large_holes_must_fit_into_memory() {
    let meta = Meta { mode: 0o755, uid: 0, gid: 0, mtime: Time::default() };
    for options in forms() {
        let start = || Start {
            root: meta,
            defaults: meta,
            input: "test".into(),
            memory: 64 << 20,
            verify: false,
            lookup: Lookup::default(),
            scratch: None,
        };
        let mut image = Vec::new();
        let mut add = |size: u64| {
            image.clear();
            let config = Config::new(0, 4 << 20);
            let mut writer = Writer::new(&mut image, options.clone(), config, start()).unwrap();
            let kind = Kind::File { size };
            let entry = Entry { path: b"hole".to_vec(), kind, meta, xattrs: Vec::new() };
            writer.add(&entry, FileHints::default(), &mut Hole(size)).map_err(|error| error.to_string())
        };
        assert_eq!(add(1 << 38), Ok(()));
        let most = u64::from(u32::MAX) * options.segment_size().bytes() as u64;
        let error = add(most).unwrap_err();
        assert!(error.contains("G of memory") && error.contains("raise the memory limit"), "{error}");
        let error = add(most + 1).unwrap_err();
        assert!(error.contains("too many blocks (expected at most 4294967295)"), "{error}");
    }
}

#[test]
fn the_image_does_not_depend_on_the_workers() {
    let nodes = nodes(5);
    for options in forms() {
        let (serial, _) = pack(&nodes, &options, 0, false);
        for workers in [1, 2, 7] {
            assert!(pack(&nodes, &options, workers, workers == 2).0 == serial, "{workers} workers");
        }
    }
}

#[test]
fn equal_blocks_are_stored_once() {
    const COUNT: usize = 3;
    // The size of a segment, of which clusters are cut.
    let segment = 1 << 20;
    let common = Random::new(1).noise(COUNT * segment);
    let nodes = [Node::dir(""), Node::file("a", common.clone()), Node::file("b", [&common[segment..], b"x"].concat())];
    for options in forms() {
        let (image, summary) = pack(&nodes, &options, 0, false);
        assert_eq!(options.segment_size().bytes() == segment, options.form() == Form::Clusters);
        let blocks = COUNT * segment / options.segment_size().bytes();
        assert_eq!(summary.blocks, blocks as u64);
        assert!(image.len() < COUNT * segment + 100_000, "{}", image.len());
    }
}

#[test]
fn ends_of_uncompressed_files_follow_their_inodes() {
    let mut random = Random::new(3);
    let mut nodes = vec![Node::dir("")];
    nodes.extend((0..500).map(|number| Node::file(format!("f{number}"), random.noise(100 + number))));
    nodes.push(Node::file("long", random.noise(3 * 131_072 + 20_077)));
    nodes.push(Node::file("hole", [&random.noise(4096)[..], &[0; 131_072], b"end"].concat()));
    // There is no space after the inode.
    nodes.push(Node::file("attributes", random.noise(2000)).xattr("user.a", "a".repeat(3000)));
    let [none, ..] = forms();
    let (image, summary) = pack(&nodes, &none, 2, true);
    assert!(summary.end.metadata < 500 * (64 + 350) * 11 / 10, "{:?}", summary.end);
    let image = open(image);
    assert_eq!(findings(&image), []);
    compare(&nodes, &image);
    let alone = Options { fragments: Fragments::Never, ..none };
    assert!(pack(&nodes, &alone, 0, true).1.end.padded > 500 * BLOCK);
}

#[test]
fn images_with_holes_have_the_feature_of_shared_clusters() {
    let hole = [&[7; 5000][..], &[0; 2 << 20], &[7; 5000]].concat();
    let nodes = [Node::dir(""), Node::file("hole", hole), Node::file("small", [0; 3000])];
    for options in all() {
        let alone = Options { deduplicate: false, fragments: Fragments::Never, ..options };
        assert_eq!(findings(&open(pack(&nodes, &alone, 0, true).0)), [], "{} for {}", alone.codec, alone.kernel);
    }
}

#[test]
fn holes_shorter_than_a_block_need_no_cluster_of_zeros() {
    // The last file has a hole after compressed content.
    let more = |zeros: usize| Node::file("more", [vec![7; 4 << 20], vec![0; zeros]].concat());
    let nodes = |zeros| [Node::dir(""), Node::file("short", [0; 3000]), more(zeros)];
    for options in all().filter(|options| options.form() == Form::Clusters) {
        let alone = Options { fragments: Fragments::Never, ..options };
        let packed = |nodes: &[Node]| {
            let (image, summary) = pack(nodes, &alone, 0, true);
            let image = open(image);
            assert_eq!(findings(&image), [], "{} for {}", alone.codec, alone.kernel);
            compare(nodes, &image);
            summary.data_bytes
        };
        assert_eq!(packed(&nodes(0)[..2]), BLOCK);
        let without = packed(&nodes(0));
        assert_eq!([3000, 5000].map(|zeros| packed(&nodes(zeros)) - without), [0, BLOCK], "{}", alone.codec);
    }
}

#[test]
fn changes_of_the_zeros_of_holes_are_found() {
    let hole = [&[7; 5000][..], &[0; 2 << 20], &[7; 5000]].concat();
    let nodes = [Node::dir(""), Node::file("hole", hole), Node::file("small", [0; 3000])];
    for options in all().filter(|options| options.form() == Form::Clusters) {
        let (bytes, summary) = pack(&nodes, &Options { fragments: Fragments::Never, ..options.clone() }, 0, false);
        // The last blocks of the data are a cluster of zeros, and a block of zeros.
        let end = (BLOCK + summary.data_bytes) as usize;
        for at in [end - 5000, end - 4097, end - 4096, end - 1] {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1;
            assert!(!findings(&open(damaged)).is_empty(), "{}: byte {at} of {end}", options.codec);
        }
    }
}

#[test]
fn each_changed_bit_of_data_and_metadata_is_found() {
    let mut random = Random::new(19);
    let mut nodes = trees::random(19, 30);
    nodes.push(Node::file("hole", [&[7; 5000][..], &[0; 1 << 20], &random.noise(5000)].concat()));
    nodes.extend((0..20).map(|number| Node::file(format!("small{number}"), random.prose(900))));
    for options in all().filter(|options| options.codec != Spec::None) {
        let (bytes, summary) = pack(&nodes, &options, 0, false);
        for _ in 0..20 {
            let bit = 8 * BLOCK + random.below(8 * (summary.end.bytes_used - BLOCK));
            let mut damaged = bytes.clone();
            damaged[bit as usize / 8] ^= 1 << (bit % 8);
            let image = Image::open(Arc::new(damaged), &[], 0, 1 << 20);
            let is_sound = image.is_ok_and(|image| findings(&image).is_empty());
            assert!(!is_sound, "{} for {}: bit {bit}", options.codec, options.kernel);
        }
    }
}

/// Returns what verification finds.
pub(super) fn findings(image: &Image) -> Vec<Finding> {
    let reading = ReadSettings { shared: 1 << 20, scratch: None, engine: Config::new(0, 1 << 20), listener: None };
    let mut found = Findings::default();
    verify(image, &VerifySettings { reading, inodes: 1 << 20, space: 1 << 20 }, &mut found).unwrap();
    found.0
}

#[derive(Default)]
struct Findings(Vec<Finding>);

impl Examiner for Findings {
    fn found(&mut self, finding: Finding) {
        self.0.push(finding);
    }
}

#[test]
fn the_kernel_reads_what_the_writer_packs() {
    let nodes = nodes(11);
    for options in all() {
        let name = options.codec.name();
        if !mount::kernel_mounts_erofs(name) {
            continue;
        }
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), pack(&nodes, &options, 2, true).0).unwrap();
        let mounted = Mounted::erofs(file.path()).unwrap();
        let found = of_directory(mounted.path()).unwrap();
        assert_same(&format!("{name} for {}", options.kernel), &of_model(&nodes, true), &found, Except::default());
    }
}
