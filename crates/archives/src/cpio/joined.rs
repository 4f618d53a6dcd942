//! Concatenated cpio archives of which a part is compressed, as one stream of plain archives.

use std::io::{self, Cursor, Read};

use super::TRAILER;
use super::header::{Form, Header, LARGEST, NAME_MOST, is_start};
use crate::decompress::{self, Format, HEAD, Limits, read_head};
use crate::tar::SequentialInput;

/// Bytes of zeros that are examined at once.
const STEP: usize = 4096;

/// The plain bytes of an input.
pub struct Plain {
    pub reader: Box<dyn Read + Send>,
    /// Whether the bytes begin as a cpio archive.
    pub is_cpio: bool,
}

/// Decompresses an input. If it is a plain cpio archive, a compressed stream that follows it, or a later archive, is decompressed too.
///
/// # Errors
/// The first bytes cannot be read or decompressed.
pub fn plain(mut input: impl Read + Send + 'static, limits: &Limits) -> io::Result<Plain> {
    let head = read_head(&mut input)?;
    let is_compressed = decompress::detect(&head) != Format::Plain;
    let mut reader = decompress::open(Cursor::new(head).chain(input), limits)?;
    let head = read_head(&mut reader)?;
    let is_cpio = is_start(&head);
    let whole = Box::new(Cursor::new(head).chain(reader));
    if !is_cpio {
        return Ok(Plain { reader: whole, is_cpio });
    }
    let joined = Joined {
        input: Some(SequentialInput::new(whole)),
        limits: *limits,
        is_decompressed: is_compressed,
        ahead: Cursor::default(),
        state: State::Header,
    };
    Ok(Plain { reader: Box::new(joined), is_cpio })
}

struct Joined {
    /// `None` after the compressed stream could not be opened.
    input: Option<SequentialInput<Box<dyn Read + Send>>>,
    limits: Limits,
    /// Whether the input is the decompressed part, the only one.
    is_decompressed: bool,
    /// Bytes that were read and examined.
    ahead: Cursor<Vec<u8>>,
    state: State,
}

/// The unread bytes that come next.
#[derive(Clone, Copy)]
enum State {
    /// A header.
    Header,
    /// A number of bytes of a content and its padding, and whether an archive ends after them.
    Content(u64, bool),
    /// Zeros, and perhaps another archive.
    Between,
    /// Bytes that are not examined.
    Rest,
}

impl Joined {
    /// Reads a header and its name.
    fn header(&mut self) -> io::Result<()> {
        let Some(input) = &mut self.input else { return Ok(()) };
        let mut bytes = input.peek(LARGEST)?.to_vec();
        let parsed = Header::parse(&bytes).filter(|header| header.name_size <= NAME_MOST);
        // The reader of the archive reports what is wrong.
        let Some(header) = parsed else {
            self.state = State::Rest;
            return Ok(());
        };
        let start = header.form.size();
        input.consume(start);
        bytes.resize(start + (header.name_size + header.name_padding()) as usize, 0);
        let count = input.read(&mut bytes[start..])?;
        bytes.truncate(start + count);
        let is_last = bytes[start..].starts_with(TRAILER) && header.name_size == TRAILER.len() as u64 + 1;
        self.state = State::Content(header.size + header.content_padding(), is_last);
        self.ahead = Cursor::new(bytes);
        Ok(())
    }

    /// Reads zeros, or finds the next archive.
    fn between(&mut self) -> io::Result<()> {
        let Some(input) = &mut self.input else { return Ok(()) };
        let found = input.peek(STEP)?;
        let zeros = found.iter().position(|byte| *byte != 0).unwrap_or(found.len());
        if zeros > 0 {
            self.ahead = Cursor::new(vec![0; zeros]);
            input.consume(zeros);
            return Ok(());
        }
        let is_plain = self.is_decompressed || decompress::detect(&found[..found.len().min(HEAD)]) == Format::Plain;
        self.state = if Form::of(found).is_some() || !is_plain { State::Header } else { State::Rest };
        if !is_plain && let Some(input) = self.input.take() {
            let plain = decompress::open(input.into_read(), &self.limits)?;
            self.input = Some(SequentialInput::new(plain));
            self.is_decompressed = true;
        }
        Ok(())
    }

    /// Reads bytes that are not examined, at most `most`. Returns their number; fewer only at the end of the input.
    fn pass(&mut self, out: &mut [u8], most: u64) -> io::Result<usize> {
        let wanted = most.min(out.len() as u64) as usize;
        self.input.as_mut().map_or(Ok(0), |input| input.read(&mut out[..wanted]))
    }
}

impl Read for Joined {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if out.is_empty() {
            return Ok(0);
        }
        loop {
            let count = self.ahead.read(out)?;
            if count > 0 || self.input.is_none() {
                return Ok(count);
            }
            match self.state {
                State::Header => self.header()?,
                State::Content(0, is_last) => self.state = if is_last { State::Between } else { State::Header },
                State::Content(left, is_last) => {
                    let count = self.pass(out, left)?;
                    self.state = State::Content(left - count as u64, is_last);
                    return Ok(count);
                }
                State::Between => self.between()?,
                State::Rest => return self.pass(out, u64::MAX),
            }
        }
    }
}
