//! The data area as a whole: contents read from it equal the input, and the bytes do not depend on the workers.

mod late_content;
mod support;

use std::io;

use packline_engine::Config;
use packline_testkit::Random;
use packline_tree::{Entry, Extent, Source};
use proptest::prelude::*;

use crate::tests::support::{
    BLOCK, Content, KINDS, Kind, Packed, RUN, Run, SEGMENT, SHRUNK, START, Shrinking, UNIT, add, area, content, feed,
    file, pack, plain, setup, setup_of, text,
};
use crate::{Align, CompleteData, FileHints, Fragments, Override, Sink};

fn kind() -> impl Strategy<Value = Kind> {
    prop::sample::select(&KINDS[..])
}

/// Files whose ends are kept are not in fragment blocks.
fn for_kind(mut files: Vec<(Vec<u8>, FileHints)>, kind: Kind) -> Vec<(Vec<u8>, FileHints)> {
    if matches!(kind, Kind::Ends) {
        files.iter_mut().for_each(|(_, hints)| hints.fragments = Override::Off);
    }
    files
}

/// The number of blocks that are stored if each content is stored once.
fn stored_once(files: &[(Vec<u8>, FileHints)]) -> u64 {
    let mut known: Vec<(&[u8], bool)> = Vec::new();
    let mut stored = 0;
    for (bytes, hints) in files {
        let has_tail = hints.fragments != Override::Off && hints.compress != Override::Off;
        let large_tail = bytes.len() < BLOCK || hints.large_tails != Override::Off;
        let uncompressed = hints.compress == Override::Off;
        for block in bytes.chunks(BLOCK) {
            let is_tail = block.len() < BLOCK && has_tail && large_tail;
            if is_tail || (!hints.no_sparse && block.iter().all(|byte| *byte == 0)) {
                continue;
            }
            let is_known = known.contains(&(block, uncompressed));
            let shares = !hints.no_deduplicate && hints.align == Align::Any;
            stored += u64::from(!is_known || !shares);
            if !hints.no_deduplicate {
                known.push((block, uncompressed));
            }
        }
    }
    stored
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_file_comes_back(
        files in prop::collection::vec(file(), 1..30),
        step in 1usize..3 * BLOCK,
        hole in prop_oneof![Just(usize::MAX), Just(1), Just(2 * BLOCK)],
        never in any::<bool>(),
        deduplicate in any::<bool>(),
        kind in kind(),
    ) {
        let mut setup = setup_of("lz4", kind);
        let never = never || matches!(kind, Kind::Ends);
        let files = for_kind(files, kind);
        setup.options.fragments = if never { Fragments::Never } else { Fragments::Always };
        setup.options.deduplicate = deduplicate;
        let packed = pack(&files, &setup, Run { window: 1 << 20, step, hole, ..RUN });
        for (number, (bytes, _)) in files.iter().enumerate() {
            prop_assert!(content(&packed, number, &setup) == *bytes, "file {}", number);
        }
        let Packed { image, layout, checksum, .. } = packed;
        let start = setup.options.start;
        prop_assert_eq!((image.len() as u64).max(start), layout.end, "nothing follows the data");
        prop_assert_eq!(checksum, Some(crc32fast::hash(image.get(start as usize..).unwrap_or_default())));
    }

    #[test]
    fn the_bytes_depend_on_the_input_alone(
        files in prop::collection::vec(file(), 1..30),
        workers in prop_oneof![Just(0), Just(1), Just(2), Just(7)],
        window in prop_oneof![Just(0), Just(1_000_000), Just(100_000_000)],
        step in 1usize..3 * BLOCK,
        kind in kind(),
    ) {
        let setup = setup_of("lz4", kind);
        let files = for_kind(files, kind);
        let one = pack(&files, &setup, Run { workers, window, step, ..RUN });
        let other = pack(&files, &setup, Run { workers: 0, ..RUN });
        prop_assert!(one.image == other.image && one.layout == other.layout);
    }

    #[test]
    fn each_content_is_stored_once(files in prop::collection::vec(file(), 1..30)) {
        let packed = pack(&files, &setup_of("lz4", Kind::Blocks), RUN);
        prop_assert_eq!(packed.blocks, stored_once(&files));
        prop_assert_eq!(packed.layout.places.len() as u64, packed.blocks);
    }
}

#[test]
fn a_file_that_shrinks_while_workers_read_it_is_read_again() {
    let setup = setup("lz4");
    for workers in [0, 1, 3] {
        let mut image = Vec::new();
        let mut area = area(&mut image, &setup, Config::new(workers, 1 << 20));
        for _ in 0..2 {
            let mut source = Shrinking { left: 20_000, shared: true, again: false };
            feed(&mut area, &mut source, 20_000, FileHints::default()).unwrap();
        }
        area.settle().unwrap();
        assert_eq!(area.take_warnings(), ["it shrank", "it shrank"], "{workers} workers");
        assert_eq!(area.content_bytes(), 2 * SHRUNK as u64);
        let CompleteData { layout, checksum, blocks, tails, ends, .. } = area.complete().unwrap();
        let packed = Packed { image, layout, checksum, blocks, tails, ends };
        for file in [0, 1] {
            assert!(content(&packed, file, &setup) == [1; SHRUNK], "{workers} workers, file {file}");
        }
    }
}

#[test]
fn duplicates_cost_nothing() {
    let long = [text(1, BLOCK), text(2, BLOCK), text(3, 77)].concat();
    for kind in KINDS {
        let setup = setup_of("lz4", kind);
        let once = pack(&[plain(&long)], &setup, RUN).image;
        let twice = pack(&[plain(&long), plain(&long)], &setup, RUN).image;
        assert_eq!(once, twice);
    }
}

#[test]
fn a_part_of_a_recent_tail_end_costs_nothing() {
    let mut random = Random::new(5);
    let whole = random.noise(3000);
    let parts = [&whole[..], &whole[..1000], &whole[1700..], &whole[501..2900]].map(plain);
    let mut setup = setup("none");
    let once = pack(&parts[..1], &setup, RUN).image;
    let Packed { image, layout, .. } = pack(&parts, &setup, RUN);
    assert_eq!(image, once);
    let places = layout.files.iter().map(|file| file.tail.map(|tail| (tail.fragment, tail.offset)));
    assert_eq!(places.collect::<Vec<_>>(), [0, 0, 1700, 501].map(|offset| Some((0, offset))));
    setup.options.deduplicate = false;
    assert_eq!(pack(&parts, &setup, RUN).image.len(), once.len() + 1000 + 1300 + 2399);
}

#[test]
fn files_that_start_alike_stay_apart() {
    let setup = setup("lz4");
    let files = [1, 2, 3].map(|end| plain(&[text(9, BLOCK), text(end, BLOCK)].concat()));
    let packed = pack(&files, &setup, RUN);
    for (number, (bytes, _)) in files.iter().enumerate() {
        assert_eq!(content(&packed, number, &setup), *bytes);
    }
    assert_eq!(pack(&files, &setup_of("lz4", Kind::Blocks), RUN).blocks, 4);
}

#[test]
fn holes_take_no_place_and_no_time() {
    let setup = setup("lz4");
    let size = 20 << 30;
    struct Empty(bool);
    impl Source for Empty {
        fn next_entry(&mut self) -> Result<Option<Entry>, packline_tree::Error> {
            Ok(None)
        }
        fn read(&mut self, _: &mut [u8]) -> Result<Extent, packline_tree::Error> {
            Ok(if std::mem::replace(&mut self.0, true) { Extent::End } else { Extent::Hole(20 << 30) })
        }
        fn progress(&self) -> (u64, Option<u64>) {
            (0, None)
        }
    }
    let mut image = Vec::new();
    let mut area = area(&mut image, &setup, Config::new(1, 0));
    feed(&mut area, &mut Empty(false), size, FileHints::default()).unwrap();
    let layout = area.complete().unwrap().layout;
    assert_eq!((layout.files[0].sparse, layout.files[0].blocks), (size, (size / BLOCK as u64) as u32));
    assert!(image.is_empty());
}

#[test]
fn a_failing_source_is_named() {
    let mut image = Vec::new();
    let mut area = area(&mut image, &setup("lz4"), Config::new(2, 0));
    add(&mut area, &text(1, 3 * BLOCK), FileHints::default(), RUN).unwrap();
    let bytes = text(2, 3 * BLOCK);
    let mut content = Content { bytes: &bytes, step: 999, hole: usize::MAX, fail_at: Some(BLOCK), at: 0 };
    let error = feed(&mut area, &mut content, bytes.len() as u64, FileHints::default()).unwrap_err();
    assert_eq!(error.to_string(), "test: broken: fails (expected success)");
}

#[test]
fn a_full_sink_is_named_with_its_offset() {
    struct Full;
    impl Sink for Full {
        fn append(&mut self, _: &[u8]) -> io::Result<()> {
            Err(io::Error::from(io::ErrorKind::StorageFull))
        }
        fn write_at(&mut self, _: u64, _: &[u8]) -> io::Result<bool> {
            Err(io::Error::from(io::ErrorKind::StorageFull))
        }
    }
    for workers in [2, 0] {
        let mut full = Full;
        let mut area = area(&mut full, &setup("gzip"), Config::new(workers, 0));
        let added = add(&mut area, &text(1, BLOCK), FileHints::default(), RUN);
        let error = added.and_then(|()| area.complete().map(drop)).unwrap_err();
        assert!(error.to_string().starts_with("cannot write the image at byte 96: "), "{error}");
    }
}

#[test]
fn blocks_are_split_into_clusters_of_whole_units() {
    let mut random = Random::new(6);
    let noise = random.noise(SEGMENT + 100);
    let words: Vec<u8> = random.noise(2 * SEGMENT + 3 * BLOCK + 100).iter().map(|byte| byte & 3).collect();
    let setup = setup_of("lz4", Kind::Clusters);
    let packed = pack(&[plain(&words), plain(&noise), plain(&words[SEGMENT..])], &setup, RUN);
    let layout = &packed.layout;
    let lengths = |file: usize| -> Vec<u32> {
        layout.extents(&layout.files[file], &setup.options).map(|extent| extent.length).collect()
    };
    assert_eq!(lengths(0), [BLOCK as u32; 11]);
    assert_eq!(lengths(1), [SEGMENT as u32]);
    assert_eq!(lengths(2), [BLOCK as u32; 7]);
    assert_eq!((packed.blocks, layout.fragments.len()), (4, 1), "the last file has the blocks of the first one");
    for number in 0..3 {
        let extents = layout.extents(&layout.files[number], &setup.options);
        assert!(extents.map(|extent| extent.place).all(|place| place.start % UNIT as u64 == 0 && !place.is_hole()));
        assert_eq!(content(&packed, number, &setup).len(), layout.files[number].size as usize);
    }
}

#[test]
fn tail_ends_are_kept_after_blocks_that_follow_each_other() {
    let setup = setup_of("none", Kind::Kept);
    let [first, second] = [text(1, SEGMENT), text(2, SEGMENT)];
    let files = [
        plain(&[&first[..], &second, b"end"].concat()),
        plain(&[&second[..], &first, b"end"].concat()),
        plain(&[&second[..], &vec![0; SEGMENT], b"end"].concat()),
        plain(&[&second[..], b"end"].concat()),
        plain(b"end"),
    ];
    let packed = pack(&files, &setup, RUN);
    assert_eq!(
        packed.layout.files.iter().map(|file| file.tail.is_some()).collect::<Vec<_>>(),
        [true, false, false, true, true]
    );
    let blocks = 2 * SEGMENT / BLOCK + 1;
    assert_eq!((packed.blocks, packed.layout.fragments.len()), (blocks as u64, 0), "both texts and one end");
    for (number, (bytes, _)) in files.iter().enumerate() {
        assert!(content(&packed, number, &setup) == *bytes, "file {number}");
    }
}

#[test]
fn short_ends_are_kept_as_they_are_stored() {
    let words: Vec<u8> = Random::new(6).noise(SEGMENT).iter().map(|byte| byte & 3).collect();
    let noise = Random::new(7).noise(SEGMENT);
    let files = [
        plain(&words[..BLOCK + 200]),
        plain(&words[..900]),
        plain(&noise[..300]),
        plain(&noise[..UNIT - 1]),
        plain(&noise[..BLOCK + 40]),
        plain(&[&words[..], &noise[..40]].concat()),
        plain(&noise[..300]),
        plain(&words),
    ];
    for verify in [false, true] {
        let mut setup = setup_of("lz4", Kind::Ends);
        setup.options.verify = verify;
        let packed = pack(&files, &setup, RUN);
        for (number, (bytes, _)) in files.iter().enumerate() {
            assert!(content(&packed, number, &setup) == *bytes, "file {number}");
        }
        let layout = &packed.layout;
        let kept = |file| layout.extents(file, &setup.options).map(|extent| setup.options.kept_bytes(&extent)).sum();
        let ends: Vec<u32> = layout.files.iter().map(kept).collect();
        assert!(ends[0] > 0 && ends[0] <= 200 && ends[1] > 0 && ends[1] < 400, "{ends:?}");
        // Too long, and an end of a whole block.
        assert_eq!(ends[2..], [300, 0, 40, 40, 300, 0]);
    }
}

#[test]
fn tail_ends_of_zeros_are_holes_after_shorter_blocks() {
    let words: Vec<u8> = Random::new(6).noise(SEGMENT + BLOCK).iter().map(|byte| byte & 3).collect();
    let setup = setup_of("lz4", Kind::Clusters);
    let zeros = [0; BLOCK / 2];
    for blocks in [0, 1, SEGMENT / BLOCK, SEGMENT / BLOCK + 1] {
        let file = [&words[..blocks * BLOCK], &zeros].concat();
        let packed = pack(&[plain(&file)], &setup, RUN);
        let extents = packed.layout.extents(&packed.layout.files[0], &setup.options);
        let lengths: Vec<(u32, bool)> = extents.map(|extent| (extent.length, extent.place.is_hole())).collect();
        let mut expected = vec![(BLOCK as u32, false); blocks];
        expected.push((BLOCK as u32 / 2, true));
        assert_eq!(lengths, expected);
    }
}

#[test]
fn clusters_are_read_back() {
    let mut setup = setup_of("lz4", Kind::Clusters);
    setup.options.verify = true;
    let words: Vec<u8> = Random::new(6).noise(5 * SEGMENT + 100).iter().map(|byte| byte & 3).collect();
    let layout = pack(&[plain(&words)], &setup, RUN).layout;
    let clusters: Vec<usize> =
        layout.extents(&layout.files[0], &setup.options).map(|it| it.place.start as usize).collect();
    for (at, offset) in [(0, 0), (clusters[0] + 400, clusters[0]), (clusters[7] + 400, clusters[7])] {
        let mut sink = Faulty { image: Vec::new(), faults: [at, at + 1] };
        let mut area = area(&mut sink, &setup, Config::new(2, 0));
        add(&mut area, &words, FileHints::default(), RUN).unwrap();
        let CompleteData { sink, written, mut workers, .. } = area.complete().unwrap();
        let message = workers.finish(sink, written, &[7; 2 * UNIT], &mut |_, _| ()).unwrap_err().to_string();
        assert!(message.contains(&format!(" at byte {offset} has different bytes")), "{message}");
    }
}

#[test]
fn announced_zeros_are_stored_as_zeros_that_are_read() {
    let words: Vec<u8> = Random::new(6).noise(3 * SEGMENT).iter().map(|byte| byte & 3).collect();
    let zeros = vec![0; 3 * SEGMENT];
    for kind in KINDS {
        let setup = setup_of("lz4", kind);
        for (data, hole) in
            [(0, 5 * BLOCK + 100), (BLOCK, 100), (5 * BLOCK, 100), (5 * BLOCK, SEGMENT + BLOCK + 7), (9, BLOCK)]
        {
            let file = plain(&[&words[..data], &zeros[..hole]].concat());
            let files = [file.clone(), plain(&words), file];
            let [read, announced] = [usize::MAX, 1].map(|hole| pack(&files, &setup, Run { hole, ..RUN }));
            assert!(read.image == announced.image && read.layout == announced.layout, "{kind:?} {data} {hole}");
            assert!(content(&read, 2, &setup) == files[2].0, "{kind:?} {data} {hole}");
        }
    }
}

/// A sink whose medium changes two bytes when it is synced.
struct Faulty {
    image: Vec<u8>,
    faults: [usize; 2],
}

impl Sink for Faulty {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        Sink::append(&mut self.image, bytes)
    }

    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<bool> {
        Sink::write_at(&mut self.image, offset, bytes)
    }

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        Sink::read_at(&mut self.image, offset, buffer)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.faults.iter().for_each(|at| self.image[*at] ^= 1);
        Ok(())
    }
}

fn sink_start(sink: &mut dyn Sink) -> [u8; START as usize] {
    let mut start = [1; START as usize];
    sink.read_at(0, &mut start).unwrap();
    start
}

/// Later parts wait for memory while the first ones are compared.
#[test]
fn the_first_bad_part_is_reported() {
    let mut setup = setup("lz4");
    setup.options.verify = true;
    let noise = Random::new(9).noise(4 << 20);
    for workers in [0, 1, 2, 7] {
        let mut sink = Faulty { image: Vec::new(), faults: [100 + BLOCK, 3 << 20] };
        let mut area = area(&mut sink, &setup, Config::new(workers, 0));
        add(&mut area, &noise, FileHints::default(), Run { step: BLOCK, ..RUN }).unwrap();
        let CompleteData { sink, written, mut workers, .. } = area.complete().unwrap();
        let found = workers.finish(&mut *sink, written, &[7; START as usize], &mut |_, _| ());
        let message = found.unwrap_err().to_string();
        assert_eq!(message, format!(" at byte {} has different bytes, not what was written", START as usize + BLOCK));
        assert_eq!(sink_start(sink), [0; START as usize]);
    }
}
