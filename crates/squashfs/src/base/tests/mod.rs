//! With any base, the new image has the right contents. It has the bytes of a clean build if its record says so.

mod source;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use packline_cache::Lookup;
use packline_engine::Config;
use packline_testkit::{Random, hostile};
use packline_tree::Entry as TreeEntry;
use packline_volume::{Node, Walk};

use super::*;
use crate::BlockSize;
use crate::read::{BlockDecoder, FileData, Input, Opening, Origin, ReadSettings};
use crate::test_image::{BLOCK, file, image_with, options};
use crate::verify::{Examiner, Finding, VerifySettings, verify};

const CODECS: [&str; 7] = ["gzip", "xz", "xz:x86", "lzma", "zstd:level=3", "lz4", "lzo"];

/// Files of complete blocks and tail ends; some blocks do not get smaller.
fn tree(random: &mut Random) -> Vec<(TreeEntry, Vec<u8>)> {
    let prose = |random: &mut Random, number: usize| random.prose(BLOCK * (number % 4) + 700 * number % BLOCK);
    let mut tree: Vec<_> = (0..30).map(|number| file(&format!("prose{number}"), &prose(random, number))).collect();
    tree.push(file("noise", &random.noise(3 * BLOCK)));
    tree
}

/// Returns the same tree with one more file at the start and one changed file.
fn changed(random: &mut Random, tree: &[(TreeEntry, Vec<u8>)]) -> Vec<(TreeEntry, Vec<u8>)> {
    let mut changed = tree.to_vec();
    changed[7].1[100] ^= 1;
    changed.insert(0, file("first", &random.prose(2 * BLOCK + 50)));
    changed
}

fn opened(input: impl Input + 'static) -> Result<Image, crate::read::ReadError> {
    Image::open(Arc::new(input), Opening { origin: Origin::At(0), metadata_cache: 1 << 20 })
}

fn settings(any: bool, workers: usize) -> BaseSettings {
    BaseSettings { any, memory: None, engine: Config::new(workers, 1 << 20) }
}

fn base(input: impl Input + 'static, options: &Options, any: bool) -> Result<Arc<Base>, BaseError> {
    Base::open(&opened(input)?, options, &settings(any, 0)).map(Arc::new)
}

fn with(tree: &[(TreeEntry, Vec<u8>)], options: &Options, base: &Arc<Base>) -> Vec<u8> {
    let known: Vec<Arc<dyn KnownBlocks>> = vec![base.clone()];
    image_with(tree.to_vec(), options, Lookup { known, cache: None }, 0)
}

#[derive(Default)]
struct Findings(Vec<Finding>);

impl Examiner for Findings {
    fn found(&mut self, finding: Finding) {
        self.0.push(finding);
    }
}

/// Returns the contents of all files, after verification found no fault.
fn contents(bytes: &[u8]) -> Vec<(Vec<u8>, Vec<u8>)> {
    let image = opened(bytes.to_vec()).unwrap();
    let mut findings = Findings::default();
    let reading = ReadSettings { engine: Config::new(0, 1 << 20), ..ReadSettings::default() };
    verify(&image, &VerifySettings { reading, records: 1 << 20 }, &mut findings).unwrap();
    assert_eq!(findings.0, []);
    let mut decoder = BlockDecoder::new(&image).unwrap();
    let files = Walk::new(&image, image.root(), Vec::new()).map(Result::unwrap);
    let files = files.filter_map(|visit| match visit.inode.node {
        Node::File(file) => Some((visit.path, FileData::of(&file))),
        _ => None,
    });
    files.map(|(path, file)| (path, content(&image, &mut decoder, &file))).collect()
}

fn content(image: &Image, decoder: &mut BlockDecoder, file: &FileData) -> Vec<u8> {
    let mut content = Vec::new();
    let mut decoded = Vec::new();
    for block in image.blocks(file).map(Result::unwrap) {
        match block.place {
            Some(place) => decoder.data(place, block.length, &mut decoded).unwrap(),
            None => decoded = vec![0; block.length as usize],
        }
        content.extend(&decoded);
    }
    if let Some(tail) = file.tail {
        decoder.fragment(image.fragment(tail.fragment).unwrap(), &mut decoded).unwrap();
        let start = tail.offset as usize;
        content.extend(&decoded[start..start + (file.size as usize - content.len())]);
    }
    content
}

#[test]
fn the_bytes_are_those_of_a_clean_build() {
    for codec in CODECS {
        let mut random = Random::new(1);
        let options = options(codec);
        let old = tree(&mut random);
        let new = changed(&mut random, &old);
        let old_image = image_with(old.clone(), &options, Lookup::default(), 0);
        let clean = image_with(new.clone(), &options, Lookup::default(), 0);
        for workers in [0, 1, 2, 7] {
            let base = Base::open(&opened(old_image.clone()).unwrap(), &options, &settings(false, workers)).unwrap();
            let base = Arc::new(base);
            let known: Vec<Arc<dyn KnownBlocks>> = vec![base.clone()];
            let lookup = Lookup { known, cache: None };
            assert!(image_with(new.clone(), &options, lookup.clone(), workers) == clean, "{codec}, {workers} workers");
            let counts = base.counts();
            assert!(counts.exact && counts.damaged == 0 && counts.changed == 0, "{codec}: {counts:?}");
            assert!(counts.taken > 30 && counts.taken < counts.blocks, "{codec}: {counts:?}");
            assert!(image_with(old.clone(), &options, lookup, workers) == old_image, "{codec}, {workers} workers");
        }
    }
}

#[test]
fn any_bit_of_a_base_may_be_wrong() {
    let mut random = Random::new(2);
    let tree = tree(&mut random);
    let mut refused = 0;
    let mut used = 0;
    for codec in CODECS {
        let options = options(codec);
        let clean = image_with(tree.clone(), &options, Lookup::default(), 0);
        let expected = contents(&clean);
        for _ in 0..200 / CODECS.len() + 1 {
            let mut damaged = clean.clone();
            let bit = random.below(damaged.len() as u64 * 8) as usize;
            damaged[bit / 8] ^= 1 << (bit % 8);
            match base(damaged.clone(), &options, false) {
                Ok(base) => {
                    used += 1;
                    assert!(with(&tree, &options, &base) == clean, "{codec}, bit {bit}");
                }
                Err(_) => refused += 1,
            }
            let Ok(base) = base(damaged, &options, true) else { continue };
            let image = with(&tree, &options, &base);
            assert!(contents(&image) == expected, "{codec}, bit {bit}");
            assert!(image == clean || !base.counts().exact, "{codec}, bit {bit}");
        }
    }
    assert!(refused > 100 && used > 0, "{refused} refused, {used} used");
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
    let mut random = Random::new(3);
    let tree = tree(&mut random);
    let options = options("zstd");
    let clean = image_with(tree.clone(), &options, Lookup::default(), 0);
    let expected = contents(&clean);
    let other = image_with(changed(&mut random, &tree), &options, Lookup::default(), 0);
    let end = opened(clean.clone()).unwrap().superblock().inode_table as usize;
    let mut zeros = clean.clone();
    zeros[BLOCK..end].fill(0);
    let mut changes = 0;
    for after in [other, zeros, vec![0; 100]] {
        for left in 0..60 {
            let changing = Changing { before: clean.clone(), after: after.clone(), left: AtomicU64::new(left) };
            let Ok(base) = opened(changing)
                .map_err(BaseError::from)
                .and_then(|image| Base::open(&image, &options, &settings(true, 0)).map(Arc::new))
            else {
                continue;
            };
            let image = with(&tree, &options, &base);
            assert!(contents(&image) == expected, "after {left} reads");
            assert!(image == clean || !base.counts().exact, "after {left} reads");
            changes += base.counts().changed;
        }
    }
    assert!(changes > 1000, "{changes}");
}

#[test]
fn blocks_of_another_encoder_are_taken_on_request() {
    let tree = tree(&mut Random::new(4));
    for (old, new) in [("gzip:level=1", "gzip"), ("zstd:level=19", "zstd"), ("xz", "xz:x86"), ("lz4", "lz4:hc")] {
        let old = options(old);
        let new = options(new);
        let foreign = image_with(tree.clone(), &old, Lookup::default(), 0);
        let refused = base(foreign.clone(), &new, false).unwrap_err();
        assert!(matches!(&refused, BaseError::Foreign { .. }), "{refused}");
        let base = base(foreign, &new, true).unwrap();
        let image = with(&tree, &new, &base);
        let clean = image_with(tree.clone(), &new, Lookup::default(), 0);
        assert!(contents(&image) == contents(&clean));
        assert!(image != clean && base.counts().taken > 30 && !base.counts().exact);
        // The image has no record.
        assert!(matches!(self::base(image, &new, false), Err(BaseError::Foreign { .. })));
    }
}

#[test]
fn a_base_of_which_nothing_fits_changes_nothing() {
    let mut random = Random::new(5);
    let options = options("gzip");
    let other = image_with([file("other", &random.prose(3 * BLOCK))], &options, Lookup::default(), 0);
    let tree = tree(&mut random);
    let stranger = Options { pad: 1, ..options.clone() };
    for other in [other.clone(), other[..opened(other.clone()).unwrap().superblock().bytes_used as usize].to_vec()] {
        let base = base(other, &options, true).unwrap();
        assert!(with(&tree, &options, &base) == image_with(tree.clone(), &options, Lookup::default(), 0));
        assert_eq!(base.counts().taken, 0);
    }
    let unpadded = image_with(tree, &stranger, Lookup::default(), 0);
    assert_eq!(unpadded.len() as u64, opened(unpadded.clone()).unwrap().superblock().bytes_used);
}

#[test]
fn rejects_an_image_that_does_not_fit() {
    let tree = tree(&mut Random::new(6));
    let fits = |old: &Options, new: &Options| {
        let image = image_with(tree.clone(), old, Lookup::default(), 0);
        match base(image, new, true) {
            Err(BaseError::Fit { what, .. }) => what,
            other => panic!("{other:?}"),
        }
    };
    let large = Options { block_size: BlockSize::new(8192).unwrap(), ..options("gzip") };
    assert_eq!(fits(&large, &options("gzip")), "has blocks of 8K");
    assert_eq!(fits(&options("xz"), &options("gzip")), "is compressed with xz");
    assert_eq!(fits(&options("xz:x86,arm"), &options("xz:x86")), "is compressed with xz:dictsize=8K,x86,arm");
    let wide = Options { block_size: BlockSize::new(65_536).unwrap(), ..options("xz:dictsize=64K") };
    let narrow = Options { block_size: wide.block_size, ..options("xz:dictsize=32K") };
    assert_eq!(fits(&wide, &narrow), "has a dictionary of 64K");
    assert_eq!(
        fits(&options("gzip"), &options("none")),
        "has no block that can be taken, because codec 'none' compresses nothing; use another codec, or no base"
    );
}

#[test]
fn the_memory_of_an_index_is_limited() {
    let options = options("gzip");
    let image = opened(image_with(tree(&mut Random::new(7)), &options, Lookup::default(), 0)).unwrap();
    let open = |memory| Base::open(&image, &options, &BaseSettings { memory: Some(memory), ..settings(false, 0) });
    let Err(BaseError::Memory { needed, allowed: 1000, .. }) = open(1000) else { panic!("granted") };
    assert!(open(needed).unwrap().memory() <= needed);
}

/// Images that break rules, and images that keep the rules but are difficult.
#[test]
fn hostile_bases_are_refused_or_harmless() {
    let tree = tree(&mut Random::new(8));
    let mut used = 0;
    for specimen in hostile::all() {
        let Ok(image) = opened(specimen.bytes()) else { continue };
        let mut options = options("gzip");
        options.block_size = image.superblock().block_size;
        options.codec = image.codec().clone();
        for any in [false, true] {
            let Ok(base) = Base::open(&image, &options, &settings(any, 0)).map(Arc::new) else { continue };
            let clean = image_with(tree.clone(), &options, Lookup::default(), 0);
            assert!(contents(&with(&tree, &options, &base)) == contents(&clean), "{}", specimen.name);
            used += 1;
        }
    }
    assert!(used > 20, "{used}");
}
