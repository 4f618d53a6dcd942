//! Converts events of the reading to the bytes of the tar: headers, maps, content, padding, the end.

use packline_archives::tar::{MapSegment, TarWriter, end_of_archive, is_xattr_name, padding};
use packline_runtime::TaskError;
use packline_runtime::escape::Escape;
use packline_tree::{Bytes, Entry, Kind};
use packline_volume::{Chunk, Event, FileData, Pieces, ReadError, Reading};

use super::items::Tag;
use super::sink::TarSink;
use super::sparse::{Segments, SparseFile};
use super::{TarOptions, TarSummary};
use crate::{Error, Observer, OpenedImage, Progress, Resources};

/// Bytes of a map that are created at once.
const MAP_PIECE: usize = 64 << 10;

/// The tar under construction.
pub(super) struct Content<'a> {
    opened: &'a OpenedImage,
    asked: &'a TarOptions,
    observer: &'a mut dyn Observer,
    sink: TarSink,
    writer: TarWriter,
    /// Buffer for headers and maps.
    scratch: Vec<u8>,
    file: Option<OpenFile>,
    summary: TarSummary,
    progress: Progress,
}

/// The file whose content is being written.
struct OpenFile {
    path: Bytes,
    size: u64,
    /// Bytes of content so far, holes included.
    at: u64,
    padding: usize,
    damaged: bool,
    holes: Option<Holes>,
}

/// The segments of a sparse file that are written.
struct Holes {
    segments: Segments<Box<dyn Pieces>>,
    /// The segment at or after the current position.
    current: Option<MapSegment>,
}

impl<'a> Content<'a> {
    /// `total` is the number of bytes of content to come.
    pub(super) fn new(
        opened: &'a OpenedImage,
        asked: &'a TarOptions,
        sink: TarSink,
        observer: &'a mut dyn Observer,
        total: u64,
    ) -> Content<'a> {
        let progress = Progress { source_total: Some(total), ..Progress::default() };
        let writer = TarWriter::new(asked.prefix());
        let scratch = Vec::new();
        let summary = TarSummary::default();
        Content { opened, asked, observer, sink, writer, scratch, file: None, summary, progress }
    }

    /// Processes all events of the reading.
    pub(super) fn take_all(&mut self, reading: &mut Reading<'_, Tag>) -> Result<(), Error> {
        let taken = loop {
            match reading.next_event() {
                Ok(None) => return Ok(()),
                Ok(Some(event)) => match self.take(event) {
                    Ok(()) => {}
                    Err(error) => break error,
                },
                Err(cause) => break self.opened.fault(cause),
            }
        };
        self.sink.settle().and(Err(taken))
    }

    /// Processes the next event of the reading.
    fn take(&mut self, event: Event<Tag>) -> Result<(), Error> {
        match event {
            Event::Begin(tag) => {
                self.end_file()?;
                self.begin(tag)
            }
            Event::Data(chunk) => self.content(chunk.len() as u64, Some(chunk)),
            Event::Hole(length) => self.content(length, None),
            Event::Failed { length, error } => {
                let path = self.file.as_mut().map(|file| {
                    file.damaged = true;
                    file.path.clone()
                });
                self.problem(&path.unwrap_or_default(), error)?;
                self.content(length, None)
            }
        }
    }

    /// Compares the data of the image with its record, unless damage was already reported. All contents must have been read.
    pub(super) fn compare_data(&mut self, resources: &Resources) -> Result<(), Error> {
        self.end_file()?;
        if self.summary.damaged > 0 {
            return Ok(());
        }
        let compared = self.opened.compare_data(resources);
        self.sink.settle()?;
        match compared {
            Err(fault) if self.asked.continue_on_error => {
                self.summary.damaged += 1;
                self.observer.problem(fault.as_problem());
                Ok(())
            }
            compared => compared,
        }
    }

    /// Ends the tar.
    pub(super) fn finish(mut self) -> Result<TarSummary, Error> {
        self.end_file()?;
        self.observer.finishing(&self.progress);
        self.sink.zeros(end_of_archive(self.sink.taken()) as u64)?;
        let tar_bytes = self.sink.taken();
        let output_bytes = self.sink.finish()?;
        Ok(TarSummary { tar_bytes, output_bytes, content_bytes: self.progress.content_bytes, ..self.summary })
    }

    fn begin(&mut self, tag: Tag) -> Result<(), Error> {
        match tag {
            Tag::Fault { path, error } => {
                self.summary.damaged += 1;
                self.problem(&path, error)
            }
            Tag::Entry { entry, sparse, fault } => {
                let damaged = fault.is_some();
                fault.map_or(Ok(()), |error| self.problem(&entry.path, error))?;
                self.entry(entry, sparse, damaged)
            }
        }
    }

    /// Reports an error, or returns it.
    fn problem(&mut self, path: &[u8], error: ReadError) -> Result<(), Error> {
        let fault = self.opened.fault_at(path, error);
        if !self.asked.continue_on_error {
            return Err(fault);
        }
        self.observer.problem(fault.as_problem());
        Ok(())
    }

    fn entry(
        &mut self,
        mut entry: Entry,
        sparse: Option<Box<(SparseFile, FileData)>>,
        damaged: bool,
    ) -> Result<(), Error> {
        self.drop_unusable_xattrs(&mut entry)?;
        self.scratch.clear();
        let size = match entry.kind {
            Kind::File { size } => size,
            _ => 0,
        };
        let written = match &sparse {
            Some(sparse) => self.writer.sparse_file(&mut self.scratch, &entry, size, &sparse.0.shape),
            None => self.writer.entry(&mut self.scratch, &entry),
        };
        if let Err(reason) = written {
            self.summary.skipped += 1;
            return self.unstorable(&entry.path, &reason.to_string());
        }
        self.summary.entries += 1;
        self.progress.entries += 1;
        self.observer.entry(entry.info(), &self.progress);
        self.summary.damaged += u64::from(damaged && !matches!(entry.kind, Kind::File { .. }));
        self.sink.put(&self.scratch)?;
        let stored = sparse.as_ref().map_or(size, |sparse| sparse.0.shape.stored_bytes());
        let holes = sparse.map(|sparse| self.map(sparse.0, &sparse.1)).transpose()?;
        if let Kind::File { size } = entry.kind {
            self.file = Some(OpenFile { path: entry.path, size, at: 0, padding: padding(stored), damaged, holes });
        }
        Ok(())
    }

    /// Writes the map of a sparse file.
    fn map(&mut self, sparse: SparseFile, data: &FileData) -> Result<Holes, Error> {
        let volume = &self.opened.volume;
        self.scratch.clear();
        sparse.shape.head(&mut self.scratch);
        for segment in sparse.segments(volume, data) {
            sparse.shape.line(&mut self.scratch, segment);
            if self.scratch.len() >= MAP_PIECE {
                self.sink.put(&self.scratch)?;
                self.scratch.clear();
            }
        }
        sparse.shape.tail(&mut self.scratch);
        self.sink.put(&self.scratch)?;
        let mut segments = sparse.segments(volume, data);
        let current = segments.next();
        Ok(Holes { segments, current })
    }

    fn drop_unusable_xattrs(&mut self, entry: &mut Entry) -> Result<(), Error> {
        if entry.xattrs.iter().all(|xattr| is_xattr_name(&xattr.name)) {
            return Ok(());
        }
        entry.xattrs.retain(|xattr| is_xattr_name(&xattr.name));
        self.unstorable(&entry.path, "a tar cannot hold an extended attribute whose name is empty or has a NUL byte")
    }

    fn unstorable(&mut self, path: &[u8], reason: &str) -> Result<(), Error> {
        let path = path.escaped();
        if self.asked.refuse_unstorable {
            let what =
                format!("{}: {path}: {reason}; leaving it out is not permitted", self.opened.display_path.escaped());
            return Err(Error::Request { what, expected: String::new() });
        }
        self.observer.warning(&format!("{path}: {reason}: left out"));
        Ok(())
    }

    /// Adds `length` bytes of content; zeros without a chunk.
    fn content(&mut self, length: u64, chunk: Option<Chunk>) -> Result<(), Error> {
        let Some(file) = &mut self.file else { return Ok(()) };
        let start = file.at;
        file.at += length;
        self.progress.content_bytes += length;
        self.progress.source_bytes = self.progress.content_bytes;
        match &mut file.holes {
            None => put(&mut self.sink, length, chunk)?,
            Some(holes) => holes.put(&mut self.sink, start, length, chunk)?,
        }
        self.progress.image_bytes = self.sink.taken();
        self.observer.advance(&self.progress);
        Ok(())
    }

    fn end_file(&mut self) -> Result<(), Error> {
        let Some(file) = self.file.take() else { return Ok(()) };
        if file.at != file.size {
            let what = format!("{} bytes of content came for a file of {}", file.at, file.size);
            return Err(self.opened.fault_at(&file.path, ReadError::internal(what)));
        }
        self.summary.damaged += u64::from(file.damaged);
        self.sink.zeros(file.padding as u64)
    }
}

impl Holes {
    /// Writes the part of these bytes that is in segments.
    fn put(&mut self, sink: &mut TarSink, start: u64, length: u64, chunk: Option<Chunk>) -> Result<(), Error> {
        let mut at = start;
        let end = start + length;
        while let Some(segment) = self.current.filter(|segment| segment.offset < end) {
            at = at.max(segment.offset);
            let stop = segment.end().min(end);
            let part = chunk.as_ref().map(|chunk| chunk.part((at - start) as usize..(stop - start) as usize));
            put(sink, stop - at, part)?;
            at = stop;
            if stop < segment.end() {
                break;
            }
            self.current = self.segments.next();
        }
        Ok(())
    }
}

fn put(sink: &mut TarSink, length: u64, chunk: Option<Chunk>) -> Result<(), Error> {
    match chunk {
        Some(chunk) => sink.put_chunk(chunk),
        None => sink.zeros(length),
    }
}
