//! Writes the data area in order, and records the position of each block.

use std::sync::Arc;

use packline_engine::{Outbox, Sequencer};
use packline_runtime::{Buffer, SharedBytes, TaskError, zeros};
use packline_tree::{ContentEnd, Source};

use crate::decision::Decisions;
use crate::digest::hash;
use crate::options::EndRule;
use crate::slab::{FileCut, SharedEnd};
use crate::spacing::{Part as Spaced, Spacing};
use crate::work::{
    BlockRef, CompressTask, HashTask, Hashed, Packed, PackedBlock, PackedCluster, PackedFragment, kept_end, size_word,
};
use crate::written::{Form, Hashes, Part, Written};
use crate::{BlockPlace, Cluster, DataOptions, Error, FragmentBlock, KeptTails, Sink};

/// The in-order steps of packing: decides in order, writes in order.
pub(crate) struct DataWriter<'s> {
    pub(crate) decisions: Decisions,
    pub(crate) sink: &'s mut dyn Sink,
    /// Offset of the next bytes, absolute.
    pub(crate) position: u64,
    /// All parts so far.
    pub(crate) written: Written,
    /// Checksum of all bytes so far, if it is wanted.
    pub(crate) checksum: Option<crc32fast::Hasher>,
    /// Files that changed while workers read them, and must be read again.
    pub(crate) changed: Vec<ChangedFile>,
    /// Warnings about files that changed while workers read them.
    pub(crate) warnings: Vec<String>,
    /// The tail ends that are not written, if the container keeps them.
    pub(crate) tails: Option<KeptTails>,
    /// The ends of blocks that are not written, by the numbers of the blocks, if the container keeps them.
    pub(crate) ends: Option<KeptTails>,
    end_rule: EndRule,
    spacing: Spacing,
    scratch: Vec<u8>,
}

/// A block as it is stored.
struct StoredBlock {
    bytes: SharedBytes,
    form: Form,
    hashes: Hashes,
    clusters: Vec<PackedCluster>,
    /// CRC-32 of the bytes, if it is known.
    checksum: Option<u32>,
}

/// A file that must be read again.
pub(crate) struct ChangedFile {
    pub(crate) cut: FileCut,
    pub(crate) source: Box<dyn Source>,
}

impl<'s> DataWriter<'s> {
    /// `window` bounds the memory of the pipeline in bytes.
    pub(crate) fn new(options: &DataOptions, sink: &'s mut dyn Sink, window: usize) -> DataWriter<'s> {
        DataWriter {
            decisions: Decisions::new(options, window),
            sink,
            position: options.start,
            written: Written::new(options.verify),
            checksum: options.checksum.then(crc32fast::Hasher::new),
            changed: Vec::new(),
            warnings: Vec::new(),
            tails: options.keep_tails.as_ref().map(KeptTails::new),
            ends: options.keep_ends.as_ref().map(|ends| KeptTails::new(&ends.kept)),
            end_rule: options.end_rule(),
            spacing: Spacing::new(options.layout, options.unit, options.block_size),
            scratch: Vec::new(),
        }
    }

    /// Compares a file with its entry. All parts of it have been read.
    fn end_content(&mut self, end: SharedEnd) -> Result<(), Error> {
        match end.content.end()? {
            ContentEnd::Unchanged => {}
            ContentEnd::Changed(warning) => self.warnings.push(warning),
            ContentEnd::Again(source) => self.changed.push(ChangedFile { cut: end.cut, source }),
        }
        Ok(())
    }

    /// Waits for bytes that the sink writes later.
    pub(crate) fn settle(&mut self) -> Result<(), Error> {
        self.sink.settle().map_err(|cause| sink_error("write", self.position, cause))
    }

    /// Ends the data area, where the tables start.
    pub(crate) fn end(&mut self) -> Result<(), Error> {
        self.leave_gap(Spaced::Tables)
    }

    /// Appends bytes and returns their offset.
    fn append(&mut self, bytes: &[u8]) -> Result<u64, Error> {
        write(&mut *self.sink, self.position, bytes)?;
        if let Some(checksum) = &mut self.checksum {
            checksum.update(bytes);
        }
        Ok(self.advance(bytes.len()))
    }

    /// Appends bytes, which the sink may write later, and returns their offset. `crc` is their checksum, if it is known.
    fn append_shared(&mut self, bytes: SharedBytes, crc: Option<u32>) -> Result<u64, Error> {
        let length = bytes.range.len();
        match (&mut self.checksum, crc) {
            (Some(checksum), Some(crc)) => {
                checksum.combine(&crc32fast::Hasher::new_with_initial_len(crc, length as u64));
            }
            (Some(checksum), None) => checksum.update(bytes.bytes()),
            (None, _) => {}
        }
        check_written(self.position, self.sink.write_shared(self.position, bytes))?;
        Ok(self.advance(length))
    }

    /// Counts appended bytes and returns their offset.
    fn advance(&mut self, length: usize) -> u64 {
        let start = self.position;
        self.position += length as u64;
        start
    }

    fn write_block(&mut self, ordinal: u32, mut block: StoredBlock) -> Result<(), Error> {
        let kept = self.keep_end(ordinal, &mut block)?;
        let StoredBlock { bytes, form, hashes, clusters, checksum } = block;
        let length = bytes.range.len() as u32;
        if length == 0 {
            let part = Part { start: self.position, length, form, hashes };
            return self.end_block(ordinal, part, kept, &clusters);
        }
        self.begin_block(ordinal)?;
        let start = self.append_shared(bytes, checksum)?;
        self.end_block(ordinal, Part { start, length, form, hashes }, kept, &clusters)
    }

    /// Takes the end off a block, if the container keeps it. Returns its bytes.
    fn keep_end(&mut self, ordinal: u32, block: &mut StoredBlock) -> Result<usize, Error> {
        let Some(ends) = &mut self.ends else { return Ok(0) };
        let bytes = block.bytes.bytes();
        let kept = kept_end(self.end_rule, &block.clusters, bytes.len());
        if kept > 0 {
            let (written, end) = bytes.split_at(bytes.len() - kept);
            ends.push(ordinal, end)?;
            if block.form == Form::Plain && self.written.records() {
                block.hashes.stored = hash(written);
            }
            block.bytes.range.end -= kept;
        }
        Ok(kept)
    }

    fn begin_block(&mut self, ordinal: u32) -> Result<(), Error> {
        let has_gap = self.spacing.is_before_blocks() || self.decisions.blocks.starts_run(ordinal);
        if has_gap { self.leave_gap(Spaced::Run) } else { Ok(()) }
    }

    /// `kept`: bytes of the block that were not written.
    fn end_block(&mut self, ordinal: u32, part: Part, kept: usize, clusters: &[PackedCluster]) -> Result<(), Error> {
        let size_word = size_word(part.length as usize + kept, matches!(part.form, Form::Plain));
        let start = part.start;
        let clusters = add_part(&mut self.written, part, clusters);
        self.decisions.blocks.committed(ordinal, BlockPlace { start, size_word }, &clusters)
    }

    fn write_packed(&mut self, raw: &Arc<Buffer>, product: Buffer, blocks: Vec<PackedBlock>) -> Result<(), Error> {
        let product = Arc::new(product);
        for PackedBlock { block, compressed, hash, clusters, checksum } in blocks {
            let stored = match compressed {
                Some(range) => StoredBlock {
                    bytes: SharedBytes { buffer: Arc::clone(&product), range },
                    form: Form::Block { content: block.range.len() as u32 },
                    hashes: Hashes { stored: hash, content: block.bits() },
                    clusters,
                    checksum,
                },
                None => StoredBlock { checksum, ..plain(raw, &block) },
            };
            self.write_block(block.ordinal, stored)?;
        }
        Ok(())
    }

    fn write_raw(&mut self, raw: &Arc<Buffer>, blocks: &[BlockRef]) -> Result<(), Error> {
        blocks.iter().try_for_each(|block| self.write_block(block.ordinal, plain(raw, block)))
    }

    /// Writes copies of blocks that are already in the image.
    fn copy(&mut self, from: u32, to: u32, count: u32) -> Result<(), Error> {
        for step in 0..count {
            let Some(place) = self.decisions.blocks.place(from + step) else {
                return Err(Error::internal(format!("block {} is copied before it is written", from + step)));
            };
            let mut bytes = std::mem::take(&mut self.scratch);
            bytes.resize(place.size() as usize, 0);
            self.sink.read_at(place.start, &mut bytes).map_err(|cause| sink_error("read back", place.start, cause))?;
            let hashes = Hashes { stored: 0, content: 0 };
            let form = if place.is_compressed() { Form::Block { content: 0 } } else { Form::Plain };
            // If parts are not recorded, their hashes are not used.
            let part = Part { start: 0, length: place.size(), form, hashes };
            let part = self.written.at(place.start).unwrap_or(part);
            self.begin_block(to + step)?;
            let start = self.append(&bytes)?;
            self.end_block(to + step, Part { start, ..part }, 0, &[])?;
            self.scratch = bytes;
        }
        Ok(())
    }

    fn write_fragment(&mut self, fragment: PackedFragment) -> Result<(), Error> {
        let PackedFragment { index, length, content_length, .. } = fragment;
        if let Some(tails) = &mut self.tails {
            return tails.push(index, fragment.stored_bytes());
        }
        self.leave_gap(Spaced::Fragment(length))?;
        let start = self.position;
        let part = fragment.part(start, self.written.records());
        let clusters = add_part(&mut self.written, part, &fragment.clusters);
        let size_word = fragment.size_word();
        let bytes = SharedBytes { buffer: Arc::new(fragment.bytes), range: 0..length };
        self.append_shared(bytes, fragment.checksum)?;
        self.decisions.fragments.committed(index, FragmentBlock { start, size_word, length: content_length }, clusters);
        Ok(())
    }

    /// Leaves unused bytes before a part.
    fn leave_gap(&mut self, part: Spaced) -> Result<(), Error> {
        let gap = self.spacing.before(part, self.position);
        zeros(gap.zeros).try_for_each(|piece| self.append_plain(piece))?;
        self.append_plain(gap.mark)
    }

    fn append_plain(&mut self, bytes: &[u8]) -> Result<(), Error> {
        if bytes.is_empty() {
            return Ok(());
        }
        let start = self.append(bytes)?;
        self.written.add_plain(start, bytes);
        Ok(())
    }
}

impl Sequencer<HashTask, CompressTask> for DataWriter<'_> {
    fn decide(&mut self, mut hashed: Hashed, next: &mut Outbox<CompressTask>) -> Result<(), Error> {
        let ends = std::mem::take(&mut hashed.slab.ends);
        self.decisions.decide(hashed, next)?;
        ends.into_iter().try_for_each(|end| self.end_content(end))
    }

    fn commit(&mut self, packed: Packed) -> Result<(), Error> {
        match packed {
            Packed::Blocks { raw, product, blocks } => self.write_packed(&raw, product, blocks),
            Packed::Raw { buffer, blocks } => self.write_raw(&buffer, &blocks),
            Packed::Copies { from, to, count } => self.copy(from, to, count),
            Packed::Fragment(fragment) => self.write_fragment(fragment),
            Packed::Align { bytes } => {
                self.spacing.demand(bytes);
                Ok(())
            }
            Packed::Metadata(_) | Packed::Checked(_) => Err(Error::internal("metadata in the data area".into())),
        }
    }
}

/// Records a block: as one part, or as its clusters, which are returned. Records only what was written.
pub(crate) fn add_part(written: &mut Written, part: Part, clusters: &[PackedCluster]) -> Vec<Cluster> {
    if clusters.is_empty() && part.length > 0 {
        written.add(part);
    }
    let mut start = part.start;
    let mut add = |&PackedCluster { cluster, hashes }: &PackedCluster| {
        let length = cluster.size();
        let form = if cluster.is_compressed() { Form::Block { content: cluster.length } } else { Form::Plain };
        if start < part.end() {
            written.add(Part { start, length, form, hashes });
        }
        start += u64::from(length);
        cluster
    };
    clusters.iter().map(&mut add).collect()
}

/// Returns a block that is not compressed.
fn plain(raw: &Arc<Buffer>, block: &BlockRef) -> StoredBlock {
    StoredBlock {
        bytes: SharedBytes { buffer: Arc::clone(raw), range: block.range.clone() },
        form: Form::Plain,
        hashes: Hashes { stored: block.bits(), content: 0 },
        clusters: Vec::new(),
        checksum: None,
    }
}

/// Writes to a sink.
///
/// # Errors
/// [`Error::Sink`] with the offset.
pub fn write(sink: &mut dyn Sink, offset: u64, bytes: &[u8]) -> Result<(), Error> {
    check_written(offset, sink.write_at(offset, bytes))
}

fn check_written(offset: u64, written: std::io::Result<bool>) -> Result<(), Error> {
    match written {
        Ok(true) => Ok(()),
        Ok(false) => Err(sink_error("write", offset, std::io::ErrorKind::NotSeekable.into())),
        Err(cause) => Err(sink_error("write", offset, cause)),
    }
}

pub(crate) fn sink_error(action: &'static str, offset: u64, cause: std::io::Error) -> Error {
    Error::Sink { action, offset, cause }
}
