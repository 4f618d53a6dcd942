//! Reading as a whole: the content and its order do not depend on the workers, and no block is decoded twice.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use packline_engine::Config;
use packline_volume::{Event, FileData, Node, Reading, Request, SharedUses, Walk};
use proptest::prelude::*;

use packline_runtime::{FormatFault, WorkFault};

use super::{FileData as BlockList, Image, Input, Opening, Origin, ReadError, ReadSettings};
use crate::test_image::{self, BLOCK};

fn image(files: &[Vec<u8>], codec: &str) -> Vec<u8> {
    let named = files.iter().enumerate().map(|(number, bytes)| test_image::file(&format!("f{number:05}"), bytes));
    test_image::image(named, codec, |_| {})
}

/// An input that counts the reads of each byte.
struct Counting {
    bytes: Vec<u8>,
    reads: Vec<AtomicUsize>,
}

impl Counting {
    fn new(bytes: Vec<u8>) -> Arc<Counting> {
        Arc::new(Counting { reads: bytes.iter().map(|_| AtomicUsize::new(0)).collect(), bytes })
    }

    fn times(&self, offset: u64) -> usize {
        self.reads[offset as usize].load(Ordering::Relaxed)
    }
}

impl Input for Counting {
    fn size(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let range = offset as usize..offset as usize + buffer.len();
        for count in &self.reads[range.clone()] {
            count.fetch_add(1, Ordering::Relaxed);
        }
        buffer.copy_from_slice(&self.bytes[range]);
        Ok(())
    }
}

fn open(input: Arc<dyn Input>) -> Image {
    Image::open(input, Opening { origin: Origin::At(0), metadata_cache: 1 << 20 }).unwrap()
}

fn files(image: &Image) -> Vec<FileData> {
    let visits = Walk::new(image, image.root(), Vec::new()).map(Result::unwrap);
    visits.filter_map(|visit| if let Node::File(file) = visit.inode.node { Some(file) } else { None }).collect()
}

fn fragment_of(file: &FileData) -> u32 {
    BlockList::of(file).tail.unwrap().fragment
}

fn settings(workers: usize, window: usize, fragments: usize) -> ReadSettings {
    ReadSettings { shared: fragments, scratch: None, engine: Config::new(workers, window), listener: None }
}

/// The content that was read of a file: its bytes, and the spans that failed.
#[derive(Debug, Default, PartialEq, Eq)]
struct Got {
    bytes: Vec<u8>,
    failed: Vec<(usize, u64, String)>,
}

fn requests(order: &[FileData]) -> impl Iterator<Item = Result<Request<Option<usize>>, ReadError>> + '_ {
    let file = |(number, file): (usize, &FileData)| {
        let nothing = Ok(Request { tag: None, file: None, weight: 0 });
        [nothing, Ok(Request { tag: Some(number), file: Some(file.clone()), weight: 0 })]
    };
    order.iter().enumerate().flat_map(file)
}

fn read(image: &Image, order: &[FileData], noted: bool, settings: &ReadSettings) -> Vec<Got> {
    all_of(&mut reading(image, order, noted, settings), |_, _| {})
}

fn reading<'r>(
    image: &Image,
    order: &'r [FileData],
    noted: bool,
    settings: &ReadSettings,
) -> Reading<'r, Option<usize>> {
    let mut uses = SharedUses::new();
    order.iter().filter(|_| noted).for_each(|file| uses.note(image, file));
    Reading::new(image, Box::new(requests(order)), uses, settings).unwrap()
}

/// Reads to the end. The closure is called before each file, with the file's number.
fn all_of(
    reading: &mut Reading<'_, Option<usize>>,
    mut during: impl FnMut(&mut Reading<'_, Option<usize>>, usize),
) -> Vec<Got> {
    let mut got: Vec<Got> = Vec::new();
    while let Some(event) = reading.next_event().unwrap() {
        let last = got.last_mut();
        match event {
            Event::Begin(None) => {}
            Event::Begin(Some(number)) => {
                assert_eq!(number, got.len());
                got.push(Got::default());
                during(reading, number);
            }
            Event::Data(chunk) => last.unwrap().bytes.extend_from_slice(&chunk),
            Event::Hole(length) => {
                let bytes = &mut last.unwrap().bytes;
                bytes.resize(bytes.len() + length as usize, 0);
            }
            Event::Failed { length, error } => {
                let got = last.unwrap();
                got.failed.push((got.bytes.len(), length, error.to_string()));
                got.bytes.resize(got.bytes.len() + length as usize, 0xee);
            }
        }
    }
    assert!(reading.next_event().unwrap().is_none());
    got
}

fn text(seed: usize, length: usize) -> Vec<u8> {
    (0..length).map(|at| ((at / 5) * (seed + 3) + seed * 31) as u8 | 1).collect()
}

/// Empty files, small ones, holes, many blocks, tail ends.
fn mixed() -> Vec<Vec<u8>> {
    let mut files: Vec<Vec<u8>> = (0..200).map(|seed| text(seed, seed * 97 % 3000)).collect();
    files.push(Vec::new());
    files.push(text(900, 40 * BLOCK));
    files.push([text(901, 2 * BLOCK), vec![0; 9 * BLOCK], text(902, BLOCK), vec![0; 3 * BLOCK + 5]].concat());
    files.push(vec![0; 300 * BLOCK]);
    files.extend((0..60).map(|seed| text(seed + 1000, seed * 700)));
    files
}

#[test]
fn content_does_not_depend_on_the_workers() {
    let content = mixed();
    let image = open(Arc::new(image(&content, "gzip")));
    let mut order = files(&image);
    let mut expected: Vec<Got> = content.iter().map(|bytes| Got { bytes: bytes.clone(), failed: Vec::new() }).collect();
    for _ in 0..2 {
        assert!(read(&image, &order, true, &settings(0, 1 << 20, 1 << 20)) == expected);
        for workers in [0, 1, 2, 7, 16] {
            for (window, fragments) in [(0, 0), (0, 1 << 20), (50_000, 9000), (8 << 20, 0), (8 << 20, 1 << 20)] {
                let noted = window + workers != 1;
                let got = read(&image, &order, noted, &settings(workers, window, fragments));
                assert!(got == expected, "{workers} workers, window {window}, fragments {fragments}");
            }
        }
        // Again in an order unrelated to the image's.
        order.reverse();
        expected.reverse();
        let middle = order.len() / 2;
        order.rotate_left(middle);
        expected.rotate_left(middle);
    }
}

#[test]
fn nothing_is_decoded_twice_whatever_the_order() {
    let content: Vec<Vec<u8>> = (0..300).map(|seed| text(seed, 600 + seed * 13)).collect();
    let input = Counting::new(image(&content, "gzip"));
    let image = open(input.clone());
    let mut order = files(&image);
    order.reverse();
    for workers in [0, 2] {
        let before = input.times(image.fragment(0).unwrap().offset);
        read(&image, &order, true, &settings(workers, 1 << 20, 8 << 20));
        for fragment in 0..image.superblock().fragments {
            let place = image.fragment(fragment).unwrap();
            assert_eq!(input.times(place.offset) - before, 1, "fragment block {fragment}");
        }
        for file in &order {
            for block in image.blocks(&BlockList::of(file)) {
                assert_eq!(input.times(block.unwrap().place.unwrap().offset) - before, 1);
            }
        }
    }
}

#[test]
fn a_block_that_repeats_in_a_row_is_decoded_once() {
    let repeated = text(7, BLOCK).repeat(10_000);
    let content = vec![[text(8, BLOCK), repeated, text(9, BLOCK)].concat()];
    let input = Counting::new(image(&content, "gzip"));
    let image = open(input.clone());
    let order = files(&image);
    let place = image.blocks(&BlockList::of(&order[0])).nth(5000).unwrap().unwrap().place.unwrap();
    for workers in [0, 2] {
        let before = input.times(place.offset);
        let got = read(&image, &order, true, &settings(workers, 1 << 20, 8 << 20));
        assert!(got[0].bytes == content[0], "{workers} workers");
        // A few times, if the steps before are done when more of them are planned.
        let decoded = input.times(place.offset) - before;
        assert!((1..20).contains(&decoded), "{workers} workers: {decoded}");
    }
}

#[test]
fn small_blocks_share_jobs() {
    let content: Vec<Vec<u8>> = (0..100).map(|seed| text(seed, 8 * BLOCK)).collect();
    let image = open(Arc::new(image(&content, "gzip")));
    let order = files(&image);
    for workers in [0, 1] {
        let mut reading =
            Reading::new(&image, Box::new(requests(&order)), SharedUses::new(), &settings(workers, 8 << 20, 0))
                .unwrap();
        while reading.next_event().unwrap().is_some() {}
        let jobs = reading.jobs();
        assert!((12..=20).contains(&jobs), "{jobs} jobs for 3.2 MB");
    }
}

#[test]
fn only_undecodable_content_is_missing() {
    let content: Vec<Vec<u8>> = (0..40).map(|seed| text(seed, 3 * BLOCK + 1000)).collect();
    let mut bytes = image(&content, "zstd");
    let sound = open(Arc::new(bytes.clone()));
    let order = files(&sound);
    let broken = sound.blocks(&BlockList::of(&order[7])).nth(1).unwrap().unwrap().place.unwrap();
    let tails = fragment_of(&order[20]);
    let fragment = sound.fragment(tails).unwrap();
    for place in [broken, fragment] {
        // A frame of zstd cannot start with these bytes.
        bytes[place.offset as usize..][..4].fill(0);
    }
    let image = open(Arc::new(bytes));
    for workers in [0, 2] {
        let got = read(&image, &order, true, &settings(workers, 1 << 20, 1 << 20));
        for (number, (got, content)) in got.iter().zip(&content).enumerate() {
            let mut missing = Vec::new();
            if number == 7 {
                missing.push((BLOCK, BLOCK as u64, broken.offset));
            }
            if fragment_of(&order[number]) == tails {
                missing.push((3 * BLOCK, 1000, fragment.offset));
            }
            let found: Vec<(usize, u64)> = got.failed.iter().map(|(at, length, _)| (*at, *length)).collect();
            assert_eq!(found, missing.iter().map(|(at, length, _)| (*at, *length)).collect::<Vec<_>>());
            let mut expected = content.clone();
            for ((at, length, offset), (_, _, error)) in missing.iter().zip(&got.failed) {
                expected[*at..at + *length as usize].fill(0xee);
                assert!(error.contains(&format!("at byte {offset}")), "{error}");
            }
            assert!(got.bytes == expected, "file {number}");
        }
    }
}

#[test]
fn an_error_of_the_requests_comes_in_its_place() {
    let image = open(Arc::new(image(&[text(1, 100)], "gzip")));
    let file = files(&image).remove(0);
    let fault = ReadError::corrupt(77, "this", "that");
    let wanted = || Ok(Request { tag: (), file: Some(file.clone()), weight: 0 });
    let requests = vec![wanted(), Err(fault), wanted()];
    let mut reading =
        Reading::new(&image, Box::new(requests.into_iter()), SharedUses::new(), &settings(2, 0, 0)).unwrap();
    let mut events = String::new();
    loop {
        events.push(match reading.next_event() {
            Ok(Some(Event::Begin(()))) => 'b',
            Ok(Some(Event::Data(_))) => 'd',
            Err(ReadError::Corrupt(FormatFault { offset: 77, .. })) => 'e',
            Ok(None) => break,
            other => panic!("{other:?}"),
        });
    }
    assert_eq!(events, "bdebd");
}

#[test]
fn chunks_outlive_the_reading_and_give_their_memory_back() {
    let content: Vec<Vec<u8>> = (0..50).map(|seed| text(seed, 2 * BLOCK + 77)).collect();
    let image = open(Arc::new(image(&content, "gzip")));
    let order = files(&image);
    let mut uses = SharedUses::new();
    order.iter().for_each(|file| uses.note(&image, file));
    let mut reading = Reading::new(&image, Box::new(requests(&order)), uses, &settings(2, 40_000, 1 << 20)).unwrap();
    let mut chunks = Vec::new();
    while let Some(event) = reading.next_event().unwrap() {
        if let Event::Data(chunk) = event {
            chunks.push(chunk);
        }
    }
    let budget = reading.budget();
    drop(reading);
    assert!(budget.used() >= 50 * 2 * BLOCK, "the memory that is held is counted");
    assert_eq!(chunks.iter().map(|chunk| chunk.len()).sum::<usize>(), 50 * (2 * BLOCK + 77));
    assert!(chunks.iter().flat_map(|chunk| chunk.iter()).eq(content.iter().flatten()));
    drop(chunks);
    assert_eq!(budget.used(), 0);
}

#[test]
fn the_window_bounds_bytes_in_flight() {
    let content: Vec<Vec<u8>> = (0..100).map(|seed| text(seed, 8 * BLOCK + 100)).collect();
    let image = open(Arc::new(image(&content, "gzip")));
    let order = files(&image);
    let window = 64 << 10;
    for workers in [0, 3] {
        let mut reading =
            Reading::new(&image, Box::new(requests(&order)), SharedUses::new(), &settings(workers, window, BLOCK))
                .unwrap();
        while reading.next_event().unwrap().is_some() {}
        let peak = reading.budget().peak();
        assert!((1..window + 3 * BLOCK).contains(&peak), "{peak} bytes with {workers} workers");
    }
}

#[test]
fn a_cancelled_reading_stops() {
    let image = open(Arc::new(image(&[text(1, 9 * BLOCK)], "gzip")));
    let order = files(&image);
    for workers in [0, 2] {
        let settings = settings(workers, 1 << 20, 0);
        let mut reading = Reading::new(&image, Box::new(requests(&order)), SharedUses::new(), &settings).unwrap();
        assert!(reading.next_event().unwrap().is_some());
        settings.engine.cancel.cancel();
        assert!(matches!(reading.next_event(), Err(ReadError::Work(WorkFault::Cancelled))));
    }
}

/// Files that are tail ends alone, in an order unrelated to the image's, and their contents.
fn tail_ends(codec: &str) -> (Image, Vec<FileData>, Vec<Got>) {
    let content: Vec<Vec<u8>> = match codec {
        // Bytes that no codec makes smaller.
        "raw" => (0..200).map(|seed| noise(seed, 900)).collect(),
        _ => (0..200).map(|seed| text(seed, 900)).collect(),
    };
    let image = open(Arc::new(image(&content, if codec == "raw" { "gzip" } else { codec })));
    let mut order = files(&image);
    let mut expected = Vec::new();
    let shuffled = |at: usize| at * 77 % 200;
    order = (0..200).map(|at| order[shuffled(at)].clone()).collect();
    expected.extend((0..200).map(|at| Got { bytes: content[shuffled(at)].clone(), failed: Vec::new() }));
    (image, order, expected)
}

fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) + 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    (0..length).map(|_| next()).collect()
}

fn with_scratch(place: &tempfile::TempDir, workers: usize, fragments: usize) -> ReadSettings {
    ReadSettings { scratch: Some(place.path().into()), ..settings(workers, 20_000, fragments) }
}

#[test]
fn memory_for_one_block_is_enough_to_decode_each_once() {
    let place = tempfile::tempdir().unwrap();
    for codec in ["gzip", "raw"] {
        let (image, order, expected) = tail_ends(codec);
        let blocks = u64::from(image.superblock().fragments);
        assert!(blocks > 20);
        assert_eq!(image.fragment(0).unwrap().compressed, codec == "gzip");
        for (workers, fragments) in [(0, 0), (0, 3 * BLOCK), (1, 0), (2, 10 * BLOCK), (7, 1)] {
            let mut reading = reading(&image, &order, true, &with_scratch(&place, workers, fragments));
            assert!(all_of(&mut reading, |_, _| {}) == expected, "{workers} workers, {fragments} bytes");
            let counts = reading.shared_counts();
            assert_eq!(counts.decoded, blocks, "{workers} workers, {fragments} bytes");
            assert_eq!(counts.spilled > 0, codec == "gzip", "content that is in the image is read from the image");
            assert!(counts.spilled <= blocks && reading.scratch().bytes() <= blocks * BLOCK as u64);
            let budget = reading.budget();
            drop(reading);
            assert_eq!(budget.used(), 0);
        }
    }
}

#[test]
fn a_scratch_file_that_fails_costs_time_and_nothing_else() {
    let place = tempfile::tempdir().unwrap();
    let (image, order, expected) = tail_ends("zstd");
    let blocks = u64::from(image.superblock().fragments);
    for workers in [0, 2] {
        let settings = with_scratch(&place, workers, 3 * BLOCK);
        let nowhere = ReadSettings { scratch: Some("/dev/null/nowhere".into()), ..settings.clone() };
        assert!(read(&image, &order, true, &nowhere) == expected, "it cannot be made");

        let mut refused = reading(&image, &order, true, &settings);
        refused.scratch().break_writing();
        assert!(all_of(&mut refused, |_, _| {}) == expected, "it cannot be written");
        assert!(refused.shared_counts().decoded > blocks);

        let mut gone = reading(&image, &order, true, &settings);
        let got = all_of(&mut gone, |reading, number| {
            if number == 100 {
                reading.scratch().break_reading();
            }
        });
        assert!(got == expected, "it cannot be read");
        assert!(gone.shared_counts().decoded > blocks);
    }
}

#[test]
fn a_broken_block_is_broken_for_all_its_files_wherever_it_is() {
    let place = tempfile::tempdir().unwrap();
    let content: Vec<Vec<u8>> = (0..200).map(|seed| text(seed, 900)).collect();
    let mut bytes = image(&content, "zstd");
    let broken = open(Arc::new(bytes.clone())).fragment(3).unwrap();
    bytes[broken.offset as usize..][..4].fill(0);
    let image = open(Arc::new(bytes));
    let sound = files(&image);
    let order: Vec<FileData> = (0..200).map(|at| sound[at * 77 % 200].clone()).collect();
    let expected = read(&image, &order, true, &settings(0, 1 << 20, 1 << 20));
    let failed = expected.iter().filter(|got| !got.failed.is_empty()).count();
    assert_eq!(failed, order.iter().filter(|file| fragment_of(file) == 3).count());
    for workers in [0, 2] {
        let mut reading = reading(&image, &order, true, &with_scratch(&place, workers, BLOCK));
        assert!(all_of(&mut reading, |_, _| {}) == expected);
        assert_eq!(reading.shared_counts().decoded, u64::from(image.superblock().fragments));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn in_any_order_each_block_is_decoded_once(
        order in prop::collection::vec(0usize..200, 0..120),
        fragments in 0usize..6,
        workers in 0usize..3,
        broken_after in 0usize..240,
    ) {
        let place = tempfile::tempdir().unwrap();
        let (image, files, content) = tail_ends("lz4");
        let order: Vec<(FileData, &Got)> = order.into_iter().map(|at| (files[at].clone(), &content[at])).collect();
        let (order, expected): (Vec<FileData>, Vec<&Got>) = order.into_iter().unzip();
        let blocks: std::collections::BTreeSet<u32> = order.iter().map(fragment_of).collect();
        let mut reading = reading(&image, &order, true, &with_scratch(&place, workers, fragments * BLOCK));
        let got = all_of(&mut reading, |reading, number| {
            if number == broken_after && reading.scratch().written() > 0 {
                reading.scratch().break_reading();
            }
        });
        prop_assert!(got.iter().eq(expected));
        if broken_after >= order.len() {
            prop_assert_eq!(reading.shared_counts().decoded, blocks.len() as u64);
        }
    }
}
