//! Writes an image whose contents are on a device: a file that is written with the image, or a tar that exists.

use std::sync::Arc;

use packline_blocks::{
    CompleteData, Counts, DataArea, DataOptions, Error, FileHints, Layout, MEMORY_CHECK, Override, Saved, Sharing,
    Start, TreeMemory, Written, write,
};
use packline_engine::{Config, QueueStats, Stats, WorkerStats};
use packline_runtime::memory::{size_at_least, size_at_most};
use packline_runtime::{Sink, TaskError};
use packline_tree::{Entry, Kind, NO_XATTR, Namespace, Source as EntrySource, Tree};

use super::coder::ImageCoders;
use super::contents::Contents;
use super::layout_contents::{Kept, LayoutContents};
use super::metadata::{ImageEnd, Source, write_metadata};
use super::superblock::head_bytes;
use super::tar_contents::TarContents;
use super::writer::Summary;
use crate::options::{BLOCK, Options, Place};
use crate::xattrs::XattrTable;

/// Takes the entries of an image in sequence. The methods are those of [`Writer`](crate::Writer).
pub struct DeviceWriter<'s> {
    sink: &'s mut dyn Sink,
    contents: DeviceContents<'s>,
    namespace: Namespace,
    xattrs: XattrTable,
    options: Options,
    start: Start,
    /// Entries added.
    entries: u64,
}

enum DeviceContents<'s> {
    Blob(Box<DataArea<'s>>, DataOptions),
    Tar(TarContents),
}

/// What the metadata needs to know of complete contents, besides their positions.
struct DeviceEnd {
    /// Number of blocks of the device.
    blocks: u64,
    /// Checksum of the device, if it is written with the image.
    sum: u32,
    content_bytes: u64,
}

/// Counters of a data area.
#[derive(Default)]
struct AreaCounts {
    saved: Saved,
    blocks: u64,
    pipeline: Stats,
    queues: Vec<QueueStats>,
    workers: Vec<WorkerStats>,
}

impl<'s> DeviceWriter<'s> {
    /// Starts an image in an empty sink. Contents go to the empty sink `device`. `config` does not change a byte of either.
    ///
    /// # Errors
    /// Errors of [`Options::validate`]; [`Error::Work`] if threads cannot be started, or for options with another place than [`Place::Blob`].
    pub fn blob(
        sink: &'s mut dyn Sink,
        device: &'s mut dyn Sink,
        options: Options,
        config: Config,
        start: Start,
    ) -> Result<DeviceWriter<'s>, Error> {
        check(&options, &start, Place::Blob)?;
        let coders = Arc::new(ImageCoders::new(&options, &start));
        let data_options = data_options(&options);
        let area = DataArea::new(device, data_options.clone(), coders, config)?;
        Ok(DeviceWriter::new(sink, DeviceContents::Blob(Box::new(area), data_options), options, start))
    }

    /// Starts an image in an empty sink. Each source must report the positions of contents in the tar as parts that are not read
    /// ([`packline_tree::Source::read_later`]).
    ///
    /// # Errors
    /// Errors of [`Options::validate`]; [`Error::Work`] for options with another place than [`Place::Tar`].
    pub fn tar(sink: &'s mut dyn Sink, options: Options, start: Start) -> Result<DeviceWriter<'s>, Error> {
        check(&options, &start, Place::Tar)?;
        Ok(DeviceWriter::new(sink, DeviceContents::Tar(TarContents::default()), options, start))
    }

    fn new(sink: &'s mut dyn Sink, contents: DeviceContents<'s>, options: Options, start: Start) -> DeviceWriter<'s> {
        let namespace = Namespace::new(start.defaults).with_root(start.root);
        DeviceWriter { sink, contents, namespace, xattrs: XattrTable::default(), options, start, entries: 0 }
    }

    /// Adds an entry, as [`Writer::add`](crate::Writer::add) does.
    ///
    /// # Errors
    /// Errors of [`Writer::add`](crate::Writer::add); [`Error::Work`] for a source that does not report positions.
    pub fn add(&mut self, entry: &Entry, hints: FileHints, source: &mut dyn EntrySource) -> Result<(), Error> {
        let added = self.try_add(entry, hints, source);
        self.first_error(added)
    }

    /// Waits until all contents are read.
    ///
    /// # Errors
    /// Errors of [`DeviceWriter::add`].
    pub fn settle(&mut self) -> Result<(), Error> {
        let settled = match &mut self.contents {
            DeviceContents::Blob(area, _) => area.settle(),
            DeviceContents::Tar(_) => Ok(()),
        };
        self.first_error(settled)
    }

    /// The warnings since the last call about files that changed while they were read.
    pub fn take_warnings(&mut self) -> Vec<String> {
        match &mut self.contents {
            DeviceContents::Blob(area, _) => area.take_warnings(),
            DeviceContents::Tar(_) => Vec::new(),
        }
    }

    /// Finishes the device and the image: data in flight, the metadata, the superblock.
    ///
    /// # Errors
    /// Errors of [`DeviceWriter::add`], and hard links without a target.
    pub fn finish(self) -> Result<Summary, Error> {
        let DeviceWriter { sink, contents, namespace, mut xattrs, options, start, .. } = self;
        let finish = |contents: &dyn Contents, end: DeviceEnd, area: AreaCounts| {
            let mut tree = namespace.finish().map_err(|error| error.in_input(&start.input))?;
            if options.marks_whiteouts {
                xattrs.mark_whiteouts(&mut tree)?;
            }
            let end_of_image = write_image(sink, &tree, contents, &xattrs, &options, &end)?;
            Ok(summary(&tree, end, area, end_of_image))
        };
        match contents {
            DeviceContents::Tar(contents) => {
                let content_bytes = contents.content_bytes();
                let blocks = contents.end().div_ceil(options.block());
                finish(&contents, DeviceEnd { blocks, sum: 0, content_bytes }, AreaCounts::default())
            }
            DeviceContents::Blob(area, data_options) => {
                let CompleteData { layout, saved, blocks, content_bytes, checksum, sink: device, workers, .. } =
                    area.complete()?;
                let padding = layout.end.next_multiple_of(BLOCK) - layout.end;
                write(device, layout.end, &[0; BLOCK as usize][..padding as usize])?;
                let contents = LayoutContents::new(&layout, &data_options, Kept::default());
                let device_blocks = layout.end.div_ceil(BLOCK);
                let end = DeviceEnd { blocks: device_blocks, sum: checksum.unwrap_or(0), content_bytes };
                let area = AreaCounts {
                    saved,
                    blocks,
                    pipeline: workers.stats(),
                    queues: workers.queue_stats(),
                    workers: workers.worker_stats(),
                };
                finish(&contents, end, area)
            }
        }
    }

    fn first_error(&mut self, result: Result<(), Error>) -> Result<(), Error> {
        match (&mut self.contents, result) {
            (DeviceContents::Blob(area, _), Err(error)) => Err(area.first_error(error)),
            (_, result) => result,
        }
    }

    fn try_add(&mut self, entry: &Entry, hints: FileHints, source: &mut dyn EntrySource) -> Result<(), Error> {
        let xattr = if self.options.xattrs { self.xattrs.add(&entry.xattrs, &entry.path)? } else { NO_XATTR };
        let payload = match (&entry.kind, &mut self.contents) {
            (Kind::File { size }, DeviceContents::Blob(area, _)) => area.add_file(*size)?,
            (Kind::File { size }, DeviceContents::Tar(contents)) => contents.add(*size, source)?,
            _ => 0,
        };
        self.namespace.add(entry, payload, xattr).map_err(|error| error.in_input(&self.start.input))?;
        self.entries += 1;
        if let (Kind::File { size }, DeviceContents::Blob(area, _)) = (&entry.kind, &self.contents)
            && area.has_long_list(*size)
        {
            self.check_memory(*size)?;
        }
        if let (Kind::File { size }, DeviceContents::Blob(area, _)) = (&entry.kind, &mut self.contents) {
            area.feed(payload, *size, FileHints { fragments: Override::Off, ..hints }, source)?;
        }
        if self.entries.is_multiple_of(MEMORY_CHECK) { self.check_memory(0) } else { Ok(()) }
    }

    /// `next`: size of the file that is fed next, or 0.
    fn check_memory(&mut self, next: u64) -> Result<(), Error> {
        let bytes = self.namespace.memory() + self.xattrs.memory();
        let limit = self.start.memory;
        let entries = self.entries;
        let input = &*self.start.input;
        let bytes = match &mut self.contents {
            DeviceContents::Blob(area, _) => {
                return area.lend_memory(TreeMemory { next, bytes, limit, entries, input });
            }
            DeviceContents::Tar(contents) => bytes + contents.memory(),
        };
        if bytes <= limit {
            return Ok(());
        }
        Err(Error::Limit {
            what: format!(
                "{input}: the tree of {entries} entries so far needs {} of memory, but only {} is available; raise the \
                 memory limit",
                size_at_least(bytes as u64),
                size_at_most(limit as u64)
            ),
            expected: String::new(),
        })
    }
}

/// Writes the metadata and the superblock.
fn write_image(
    sink: &mut dyn Sink,
    tree: &Tree,
    contents: &dyn Contents,
    xattrs: &XattrTable,
    options: &Options,
    end: &DeviceEnd,
) -> Result<ImageEnd, Error> {
    let data_end = head_bytes(options);
    let device = Some(end.blocks);
    let source =
        Source { tree, contents, xattrs, options, zeros: None, data_end, data_sum: end.sum, record: None, device };
    let metadata = write_metadata(sink, Written::new(false), &source, None)?;
    write(sink, 0, &metadata.superblock)?;
    Ok(metadata.end)
}

fn summary(tree: &Tree, end: DeviceEnd, area: AreaCounts, image: ImageEnd) -> Summary {
    let AreaCounts { saved, blocks, pipeline, queues, workers } = area;
    Summary {
        counts: Counts::of(tree),
        content_bytes: end.content_bytes,
        saved,
        blocks,
        fragments: 0,
        data_bytes: 0,
        end: image,
        read_back: None,
        pipeline,
        queues,
        workers,
    }
}

fn check(options: &Options, start: &Start, place: Place) -> Result<(), Error> {
    options.validate()?;
    if options.place != place {
        return Err(Error::internal(format!("contents in {:?} for {place:?}", options.place)));
    }
    if start.verify {
        return Err(Error::Limit {
            what: "reading back contents on a device".into(),
            expected: "no verification".into(),
        });
    }
    Ok(())
}

/// Returns how contents are stored on a device. They start at its first byte.
fn data_options(options: &Options) -> DataOptions {
    DataOptions {
        block_size: options.block_size,
        fragment_size: options.block_size.into(),
        fragments: packline_blocks::Fragments::Never,
        deduplicate: options.deduplicate,
        sharing: Sharing::Blocks,
        cluster_size: None,
        sparse: options.sparse,
        stored_blocks: true,
        stored_fragments: true,
        compresses: false,
        pad: options.pad,
        layout: Layout::Compact,
        unit: BLOCK as u32,
        start: 0,
        checksum: true,
        verify: false,
        looks_up: false,
        keep_tails: None,
        keep_ends: None,
    }
}
