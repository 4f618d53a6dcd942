//! Writes headers, maps and contents to the sink of a tar.

use packline_archives::tar::{MapSegment, TarWriter, end_of_archive, padding};
use packline_engine::CancelToken;
use packline_image::TarSink;
use packline_runtime::WorkFault;
use packline_runtime::escape::Escape;
use packline_tree::{Bytes, Entry, Extent, Kind, Source as _};

use super::STEP;
use super::hard_links::{HardLinks, Place};
use super::map::Map;
use crate::error::Error;
use crate::pack::request::TarRequest;
use crate::pack::summary::PackedTar;
use crate::sources::observed::ObservedSource;

/// Maximum number of segments of a file with holes. GNU tar takes 16 bytes for each, and our own reader rejects 4 Mi.
const SEGMENTS_MOST: usize = 65_536;

/// A tar while it is written.
pub(super) struct Writing {
    writer: TarWriter,
    pub(super) sink: TarSink,
    /// Headers and maps.
    header: Vec<u8>,
    buffer: Vec<u8>,
    no_xattrs: bool,
    no_sparse: bool,
    links: HardLinks,
    first_socket: Bytes,
    packed: PackedTar,
}

impl Writing {
    pub(super) fn new(sink: TarSink, request: &TarRequest, links: HardLinks) -> Writing {
        Writing {
            writer: TarWriter::new(Bytes::new()),
            sink,
            header: Vec::new(),
            buffer: vec![0; STEP],
            no_xattrs: request.no_xattrs,
            no_sparse: request.no_sparse,
            links,
            first_socket: Bytes::new(),
            packed: PackedTar::default(),
        }
    }

    pub(super) fn all(&mut self, source: &mut ObservedSource<'_>, cancel: &CancelToken) -> Result<(), Error> {
        while let Some(entry) = source.next_entry()? {
            self.check_cancelled(cancel)?;
            if self.links.is_socket(&entry)? {
                self.count_socket(&entry);
            } else if self.links.place(&entry, &mut |warning| source.warn(warning))? == Place::Now {
                self.entry(entry, source, cancel)?;
            }
        }
        self.links.finish()?.into_iter().try_for_each(|entry| self.entry(entry, source, cancel))
    }

    fn check_cancelled(&self, cancel: &CancelToken) -> Result<(), Error> {
        if cancel.is_cancelled() { Err(packline_tree::Error::Work(WorkFault::Cancelled).into()) } else { Ok(()) }
    }

    fn count_socket(&mut self, entry: &Entry) {
        if self.packed.sockets == 0 {
            self.first_socket.clone_from(&entry.path);
        }
        self.packed.sockets += 1;
    }

    /// The warning about entries that are left out.
    pub(super) fn left_out(&self) -> Option<String> {
        let first = self.first_socket.escaped();
        match self.packed.sockets {
            0 => None,
            1 => Some(format!("{first}: left out, because a tar cannot hold a socket")),
            count => {
                Some(format!("{count} sockets are left out, because a tar cannot hold them (the first is {first})"))
            }
        }
    }

    fn entry(&mut self, mut entry: Entry, source: &mut ObservedSource<'_>, cancel: &CancelToken) -> Result<(), Error> {
        if self.no_xattrs {
            entry.xattrs.clear();
        }
        let Kind::File { size } = entry.kind else { return self.begin(&entry, None) };
        let ranges = if self.no_sparse { None } else { source.data_ranges(SEGMENTS_MOST)? };
        let map = ranges.and_then(|ranges| Map::new(&ranges, size));
        self.begin(&entry, map.as_ref())?;
        let whole = [MapSegment { offset: 0, length: size }];
        let (segments, stored) = match &map {
            Some(map) => (map.segments.as_slice(), map.shape.stored_bytes()),
            None => (whole.as_slice(), size),
        };
        self.content(segments, source, cancel)?;
        self.packed.content_bytes += size;
        Ok(self.sink.zeros(padding(stored) as u64)?)
    }

    /// Writes the header, and the map of a file with holes.
    fn begin(&mut self, entry: &Entry, map: Option<&Map>) -> Result<(), Error> {
        self.header.clear();
        let written = match (&entry.kind, map) {
            (&Kind::File { size }, Some(map)) => self.writer.sparse_file(&mut self.header, entry, size, &map.shape),
            _ => self.writer.entry(&mut self.header, entry),
        };
        written.map_err(|reason| packline_tree::Error::Input {
            input: entry.path.escaped(),
            what: reason.to_string(),
            expected: String::new(),
        })?;
        if let Some(map) = map {
            map.append_to(&mut self.header);
        }
        self.packed.counts.add(&entry.kind);
        Ok(self.sink.put(&self.header)?)
    }

    /// Writes the parts of the content that are in segments.
    fn content(
        &mut self,
        segments: &[MapSegment],
        source: &mut ObservedSource<'_>,
        cancel: &CancelToken,
    ) -> Result<(), Error> {
        let mut segments = segments.iter().copied().peekable();
        let mut start = 0;
        loop {
            let extent = source.read(&mut self.buffer)?;
            let length = match extent {
                Extent::Data(bytes) => bytes as u64,
                Extent::Hole(bytes) => bytes,
                Extent::End => return Ok(()),
            };
            let end = start + length;
            while let Some(segment) = segments.peek().copied().filter(|segment| segment.offset < end) {
                let part = segment.offset.max(start)..segment.end().min(end);
                match extent {
                    Extent::Data(_) => {
                        let range = (part.start - start) as usize..(part.end - start) as usize;
                        self.sink.put(&self.buffer[range])?;
                    }
                    _ => self.sink.zeros(part.end - part.start)?,
                }
                if segment.end() > end {
                    break;
                }
                segments.next();
            }
            start = end;
            self.check_cancelled(cancel)?;
        }
    }

    /// Ends the tar.
    pub(super) fn finish(mut self) -> Result<PackedTar, Error> {
        self.sink.zeros(end_of_archive(self.sink.taken()) as u64)?;
        let tar_bytes = self.sink.taken();
        let output_bytes = self.sink.finish()?;
        Ok(PackedTar { tar_bytes, output_bytes, ..self.packed })
    }
}
