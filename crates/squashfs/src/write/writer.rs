//! Writes an image: entries and contents in sequence, tables and superblock at the end.

use packline_cache::Lookup;
use packline_codec::Spec;
use packline_engine::{Config, Fault, Permit, Pipeline, QueueStats, Stats, WorkerStats};
use packline_runtime::memory::{size_at_least, size_at_most};
use packline_runtime::{Observer, Unobserved, WorkFault, of_fault};

use packline_tree::{Content, Entry, Kind, Meta, Namespace, Source, Tree};

use crate::format::compressor::check_codec;
use crate::format::inode::NO_XATTR;
use crate::format::record::Record;
use crate::write::data_writer::{ChangedFile, DataWriter};
use crate::write::decision::Saved;
use crate::write::digest::Digester;
use crate::write::feeder::{Feeder, slab_memory};
use crate::write::keyed_hash::HashKey;
use crate::write::metadata::Metadata;
use crate::write::metadata_area::write_tables;
use crate::write::pipeline_compressor::PipelineCompressor;
use crate::write::read_back::{ReadBack, Unfinished, name_part};
use crate::write::slab::{FileCut, Rules};
use crate::write::stored_data;
use crate::write::work::{BlockPipeline, CompressTask, HashTask};
use crate::{Align, BlockSize, Error, FileHints, Fragments, ImageEnd, Options, Override, Sink, XattrTable, data_start};

/// Number of entries between two checks of the tree's memory.
const MEMORY_CHECK: u64 = 256;

/// Everything that a [`Writer`] needs in addition to the options of the image.
#[derive(Debug, Clone)]
pub struct Start {
    /// Attributes of the root, until an entry replaces them.
    pub root: Meta,
    /// Attributes of implied directories, until an entry replaces them.
    pub defaults: Meta,
    /// The input's name in error messages.
    pub input: String,
    /// Bytes that pipeline and tree may use together. A growing tree takes memory from the pipeline. When none is left, packing fails.
    pub memory: usize,
    /// Whether everything is read back and compared before the image is complete. Changes no byte. The sink must support reading.
    pub verify: bool,
    /// Looks blocks up before they are compressed.
    pub lookup: Lookup,
}

/// The smallest window in bytes that occupies all workers.
pub fn min_window(block_size: BlockSize) -> usize {
    slab_memory(block_size) + 2 * block_size.bytes()
}

/// Counters while an image is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    /// Entries added.
    pub entries: u64,
    /// Bytes of file content added, holes included.
    pub content_bytes: u64,
    /// Bytes of the image so far.
    pub image_bytes: u64,
}

/// Inodes of an image by kind, and names.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Regular files, each once for all of its names.
    pub files: u64,
    /// Directories, including the root and the directories that only paths of entries imply.
    pub directories: u64,
    pub symlinks: u64,
    /// Names of inodes beyond the first.
    pub hard_links: u64,
    /// Devices, pipes and sockets.
    pub special: u64,
}

impl Counts {
    /// Counts an entry.
    pub fn add(&mut self, kind: &Kind) {
        *match kind {
            Kind::File { .. } => &mut self.files,
            Kind::Dir => &mut self.directories,
            Kind::Symlink(_) => &mut self.symlinks,
            Kind::HardLink(_) => &mut self.hard_links,
            Kind::BlockDevice(_) | Kind::CharDevice(_) | Kind::Fifo | Kind::Socket => &mut self.special,
        } += 1;
    }

    fn of(tree: &Tree) -> Counts {
        let hard_links = (tree.node_count() - tree.inode_count()) as u64;
        let mut counts = Counts { hard_links, ..Counts::default() };
        for inode in tree.inodes() {
            *match tree.content(inode) {
                Content::File(_) => &mut counts.files,
                Content::Dir => &mut counts.directories,
                Content::Symlink(_) => &mut counts.symlinks,
                Content::BlockDevice(_) | Content::CharDevice(_) | Content::Fifo | Content::Socket => {
                    &mut counts.special
                }
            } += 1;
        }
        counts
    }
}

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
    pipeline: BlockPipeline,
    data: DataWriter<'s>,
    feeder: Feeder,
    namespace: Namespace,
    xattrs: XattrTable,
    options: Options,
    start: Start,
    /// Limit of content in flight in bytes.
    window: usize,
    progress: Progress,
    /// Memory that the tree takes from the pipeline.
    tree_reservation: Permit,
}

impl<'s> Writer<'s> {
    /// Starts an image in an empty sink. `config` does not change a byte of the image. Its budget limits content in flight, see [`min_window`];
    /// with a smaller budget, one slab at a time is processed.
    ///
    /// # Errors
    /// [`Error::Codec`] if SquashFS does not support the codec, or if its parameters are invalid or do not fit the block size;
    /// [`Error::Work`] if threads cannot be started.
    pub fn new(sink: &'s mut dyn Sink, options: Options, config: Config, start: Start) -> Result<Writer<'s>, Error> {
        check_codec(&options.codec)?;
        options.codec.validate(options.block_size.bytes())?;
        let window = config.budget;
        let mut data = DataWriter::new(&options, sink, window, start.verify)?;
        if start.lookup.is_empty() {
            data.decisions.fragments.without_lookup();
        }
        Ok(Writer {
            pipeline: pipeline(&options, config, &start)?,
            data,
            feeder: Feeder::new(&options, window),
            namespace: Namespace::new(start.defaults).with_root(start.root),
            xattrs: XattrTable::new(),
            options,
            start,
            window,
            progress: Progress::default(),
            tree_reservation: Permit::detached(0),
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
            Err(error) => Err(self.first_error(error)),
        }
    }

    /// Waits until all contents are read. Some of them may be read after their entries are added.
    ///
    /// # Errors
    /// Errors of [`Writer::add`].
    pub fn settle(&mut self) -> Result<(), Error> {
        match self.read_all() {
            Ok(()) => Ok(()),
            Err(error) => Err(self.first_error(error)),
        }
    }

    /// The warnings since the last call about files that changed while they were read. All of them are known after
    /// [`Writer::settle`].
    pub fn take_warnings(&mut self) -> Vec<String> {
        std::mem::take(&mut self.data.warnings)
    }

    pub fn progress(&self) -> Progress {
        Progress { image_bytes: self.data.position, ..self.progress }
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
    pub fn finish_with(mut self, observer: &mut dyn Observer) -> Result<Summary, Error> {
        if let Err(error) = self.finish_data() {
            return Err(self.first_error(error));
        }
        let Writer { mut pipeline, data, namespace, xattrs, options, progress, start, window, .. } = self;
        let DataWriter { decisions, sink, position, written, checksum, .. } = data;
        let checksum = checksum.filter(|_| start.lookup.is_exact()).map(crc32fast::Hasher::finalize);
        let record = checksum.map(|data| Record::new(&options, data, decisions.all_tried));
        let saved = decisions.saved;
        let blocks = u64::from(decisions.blocks.next());
        let layout = decisions.into_layout(position)?;
        let tree = namespace.finish().map_err(|error| error.in_input(&start.input))?;
        let mut compressor = PipelineCompressor::new(&mut pipeline);
        let mut out = Metadata::new(&mut compressor, &mut *sink).recording(written);
        let (end, superblock) = write_tables(&mut out, &tree, &layout, &xattrs, (&options, record.as_ref()))?;
        let written = out.into_written();
        let sink = &mut *sink;
        let block_size = options.block_size;
        let mut image = Unfinished { sink, pipeline: &mut pipeline, block_size, window };
        let read_back = image.finish(written, &superblock, &mut |done, total| observer.verifying(done, total));
        let read_back = read_back.map_err(|error| name_part(error, &tree, &layout, &end))?;
        if observer.lists_data() {
            stored_data::report(&tree, &layout, observer);
        }
        Ok(Summary {
            counts: Counts::of(&tree),
            content_bytes: progress.content_bytes,
            saved,
            blocks,
            fragments: layout.fragments.len() as u64,
            data_bytes: position - data_start(&options)?,
            end,
            read_back,
            pipeline: pipeline.stats(),
            queues: pipeline.queue_stats(),
            workers: pipeline.worker_stats(),
        })
    }

    /// Ends the data area and returns its layout.
    #[cfg(test)]
    pub(crate) fn finish_data_for_tests(mut self) -> Result<crate::DataLayout, Error> {
        self.finish_data()?;
        self.data.decisions.into_layout(self.data.position)
    }

    fn try_add(&mut self, entry: &Entry, hints: FileHints, source: &mut dyn Source) -> Result<(), Error> {
        let xattr = if self.options.xattrs && !entry.xattrs.is_empty() {
            self.xattrs.add(&entry.xattrs, &entry.path)?
        } else {
            NO_XATTR
        };
        let file = match entry.kind {
            Kind::File { size } => Some((self.data.decisions.add_file(size)?, size)),
            _ => None,
        };
        let payload = file.map_or(0, |(number, _)| number);
        self.namespace.add(entry, payload, xattr).map_err(|error| error.in_input(&self.start.input))?;
        self.count(entry);
        if let Some((number, size)) = file {
            let cut = FileCut { file: number, size, rules: self.rules(hints), tails: self.tails(hints) };
            self.feeder.feed(cut, source, &mut self.pipeline, &mut self.data)?;
            self.feed_again(cut, source)?;
            self.feed_changed()?;
        }
        if self.progress.entries.is_multiple_of(MEMORY_CHECK) { self.lend_memory() } else { Ok(()) }
    }

    /// Reads a file again if it got shorter. Blocks of the first reading stay in the image and belong to no file.
    fn feed_again(&mut self, mut cut: FileCut, source: &mut dyn Source) -> Result<(), Error> {
        let first = cut.file;
        while let Some(size) = source.read_again() {
            self.progress.content_bytes -= cut.size - size.min(cut.size);
            cut.file = self.data.decisions.add_file(size)?;
            cut.size = size;
            self.feeder.feed(cut, source, &mut self.pipeline, &mut self.data)?;
            self.data.decisions.replace_file(first, cut.file);
        }
        Ok(())
    }

    /// Reads files again that changed while workers read them.
    fn feed_changed(&mut self) -> Result<(), Error> {
        while let Some(ChangedFile { cut, mut source }) = self.data.changed.pop() {
            self.feed_again(cut, &mut *source)?;
            self.data.warnings.append(&mut source.take_warnings());
        }
        Ok(())
    }

    fn rules(&self, hints: FileHints) -> Rules {
        Rules {
            deduplicate: self.options.deduplicate && !hints.no_deduplicate,
            sparse: self.options.sparse && !hints.no_sparse,
            stored: !hints.compress.or(!self.options.stored.data) || is_none(&self.options.codec),
            align: match hints.align {
                Align::Any => None,
                Align::Pad => Some(self.options.pad),
                Align::Bytes(bytes) => Some(bytes),
            },
            fragment_set: hints.fragment_set,
        }
    }

    fn tails(&self, hints: FileHints) -> Fragments {
        let image = self.options.fragments;
        let alone = match hints.compress {
            Override::None => false,
            Override::On => self.options.stored.fragments,
            Override::Off => true,
        };
        if alone || !hints.fragments.or(image != Fragments::Never) {
            Fragments::Never
        } else if hints.large_tails.or(image == Fragments::Always) {
            Fragments::Always
        } else {
            Fragments::SmallFiles
        }
    }

    fn count(&mut self, entry: &Entry) {
        self.progress.entries += 1;
        if let Kind::File { size } = entry.kind {
            self.progress.content_bytes += size;
        }
    }

    /// Moves memory from the pipeline to the tree if both together would exceed the limit.
    fn lend_memory(&mut self) -> Result<(), Error> {
        let tree =
            self.namespace.memory() + self.xattrs.memory() + self.data.decisions.memory() + self.data.written.memory();
        let wanted = (tree + self.window).saturating_sub(self.start.memory);
        let minimum = min_window(self.options.block_size);
        if wanted > 0 && tree + minimum > self.start.memory {
            return Err(Error::Limit {
                what: format!(
                    "{}: the tree of {} entries so far needs {} of memory, and the pipeline needs {}, but only {} is \
                     available; raise the memory limit",
                    self.start.input,
                    self.progress.entries,
                    size_at_least(tree as u64),
                    size_at_least(minimum as u64),
                    size_at_most(self.start.memory as u64)
                ),
                expected: String::new(),
            });
        }
        let more = wanted.saturating_sub(self.tree_reservation.bytes());
        if more > 0 {
            let permit = self.pipeline.reserve(more, &mut self.data).map_err(of_fault)?;
            self.tree_reservation.merge(permit);
        }
        Ok(())
    }

    fn read_all(&mut self) -> Result<(), Error> {
        loop {
            self.feeder.flush(&mut self.pipeline, &mut self.data).map_err(of_fault)?;
            self.pipeline.settle(&mut self.data).map_err(of_fault)?;
            if self.data.changed.is_empty() {
                return Ok(());
            }
            self.feed_changed()?;
        }
    }

    fn finish_data(&mut self) -> Result<(), Error> {
        self.read_all()?;
        self.data.decisions.close(self.pipeline.outbox());
        self.pipeline.drain(&mut self.data).map_err(of_fault)?;
        self.data.end()
    }

    /// Returns the error of data in flight, if there is one: it belongs to an earlier part of the input.
    fn first_error(&mut self, error: Error) -> Error {
        let before = self.feeder.flush(&mut self.pipeline, &mut self.data);
        let before = before.and_then(|()| self.pipeline.drain(&mut self.data));
        let error = of_fault(Fault::earlier(before, error));
        // What was handed to the sink came before all of this.
        self.data.settle().err().unwrap_or(error)
    }
}

fn pipeline(options: &Options, config: Config, start: &Start) -> Result<BlockPipeline, Error> {
    let compress = CompressTask::new(options, config.budget, start);
    let looked_up = !start.lookup.is_empty() && !is_none(&options.codec);
    let digester = if start.verify || looked_up { Digester::All } else { Digester::Keyed(Box::new(HashKey::random())) };
    Ok(Pipeline::new(HashTask { digester }, compress, config).map_err(WorkFault::workers)?)
}

fn is_none(codec: &Spec) -> bool {
    matches!(codec, Spec::None)
}
