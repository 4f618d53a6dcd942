//! With any base, the new image has the bytes of an image without it.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use packline_cache::{BlockCache, KnownBlocks, Lookup};
use packline_engine::Config;
use packline_runtime::Input;
use packline_testkit::{Random, hostile_erofs};
use packline_volume::{BaseError, BaseSettings, ReadError};

use super::cache::looked_up;
use super::writer::{nodes, pack_with};
use super::*;
use crate::Base;
use crate::format::record::{RECORD_BYTES, Record, start_of_hash};
use crate::write::encoder_form;

fn opened(input: impl Input + 'static) -> Result<Image, ReadError> {
    Image::open(Arc::new(input), &[], 0, 1 << 20)
}

fn settings(workers: usize) -> BaseSettings {
    BaseSettings { any: false, memory: None, engine: Config::new(workers, 1 << 20) }
}

fn base(input: impl Input + 'static, options: &Options) -> Result<Arc<Base>, BaseError> {
    Base::open(&opened(input)?, options, &settings(0)).map(Arc::new)
}

/// Looks blocks up in a base, and in a cache that counts what the base does not have.
fn lookup(base: &Arc<Base>, directory: &std::path::Path) -> Lookup {
    let cache = BlockCache::open(directory, 1 << 30, 1_800_000_000).unwrap();
    let known: Vec<Arc<dyn KnownBlocks>> = vec![base.clone()];
    Lookup { known, cache: Some(Arc::new(cache)) }
}

fn plain(nodes: &[Node], options: &Options) -> Vec<u8> {
    pack_with(nodes, options, 0, false, Lookup::default()).0
}

/// Returns the same tree with one more file at the start and one changed file.
fn changed(nodes: &[Node], random: &mut Random) -> Vec<Node> {
    let mut changed = nodes.to_vec();
    changed.retain(|node| node.path != b"shared/start");
    changed.insert(1, Node::file("a first file", random.prose(200_000)));
    changed.push(Node::file("shared/start", random.prose(300_000)));
    changed
}

#[test]
fn the_image_is_the_same_with_a_base() {
    let old = nodes(31);
    let new = changed(&old, &mut Random::new(31));
    for options in looked_up() {
        let what = format!("{} for {}", options.codec, options.kernel);
        let old_image = plain(&old, &options);
        let clean = plain(&new, &options);
        let base = Arc::new(Base::open(&opened(old_image.clone()).unwrap(), &options, &settings(2)).unwrap());
        let counts = base.counts();
        assert!(counts.exact && counts.damaged == 0 && counts.blocks > 5, "{what}: {counts:?}");
        let directory = tempfile::tempdir().unwrap();
        let packed = |nodes: &[Node]| {
            let lookup = lookup(&base, directory.path());
            let image = pack_with(nodes, &options, 2, true, lookup.clone()).0;
            (image, lookup.cache.unwrap().counts())
        };
        let (image, cached) = packed(&old);
        assert!(image == old_image && cached.missed == 0, "{what}: {cached:?}");
        let (image, cached) = packed(&new);
        assert!(image == clean && cached.missed > 0, "{what}: {cached:?}");
        assert!(base.counts().taken > cached.missed, "{what}: {:?}, {cached:?}", base.counts());
    }
}

#[test]
fn segments_of_large_files_are_found() {
    let mut random = Random::new(32);
    let size = (5 << 20) / 2 + 70_000;
    let both = [random.prose(size), random.noise(1 << 20), random.prose(100_000)].concat();
    let nodes = [
        Node::dir(""),
        Node::file("prose", random.prose(size)),
        Node::file("noise", random.noise(size)),
        Node::file("both", both),
        Node::file("holes", [&random.prose(1 << 20)[..], &vec![0; 3 << 20], &random.prose(1 << 20)].concat()),
    ];
    let fragments = [Fragments::Always, Fragments::SmallFiles, Fragments::Never];
    for (options, fragments) in looked_up().zip(fragments.into_iter().cycle()) {
        let options = Options { fragments, ..options };
        let image = plain(&nodes, &options);
        let base = base(image.clone(), &options).unwrap();
        let directory = tempfile::tempdir().unwrap();
        let lookup = lookup(&base, directory.path());
        assert!(pack_with(&nodes, &options, 0, false, lookup.clone()).0 == image);
        let missed = lookup.cache.unwrap().counts().missed;
        assert_eq!(missed, 0, "{} for {}, {fragments:?}", options.codec, options.kernel);
    }
}

#[test]
fn any_bit_of_a_base_may_be_wrong() {
    let mut random = Random::new(33);
    let nodes = nodes(33);
    let mut refused = 0;
    let mut used = 0;
    for options in looked_up() {
        let (clean, summary) = pack_with(&nodes, &options, 0, false, Lookup::default());
        for number in 0..20 {
            let mut damaged = clean.clone();
            // The record of some images fits their damaged metadata.
            let fits = number % 4 == 0;
            let start = if fits { BLOCK + summary.data_bytes } else { 0 };
            let bit = 8 * start + random.below(8 * (clean.len() as u64 - start));
            damaged[bit as usize / 8] ^= 1 << (bit % 8);
            let damaged = if fits { forged(damaged, &options) } else { Some(damaged) };
            let base = damaged.map(|damaged| base(damaged, &options));
            let Some(Ok(base)) = base else {
                refused += 1;
                continue;
            };
            used += 1;
            let known: Vec<Arc<dyn KnownBlocks>> = vec![base];
            let image = pack_with(&nodes, &options, 0, false, Lookup { known, cache: None }).0;
            assert!(image == clean, "{}, bit {bit}", options.codec);
        }
    }
    assert!(refused > 50 && used > 0, "{refused} refused, {used} used");
}

/// An image that changes after a number of reads.
struct Changing {
    before: Vec<u8>,
    after: Vec<u8>,
    left: AtomicU64,
}

impl Input for Changing {
    fn size(&self) -> u64 {
        self.before.len() as u64
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let left = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| Some(left.saturating_sub(1)));
        let now = if left == Ok(0) { &self.after } else { &self.before };
        now.read_at(offset, buffer)
    }
}

#[test]
fn a_base_may_change_at_any_time() {
    let nodes = nodes(34);
    let mut changes = 0;
    for options in looked_up().filter(|options| options.codec.name() == "zstd") {
        let clean = plain(&nodes, &options);
        for after in [plain(&changed(&nodes, &mut Random::new(34)), &options), vec![0; 100]] {
            for left in (0..400).step_by(11) {
                let changing = Changing { before: clean.clone(), after: after.clone(), left: AtomicU64::new(left) };
                let Ok(base) = base(changing, &options) else { continue };
                let known: Vec<Arc<dyn KnownBlocks>> = vec![base.clone()];
                let image = pack_with(&nodes, &options, 0, false, Lookup { known, cache: None }).0;
                assert!(image == clean, "after {left} reads");
                changes += base.counts().changed;
            }
        }
    }
    assert!(changes > 20, "{changes}");
}

#[test]
fn rejects_images_of_other_encoders() {
    let nodes = [Node::dir(""), Node::file("prose", Random::new(35).prose(300_000))];
    let options = |codec, minor| Options { kernel: Kernel::new(6, minor), ..Options::new(Spec::parse(codec).unwrap()) };
    let small = Options { block_size: BlockSize::new(32 << 10).unwrap(), ..options("zstd", 10) };
    let wide = Options { headroom: false, ..options("zstd", 10) };
    for (old, new, expected) in [
        (options("zstd:level=1", 10), options("zstd", 10), "was packed with codec zstd:level=1"),
        (small, options("zstd:level=1", 10), "was packed with codec zstd and blocks of 32K"),
        (wide, options("zstd", 10), "was packed with clusters of up to 128K"),
        (options("lzma", 10), options("zstd", 10), "is compressed with lzma"),
        (options("none", 10), options("zstd", 10), "is not compressed"),
        (options("zstd", 15), options("zstd", 10), "has clusters of any number of bytes"),
        (options("zstd", 10), options("zstd", 15), "has clusters of whole blocks"),
        (options("zstd", 10), options("none", 10), "has no block that can be taken, because codec 'none'"),
    ] {
        match base(plain(&nodes, &old), &new) {
            Err(BaseError::Fit { what, .. }) => assert!(what.starts_with(expected), "{what}"),
            other => panic!("{other:?}"),
        }
    }
    let options = options("zstd", 10);
    let mut image = plain(&nodes, &options);
    image[5000] ^= 1;
    let error = base(image.clone(), &options).unwrap_err().to_string();
    assert_eq!(error, "is damaged: its data does not match its checksum");
    let end = image.len();
    image[end - 64..].fill(0);
    assert!(base(image, &options).unwrap_err().to_string().starts_with("has no record of its encoder"));
}

#[test]
fn the_memory_of_an_index_is_limited() {
    for options in looked_up() {
        let image = opened(plain(&nodes(36), &options)).unwrap();
        let open = |memory| Base::open(&image, &options, &BaseSettings { memory: Some(memory), ..settings(0) });
        let Err(BaseError::Memory { needed, allowed: 500, .. }) = open(500) else { panic!("granted") };
        assert!(open(needed).unwrap().memory() <= needed);
    }
}

/// Returns the image with a record that names the encoder of `options`, with the checksum of its data. `None` if it has no space for it.
fn forged(mut bytes: Vec<u8>, options: &Options) -> Option<Vec<u8>> {
    let image = opened(bytes.clone()).ok()?;
    let end = image.superblock().blocks.checked_mul(image.superblock().block_size())?;
    let end = usize::try_from(end).ok().filter(|end| (2 * BLOCK as usize..64 << 20).contains(end))?;
    bytes.resize(end.max(bytes.len()), 0);
    let at = end - RECORD_BYTES;
    let record = Record {
        checksum: crc32fast::hash(&bytes[BLOCK as usize..at]),
        has_metadata: true,
        data_end: at as u64,
        all_tried: true,
        encoder: start_of_hash(&encoder_form(options).hash.into()),
        lengths: 0,
        text_bytes: 0,
        tail_sum: 0,
    };
    bytes[at..end].copy_from_slice(&record.encode());
    Some(bytes)
}

/// Images that break rules, and images that keep the rules but are difficult.
#[test]
fn hostile_bases_are_refused_or_harmless() {
    let nodes = [Node::dir(""), Node::file("prose", Random::new(37).prose(300_000))];
    let mut used = 0;
    for options in looked_up() {
        let clean = plain(&nodes, &options);
        for specimen in hostile_erofs::all() {
            let Some(bytes) = forged(specimen.bytes(), &options) else { continue };
            let Ok(base) = base(bytes, &options) else { continue };
            let known: Vec<Arc<dyn KnownBlocks>> = vec![base];
            let image = pack_with(&nodes, &options, 0, false, Lookup { known, cache: None }).0;
            assert!(image == clean, "{}", specimen.name);
            used += 1;
        }
    }
    assert!(used > 10, "{used}");
}

/// A record can lie. Even then only contents that were decoded are reused.
#[test]
fn a_record_that_lies_makes_no_wrong_content() {
    let mut random = Random::new(38);
    let nodes = nodes(38);
    let options = |codec, minor| Options { kernel: Kernel::new(6, minor), ..Options::new(Spec::parse(codec).unwrap()) };
    for (old, new, minor) in [("zstd:level=1", "zstd:level=3", 10), ("zstd:level=1", "zstd:level=3", 15)] {
        let (old, new) = (options(old, minor), options(new, minor));
        let image = plain(&nodes, &old);
        for flips in [0, 1, 5, 50] {
            let mut damaged = image.clone();
            for _ in 0..flips {
                let bit = random.below(image.len() as u64 / 2 * 8) as usize + BLOCK as usize * 8;
                damaged[bit / 8] ^= 1 << (bit % 8);
            }
            let base = base(forged(damaged, &new).unwrap(), &new).unwrap();
            let known: Vec<Arc<dyn KnownBlocks>> = vec![base.clone()];
            let (packed, _) = pack_with(&nodes, &new, 0, true, Lookup { known, cache: None });
            compare(&nodes, &open(packed));
            assert!(flips > 1 || base.counts().taken > 3, "{:?}", base.counts());
        }
    }
}
