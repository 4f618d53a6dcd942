//! The data area while it is written: files in, blocks out.

use std::sync::Arc;

use packline_engine::{Config, Fault, Permit, Pipeline};
use packline_runtime::memory::{size_at_least, size_at_most};
use packline_runtime::{TaskError, WorkFault, of_fault};
use packline_tree::Source;

use crate::data_writer::{ChangedFile, DataWriter};
use crate::decision::Saved;
use crate::digest::Digester;
use crate::feeder::{Feeder, slab_memory, slab_size};
use crate::keyed_hash::HashKey;
use crate::slab::{FileCut, Rules};
use crate::work::{BlockPipeline, CompressTask, HashTask};
use crate::written::Written;
use crate::{
    Align, BlockSize, Coders, DataLayout, DataOptions, Error, FileHints, Fragments, KeptTails, Override, Sharing, Sink,
    Workers,
};

/// Number of entries between two calls of [`DataArea::lend_memory`].
pub const MEMORY_CHECK: u64 = 256;

/// The smallest window in bytes that occupies all workers.
pub fn min_window(block_size: BlockSize) -> usize {
    slab_memory(block_size) + 2 * block_size.bytes()
}

/// Bytes of the list of a file's blocks from which on the memory is checked before the file is added.
const LONG_LIST: u64 = 64 << 10;

/// The memory that a writer needs for its entries.
#[derive(Debug, Clone, Copy)]
pub struct TreeMemory<'a> {
    /// Size of the file that is fed next, or 0.
    pub next: u64,
    /// Bytes, without the memory of the data area.
    pub bytes: usize,
    /// Bytes that pipeline and tree may use together.
    pub limit: usize,
    /// Number of entries so far.
    pub entries: u64,
    /// The input's name in error messages.
    pub input: &'a str,
}

/// Writes the contents of files, in order. After an error the image cannot be completed.
pub struct DataArea<'s> {
    pipeline: BlockPipeline,
    data: DataWriter<'s>,
    feeder: Feeder,
    options: DataOptions,
    /// Limit of content in flight in bytes.
    window: usize,
    content_bytes: u64,
    /// Memory that the tree takes from the pipeline.
    tree_reservation: Permit,
}

/// A complete data area.
pub struct CompleteData<'s> {
    pub layout: DataLayout,
    /// Savings of deduplication and holes.
    pub saved: Saved,
    /// Number of data blocks in the image.
    pub blocks: u64,
    /// Bytes of file content, holes included.
    pub content_bytes: u64,
    /// Whether the encoder tried to compress each block.
    pub all_tried: bool,
    /// CRC-32 of all bytes of the area, if [`DataOptions::checksum`] is set.
    pub checksum: Option<u32>,
    pub sink: &'s mut dyn Sink,
    /// The parts so far. The container adds each part of its metadata.
    pub written: Written,
    /// The tail ends, with [`DataOptions::keep_tails`].
    pub tails: Option<KeptTails>,
    /// The ends of blocks, with [`DataOptions::keep_ends`]: as fragment blocks with the numbers of the blocks.
    pub ends: Option<KeptTails>,
    /// Encode the metadata, and read the image back.
    pub workers: Workers,
}

impl<'s> DataArea<'s> {
    /// Starts the data area of an image in an empty sink. `config` does not change a byte of the image. Its budget limits content in flight,
    /// see [`min_window`]; with a smaller budget, one slab at a time is processed.
    ///
    /// # Errors
    /// [`Error::Work`] if threads cannot be started, for clusters or kept tail ends without [`Sharing::Blocks`], or for kept ends without
    /// clusters.
    pub fn new(
        sink: &'s mut dyn Sink,
        options: DataOptions,
        coders: Arc<dyn Coders>,
        config: Config,
    ) -> Result<DataArea<'s>, Error> {
        if (options.cluster_size.is_some() || options.keep_tails.is_some()) && options.sharing == Sharing::Runs {
            return Err(Error::internal("clusters or kept tail ends with shared runs".into()));
        }
        if options.keep_ends.is_some() && options.cluster_size.is_none() {
            return Err(Error::internal("kept ends without clusters".into()));
        }
        let window = config.budget;
        let keyed = || Digester::Keyed(Box::new(HashKey::random()));
        let digester = if options.verify || options.looks_up { Digester::All } else { keyed() };
        let compress = CompressTask::new(&options, coders, window);
        let pipeline = Pipeline::new(HashTask { digester }, compress, config).map_err(WorkFault::workers)?;
        Ok(DataArea {
            pipeline,
            data: DataWriter::new(&options, sink, window),
            feeder: Feeder::new(&options, window),
            options,
            window,
            content_bytes: 0,
            tree_reservation: Permit::detached(0),
        })
    }

    /// Adds a file of `size` bytes, and returns its number: its index in [`DataLayout::files`]. [`DataArea::feed`] must follow, before the next
    /// file is added.
    ///
    /// # Errors
    /// [`Error::Limit`] if there are too many files.
    pub fn add_file(&mut self, size: u64) -> Result<u32, Error> {
        self.data.decisions.add_file(size)
    }

    /// Reads the content of file `number`, which was added with `size` bytes, from `source`. Reads it again if it changes meanwhile, then from
    /// other sources that changed while workers read them.
    ///
    /// # Errors
    /// Of the source, the codec or the sink; [`Error::Limit`]. [`DataArea::first_error`] says whether an earlier file has an error.
    pub fn feed(&mut self, number: u32, size: u64, hints: FileHints, source: &mut dyn Source) -> Result<(), Error> {
        self.content_bytes += size;
        let cut = FileCut { file: number, size, rules: self.rules(hints), tails: self.tails(hints) };
        self.feeder.feed(cut, source, &mut self.pipeline, &mut self.data)?;
        self.feed_again(cut, source)?;
        self.feed_changed()
    }

    /// Waits until all contents are read. Workers may read some of them after [`DataArea::feed`].
    ///
    /// # Errors
    /// Errors of [`DataArea::feed`].
    pub fn settle(&mut self) -> Result<(), Error> {
        loop {
            self.feeder.flush(&mut self.pipeline, &mut self.data).map_err(of_fault)?;
            self.pipeline.settle(&mut self.data).map_err(of_fault)?;
            if self.data.changed.is_empty() {
                return Ok(());
            }
            self.feed_changed()?;
        }
    }

    /// The warnings since the last call about files that changed while they were read. All of them are known after [`DataArea::settle`].
    pub fn take_warnings(&mut self) -> Vec<String> {
        std::mem::take(&mut self.data.warnings)
    }

    /// Returns the bytes of file content so far, holes included.
    pub fn content_bytes(&self) -> u64 {
        self.content_bytes
    }

    /// Returns the offset of the next byte of the image.
    pub fn position(&self) -> u64 {
        self.data.position
    }

    /// Returns the number of bytes of memory, without content in flight.
    fn memory(&self) -> usize {
        let kept = [&self.data.tails, &self.data.ends].into_iter().flatten().map(KeptTails::memory).sum::<usize>();
        self.data.decisions.memory() + self.data.written.memory() + kept
    }

    /// Whether [`DataArea::lend_memory`] must be called before a file of `size` bytes is fed. The size of a hole is only a number in the input, but
    /// its blocks take memory.
    pub fn has_long_list(&self, size: u64) -> bool {
        self.list_bytes(size) >= LONG_LIST
    }

    /// Returns the memory in bytes of the list of a file's blocks.
    fn list_bytes(&self, size: u64) -> u64 {
        size.div_ceil(self.options.block_size.into()) * size_of::<u32>() as u64
    }

    /// Moves memory from the pipeline to the tree if both together would exceed the limit. Call it after each [`MEMORY_CHECK`] entries, and
    /// before files for which [`DataArea::has_long_list`] is true.
    ///
    /// # Errors
    /// [`Error::Limit`] if too little is left for the pipeline; errors of [`DataArea::feed`].
    pub fn lend_memory(&mut self, tree: TreeMemory<'_>) -> Result<(), Error> {
        let TreeMemory { next, limit, entries, input, .. } = tree;
        if next > 0 {
            // The lists of the files before are complete then.
            self.settle()?;
        }
        let list = usize::try_from(self.list_bytes(next)).unwrap_or(usize::MAX);
        let tree = list.saturating_add(tree.bytes + self.memory());
        let wanted = tree.saturating_add(self.window).saturating_sub(limit);
        let minimum = min_window(self.options.block_size);
        if wanted > 0 && tree.saturating_add(minimum) > limit {
            return Err(Error::Limit {
                what: format!(
                    "{input}: the tree of {entries} entries so far needs {} of memory, and the pipeline needs {}, but only {} is \
                     available; raise the memory limit",
                    size_at_least(tree as u64),
                    size_at_least(minimum as u64),
                    size_at_most(limit as u64)
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

    /// Returns the error of data in flight, if there is one, instead of `error`: it belongs to an earlier part of the input.
    pub fn first_error(&mut self, error: Error) -> Error {
        let before = self.feeder.flush(&mut self.pipeline, &mut self.data);
        let before = before.and_then(|()| self.pipeline.drain(&mut self.data));
        let error = of_fault(Fault::earlier(before, error));
        // What was handed to the sink came before all of this.
        self.data.settle().err().unwrap_or(error)
    }

    /// Ends the data area: waits for data in flight, and completes the layout.
    ///
    /// # Errors
    /// The first error in the order of the input, as [`DataArea::first_error`] returns it.
    pub fn complete(mut self) -> Result<CompleteData<'s>, Error> {
        if let Err(error) = self.end() {
            return Err(self.first_error(error));
        }
        let DataArea { pipeline, data, options, window, content_bytes, tree_reservation, .. } = self;
        let DataWriter { decisions, sink, position, written, checksum, tails, ends, .. } = data;
        let workers = Workers::new(pipeline, slab_size(options.block_size), window, tree_reservation);
        let saved = decisions.saved;
        let blocks = decisions.blocks.next().into();
        let all_tried = decisions.all_tried;
        let mut layout = decisions.into_layout(position)?;
        if tails.is_some() {
            // The tail ends are not at these positions of the image.
            layout.fragments.clear();
        }
        Ok(CompleteData {
            saved,
            blocks,
            content_bytes,
            all_tried,
            checksum: checksum.map(crc32fast::Hasher::finalize),
            sink,
            written,
            workers,
            layout,
            tails,
            ends,
        })
    }

    fn end(&mut self) -> Result<(), Error> {
        self.settle()?;
        self.data.decisions.close(self.pipeline.outbox());
        self.pipeline.drain(&mut self.data).map_err(of_fault)?;
        self.data.end()
    }

    /// Reads a file again if it got shorter. Blocks of the first reading stay in the image and belong to no file.
    fn feed_again(&mut self, mut cut: FileCut, source: &mut dyn Source) -> Result<(), Error> {
        let first = cut.file;
        while let Some(size) = source.read_again() {
            self.content_bytes -= cut.size - size.min(cut.size);
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
            stored: !hints.compress.or(!self.options.stored_blocks) || !self.options.compresses,
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
            Override::On => self.options.stored_fragments,
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
}
