//! Writes an image: entries and contents in sequence, metadata and superblock at the end.

use std::sync::Arc;

use packline_blocks::{
    ClusterSize, CompleteData, Counts, DataArea, DataLayout, DataOptions, Error, FileHints, KeepEnds, KeepTails,
    Layout, MEMORY_CHECK, Override, Progress, ReadBack, Saved, Sharing, Start, TreeMemory, block_at, report_data,
};
use packline_engine::{Config, QueueStats, Stats, WorkerStats};
use packline_runtime::{Observer, Sink, Unobserved};
use packline_tree::{Entry, Kind, NO_XATTR, Namespace, Source as EntrySource, Tree};

use super::coder::ImageCoders;
use super::layout_contents::{Kept, LayoutContents};
use super::metadata::{ImageEnd, Source, write_metadata};
use super::packed_listings::Packer;
use super::record::{DataFacts, EndRecord};
use super::zeros::Holes;
use crate::format::inode::EXTENDED_BYTES;
use crate::options::{BLOCK, Form, INLINE_MOST, Inline, Options};
use crate::xattrs::XattrTable;

/// Counts of what was written.
#[derive(Debug, Clone)]
pub struct Summary {
    /// Inodes of the image, by kind.
    pub counts: Counts,
    /// Bytes of file content, holes included.
    pub content_bytes: u64,
    /// Savings of deduplication and holes.
    pub saved: Saved,
    /// Clusters of files in the image.
    pub blocks: u64,
    /// Clusters of packed tail ends in the image.
    pub fragments: u64,
    /// Bytes of the data area.
    pub data_bytes: u64,
    /// Sizes and the end of the image.
    pub end: ImageEnd,
    /// Result of reading back, if it was requested.
    pub read_back: Option<ReadBack>,
    pub pipeline: Stats,
    pub queues: Vec<QueueStats>,
    pub workers: Vec<WorkerStats>,
}

pub struct Writer<'s> {
    coders: Arc<ImageCoders>,
    data: DataArea<'s>,
    data_options: DataOptions,
    namespace: Namespace,
    xattrs: XattrTable,
    options: Options,
    start: Start,
    /// Entries added.
    entries: u64,
}

impl<'s> Writer<'s> {
    /// Starts an image in an empty sink. `config` does not change a byte of the image. Its budget limits content in flight; with a small budget,
    /// one slab at a time is processed.
    ///
    /// # Errors
    /// Errors of [`Options::validate`]; [`Error::Work`] if threads cannot be started.
    pub fn new(sink: &'s mut dyn Sink, options: Options, config: Config, start: Start) -> Result<Writer<'s>, Error> {
        options.validate()?;
        let coders = Arc::new(ImageCoders::new(&options, &start));
        let of_workers = Arc::<ImageCoders>::clone(&coders);
        let data_options = data_options(&options, &start);
        Ok(Writer {
            data: DataArea::new(sink, data_options.clone(), of_workers, config)?,
            data_options,
            coders,
            namespace: Namespace::new(start.defaults).with_root(start.root),
            xattrs: XattrTable::default(),
            options,
            start,
            entries: 0,
        })
    }

    /// Adds an entry. The content of a regular file is read from `source`, which must be at the entry.
    ///
    /// # Errors
    /// The first error in the order of the input: of the source, the codec, the sink, the format's limits. After an error the image cannot be
    /// completed.
    pub fn add(&mut self, entry: &Entry, hints: FileHints, source: &mut dyn EntrySource) -> Result<(), Error> {
        match self.try_add(entry, hints, source) {
            Ok(()) => Ok(()),
            Err(error) => Err(self.data.first_error(error)),
        }
    }

    /// Waits until all contents are read. Some of them may be read after their entries are added.
    ///
    /// # Errors
    /// Errors of [`Writer::add`].
    pub fn settle(&mut self) -> Result<(), Error> {
        match self.data.settle() {
            Ok(()) => Ok(()),
            Err(error) => Err(self.data.first_error(error)),
        }
    }

    /// The warnings since the last call about files that changed while they were read. All of them are known after [`Writer::settle`].
    pub fn take_warnings(&mut self) -> Vec<String> {
        self.data.take_warnings()
    }

    pub fn progress(&self) -> Progress {
        Progress { entries: self.entries, content_bytes: self.data.content_bytes(), image_bytes: self.data.position() }
    }

    /// Finishes the image: data in flight, the metadata, the superblock.
    ///
    /// # Errors
    /// Errors of [`Writer::add`], and hard links without a target.
    pub fn finish(self) -> Result<Summary, Error> {
        self.finish_with(&mut Unobserved)
    }

    /// Does what [`Writer::finish`] does. Calls [`Observer::verifying`] while the image is read back, then [`Observer::stored`] if the observer
    /// asks for it.
    ///
    /// # Errors
    /// Errors of [`Writer::finish`]; with [`Start::verify`] also [`Error::ReadBack`].
    pub fn finish_with(self, observer: &mut dyn Observer) -> Result<Summary, Error> {
        let Writer { coders, data, data_options, namespace, mut xattrs, options, start, .. } = self;
        let complete = data.complete()?;
        let mut record = end_record(&options, &complete).filter(|_| start.lookup.is_exact());
        let CompleteData { mut layout, sink, mut written, tails, ends, mut workers, .. } = complete;
        let holes = Holes { options: &options, data_options: &data_options, coders: &coders };
        let zeros = holes.store(&mut layout, &mut *sink, &mut written)?;
        if let (Some(record), Some(stored)) = (&mut record, &zeros) {
            record.add(&stored.bytes);
        }
        let mut tree = namespace.finish().map_err(|error| error.in_input(&start.input))?;
        if options.marks_whiteouts {
            xattrs.mark_whiteouts(&mut tree)?;
        }
        let kept = Kept { tails: tails.as_ref(), ends: ends.as_ref() };
        let contents = LayoutContents::new(&layout, &data_options, kept);
        let source = Source {
            tree: &tree,
            contents: &contents,
            xattrs: &xattrs,
            options: &options,
            zeros: zeros.map(|stored| stored.zeros),
            data_end: layout.end,
            data_sum: complete.checksum.unwrap_or(0),
            record,
            device: None,
        };
        let packer = options.compress_directories.then_some(Packer { workers: &mut workers, options: &data_options });
        let metadata = write_metadata(&mut *sink, written, &source, packer)?;
        let verifying = &mut |done, total| observer.verifying(done, total);
        let read_back = workers.finish(sink, metadata.written, &metadata.superblock, verifying);
        let read_back = read_back.map_err(|error| named(error, &tree, &layout))?;
        if observer.lists_data() {
            report_data(&tree, &layout, observer);
        }
        Ok(Summary {
            counts: Counts::of(&tree),
            content_bytes: complete.content_bytes,
            saved: complete.saved,
            blocks: complete.blocks,
            fragments: layout.fragments.len() as u64,
            data_bytes: layout.end - BLOCK,
            end: metadata.end,
            read_back,
            pipeline: workers.stats(),
            queues: workers.queue_stats(),
            workers: workers.worker_stats(),
        })
    }

    fn try_add(&mut self, entry: &Entry, hints: FileHints, source: &mut dyn EntrySource) -> Result<(), Error> {
        let xattr = if self.options.xattrs { self.xattrs.add(&entry.xattrs, &entry.path)? } else { NO_XATTR };
        let file = match entry.kind {
            Kind::File { size } => Some((self.data.add_file(size)?, size)),
            _ => None,
        };
        let payload = file.map_or(0, |(number, _)| number);
        self.namespace.add(entry, payload, xattr).map_err(|error| error.in_input(&self.start.input))?;
        self.entries += 1;
        if let Some((number, size)) = file {
            let hints = self.tail_hints(size, xattr, hints);
            if self.data.has_long_list(size) {
                self.lend_memory(size)?;
            }
            self.data.feed(number, size, hints, source)?;
        }
        if self.entries.is_multiple_of(MEMORY_CHECK) { self.lend_memory(0) } else { Ok(()) }
    }

    /// Decides whether the tail end of a file is kept, to follow its inode.
    fn tail_hints(&self, size: u64, xattr: u32, hints: FileHints) -> FileHints {
        // The end of a file must be in one block with its inode.
        let head = EXTENDED_BYTES as u64 + self.xattrs.most_bytes(xattr);
        let is_alone = head + size % BLOCK > BLOCK;
        let off = FileHints { fragments: Override::Off, ..hints };
        match (self.options.form(), self.options.inline()) {
            (Form::Flat, _) if is_alone => off,
            (Form::Clusters, Inline::SmallFiles) if size < BLOCK && !is_alone => {
                FileHints { fragments: Override::On, compress: Override::None, ..hints }
            }
            // No file ends in the packed inode.
            (Form::Clusters, Inline::SmallFiles | Inline::Ends) => off,
            _ => hints,
        }
    }

    /// `next`: size of the file that is fed next, or 0.
    fn lend_memory(&mut self, next: u64) -> Result<(), Error> {
        self.data.lend_memory(TreeMemory {
            next,
            bytes: self.namespace.memory() + self.xattrs.memory(),
            limit: self.start.memory,
            entries: self.entries,
            input: &self.start.input,
        })
    }
}

/// Returns the record of the image.
fn end_record(options: &Options, data: &CompleteData<'_>) -> Option<EndRecord> {
    let facts = DataFacts { end: data.layout.end, checksum: data.checksum?, all_tried: data.all_tried };
    EndRecord::new(options, &data.layout, &facts)
}

/// Adds the name of the part at the offset to an error of reading back.
fn named(error: Error, tree: &Tree, data: &DataLayout) -> Error {
    match error {
        Error::ReadBack { offset, what, is } if what.is_empty() => {
            let what = if offset < data.end { block_at(offset, tree, data) } else { "the metadata".into() };
            Error::ReadBack { offset, what, is }
        }
        other => other,
    }
}

/// Returns how contents are stored. The superblock has the first block alone.
fn data_options(options: &Options, start: &Start) -> DataOptions {
    let compresses = options.bare_codec().is_some();
    let kept = || KeepTails { scratch: start.scratch.clone() };
    DataOptions {
        block_size: options.segment_size(),
        fragment_size: options.segment_size().into(),
        fragments: options.fragments,
        deduplicate: options.deduplicate,
        sharing: Sharing::Blocks,
        cluster_size: match options.form() {
            // Only the end of a file follows its inode.
            Form::Flat => Some((BLOCK as u32).into()),
            Form::Clusters => {
                Some(ClusterSize { usual: options.block_size.into(), most: options.cluster_most() as u32 })
            }
            Form::Extents => None,
        },
        sparse: options.sparse,
        stored_blocks: false,
        stored_fragments: false,
        compresses,
        pad: options.pad,
        layout: Layout::Compact,
        unit: if options.form() == Form::Extents { 1 } else { BLOCK as u32 },
        start: BLOCK,
        checksum: true,
        verify: start.verify,
        looks_up: options.looks_up() && !start.lookup.is_empty(),
        keep_tails: (options.form() == Form::Flat || options.inline() == Inline::SmallFiles).then(kept),
        keep_ends: (options.inline() == Inline::Ends).then(|| KeepEnds { most: INLINE_MOST as u32, kept: kept() }),
    }
}
