//! Readers use as much memory as the units of an image have, although the format allows units of 12 MiB.

use packline_engine::Config;
use packline_erofs::read::Image;
use packline_volume::{Event, FileData, ReadSettings, Reading, Request, SharedUses, Visit, Volume, Walk};

use super::support::{file_of, fixture, open};

/// Bytes of the largest chunk that readers of small units may hold: a run of units.
const RUN: usize = 256 << 10;
/// Size of the file `large`.
const LARGE: usize = 6_000_000;

fn files(image: &Image) -> Vec<(Vec<u8>, FileData)> {
    let visits = Walk::new(image, image.root(), Vec::new()).map(|visit| visit.unwrap());
    let visits: Vec<Visit> = visits.collect();
    visits.iter().filter_map(file_of).collect()
}

/// Reads all files in order; returns the bytes, and the memory of the largest chunk.
fn read(image: &Image, workers: usize, window: usize) -> (Vec<u8>, usize) {
    let files = files(image);
    let mut uses = SharedUses::new();
    files.iter().for_each(|(_, file)| uses.note(image, file));
    let requests = files.iter().map(|(_, file)| Ok(Request { tag: (), file: Some(file.clone()), weight: 0 }));
    let engine = Config::new(workers, window);
    let settings = ReadSettings { shared: 1 << 20, scratch: None, engine, listener: None };
    let mut reading = Reading::new(image, Box::new(requests), uses, &settings).unwrap();
    let mut bytes = Vec::new();
    let mut memory = 0;
    while let Some(event) = reading.next_event().unwrap() {
        match event {
            Event::Begin(()) => {}
            Event::Data(chunk) => {
                bytes.extend_from_slice(&chunk);
                memory = memory.max(chunk.memory());
            }
            Event::Hole(length) => bytes.resize(bytes.len() + length as usize, 0),
            Event::Failed { error, .. } => panic!("{error}"),
        }
    }
    (bytes, memory)
}

#[test]
fn small_units_take_little_memory() {
    for name in ["compressed/lz4-4k.erofs", "compressed/zstd-allfragments.erofs", "inline.erofs"] {
        let image = open(fixture(name)).unwrap();
        let (bytes, memory) = read(&image, 0, 1 << 20);
        assert!(memory <= RUN, "{name}: {memory}");
        assert_eq!(read(&image, 2, 1 << 20).0, bytes);
    }
}

#[test]
fn reads_units_that_are_larger_than_the_window() {
    let line = b"a line that repeats\n";
    let expected: Vec<u8> = line.iter().copied().cycle().take(LARGE).collect();
    for name in ["large.erofs", "largeshared.erofs"] {
        let image = open(fixture(name)).unwrap();
        let (bytes, memory) = read(&image, 0, 1 << 20);
        assert!(bytes[..LARGE] == expected, "{name}");
        assert!((LARGE..LARGE + RUN).contains(&memory), "{name}: {memory}");
        assert_eq!(read(&image, 2, 1 << 20).0, bytes, "{name}");
    }
}

#[test]
fn counts_every_shared_piece_of_a_file() {
    let image = open(fixture("compressed/zstd-allfragments.erofs")).unwrap();
    let keys = |file: &FileData| {
        let mut keys = Vec::new();
        image.shared_keys(file, &mut |key| keys.push(key));
        keys
    };
    let most = files(&image).iter().map(|(_, file)| keys(file).len()).max();
    assert!(most.is_some_and(|most| most > 1), "{most:?}");
}

#[test]
fn decodes_a_shared_unit_once_for_files_that_cross_units() {
    let image = open(fixture("compressed/zstd-allfragments.erofs")).unwrap();
    let files = files(&image);
    let mut uses = SharedUses::new();
    files.iter().for_each(|(_, file)| uses.note(&image, file));
    let mut keys = Vec::new();
    files.iter().for_each(|(_, file)| image.shared_keys(file, &mut |key| keys.push(key)));
    keys.sort_unstable();
    keys.dedup();
    let requests = files.iter().map(|(_, file)| Ok(Request { tag: (), file: Some(file.clone()), weight: 0 }));
    let settings = ReadSettings { shared: 8 << 20, scratch: None, engine: Config::new(0, 1 << 20), listener: None };
    let mut reading = Reading::new(&image, Box::new(requests), uses, &settings).unwrap();
    while reading.next_event().unwrap().is_some() {}
    assert_eq!(reading.shared_counts().decoded, keys.len() as u64);
}
