//! The data area as a whole: contents read from it equal the input, and the bytes do not depend on the workers.

use std::io;
use std::sync::Arc;

use packline_cache::{BlockEncoder, Lookup};
use packline_codec::{CodecError, Decoder, Outcome, Spec};
use packline_engine::Config;
use packline_testkit::Random;
use packline_tree::{ContentEnd, Entry, Extent, SharedContent, Source, UnreadPart};
use proptest::prelude::*;

use crate::{
    Align, BlockContent, BlockSize, Coder, Coders, CompleteData, DataArea, DataLayout, DataOptions, Error, FileHints, Form,
    Fragments, Layout, Override, Sharing, Sink,
};

const BLOCK: usize = 4096;
/// Offset of the data area.
const START: u64 = 96;

/// A codec with blocks of [`BLOCK`] bytes.
#[derive(Debug, Clone)]
struct Codec(Spec);

/// One encoder, and a buffer for decoded blocks.
struct OneCoder {
    encoder: BlockEncoder,
    decoder: Box<dyn Decoder>,
    decoded: Vec<u8>,
}

impl Coders for Codec {
    fn coder(&self) -> Box<dyn Coder> {
        let encoder = BlockEncoder::new(&Lookup::default(), &self.0, BLOCK).unwrap();
        Box::new(OneCoder { encoder, decoder: self.0.decoder(BLOCK, usize::MAX).unwrap(), decoded: vec![0; BLOCK] })
    }
}

impl Coder for OneCoder {
    fn compress(&mut self, block: &BlockContent<'_>, to: &mut [u8]) -> Result<Outcome, CodecError> {
        self.encoder.compress(block.bytes, None, to)
    }

    fn decode<'a>(&'a mut self, _: Form, stored: &'a [u8]) -> Result<&'a [u8], String> {
        let length = self.decoder.decompress(stored, &mut self.decoded).map_err(|error| error.to_string())?;
        Ok(&self.decoded[..length])
    }
}

/// Bytes that workers read.
#[derive(Debug)]
struct Shared(Vec<u8>);

impl SharedContent for Shared {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, packline_tree::Error> {
        buffer.copy_from_slice(&self.0[offset as usize..][..buffer.len()]);
        Ok(buffer.len())
    }
}

/// A content that is found to have only 5000 bytes of ones, while 20000 were read, and is then read again.
#[derive(Debug, Clone)]
struct Shrinking {
    left: usize,
    /// Whether workers read it.
    shared: bool,
    again: bool,
}

const SHRUNK: usize = 5000;

impl SharedContent for Shrinking {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, packline_tree::Error> {
        let count = SHRUNK.saturating_sub(offset as usize).min(buffer.len());
        buffer[..count].fill(1);
        Ok(count)
    }

    fn end(&self) -> Result<ContentEnd, packline_tree::Error> {
        Ok(ContentEnd::Again(Box::new(Shrinking { left: 0, shared: false, again: true })))
    }
}

impl Source for Shrinking {
    fn next_entry(&mut self) -> Result<Option<Entry>, packline_tree::Error> {
        Ok(None)
    }

    fn read(&mut self, buffer: &mut [u8]) -> Result<Extent, packline_tree::Error> {
        let count = self.left.min(buffer.len());
        buffer[..count].fill(1);
        self.left -= count;
        Ok(if count == 0 { Extent::End } else { Extent::Data(count) })
    }

    fn read_later(&mut self, most: usize) -> Result<Option<UnreadPart>, packline_tree::Error> {
        let bytes = self.left.min(most);
        if bytes == 0 || !self.shared {
            return Ok(None);
        }
        let offset = (20_000 - self.left) as u64;
        self.left -= bytes;
        Ok(Some(UnreadPart { content: Arc::new(self.clone()), offset, bytes }))
    }

    fn read_again(&mut self) -> Option<u64> {
        let first = std::mem::take(&mut self.again);
        self.left = if first { SHRUNK } else { 0 };
        first.then_some(SHRUNK as u64)
    }

    fn progress(&self) -> (u64, Option<u64>) {
        (0, None)
    }

    fn take_warnings(&mut self) -> Vec<String> {
        vec!["it shrank".into()]
    }
}

/// A file's content, read in pieces of `step` bytes; runs of zeros of at least `hole` bytes are holes. Workers read every other piece.
struct Content<'a> {
    bytes: &'a [u8],
    step: usize,
    hole: usize,
    fail_at: Option<usize>,
    at: usize,
}

impl Source for Content<'_> {
    fn next_entry(&mut self) -> Result<Option<Entry>, packline_tree::Error> {
        Ok(None)
    }

    fn read(&mut self, buffer: &mut [u8]) -> Result<Extent, packline_tree::Error> {
        if self.fail_at.is_some_and(|at| self.at >= at) {
            return Err(packline_tree::Error::Entry {
                input: "test".into(),
                entry: b"broken".to_vec(),
                what: "fails".into(),
                expected: "success".into(),
            });
        }
        let rest = &self.bytes[self.at..];
        let zeros = rest.iter().take_while(|byte| **byte == 0).count();
        if zeros >= self.hole.max(1) {
            self.at += zeros;
            return Ok(Extent::Hole(zeros as u64));
        }
        let count = buffer.len().min(self.step).min(rest.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        self.at += count;
        Ok(if count == 0 { Extent::End } else { Extent::Data(count) })
    }

    fn read_later(&mut self, most: usize) -> Result<Option<UnreadPart>, packline_tree::Error> {
        let zeros = self.bytes[self.at..].iter().take_while(|byte| **byte == 0).count();
        let bytes = most.min(self.step).min(self.bytes.len() - self.at);
        if (self.at / self.step).is_multiple_of(2) || zeros >= self.hole.max(1) || bytes == 0 || self.fail_at.is_some()
        {
            return Ok(None);
        }
        let offset = self.at as u64;
        self.at += bytes;
        Ok(Some(UnreadPart { content: Arc::new(Shared(self.bytes.to_vec())), offset, bytes }))
    }

    fn progress(&self) -> (u64, Option<u64>) {
        (self.at as u64, None)
    }
}

/// A codec, and the options of the data area.
struct Setup {
    codec: Spec,
    options: DataOptions,
}

fn setup(codec: &str) -> Setup {
    let codec = Spec::parse(codec).unwrap();
    let options = DataOptions {
        block_size: BlockSize::new(BLOCK as u64).unwrap(),
        fragment_size: BLOCK as u32,
        fragments: Fragments::Always,
        deduplicate: true,
        sharing: Sharing::Runs,
        sparse: true,
        stored_blocks: false,
        stored_fragments: false,
        compresses: codec != Spec::None,
        pad: 4096,
        layout: Layout::Compact,
        start: START,
        checksum: true,
        verify: false,
        looks_up: false,
    };
    Setup { codec, options }
}

fn sharing(mut setup: Setup, sharing: Sharing) -> Setup {
    setup.options.sharing = sharing;
    setup
}

fn area<'s>(sink: &'s mut dyn Sink, setup: &Setup, config: Config) -> DataArea<'s> {
    DataArea::new(sink, setup.options.clone(), Arc::new(Codec(setup.codec.clone())), config).unwrap()
}

/// How contents are read, and what packs them.
#[derive(Debug, Clone, Copy)]
struct Run {
    workers: usize,
    window: usize,
    /// Bytes of one read.
    step: usize,
    /// Runs of zeros of at least this number of bytes are holes.
    hole: usize,
}

const RUN: Run = Run { workers: 2, window: 0, step: 999, hole: usize::MAX };

fn feed(area: &mut DataArea<'_>, source: &mut dyn Source, size: u64, hints: FileHints) -> Result<(), Error> {
    let number = area.add_file(size)?;
    area.feed(number, size, hints, source).map_err(|error| area.first_error(error))
}

fn add(area: &mut DataArea<'_>, bytes: &[u8], hints: FileHints, run: Run) -> Result<(), Error> {
    let mut content = Content { bytes, step: run.step, hole: run.hole, fail_at: None, at: 0 };
    feed(area, &mut content, bytes.len() as u64, hints)
}

/// What is known of a data area that was packed.
struct Packed {
    image: Vec<u8>,
    layout: DataLayout,
    checksum: Option<u32>,
    blocks: u64,
}

fn pack(files: &[(Vec<u8>, FileHints)], setup: &Setup, run: Run) -> Packed {
    let mut image = Vec::new();
    let mut area = area(&mut image, setup, Config::new(run.workers, run.window));
    for (bytes, hints) in files {
        add(&mut area, bytes, *hints, run).unwrap();
    }
    let CompleteData { layout, checksum, blocks, .. } = area.complete().unwrap();
    Packed { image, layout, checksum, blocks }
}

fn block(image: &[u8], start: u64, size_word: u32, space: usize, codec: &Spec) -> Vec<u8> {
    let size = (size_word & !STORED_BLOCK) as usize;
    let bytes = &image[start as usize..start as usize + size];
    if size_word & STORED_BLOCK != 0 {
        return bytes.to_vec();
    }
    let mut raw = vec![0; space];
    let count = codec.decoder(BLOCK, usize::MAX).unwrap().decompress(bytes, &mut raw).unwrap();
    raw.truncate(count);
    raw
}

/// Reads a file's content as a reader of the format finds it.
fn content(packed: &Packed, number: usize, codec: &Spec) -> Vec<u8> {
    let Packed { image, layout, .. } = packed;
    let file = &layout.files[number];
    let mut bytes = Vec::new();
    for place in layout.blocks(file) {
        let space = BLOCK.min(file.size as usize - bytes.len());
        if place.is_hole() {
            bytes.resize(bytes.len() + space, 0);
        } else {
            bytes.extend(block(image, place.start, place.size_word, space, codec));
        }
    }
    if let Some(tail) = file.tail {
        let fragment = layout.fragments[tail.fragment as usize];
        let raw = block(image, fragment.start, fragment.size_word, BLOCK, codec);
        assert_eq!(raw.len(), fragment.length as usize);
        bytes.extend_from_slice(&raw[tail.offset as usize..][..file.size as usize - bytes.len()]);
    }
    bytes
}

fn text(seed: u8, length: usize) -> Vec<u8> {
    (0..length).map(|at| seed.wrapping_mul(31).wrapping_add((at / 7 * (seed as usize + 3)) as u8) | 1).collect()
}

/// A file of few different blocks, so that every kind of sharing happens.
fn file() -> impl Strategy<Value = (Vec<u8>, FileHints)> {
    let part = prop_oneof![
        4 => (1u8..5).prop_map(|seed| text(seed, BLOCK)),
        1 => Just(vec![0; BLOCK]),
        1 => Just(vec![0; 3 * BLOCK]),
    ];
    let tail = prop_oneof![
        Just(Vec::new()),
        (1u8..4, 1usize..BLOCK).prop_map(|(seed, length)| text(seed, length / 512 * 512 + 1)),
        Just(vec![0; 100]),
    ];
    let hints = (0u8..40).prop_map(|bits| FileHints {
        fragments: match bits {
            6 => Override::On,
            1 | 7 => Override::Off,
            _ => Override::None,
        },
        large_tails: match bits {
            8 => Override::On,
            9 => Override::Off,
            _ => Override::None,
        },
        compress: match bits {
            10 => Override::On,
            2 => Override::Off,
            _ => Override::None,
        },
        no_deduplicate: bits == 3,
        no_sparse: bits == 4,
        align: match bits {
            5 => Align::Pad,
            11 => Align::Bytes(8192),
            _ => Align::Any,
        },
        fragment_set: (12..20).contains(&bits).into(),
    });
    (prop::collection::vec(part, 0..5), tail, hints).prop_map(|(parts, tail, hints)| {
        let mut bytes = parts.concat();
        bytes.extend(tail);
        (bytes, hints)
    })
}

fn plain(content: &[u8]) -> (Vec<u8>, FileHints) {
    (content.to_vec(), FileHints::default())
}

fn both() -> impl Strategy<Value = Sharing> {
    prop_oneof![Just(Sharing::Runs), Just(Sharing::Blocks)]
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
        kind in both(),
    ) {
        let mut setup = sharing(setup("lz4"), kind);
        setup.options.fragments = if never { Fragments::Never } else { Fragments::Always };
        setup.options.deduplicate = deduplicate;
        let packed = pack(&files, &setup, Run { window: 1 << 20, step, hole, ..RUN });
        for (number, (bytes, _)) in files.iter().enumerate() {
            prop_assert!(content(&packed, number, &setup.codec) == *bytes, "file {}", number);
        }
        let Packed { image, layout, checksum, .. } = packed;
        prop_assert_eq!((image.len() as u64).max(START), layout.end, "nothing follows the data");
        prop_assert_eq!(checksum, Some(crc32fast::hash(image.get(START as usize..).unwrap_or_default())));
    }

    #[test]
    fn the_bytes_depend_on_the_input_alone(
        files in prop::collection::vec(file(), 1..30),
        workers in prop_oneof![Just(0), Just(1), Just(2), Just(7)],
        window in prop_oneof![Just(0), Just(1_000_000), Just(100_000_000)],
        step in 1usize..3 * BLOCK,
        kind in both(),
    ) {
        let setup = sharing(setup("lz4"), kind);
        let one = pack(&files, &setup, Run { workers, window, step, ..RUN });
        let other = pack(&files, &setup, Run { workers: 0, ..RUN });
        prop_assert!(one.image == other.image && one.layout == other.layout);
    }

    #[test]
    fn each_content_is_stored_once(files in prop::collection::vec(file(), 1..30)) {
        let packed = pack(&files, &sharing(setup("lz4"), Sharing::Blocks), RUN);
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
        let CompleteData { layout, checksum, blocks, .. } = area.complete().unwrap();
        let packed = Packed { image, layout, checksum, blocks };
        for file in [0, 1] {
            assert!(content(&packed, file, &setup.codec) == [1; SHRUNK], "{workers} workers, file {file}");
        }
    }
}

#[test]
fn duplicates_cost_nothing() {
    let long = [text(1, BLOCK), text(2, BLOCK), text(3, 77)].concat();
    for kind in [Sharing::Runs, Sharing::Blocks] {
        let setup = sharing(setup("lz4"), kind);
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
        assert_eq!(content(&packed, number, &setup.codec), *bytes);
    }
    assert_eq!(pack(&files, &sharing(setup, Sharing::Blocks), RUN).blocks, 4);
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
