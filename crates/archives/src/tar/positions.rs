//! A tar whose contents are not read: only their positions are reported. An image refers to these bytes of the tar.

use std::fmt;
use std::io::{Cursor, Read};
use std::sync::Arc;

use packline_runtime::{Input, InputStream};
use packline_tree::{Bookmark, Entry, Error, Extent, Kind, SharedContent, Source, UnreadPart};

use super::content::{Content, ContentPart, TarBookmark};
use super::fault::unreadable;
use super::header::BLOCK;
use super::{Metered, TarOptions, TarSource};
use crate::decompress::{self, Format};

/// Opens a plain tar from a stream. Contents are skipped. [`Source::read_later`] returns parts whose offsets are offsets in the tar, and which
/// cannot be read. The stream is read to its end.
///
/// # Errors
/// [`Error::Io`] if its first bytes cannot be read; [`Error::Input`] if the tar is compressed. The source reports malformed data later.
pub fn open_positions(
    mut input: impl Read + Send + 'static,
    mut options: TarOptions,
) -> Result<Box<dyn Source + Send>, Error> {
    let head = decompress::read_head(&mut input).map_err(|cause| unreadable(&options.input_name, cause))?;
    check_plain(&head, &options)?;
    let meter = options.meter.get_or_insert_default().clone();
    let tar = TarSource::new(Metered::new(Cursor::new(head).chain(input), meter), options);
    Ok(Box::new(Positions::of(tar)))
}

/// As [`open_positions`], for a tar that is read at offsets: contents are not read at all.
///
/// # Errors
/// As for [`open_positions`].
pub fn open_positions_at(input: Arc<dyn Input>, options: TarOptions) -> Result<Box<dyn Source + Send>, Error> {
    let head = decompress::read_head(&mut InputStream::new(&*input, 0));
    check_plain(&head.map_err(|cause| unreadable(&options.input_name, cause))?, &options)?;
    Ok(Box::new(Positions::of(TarSource::seekable(InputStream::new(input, 0), options)?)))
}

fn check_plain(head: &[u8], options: &TarOptions) -> Result<(), Error> {
    match decompress::detect(head) {
        Format::Plain => Ok(()),
        _ => Err(Error::Input {
            input: options.input_name.clone(),
            what: "is compressed".into(),
            expected: "a plain tar, because the image refers to its bytes".into(),
        }),
    }
}

struct Positions<R> {
    tar: TarSource<R>,
    /// The rest of the content that is reported.
    rest: Option<Rest>,
    nobody: Arc<dyn SharedContent>,
    /// The path of the current entry.
    path: Vec<u8>,
    /// Offset of the end of the last block of all contents.
    end: u64,
}

/// The rest of a content.
struct Rest {
    content: Content,
    /// Offset in the tar of the next stored byte.
    offset: u64,
}

impl Rest {
    fn of(position: &TarBookmark) -> Rest {
        Rest { content: position.content(), offset: position.start }
    }
}

impl<R: Read> Positions<R> {
    fn of(tar: TarSource<R>) -> Positions<R> {
        Positions { tar, rest: None, nobody: Arc::new(Nobody), path: Vec::new(), end: 0 }
    }

    fn rest(&mut self) -> &mut Rest {
        let tar = &self.tar;
        self.rest.get_or_insert_with(|| Rest::of(&tar.position()))
    }

    /// Fails if the last block of a content is not complete: a device has whole blocks.
    fn check_end(&self) -> Result<(), Error> {
        let length = self.tar.length();
        if self.end <= length {
            return Ok(());
        }
        let what = "the archive ends within the last block of a content";
        Err(self.tar.malformed(&self.path, length, what, "whole blocks of 512 bytes"))
    }
}

impl<R: Read> Source for Positions<R> {
    fn next_entry(&mut self) -> Result<Option<Entry>, Error> {
        let Some(entry) = self.tar.next_entry()? else { return self.check_end().map(|()| None) };
        self.rest = None;
        if matches!(entry.kind, Kind::File { .. }) {
            let position = self.tar.position();
            let end = position.start + position.content().stored();
            self.end = self.end.max(end.next_multiple_of(BLOCK as u64));
        }
        self.path.clone_from(&entry.path);
        Ok(Some(entry))
    }

    fn read(&mut self, _buffer: &mut [u8]) -> Result<Extent, Error> {
        let rest = self.rest();
        match rest.content.next() {
            ContentPart::End => Ok(Extent::End),
            ContentPart::Hole(bytes) => {
                rest.content.skip_hole(bytes);
                Ok(Extent::Hole(bytes))
            }
            ContentPart::Stored(_) => Err(unreadable("tar", not_read())),
        }
    }

    fn read_later(&mut self, most: usize) -> Result<Option<UnreadPart>, Error> {
        let content = Arc::clone(&self.nobody);
        let rest = self.rest();
        let ContentPart::Stored(there) = rest.content.next() else { return Ok(None) };
        let part = UnreadPart { content, offset: rest.offset, bytes: there.min(most as u64) as usize };
        rest.content.take(part.bytes as u64);
        rest.offset += part.bytes as u64;
        Ok(Some(part))
    }

    fn bookmark(&mut self) -> Option<Bookmark> {
        Some(self.tar.position().into_bookmark())
    }

    fn recall(&mut self, bookmark: &Bookmark, path: &[u8]) -> Result<(), Error> {
        let position = bookmark.value::<TarBookmark>().ok_or_else(|| Bookmark::foreign("tar", path))?;
        self.rest = Some(Rest::of(position));
        Ok(())
    }

    fn progress(&self) -> (u64, Option<u64>) {
        self.tar.progress()
    }

    fn owner_names(&self) -> (&[u8], &[u8]) {
        self.tar.owner_names()
    }

    fn take_warnings(&mut self) -> Vec<String> {
        self.tar.take_warnings()
    }
}

/// A content that is not read.
struct Nobody;

impl fmt::Debug for Nobody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("content that is not read")
    }
}

impl SharedContent for Nobody {
    fn read_at(&self, _offset: u64, _buffer: &mut [u8]) -> Result<usize, Error> {
        Err(unreadable("tar", not_read()))
    }
}

fn not_read() -> std::io::Error {
    std::io::Error::other("contents are not read, only their positions")
}

#[cfg(test)]
mod tests {
    use packline_testkit::model::Node;

    use super::*;

    fn tar(nodes: &[Node]) -> Vec<u8> {
        packline_testkit::tar::to_bytes(nodes)
    }

    /// The names of files, with the offset and the bytes of each part.
    fn positions(source: &mut dyn Source) -> Vec<(String, Vec<(u64, usize)>)> {
        let mut all = Vec::new();
        while let Some(entry) = source.next_entry().unwrap() {
            if let Kind::File { .. } = entry.kind {
                let parts = std::iter::from_fn(|| source.read_later(usize::MAX).unwrap());
                let parts = parts.map(|part| (part.offset, part.bytes)).collect();
                assert_eq!(source.read(&mut [0]).unwrap(), Extent::End);
                all.push((String::from_utf8(entry.path).unwrap(), parts));
            }
        }
        all
    }

    fn from_stream(bytes: &[u8]) -> Result<Box<dyn Source + Send>, Error> {
        open_positions(Cursor::new(bytes.to_vec()), TarOptions::named("t"))
    }

    #[test]
    fn reports_where_contents_are() {
        let bytes =
            tar(&[Node::dir("d"), Node::file("d/a", "content"), Node::file("e", ""), Node::file("f", [7; 1000])]);
        let mut found = positions(&mut *from_stream(&bytes).unwrap());
        assert_eq!(positions(&mut *open_positions_at(Arc::new(bytes.clone()), TarOptions::named("t")).unwrap()), found);
        let (name, parts) = found.remove(0);
        let [(offset, 7)] = parts[..] else { panic!("{parts:?}") };
        assert!(name == "d/a" && bytes[offset as usize..].starts_with(b"content"));
        assert_eq!(found[0], ("e".to_string(), vec![]));
        let [(offset, 1000)] = found[1].1[..] else { panic!("{found:?}") };
        assert!(offset % 512 == 0 && bytes[offset as usize..][..1000] == [7; 1000]);
    }

    #[test]
    fn a_bookmark_is_a_position() {
        let bytes = tar(&[Node::file("a", "1"), Node::file("b", "22")]);
        let mut source = from_stream(&bytes).unwrap();
        source.next_entry().unwrap();
        let first = source.bookmark().unwrap();
        while source.next_entry().unwrap().is_some() {}
        source.recall(&first, b"a").unwrap();
        let part = source.read_later(usize::MAX).unwrap().unwrap();
        assert_eq!((bytes[part.offset as usize], part.bytes), (b'1', 1));
        assert!(part.content.read_at(part.offset, &mut [0]).is_err());
    }

    #[test]
    fn rejects_compressed_and_cut_tars() {
        let bytes = tar(&[Node::file("a", [1; 600])]);
        let [(_, ref parts)] = positions(&mut *from_stream(&bytes).unwrap())[..] else { panic!("one file") };
        let end = parts[0].0 as usize + 1024;
        let gzip = [&[0x1f, 0x8b, 8, 0][..], &[0; 600]].concat();
        let fault = |bytes: &[u8]| match from_stream(bytes) {
            Ok(mut source) => loop {
                match source.next_entry() {
                    Ok(Some(_)) => {}
                    Ok(None) => break "whole".to_string(),
                    Err(error) => break error.to_string(),
                }
            },
            Err(error) => error.to_string(),
        };
        assert_eq!(fault(&bytes), "whole");
        assert!(fault(&gzip).contains("is compressed"), "{}", fault(&gzip));
        assert!(fault(&[]).contains("empty"), "{}", fault(&[]));
        assert_eq!(fault(&bytes[..end]), "whole");
        assert!(fault(&bytes[..end - 10]).contains("last block"), "{}", fault(&bytes[..end - 10]));
        assert!(fault(&bytes[..end - 500]).contains("cut off"), "{}", fault(&bytes[..end - 500]));
    }
}
