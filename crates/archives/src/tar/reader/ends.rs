//! The start and the end of a tar: the next header, the marks at the end, and inputs that are not tars.

use std::io::Read;

use packline_runtime::is_zero as is_all_zeros;
use packline_tree::Error;

use super::TarSource;
use crate::tar::fault::{ErrorPosition, ZEROS_MOST, empty_input, unreadable};
use crate::tar::header::{BLOCK, Header, is_zero};
use crate::{FOREIGN_HEAD, foreign_format};

/// Bytes read at a time to check whether only zeros follow.
const STEP: usize = 64 << 10;

impl<R: Read> TarSource<R> {
    /// The next header and its offset. `None` at two zero blocks, at a zero block that no header follows, and at an end of the
    /// input where a header could start.
    pub(super) fn header(&mut self) -> Result<Option<(Header, u64)>, Error> {
        let mut zeros = 0;
        let start = self.input.offset();
        while zeros < 2 || self.ignore_zeros {
            let offset = self.input.offset();
            let Some(block) = self.block()? else { break };
            if is_zero(&block) {
                zeros += 1;
                self.refuse_endless_zeros(start)?;
                continue;
            }
            match Header::new(&block) {
                Some(header) => {
                    self.begun = true;
                    return Ok(Some((header, offset)));
                }
                None if !self.begun => return Err(self.not_a_tar(&block, offset)),
                None if zeros == 1 && !self.ignore_zeros => {
                    let fault = self.malformed(&[], offset, "no header after a single block of zeros", "two blocks");
                    self.forgive(fault, "the archive is taken to end there")?;
                    break;
                }
                None => return Err(self.bad_checksum(&block, offset)),
            }
        }
        self.end_marked = zeros >= 2;
        self.may_be_cut = zeros == 0 && !self.unpadded;
        Ok(None)
    }

    fn bad_checksum(&self, block: &[u8; BLOCK], offset: u64) -> Error {
        let field = block[148..156].escape_ascii();
        let what = format!("bad header checksum '{field}'");
        self.malformed(&[], offset, what, "a tar header with a matching checksum")
    }

    /// The error for an input whose first non-zero block is not a header. Names the format, if it is known.
    fn not_a_tar(&mut self, block: &[u8; BLOCK], offset: u64) -> Error {
        match self.format_at(block, offset) {
            Some(format) => self.not_this(format),
            None => self.bad_checksum(block, offset),
        }
    }

    /// The known format of an input that has `found` at `offset`, after zeros. Reads further bytes, because the result is an
    /// error anyway.
    fn format_at(&mut self, found: &[u8], offset: u64) -> Option<&'static str> {
        let start = usize::try_from(offset).ok().filter(|start| *start < FOREIGN_HEAD)?;
        let mut head = vec![0; start];
        head.extend_from_slice(found);
        let known = head.len();
        head.resize(known.max(FOREIGN_HEAD), 0);
        let count = self.input.read(&mut head[known..]).ok()?;
        head.truncate(known + count);
        foreign_format(&head)
    }

    fn not_this(&self, format: &str) -> Error {
        Error::Input { input: self.name.clone(), what: format.to_string(), expected: "a tar".to_string() }
    }

    /// The next block. `None` if the input ends before it or within a block of zeros. Fails if the input ends within another
    /// block.
    pub(super) fn block(&mut self) -> Result<Option<[u8; BLOCK]>, Error> {
        let offset = self.input.offset();
        let found = self.input.peek(BLOCK).map_err(|cause| unreadable(&self.name, cause))?;
        let length = found.len();
        let block = found.try_into().ok();
        let zeros_at_end = offset > 0 && is_zero(found);
        if block.is_none() && length > 0 && !zeros_at_end {
            let what = format!("the archive ends {length} bytes into a header");
            return Err(self.malformed(&[], offset, what, "512 bytes"));
        }
        self.input.consume(length);
        Ok(block)
    }

    /// Called at the end: no header may be pending. Reads a stream to its end.
    pub(super) fn end(&mut self) -> Result<(), Error> {
        self.ended = true;
        if self.input.offset() == 0 {
            return Err(empty_input(&self.name));
        }
        if !self.begun {
            self.only_zeros()?;
        }
        if !self.pending.is_empty() {
            self.header_without_entry()?;
        }
        if !self.end_marked && (self.needs_end_mark || self.may_be_cut) {
            let expected = "two blocks of zeros: without them, the archive may have been cut off";
            let fault = self.malformed(&[], self.input.offset(), "the archive ends without an end mark", expected);
            if self.needs_end_mark {
                return Err(fault);
            }
            self.warnings.push(fault.to_string());
        }
        self.report_skipped();
        self.finish_stream()
    }

    /// Reads a stream to its end, so that its writer gets no broken pipe. Bytes after the end mark are ignored, but an end must come after zeros.
    fn finish_stream(&mut self) -> Result<(), Error> {
        if self.input.can_seek() {
            return Ok(());
        }
        let start = self.input.offset();
        let mut buffer = vec![0; STEP];
        loop {
            match self.input.read(&mut buffer).map_err(|cause| self.unreadable(cause))? {
                0 => return Ok(()),
                count if is_all_zeros(&buffer[..count]) => self.refuse_endless_zeros(start)?,
                _ => return self.input.finish().map_err(|cause| self.unreadable(cause)),
            }
        }
    }

    /// Fails if too many zeros came since `start`.
    fn refuse_endless_zeros(&self, start: u64) -> Result<(), Error> {
        if self.input.offset() - start <= ZEROS_MOST {
            return Ok(());
        }
        Err(ErrorPosition { input: &self.name, entry: &[], offset: start }.endless_zeros())
    }

    /// Fails if bytes other than zeros follow in an archive without a header: it is not an empty tar, but another format that
    /// begins with zeros, like many file systems.
    fn only_zeros(&mut self) -> Result<(), Error> {
        let mut buffer = vec![0; STEP];
        loop {
            let offset = self.input.offset();
            self.refuse_endless_zeros(0)?;
            let count = self.input.read(&mut buffer).map_err(|cause| unreadable(&self.name, cause))?;
            if count == 0 {
                return Ok(());
            }
            if is_all_zeros(&buffer[..count]) {
                continue;
            }
            if let Some(first) = buffer[..count].iter().position(|byte| *byte != 0) {
                let what = match self.format_at(&buffer[..count], offset) {
                    Some(format) => return Err(self.not_this(format)),
                    None => "other bytes after zeros: not an empty tar",
                };
                return Err(self.malformed(&[], offset + first as u64, what, "a tar"));
            }
        }
    }

    /// An extended header without an entry. If the end mark is missing too, the archive was probably truncated.
    fn header_without_entry(&mut self) -> Result<(), Error> {
        let (name, offset) = &self.current;
        let fault = self.malformed(name, *offset, "extended header at the end", "an entry after it");
        if !self.lenient || !self.end_marked {
            return Err(fault);
        }
        self.warn(&fault, "it is ignored");
        Ok(())
    }
}
