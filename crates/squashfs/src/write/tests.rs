//! The data half as a whole: contents read from the data area equal the input, and the bytes do not depend on the workers.

use std::io;
use std::sync::Arc;

use packline_codec::Spec;
use packline_engine::Config;
use packline_testkit::Random;
use packline_tree::{ContentEnd, Entry, Extent, Kind, Meta, SharedContent, Source, UnreadPart};
use proptest::prelude::*;

use crate::read::{Image, Opening, Origin};
use crate::test_image;
use crate::{
    Align, BlockSize, DataLayout, Error, FileHints, Fragments, Options, Override, STORED_BLOCK, Sink, Start, Writer,
    data_start,
};

const BLOCK: usize = 4096;
const META: Meta = Meta { mode: 0o644, uid: 0, gid: 0, mtime: 0 };

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

fn start(memory: usize) -> Start {
    Start { root: META, defaults: META, input: "test".into(), memory, verify: false, lookup: Default::default() }
}

fn options(codec: &str) -> Options {
    let mut options = Options::new(Spec::parse(codec).unwrap());
    options.block_size = BlockSize::new(BLOCK as u64).unwrap();
    options
}

fn writer<'s>(sink: &'s mut Vec<u8>, options: &Options, config: Config) -> Writer<'s> {
    Writer::new(sink, options.clone(), config, start(usize::MAX)).unwrap()
}

fn add(
    writer: &mut Writer<'_>,
    number: usize,
    bytes: &[u8],
    hints: FileHints,
    step: usize,
    hole: usize,
) -> Result<(), Error> {
    let kind = Kind::File { size: bytes.len() as u64 };
    let entry = Entry { path: format!("f{number:05}").into_bytes(), kind, meta: META, xattrs: Vec::new() };
    writer.add(&entry, hints, &mut Content { bytes, step, hole, fail_at: None, at: 0 })
}

/// Packs files and returns the image and the layout of its data.
fn pack(
    files: &[(Vec<u8>, FileHints)],
    options: &Options,
    config: Config,
    step: usize,
    hole: usize,
) -> (Vec<u8>, DataLayout) {
    let mut image = Vec::new();
    let mut writer = writer(&mut image, options, config);
    for (number, (bytes, hints)) in files.iter().enumerate() {
        add(&mut writer, number, bytes, *hints, step, hole).unwrap();
    }
    let layout = writer.finish_data_for_tests().unwrap();
    (image, layout)
}

fn image(files: &[(Vec<u8>, FileHints)], options: &Options, config: Config, step: usize) -> Vec<u8> {
    let mut image = Vec::new();
    let mut writer = writer(&mut image, options, config);
    for (number, (bytes, hints)) in files.iter().enumerate() {
        add(&mut writer, number, bytes, *hints, step, usize::MAX).unwrap();
    }
    writer.finish().unwrap();
    image
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
fn content(image: &[u8], layout: &DataLayout, number: usize, codec: &Spec) -> Vec<u8> {
    let file = layout.files[number];
    let mut bytes = Vec::new();
    let mut place = file.start;
    for &word in &layout.sizes[file.first_block as usize..][..file.blocks as usize] {
        let space = BLOCK.min(file.size as usize - bytes.len());
        match word {
            0 => bytes.resize(bytes.len() + space, 0),
            word => bytes.extend(block(image, place, word, space, codec)),
        }
        place += u64::from(word & !STORED_BLOCK);
    }
    if let Some(tail) = file.tail {
        let fragment = layout.fragments[tail.fragment as usize];
        let raw = block(image, fragment.start, fragment.size_word, BLOCK, codec);
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

fn same(content: &[u8]) -> (Vec<u8>, FileHints) {
    (content.to_vec(), FileHints::default())
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
    ) {
        let mut options = options("lz4");
        options.fragments = if never { Fragments::Never } else { Fragments::Always };
        options.deduplicate = deduplicate;
        let (image, layout) = pack(&files, &options, Config::new(2, 1 << 20), step, hole);
        for (number, (bytes, _)) in files.iter().enumerate() {
            prop_assert!(content(&image, &layout, number, &options.codec) == *bytes, "file {}", number);
        }
        prop_assert_eq!((image.len() as u64).max(data_start(&options).unwrap()), layout.end, "nothing follows the data");
    }

    #[test]
    fn the_bytes_depend_on_the_input_alone(
        files in prop::collection::vec(file(), 1..30),
        workers in prop_oneof![Just(0), Just(1), Just(2), Just(5)],
        window in prop_oneof![Just(0), Just(1_000_000), Just(100_000_000)],
        step in 1usize..3 * BLOCK,
    ) {
        let options = options("lz4");
        prop_assert!(image(&files, &options, Config::new(workers, window), step) == image(&files, &options, Config::new(0, 0), 999));
    }
}

#[test]
fn a_file_that_shrinks_while_workers_read_it_is_read_again() {
    let options = options("lz4");
    for workers in [0, 1, 3] {
        let mut image = Vec::new();
        let mut writer = writer(&mut image, &options, Config::new(workers, 1 << 20));
        for path in ["first", "second"] {
            let kind = Kind::File { size: 20_000 };
            let entry = Entry { path: path.into(), kind, meta: META, xattrs: Vec::new() };
            let mut source = Shrinking { left: 20_000, shared: true, again: false };
            writer.add(&entry, FileHints::default(), &mut source).unwrap();
        }
        writer.settle().unwrap();
        assert_eq!(writer.take_warnings(), ["it shrank", "it shrank"], "{workers} workers");
        let layout = writer.finish_data_for_tests().unwrap();
        for file in [0, 1] {
            assert!(content(&image, &layout, file, &options.codec) == [1; SHRUNK], "{workers} workers, file {file}");
        }
    }
}

#[test]
fn duplicates_cost_nothing() {
    let options = options("lz4");
    let long = [text(1, BLOCK), text(2, BLOCK), text(3, 77)].concat();
    let once = pack(&[same(&long)], &options, Config::new(2, 0), 999, usize::MAX).0;
    let twice = pack(&[same(&long), same(&long)], &options, Config::new(2, 0), 999, usize::MAX).0;
    assert_eq!(once, twice);
}

#[test]
fn a_part_of_a_recent_tail_end_costs_nothing() {
    let mut random = Random::new(5);
    let whole = random.noise(3000);
    let parts = [&whole[..], &whole[..1000], &whole[1700..], &whole[501..2900]].map(same);
    let options = options("none");
    let (once, _) = pack(&parts[..1], &options, Config::new(2, 0), 999, usize::MAX);
    let (image, layout) = pack(&parts, &options, Config::new(2, 0), 999, usize::MAX);
    assert_eq!(image, once);
    let places = layout.files.iter().map(|file| file.tail.map(|tail| (tail.fragment, tail.offset)));
    assert_eq!(places.collect::<Vec<_>>(), [0, 0, 1700, 501].map(|offset| Some((0, offset))));
    let mut apart = options.clone();
    apart.deduplicate = false;
    let (image, _) = pack(&parts, &apart, Config::new(2, 0), 999, usize::MAX);
    assert_eq!(image.len(), once.len() + 1000 + 1300 + 2399);
}

#[test]
fn files_that_start_alike_stay_apart() {
    let options = options("lz4");
    let files = [1, 2, 3].map(|end| same(&[text(9, BLOCK), text(end, BLOCK)].concat()));
    let (image, layout) = pack(&files, &options, Config::new(2, 0), 999, usize::MAX);
    for (number, (bytes, _)) in files.iter().enumerate() {
        assert_eq!(content(&image, &layout, number, &options.codec), *bytes);
    }
}

#[test]
fn holes_take_no_place_and_no_time() {
    let options = options("lz4");
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
    let mut writer = writer(&mut image, &options, Config::new(1, 0));
    let entry = Entry { path: b"hole".to_vec(), kind: Kind::File { size }, meta: META, xattrs: Vec::new() };
    writer.add(&entry, FileHints::default(), &mut Empty(false)).unwrap();
    let layout = writer.finish_data_for_tests().unwrap();
    assert_eq!((layout.files[0].sparse, layout.files[0].blocks), (size, (size / BLOCK as u64) as u32));
    assert!(image.len() < 200);
}

/// As mksquashfs writes it: unsquashfs 4.4 and 4.5 refuse all other images without fragment blocks.
#[test]
fn an_empty_fragment_table_starts_where_the_next_table_starts() {
    for exportable in [true, false] {
        let files = [test_image::file("a", &[7; 2 * BLOCK])];
        let bytes = test_image::image(files, "gzip", |options| options.exportable = exportable);
        let image = Image::open(Arc::new(bytes), Opening { origin: Origin::At(0), metadata_cache: 1 << 16 }).unwrap();
        let tables = image.tables();
        let next = tables.exports.as_ref().map_or(tables.ids.area.start, |exports| exports.area.start);
        assert_eq!((image.superblock().fragments, image.superblock().fragment_table), (0, next));
    }
}

#[test]
fn a_failing_source_is_named() {
    let mut image = Vec::new();
    let mut writer = writer(&mut image, &options("lz4"), Config::new(2, 0));
    add(&mut writer, 0, &text(1, 3 * BLOCK), FileHints::default(), 999, usize::MAX).unwrap();
    let kind = Kind::File { size: 3 * BLOCK as u64 };
    let entry = Entry { path: b"broken".to_vec(), kind, meta: META, xattrs: Vec::new() };
    let bytes = text(2, 3 * BLOCK);
    let mut content = Content { bytes: &bytes, step: 999, hole: usize::MAX, fail_at: Some(BLOCK), at: 0 };
    let error = writer.add(&entry, FileHints::default(), &mut content).unwrap_err();
    assert_eq!(error.to_string(), "test: broken: fails (expected success)");
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
    for config in [Config::new(2, 0), Config::new(0, 0)] {
        let mut full = Full;
        let mut writer = Writer::new(&mut full, options("gzip"), config, start(usize::MAX)).unwrap();
        let added = add(&mut writer, 0, &text(1, BLOCK), FileHints::default(), 999, usize::MAX);
        let error = added.and_then(|()| writer.finish().map(drop)).unwrap_err();
        assert!(error.to_string().starts_with("cannot write the image at byte 96: "), "{error}");
    }
}

#[test]
fn a_tree_too_large_for_the_memory_says_so() {
    let mut image = Vec::new();
    let config = Config::new(0, 1 << 20);
    let mut writer = Writer::new(&mut image, options("lz4"), config, start(2 << 20)).unwrap();
    let result = (0..100_000).try_for_each(|number| add(&mut writer, number, b"", FileHints::default(), 1, usize::MAX));
    let error = result.unwrap_err().to_string();
    assert!(error.ends_with(" is available; raise the memory limit"), "{error}");
}
