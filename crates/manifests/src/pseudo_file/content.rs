//! The contents of files that definitions add. They come from a file, or from the stream after the definitions.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;

use packline_tree::text::TextLine;
use packline_tree::{Error, Extent};

use super::{Data, Input, Position};

/// The content of one file, and how far it has been read.
pub(super) struct Content {
    pub position: Position,
    place: ContentSource,
    left: u64,
}

enum ContentSource {
    /// In a file, at this byte.
    File(File, u64),
    /// In the stream of an input, at its current position.
    Stream,
}

impl Content {
    /// The content of a complete file.
    pub fn whole(file: File, size: u64, position: Position) -> Content {
        Content { position, place: ContentSource::File(file, 0), left: size }
    }

    /// The content at an offset after the definitions of an input.
    pub fn of_data(input: &mut Input, size: u64, offset: u64, position: Position) -> Result<Content, Error> {
        let place = TextLine { input: &input.name, line: position.line };
        let unread =
            |cause: io::Error| place.error(format!("the content cannot be read: {cause}"), "a file that can be read");
        let held = match &mut input.data {
            // An empty content needs no input.
            Data::None => return Err(place.error("'R' without content", "definitions with contents after them")),
            Data::File(file, start) => {
                let beyond = || place.error("a content beyond 16 EiB", "the offset and size of a content");
                let in_range = start.checked_add(offset).filter(|at| at.checked_add(size).is_some());
                let at = in_range.ok_or_else(beyond)?;
                ContentSource::File(file.try_clone().map_err(unread)?, at)
            }
            Data::Stream(stream, at) => {
                let skipped = offset.checked_sub(*at).ok_or_else(|| {
                    place.error(
                        format!("a content at byte {offset}, after byte {at} has been read"),
                        "a file, not a pipe",
                    )
                })?;
                *at += io::copy(&mut stream.take(skipped), &mut io::sink()).map_err(unread)?;
                ContentSource::Stream
            }
        };
        Ok(Content { position, place: held, left: size })
    }

    pub fn read(&mut self, inputs: &mut [Input], buffer: &mut [u8]) -> Result<Extent, Error> {
        if self.left == 0 {
            return Ok(Extent::End);
        }
        let wanted = usize::try_from(self.left).unwrap_or(usize::MAX).min(buffer.len());
        let Input { name, data } = &mut inputs[self.position.input as usize];
        let count = retried(|| match (&mut self.place, &mut *data) {
            (ContentSource::File(file, at), _) => file.read_at(&mut buffer[..wanted], *at),
            (ContentSource::Stream, Data::Stream(stream, _)) => stream.read(&mut buffer[..wanted]),
            (ContentSource::Stream, _) => Ok(0),
        });
        let place = TextLine { input: name, line: self.position.line };
        let expected = || format!("{} bytes more", self.left);
        let count = count.map_err(|cause| place.error(format!("the content cannot be read: {cause}"), expected()))?;
        if count == 0 && wanted > 0 {
            return Err(place.error("the content ends too early", expected()));
        }
        match (&mut self.place, data) {
            (ContentSource::File(_, at), _) | (ContentSource::Stream, Data::Stream(_, at)) => *at += count as u64,
            _ => {}
        }
        self.left -= count as u64;
        Ok(Extent::Data(count))
    }

    /// Reads the rest of a content in a stream, so that the stream is at the next content.
    pub fn skip(mut self, inputs: &mut [Input]) -> Result<(), Error> {
        if matches!(self.place, ContentSource::Stream) {
            let mut buffer = vec![0; 8192];
            while self.read(inputs, &mut buffer)? != Extent::End {}
        }
        Ok(())
    }
}

fn retried(mut read: impl FnMut() -> io::Result<usize>) -> io::Result<usize> {
    loop {
        match read() {
            Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}
