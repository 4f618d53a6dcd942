//! Writes an image: entries and contents in sequence, tables and superblock at the end.

use std::sync::Arc;

use packline_blocks::{
    CompleteData, Counts, DataArea, FileHints, MEMORY_CHECK, Progress, ReadBack, Saved, Start, TreeMemory, report_data,
};
use packline_engine::{Config, QueueStats, Stats, WorkerStats};
use packline_runtime::{Observer, Unobserved};
use packline_tree::{Entry, Kind, Namespace, Source};

use crate::format::compressor::check_codec;
use crate::format::inode::NO_XATTR;
use crate::format::record::Record;
use crate::write::coder::ImageCoders;
use crate::write::metadata::Metadata;
use crate::write::metadata_area::write_tables;
use crate::write::read_back::name_part;
use crate::{Error, ImageEnd, Options, Sink, XattrTable, data_start};

/// Counts of what was written.
#[derive(Debug, Clone)]
pub struct Summary {
    /// Inodes of the image, by kind.
    pub counts: Counts,
    /// Bytes of file content, holes included.
    pub content_bytes: u64,
    /// Savings of deduplication and holes.
    pub saved: Saved,
    /// Data blocks in the image.
    pub blocks: u64,
    /// Fragment blocks in the image.
    pub fragments: u64,
    /// Bytes of the data area.
    pub data_bytes: u64,
    /// Tables, sizes and the end of the image.
    pub end: ImageEnd,
    /// Result of reading back, if it was requested.
    pub read_back: Option<ReadBack>,
    pub pipeline: Stats,
    pub queues: Vec<QueueStats>,
    pub workers: Vec<WorkerStats>,
}

pub struct Writer<'s> {
    data: DataArea<'s>,
    namespace: Namespace,
    xattrs: XattrTable,
    options: Options,
    start: Start,
    /// Entries added.
    entries: u64,
}

impl<'s> Writer<'s> {
    /// Starts an image in an empty sink. `config` does not change a byte of the image. Its budget limits content in flight, see [`min_window`];
    /// with a smaller budget, one slab at a time is processed.
    ///
    /// # Errors
    /// [`Error::Codec`] if SquashFS does not support the codec, or if its parameters are invalid or do not fit the block size;
    /// [`Error::Work`] if threads cannot be started.
    ///
    /// [`min_window`]: crate::min_window
    pub fn new(sink: &'s mut dyn Sink, options: Options, config: Config, start: Start) -> Result<Writer<'s>, Error> {
        check_codec(&options.codec)?;
        options.codec.validate(options.block_size.bytes())?;
        let coders = Arc::new(ImageCoders::new(&options, &start));
        Ok(Writer {
            data: DataArea::new(sink, options.data(&start)?, coders, config)?,
            namespace: Namespace::new(start.defaults).with_root(start.root),
            xattrs: XattrTable::new(),
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
    pub fn add(&mut self, entry: &Entry, hints: FileHints, source: &mut dyn Source) -> Result<(), Error> {
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

    /// The warnings since the last call about files that changed while they were read. All of them are known after
    /// [`Writer::settle`].
    pub fn take_warnings(&mut self) -> Vec<String> {
        self.data.take_warnings()
    }

    pub fn progress(&self) -> Progress {
        Progress { entries: self.entries, content_bytes: self.data.content_bytes(), image_bytes: self.data.position() }
    }

    /// Finishes the image: data in flight, the tables, the superblock.
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
        let Writer { data, namespace, xattrs, options, start, .. } = self;
        let CompleteData {
            layout, saved, blocks, content_bytes, all_tried, checksum, sink, written, mut workers, ..
        } = data.complete()?;
        let checksum = checksum.filter(|_| start.lookup.is_exact());
        let record = checksum.map(|data| Record::new(&options, data, all_tried));
        let tree = namespace.finish().map_err(|error| error.in_input(&start.input))?;
        let mut out = Metadata::new(&mut workers, &mut *sink).recording(written);
        let (end, superblock) = write_tables(&mut out, &tree, &layout, &xattrs, (&options, record.as_ref()))?;
        let written = out.into_written();
        let read_back = workers.finish(sink, written, &superblock, &mut |done, total| observer.verifying(done, total));
        let read_back = read_back.map_err(|error| name_part(error, &tree, &layout, &end))?;
        if observer.lists_data() {
            report_data(&tree, &layout, observer);
        }
        Ok(Summary {
            counts: Counts::of(&tree),
            content_bytes,
            saved,
            blocks,
            fragments: layout.fragments.len() as u64,
            data_bytes: layout.end - data_start(&options)?,
            end,
            read_back,
            pipeline: workers.stats(),
            queues: workers.queue_stats(),
            workers: workers.worker_stats(),
        })
    }

    fn try_add(&mut self, entry: &Entry, hints: FileHints, source: &mut dyn Source) -> Result<(), Error> {
        let xattr = if self.options.xattrs && !entry.xattrs.is_empty() {
            self.xattrs.add(&entry.xattrs, &entry.path)?
        } else {
            NO_XATTR
        };
        let file = match entry.kind {
            Kind::File { size } => Some((self.data.add_file(size)?, size)),
            _ => None,
        };
        let payload = file.map_or(0, |(number, _)| number);
        self.namespace.add(entry, payload, xattr).map_err(|error| error.in_input(&self.start.input))?;
        self.entries += 1;
        if let Some((number, size)) = file {
            if self.data.has_long_list(size) {
                self.lend_memory(size)?;
            }
            self.data.feed(number, size, hints, source)?;
        }
        if self.entries.is_multiple_of(MEMORY_CHECK) { self.lend_memory(0) } else { Ok(()) }
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
