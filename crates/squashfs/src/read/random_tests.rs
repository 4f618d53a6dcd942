//! Random access as a whole: every thread reads the right content at any offset.

use std::sync::Arc;
use std::thread;

use packline_volume::{FileData, Files, Node, OpenFile, RandomSettings, Walk};
use proptest::prelude::*;

use super::{FileData as BlockList, Image, Opening, Origin, ReadError};
use crate::test_image::{self, BLOCK};

fn image(files: &[Vec<u8>], codec: &str) -> Vec<u8> {
    let files = files.iter().enumerate().map(|(number, bytes)| test_image::file(&format!("f{number:05}"), bytes));
    test_image::image(files, codec, |_| {})
}

fn open(bytes: Vec<u8>) -> (Image, Vec<FileData>) {
    let image = Image::open(Arc::new(bytes), Opening { origin: Origin::At(0), metadata_cache: 1 << 20 }).unwrap();
    let visits = Walk::new(&image, image.root(), Vec::new()).map(Result::unwrap);
    let file = |node| if let Node::File(file) = node { Some(file) } else { None };
    let files = visits.filter_map(|visit| file(visit.inode.node)).collect();
    (image, files)
}

/// Returns bytes that compress, but not to nothing; no two blocks are the same.
fn prose(seed: u64, length: usize) -> Vec<u8> {
    let words = (seed << 32..).map(|number| format!("{} ", number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 44));
    words.flat_map(String::into_bytes).take(length).collect()
}

/// Files with blocks, tail ends and holes in all places.
fn contents() -> Vec<Vec<u8>> {
    let mut holes = prose(1, 20 * BLOCK);
    holes[BLOCK..4 * BLOCK].fill(0);
    holes[10 * BLOCK..18 * BLOCK].fill(0);
    let mut empty_end = prose(2, BLOCK + 5);
    empty_end.resize(9 * BLOCK + 77, 0);
    let mut files =
        vec![holes, empty_end, Vec::new(), vec![0; 3 * BLOCK], prose(3, 40 * BLOCK), prose(4, 33 * BLOCK + 1)];
    files.extend((0..20).map(|number| prose(10 + number, 200 * number as usize)));
    files
}

fn settings(workers: usize, cache: usize) -> RandomSettings {
    RandomSettings { workers, cache, ahead: cache }
}

#[test]
#[allow(clippy::disallowed_methods, reason = "a test fails by panicking")]
fn several_threads_read_the_content_at_any_offset() {
    let contents = contents();
    let bytes = image(&contents, "zstd");
    let (image, files) = open(bytes);
    for (workers, cache) in [(0, 0), (1, 3 * BLOCK), (3, 16 * BLOCK), (2, 1 << 20)] {
        let access = Files::new(&image, settings(workers, cache)).unwrap();
        let opened: Vec<OpenFile> = files.iter().map(|file| access.open(file)).collect();
        let reader = |seed: usize| {
            let mut out = Vec::new();
            for step in 0..400 {
                let number = (seed + step * 7) % contents.len();
                let offset = (seed * 31 + step * 7919) % (contents[number].len() + 10);
                let length = (step * 997) % (5 * BLOCK);
                access.read(&opened[number], offset as u64, length, &mut out).unwrap();
                let end = (offset + length).min(contents[number].len());
                assert!(out == contents[number][offset.min(end)..end], "file {number}, {length} bytes at {offset}");
            }
        };
        thread::scope(|scope| (0..4).for_each(|seed| drop(scope.spawn(move || reader(seed * 1013)))));
        assert!(access.cached() <= cache.max(2 * BLOCK), "{} of {cache}", access.cached());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn any_read_of_any_file_is_its_content(
        shape in prop::collection::vec((any::<bool>(), 1usize..3 * BLOCK), 0..8),
        reads in prop::collection::vec((0u64..20 * BLOCK as u64, 0usize..6 * BLOCK), 1..30),
        codec in prop::sample::select(vec!["gzip", "lz4", "none"]),
        workers in 0usize..3,
    ) {
        let parts = shape.iter().enumerate();
        let content: Vec<u8> =
            parts.flat_map(|(seed, &(hole, length))| if hole { vec![0; length] } else { prose(seed as u64, length) }).collect();
        let (image, files) = open(image(&[content.clone(), prose(99, 50)], codec));
        let access = Files::new(&image, settings(workers, 5 * BLOCK)).unwrap();
        let file = access.open(&files[0]);
        let mut out = Vec::new();
        for (offset, length) in reads {
            access.read(&file, offset, length, &mut out).unwrap();
            let begin = content.len().min(offset as usize);
            let end = content.len().min(begin + length);
            prop_assert!(out == content[begin..end]);
        }
    }
}

#[test]
fn a_sequential_reader_decodes_each_block_once_and_leaves_space_to_others() {
    let content = prose(5, 300 * BLOCK);
    let (image, files) = open(image(std::slice::from_ref(&content), "zstd"));
    let access = Files::new(&image, settings(2, 32 * BLOCK)).unwrap();
    let file = access.open(&files[0]);
    let mut out = Vec::new();
    let mut scratch = Vec::new();
    for offset in (0..content.len()).step_by(BLOCK / 2) {
        let take = |bytes: &[u8]| out.extend_from_slice(bytes);
        access.read_with(&file, offset as u64, BLOCK / 2, &mut scratch, take).unwrap();
        assert!(access.cached() <= 32 * BLOCK);
    }
    assert!(out == content && scratch.is_empty());
    // Blocks that the reader has passed are not decoded again, however late a worker starts.
    assert_eq!(access.decoded(), 300);
}

#[test]
fn without_read_ahead_only_requested_blocks_are_decoded() {
    let content = prose(8, 100 * BLOCK);
    let (image, files) = open(image(std::slice::from_ref(&content), "zstd"));
    for workers in [0, 2] {
        let access = Files::new(&image, settings(workers, 64 * BLOCK)).unwrap();
        access.serve_ahead(false);
        let file = access.open(&files[0]);
        let mut out = Vec::new();
        for (number, block) in content.chunks(BLOCK).enumerate() {
            access.read(&file, (number * BLOCK) as u64, BLOCK, &mut out).unwrap();
            assert!(out == block && access.cached() <= 10 * BLOCK, "{}", access.cached());
        }
        drop(file);
        assert_eq!(access.decoded(), 100);
        // Blocks are decoded ahead again after the caller asks for it.
        access.serve_ahead(workers > 0);
        let file = access.open(&files[0]);
        (0..2).for_each(|number| access.read(&file, number * BLOCK as u64, BLOCK, &mut out).unwrap());
        let ahead = access.ahead_of(&file);
        assert!(if workers > 0 { ahead > 2 } else { ahead == 0 }, "{workers} workers, {ahead}");
    }
}

#[test]
fn random_access_decodes_nothing_that_was_not_asked_for() {
    let (image, files) = open(image(&[prose(6, 2000 * BLOCK)], "lz4"));
    let access = Files::new(&image, settings(2, 1000 * BLOCK)).unwrap();
    let file = access.open(&files[0]);
    let mut out = Vec::new();
    for step in 0..200u64 {
        access.read(&file, (step * 619 % 2000) * BLOCK as u64, 100, &mut out).unwrap();
    }
    drop(file);
    assert_eq!(access.decoded(), 200);
}

#[test]
fn a_damaged_block_fails_alone_and_is_tried_once() {
    let content = prose(7, 10 * BLOCK);
    let mut bytes = image(std::slice::from_ref(&content), "zstd");
    let (pristine, files) = open(bytes.clone());
    let place = pristine.blocks(&BlockList::of(&files[0])).nth(4).unwrap().unwrap().place.unwrap();
    bytes[place.offset as usize..][..place.stored as usize].fill(0xa5);
    let (image, files) = open(bytes);
    // Reading the same place again looks like sequential reading: a worker would decode the next blocks.
    let access = Files::new(&image, settings(0, 64 * BLOCK)).unwrap();
    let file = access.open(&files[0]);
    let mut out = Vec::new();
    for _ in 0..3 {
        let failed = access.read(&file, 4 * BLOCK as u64 + 9, 10, &mut out).unwrap_err();
        assert!(matches!(failed, ReadError::Corrupt { .. }) && out.is_empty(), "{failed}");
    }
    assert_eq!(access.decoded(), 1);
    assert!(access.read(&file, 3 * BLOCK as u64, 2 * BLOCK, &mut out).is_err());
    access.read(&file, 3 * BLOCK as u64, BLOCK, &mut out).unwrap();
    assert!(out == content[3 * BLOCK..4 * BLOCK]);
    access.read(&file, 5 * BLOCK as u64, 5 * BLOCK, &mut out).unwrap();
    assert!(out == content[5 * BLOCK..]);
}

#[test]
fn long_block_lists_are_found_into_from_few_marks() {
    let mut content = vec![0; 40_000 * BLOCK];
    let islands: Vec<usize> = (0..40).map(|number| (number * 7919 % 40_000) * BLOCK).collect();
    islands.iter().for_each(|&offset| content[offset..offset + 9].copy_from_slice(b"an island"));
    let (image, files) = open(image(&[content], "gzip"));
    let access = Files::new(&image, settings(0, 0)).unwrap();
    let file = access.open(&files[0]);
    let mut out = Vec::new();
    for &offset in islands.iter().chain(islands.iter().rev()) {
        access.read(&file, offset as u64, 10, &mut out).unwrap();
        assert_eq!(out, b"an island\0");
    }
}
