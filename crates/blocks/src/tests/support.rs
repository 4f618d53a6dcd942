//! Contents to pack, and what packs and reads them.

use std::sync::Arc;

use packline_cache::{BlockEncoder, Lookup};
use packline_codec::{CodecError, Decoder, Outcome, Spec};
use packline_engine::Config;
use packline_tree::{ContentEnd, Entry, Extent as Read, SharedContent, Source, UnreadPart};
use proptest::prelude::*;

use crate::{
    Align, BlockContent, BlockSize, Cluster, Coder, Coders, CompleteData, DataArea, DataLayout, DataOptions, Error,
    Extent, FileHints, Form, Fragments, KeepEnds, KeepTails, KeptTails, Layout, Override, Sharing, Sink, TailPlace,
};

pub(super) const BLOCK: usize = 4096;
/// Offset of the data area.
pub(super) const START: u64 = 96;

/// Stored bytes of a cluster are a multiple of this.
pub(super) const UNIT: usize = 512;
/// Bytes of a block with clusters of [`BLOCK`] bytes.
pub(super) const SEGMENT: usize = 4 * BLOCK;

/// Most bytes of a kept end.
const END: usize = UNIT - 100;

/// A codec with blocks of [`BLOCK`] bytes, and whether ends are kept.
#[derive(Debug, Clone)]
pub(super) struct Codec(Spec, bool);

/// One encoder, and a buffer for decoded blocks.
struct OneCoder {
    encoder: BlockEncoder,
    decoder: Box<dyn Decoder>,
    decoded: Vec<u8>,
    keeps_ends: bool,
}

impl Coders for Codec {
    fn coder(&self) -> Box<dyn Coder> {
        let encoder = BlockEncoder::new(&Lookup::default(), &self.0, BLOCK).unwrap();
        let decoder = self.0.decoder(BLOCK, usize::MAX).unwrap();
        Box::new(OneCoder { encoder, decoder, decoded: vec![0; BLOCK], keeps_ends: self.1 })
    }
}

impl Coder for OneCoder {
    fn compress(&mut self, block: &BlockContent<'_>, to: &mut [u8]) -> Result<Outcome, CodecError> {
        self.encoder.compress(block.bytes, None, to)
    }

    /// Zeros before the compressed bytes of each cluster complete its units.
    fn compress_clusters(
        &mut self,
        block: &BlockContent<'_>,
        to: &mut [u8],
        clusters: &mut Vec<Cluster>,
    ) -> Result<Outcome, CodecError> {
        let mut at = 0;
        for content in block.bytes.chunks(BLOCK) {
            let mut packed = vec![0; content.len()];
            let length = match self.encoder.compress(content, None, &mut packed)? {
                Outcome::Smaller(length) if length.next_multiple_of(UNIT) <= content.len() => length,
                _ => return Ok(Outcome::NotSmaller),
            };
            let is_end = self.keeps_ends && block.bytes.len() < SEGMENT && content.len() < BLOCK && length <= END;
            let size = if is_end { length } else { length.next_multiple_of(UNIT) };
            let stored = &mut to[at..at + size];
            stored.fill(0);
            stored[size - length..].copy_from_slice(&packed[..length]);
            clusters.push(Cluster { length: content.len() as u32, size_word: size as u32 });
            at += size;
        }
        Ok(Outcome::Smaller(at))
    }

    fn decode<'a>(&'a mut self, _: Form, stored: &'a [u8]) -> Result<&'a [u8], String> {
        let zeros = stored.iter().take_while(|byte| **byte == 0).count();
        let decoded = self.decoder.decompress(&stored[zeros..], &mut self.decoded);
        Ok(&self.decoded[..decoded.map_err(|error| error.to_string())?])
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
pub(super) struct Shrinking {
    pub(super) left: usize,
    /// Whether workers read it.
    pub(super) shared: bool,
    pub(super) again: bool,
}

pub(super) const SHRUNK: usize = 5000;

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

    fn read(&mut self, buffer: &mut [u8]) -> Result<Read, packline_tree::Error> {
        let count = self.left.min(buffer.len());
        buffer[..count].fill(1);
        self.left -= count;
        Ok(if count == 0 { Read::End } else { Read::Data(count) })
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
pub(super) struct Content<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) step: usize,
    pub(super) hole: usize,
    pub(super) fail_at: Option<usize>,
    pub(super) at: usize,
}

impl Source for Content<'_> {
    fn next_entry(&mut self) -> Result<Option<Entry>, packline_tree::Error> {
        Ok(None)
    }

    fn read(&mut self, buffer: &mut [u8]) -> Result<Read, packline_tree::Error> {
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
            return Ok(Read::Hole(zeros as u64));
        }
        let count = buffer.len().min(self.step).min(rest.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        self.at += count;
        Ok(if count == 0 { Read::End } else { Read::Data(count) })
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
pub(super) struct Setup {
    pub(super) codec: Spec,
    pub(super) options: DataOptions,
}

impl Setup {
    pub(super) fn codec(&self) -> Codec {
        Codec(self.codec.clone(), self.options.keep_ends.is_some())
    }
}

pub(super) fn setup(codec: &str) -> Setup {
    let codec = Spec::parse(codec).unwrap();
    let options = DataOptions {
        block_size: BlockSize::new(BLOCK as u64).unwrap(),
        fragment_size: BLOCK as u32,
        fragments: Fragments::Always,
        deduplicate: true,
        sharing: Sharing::Runs,
        cluster_size: None,
        sparse: true,
        stored_blocks: false,
        stored_fragments: false,
        compresses: codec != Spec::None,
        pad: 4096,
        layout: Layout::Compact,
        unit: 1,
        start: START,
        checksum: true,
        verify: false,
        looks_up: false,
        keep_tails: None,
        keep_ends: None,
    };
    Setup { codec, options }
}

/// How the blocks of a file may be stored.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    Runs,
    Blocks,
    Clusters,
    /// Uncompressed blocks. The container keeps the tail ends.
    Kept,
    /// Clusters, without fragment blocks. The container keeps short ends.
    Ends,
}

pub(super) const KINDS: [Kind; 5] = [Kind::Runs, Kind::Blocks, Kind::Clusters, Kind::Kept, Kind::Ends];

pub(super) fn setup_of(codec: &str, kind: Kind) -> Setup {
    let mut setup = setup(codec);
    let options = &mut setup.options;
    options.sharing = if matches!(kind, Kind::Runs) { Sharing::Runs } else { Sharing::Blocks };
    if matches!(kind, Kind::Clusters | Kind::Ends) {
        options.cluster_size = Some((BLOCK as u32).into());
        options.unit = UNIT as u32;
        options.block_size = BlockSize::new(SEGMENT as u64).unwrap();
        options.fragment_size = SEGMENT as u32;
        options.start = 2 * UNIT as u64;
    }
    if matches!(kind, Kind::Ends) {
        options.fragments = Fragments::Never;
        options.keep_ends = Some(KeepEnds { most: END as u32, kept: KeepTails::default() });
    }
    if matches!(kind, Kind::Kept) {
        options.cluster_size = Some((UNIT as u32).into());
        options.unit = UNIT as u32;
        options.compresses = false;
        options.keep_tails = Some(KeepTails::default());
    }
    setup
}

pub(super) fn area<'s>(sink: &'s mut dyn Sink, setup: &Setup, config: Config) -> DataArea<'s> {
    DataArea::new(sink, setup.options.clone(), Arc::new(setup.codec()), config).unwrap()
}

/// How contents are read, and what packs them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Run {
    pub(super) workers: usize,
    pub(super) window: usize,
    /// Bytes of one read.
    pub(super) step: usize,
    /// Runs of zeros of at least this number of bytes are holes.
    pub(super) hole: usize,
}

pub(super) const RUN: Run = Run { workers: 2, window: 0, step: 999, hole: usize::MAX };

pub(super) fn feed(area: &mut DataArea<'_>, source: &mut dyn Source, size: u64, hints: FileHints) -> Result<(), Error> {
    let number = area.add_file(size)?;
    area.feed(number, size, hints, source).map_err(|error| area.first_error(error))
}

pub(super) fn add(area: &mut DataArea<'_>, bytes: &[u8], hints: FileHints, run: Run) -> Result<(), Error> {
    let mut content = Content { bytes, step: run.step, hole: run.hole, fail_at: None, at: 0 };
    feed(area, &mut content, bytes.len() as u64, hints)
}

/// A packed data area with its image.
pub(super) struct Packed {
    pub(super) image: Vec<u8>,
    pub(super) layout: DataLayout,
    pub(super) checksum: Option<u32>,
    pub(super) blocks: u64,
    pub(super) tails: Option<KeptTails>,
    pub(super) ends: Option<KeptTails>,
}

pub(super) fn pack(files: &[(Vec<u8>, FileHints)], setup: &Setup, run: Run) -> Packed {
    let mut image = Vec::new();
    let mut area = area(&mut image, setup, Config::new(run.workers, run.window));
    for (bytes, hints) in files {
        add(&mut area, bytes, *hints, run).unwrap();
    }
    let CompleteData { layout, checksum, blocks, tails, ends, .. } = area.complete().unwrap();
    Packed { image, layout, checksum, blocks, tails, ends }
}

/// Reads parts of a content that follow each other. `kept` returns the end of an extent that is not in the image.
pub(super) fn decode(
    image: &[u8],
    extents: impl Iterator<Item = Extent>,
    coder: &mut dyn Coder,
    kept: &dyn Fn(&Extent) -> Vec<u8>,
) -> Vec<u8> {
    let mut content = Vec::new();
    for extent in extents {
        let Extent { length, place } = extent;
        let end = content.len() + length as usize;
        if place.is_hole() {
            content.resize(end, 0);
            continue;
        }
        let kept = kept(&extent);
        let in_image = place.size() as usize - kept.len();
        let start = if in_image == 0 { 0 } else { place.start as usize };
        let stored = &[&image[start..][..in_image], &kept].concat()[..];
        if place.is_compressed() {
            content.extend(coder.decode(Form::Block { content: length }, stored).unwrap());
        } else {
            content.extend(stored);
        }
        assert_eq!(content.len(), end);
    }
    content
}

/// Reads a file's content as a reader of the format finds it.
pub(super) fn content(packed: &Packed, number: usize, setup: &Setup) -> Vec<u8> {
    let Packed { image, layout, tails, ends, .. } = packed;
    let mut coder = setup.codec().coder();
    let file = &layout.files[number];
    let kept = |extent: &Extent| {
        let mut bytes = vec![0; setup.options.kept_bytes(extent) as usize];
        if !bytes.is_empty() {
            let place = TailPlace { fragment: layout.last_block(file).unwrap(), offset: 0 };
            ends.as_ref().unwrap().read(place, &mut bytes).unwrap();
        }
        bytes
    };
    let mut bytes = decode(image, layout.extents(file, &setup.options), &mut *coder, &kept);
    let body = bytes.len();
    let Some(tail) = file.tail else { return bytes };
    bytes.resize(file.size as usize, 0);
    if let Some(tails) = tails {
        tails.read(tail, &mut bytes[body..]).unwrap();
        return bytes;
    }
    let raw = decode(image, layout.fragment_extents(tail.fragment), &mut *coder, &|_| Vec::new());
    let length = bytes.len() - body;
    bytes[body..].copy_from_slice(&raw[tail.offset as usize..][..length]);
    bytes
}

pub(super) fn text(seed: u8, length: usize) -> Vec<u8> {
    (0..length).map(|at| seed.wrapping_mul(31).wrapping_add((at / 7 * (seed as usize + 3)) as u8) | 1).collect()
}

/// A file of few different blocks, so that every kind of sharing happens.
pub(super) fn file() -> impl Strategy<Value = (Vec<u8>, FileHints)> {
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

pub(super) fn plain(content: &[u8]) -> (Vec<u8>, FileHints) {
    (content.to_vec(), FileHints::default())
}
