//! The writer as a whole. The tests of `packline_blocks` check contents.

use std::sync::Arc;

use packline_cache::Lookup;
use packline_codec::Spec;
use packline_engine::Config;
use packline_testkit::Random;

use crate::read::{Image, Opening, Origin};
use crate::test_image::{BLOCK, Content, META, file, image, image_with, options};
use crate::{Error, FileHints, Options, Start, Writer};

fn start(memory: usize) -> Start {
    let input = "test".into();
    Start { root: META, defaults: META, input, memory, verify: false, lookup: Default::default(), scratch: None }
}

/// As mksquashfs writes it: unsquashfs 4.4 and 4.5 refuse all other images without fragment blocks.
#[test]
fn an_empty_fragment_table_starts_where_the_next_table_starts() {
    for exportable in [true, false] {
        let files = [file("a", &[7; 2 * BLOCK])];
        let bytes = image(files, "gzip", |options| options.exportable = exportable);
        let image = Image::open(Arc::new(bytes), Opening { origin: Origin::At(0), metadata_cache: 1 << 16 }).unwrap();
        let tables = image.tables();
        let next =
            tables.exports.as_ref().map_or(tables.ids.as_ref().unwrap().area.start, |exports| exports.area.start);
        assert_eq!((image.superblock().fragments, image.superblock().fragment_table), (0, next));
    }
}

#[test]
fn the_parameters_of_the_codec_are_checked() {
    let gzip = packline_codec::GzipParams { window: 99, ..Default::default() };
    let options = Options { codec: Spec::Gzip(gzip), ..options("gzip") };
    let mut image = Vec::new();
    let refused = Writer::new(&mut image, options, Config::new(0, 0), start(usize::MAX));
    assert!(matches!(refused, Err(Error::Codec(_))));
}

#[test]
fn a_tree_too_large_for_the_memory_says_so() {
    let mut image = Vec::new();
    let config = Config::new(0, 1 << 20);
    let mut writer = Writer::new(&mut image, options("lz4"), config, start(2 << 20)).unwrap();
    let result = (0..100_000).try_for_each(|number| {
        writer.add(&file(&format!("f{number:05}"), b"").0, FileHints::default(), &mut Content(Vec::new(), 0))
    });
    let error = result.unwrap_err().to_string();
    assert!(error.ends_with(" is available; raise the memory limit"), "{error}");
}

#[test]
fn the_image_does_not_depend_on_the_workers() {
    let mut random = Random::new(3);
    let lengths = [0, 1, 900, BLOCK, 3 * BLOCK + 5, 40 * BLOCK];
    let noise: Vec<u8> = random.noise(40 * BLOCK).iter().map(|byte| byte & 3).collect();
    let files = || (0..200).map(|number| file(&format!("f{number:05}"), &noise[..lengths[number % 6]]));
    for codec in ["lz4", "xz"] {
        let serial = image_with(files(), &options(codec), Lookup::default(), 0);
        for workers in [1, 2, 7] {
            assert!(image_with(files(), &options(codec), Lookup::default(), workers) == serial, "{codec}, {workers}");
        }
    }
}
