//! Sequential input of a tar or a cpio archive: headers through a small buffer, content directly into the caller's memory.

use std::io::{self, Cursor, IoSliceMut, Read, Seek, SeekFrom};

use packline_tree::UnreadPart;

use crate::pipe::PipeReader;

/// Buffer size: half of a pipe's buffer. At most this much content is copied twice.
const BUFFER: usize = 32 * 1024;
/// Bytes that are read into the buffer after a seek. Each further read doubles them: after a large file only its next header is
/// needed, but small files follow one another.
const FIRST: usize = 4 * 1024;
/// From this many bytes on, a read fills the caller's memory and the buffer in one call, and a skip seeks.
const DIRECT: usize = 4 * 1024;

/// Advances a reader by a number of existing bytes.
type Seeker<R> = fn(&mut R, i64) -> io::Result<()>;

/// Takes bytes from a reader that has them in memory: at least, and at most, a number of bytes.
type Lender<R> = fn(&mut R, usize, usize) -> io::Result<Option<UnreadPart>>;

/// A reader with a buffer and a position. It skips the content of a file cheaply.
pub(crate) struct Input<R> {
    reader: R,
    buffer: Box<[u8]>,
    start: usize,
    end: usize,
    offset: u64,
    seeker: Option<Seeker<R>>,
    lender: Option<Lender<R>>,
    length: Option<u64>,
    /// Bytes that the next read puts into the buffer. 0 for a reader that lends: only bytes that are needed are copied.
    ahead: usize,
}

impl Input<PipeReader> {
    /// A pipe, whose chunks other threads can read.
    pub fn lending(reader: PipeReader) -> Self {
        Self { lender: Some(PipeReader::lend), ahead: 0, ..Self::new(reader) }
    }
}

impl<R: Read + Seek> Input<R> {
    /// A reader that can seek. It reads from the current position to the end.
    pub fn seekable(mut reader: R) -> io::Result<Self> {
        let here = reader.stream_position()?;
        let end = reader.seek(SeekFrom::End(0))?;
        reader.seek(SeekFrom::Start(here))?;
        let mut input = Self::new(reader);
        input.seeker = Some(shift::<R>);
        input.length = Some(end.saturating_sub(here));
        Ok(input)
    }
}

fn shift<R: Seek>(reader: &mut R, bytes: i64) -> io::Result<()> {
    reader.seek(SeekFrom::Current(bytes)).map(|_| ())
}

impl<R: Read> Input<R> {
    /// A reader that cannot seek.
    pub fn new(reader: R) -> Self {
        let buffer = vec![0; BUFFER].into_boxed_slice();
        Self { reader, buffer, start: 0, end: 0, offset: 0, seeker: None, lender: None, length: None, ahead: BUFFER }
    }

    /// Offset of the next byte from the initial position.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Length of the complete input in bytes, if it can seek.
    pub fn length(&self) -> Option<u64> {
        self.length
    }

    /// The next `wanted` bytes, without consuming them; fewer only at the end of the input. `wanted` is at most a few blocks.
    pub fn peek(&mut self, wanted: usize) -> io::Result<&[u8]> {
        if self.buffered() < wanted {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
            self.fill(wanted)?;
        }
        Ok(&self.buffer[self.start..self.end.min(self.start + wanted)])
    }

    fn fill(&mut self, wanted: usize) -> io::Result<()> {
        while self.end < wanted {
            let to = (self.end + self.ahead).max(wanted).min(BUFFER);
            self.ahead = BUFFER.min(self.ahead * 2);
            match retry(|| self.reader.read(&mut self.buffer[self.end..to]))? {
                0 => break,
                count => self.end += count,
            }
        }
        Ok(())
    }

    /// Consumes bytes returned by [`Self::peek`].
    pub fn consume(&mut self, bytes: usize) {
        self.start += bytes;
        self.offset += bytes as u64;
    }

    fn buffered(&self) -> usize {
        self.end - self.start
    }

    /// Fills `out`. Returns the number of bytes, which is smaller only at the end of the input.
    pub fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let mut done = self.drain(out);
        while done < out.len() {
            let rest = &mut out[done..];
            let direct = rest.len() >= DIRECT || self.lender.is_some();
            let count = if direct { self.read_direct(rest)? } else { self.read_buffered(rest)? };
            if count == 0 {
                break;
            }
            done += count;
        }
        self.offset += done as u64;
        Ok(done)
    }

    /// Fills the caller's memory with one call. Excess bytes go to the buffer, which then contains the next header.
    fn read_direct(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let wanted = out.len();
        let count =
            retry(|| self.reader.read_vectored(&mut [IoSliceMut::new(out), IoSliceMut::new(&mut self.buffer)]))?;
        self.start = 0;
        self.end = count.saturating_sub(wanted);
        Ok(count.min(wanted))
    }

    fn read_buffered(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.start = 0;
        self.end = 0;
        self.fill(1)?;
        Ok(self.drain(out))
    }

    fn drain(&mut self, out: &mut [u8]) -> usize {
        let count = self.buffered().min(out.len());
        out[..count].copy_from_slice(&self.buffer[self.start..self.start + count]);
        self.start += count;
        count
    }

    /// Skips `bytes`. Returns the number of bytes skipped, which is smaller only at the end of the input.
    pub fn skip(&mut self, bytes: u64) -> io::Result<u64> {
        let buffered = bytes.min(self.buffered() as u64);
        self.consume(buffered as usize);
        let mut done = buffered + self.seek(bytes - buffered)?;
        while done < bytes {
            let left = usize::try_from(bytes - done).unwrap_or(usize::MAX);
            if let Some(part) = self.lend(left)? {
                done += part.bytes as u64;
                continue;
            }
            self.start = 0;
            self.end = 0;
            self.fill(if self.lender.is_some() { left.min(BUFFER) } else { 1 })?;
            if self.end == 0 {
                break;
            }
            let count = (bytes - done).min(self.end as u64);
            self.consume(count as usize);
            done += count;
        }
        Ok(done)
    }

    /// Seeks over as many of the `bytes` as the file has. The buffer is empty whenever there are bytes to seek over.
    fn seek(&mut self, bytes: u64) -> io::Result<u64> {
        let (Some(seeker), Some(length)) = (self.seeker, self.length) else { return Ok(0) };
        let there = bytes.min(length.saturating_sub(self.offset));
        if there < DIRECT as u64 {
            return Ok(0);
        }
        seeker(&mut self.reader, i64::try_from(there).unwrap_or(i64::MAX))?;
        self.ahead = FIRST;
        self.offset += there;
        Ok(there)
    }

    /// Skips `bytes` that the caller reads elsewhere, if they are worth a seek and there. Returns their offset.
    pub fn pass(&mut self, bytes: u64) -> io::Result<Option<u64>> {
        let start = self.offset;
        let is_there = self.length.is_some_and(|length| bytes <= length.saturating_sub(start));
        let seeks = self.seeker.is_some() && bytes >= (self.buffered() + DIRECT) as u64;
        if !is_there || !seeks {
            return Ok(None);
        }
        self.skip(bytes).map(|_| Some(start))
    }

    /// Takes at most `most` bytes without a copy, if the reader lends them and they are worth it.
    pub fn lend(&mut self, most: usize) -> io::Result<Option<UnreadPart>> {
        let Some(lender) = self.lender.filter(|_| self.buffered() == 0 && most >= DIRECT) else { return Ok(None) };
        let part = lender(&mut self.reader, DIRECT, most)?;
        self.offset += part.as_ref().map_or(0, |part| part.bytes as u64);
        Ok(part)
    }

    /// The unread bytes.
    pub fn into_read(self) -> impl Read + use<R> {
        let Self { reader, buffer, start, end, .. } = self;
        Cursor::new(buffer[start..end].to_vec()).chain(reader)
    }

    /// Whether the reader can seek backwards.
    pub fn can_seek(&self) -> bool {
        self.seeker.is_some()
    }

    /// Seeks to an offset that was reached before, if possible.
    pub fn go_to(&mut self, offset: u64) -> io::Result<()> {
        let Some(seeker) = self.seeker else { return Ok(()) };
        let there = (self.offset + self.buffered() as u64) as i64;
        seeker(&mut self.reader, offset as i64 - there)?;
        self.start = 0;
        self.end = 0;
        self.offset = offset;
        Ok(())
    }

    /// Reads a stream to its end, so that its writer gets no broken pipe and a decoder verifies its last checksum. Does nothing
    /// for a file.
    pub fn finish(&mut self) -> io::Result<()> {
        if self.seeker.is_none() {
            self.skip(u64::MAX)?;
        }
        Ok(())
    }
}

fn retry(mut action: impl FnMut() -> io::Result<usize>) -> io::Result<usize> {
    loop {
        match action() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipe::read_ahead;
    use proptest::prelude::*;

    /// Returns as few bytes for each call as its steps allow.
    struct Slow(Cursor<Vec<u8>>, Vec<usize>, usize);

    impl Read for Slow {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let step = self.1[self.2 % self.1.len()].min(out.len());
            self.2 += 1;
            if self.2.is_multiple_of(5) {
                return Err(io::ErrorKind::Interrupted.into());
            }
            self.0.read(&mut out[..step])
        }
    }

    fn data(length: usize) -> Vec<u8> {
        (0..length).map(|i| (i * 31 + i / 251) as u8).collect()
    }

    #[derive(Debug, Clone)]
    enum Step {
        Peek(usize),
        Read(usize),
        Skip(usize),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            (1usize..1025).prop_map(Step::Peek),
            (0usize..90_000).prop_map(Step::Read),
            (0usize..90_000).prop_map(Step::Skip),
        ]
    }

    fn follow<R: Read>(mut input: Input<R>, data: &[u8], steps: &[Step]) {
        let mut at = 0;
        for step in steps {
            let rest = &data[at..];
            match *step {
                Step::Peek(n) => assert_eq!(input.peek(n).unwrap(), &rest[..n.min(rest.len())]),
                Step::Read(n) => {
                    let mut out = vec![0; n];
                    let count = input.read(&mut out).unwrap();
                    assert_eq!(&out[..count], &rest[..n.min(rest.len())]);
                    at += count;
                }
                Step::Skip(n) => {
                    let count = input.skip(n as u64).unwrap() as usize;
                    assert_eq!(count, n.min(rest.len()));
                    at += count;
                }
            }
            assert_eq!(input.offset(), at as u64);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_order_of_calls_sees_the_bytes(
            length in 0usize..300_000,
            steps in prop::collection::vec(step(), 1..20),
            pace in prop::collection::vec(1usize..50_000, 1..6),
        ) {
            let data = data(length);
            follow(Input::new(Slow(Cursor::new(data.clone()), pace.clone(), 0)), &data, &steps);
            follow(Input::new(&data[..]), &data, &steps);
            follow(Input::seekable(Cursor::new(data.clone())).unwrap(), &data, &steps);
            let slow = Slow(Cursor::new(data.clone()), pace, 0);
            follow(Input::lending(read_ahead(slow, 2, None).ok().unwrap()), &data, &steps);
        }
    }

    #[test]
    fn a_file_is_read_from_its_position() {
        let mut file = Cursor::new(data(100_000));
        file.set_position(1000);
        let mut input = Input::seekable(file).unwrap();
        assert_eq!(input.length(), Some(99_000));
        assert_eq!(input.skip(200_000).unwrap(), 99_000);
    }
}
