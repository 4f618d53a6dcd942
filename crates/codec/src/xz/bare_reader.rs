//! Decompresses raw LZMA as a stream, so that the memory depends on the dictionary and not on the data.

use std::io::{self, BufRead, Read};
use std::mem::MaybeUninit;

use liblzma_sys as sys;

use super::settings::{MIN_DICT, decoder_options};
use super::stream::bare;
use crate::CodecError;
use crate::lzma::NAME;

/// Upper bound, bytes: probabilities, the state of the decoder, and what the library adds to the dictionary.
const STATE: usize = 128 * 1024;
/// Number of values of the contexts byte.
const CONTEXTS: u8 = 9 * 5 * 5;

/// Decompresses LZMA without a header, with or without an end mark, as it follows the header of a `.lzma` file.
///
/// The reader does not read beyond the data. Errors in the data have the kind [`InvalidData`](io::ErrorKind::InvalidData) and contain a
/// [`CodecError`].
pub struct RawLzmaReader<R> {
    stream: sys::lzma_stream,
    source: R,
    /// Bytes consumed of the source's buffer.
    taken: usize,
    ended: bool,
}

// SAFETY: the stream and all it points to is owned by this value alone; liblzma keeps no thread-local state.
unsafe impl<R: Send> Send for RawLzmaReader<R> {}

impl<R: BufRead> RawLzmaReader<R> {
    /// A reader of `size` bytes of content, coded with `contexts` (`(pb * 5 + lp) * 9 + lc`) and a dictionary of `dict_size` bytes.
    ///
    /// # Errors
    /// Invalid or unsupported contexts; lack of memory.
    pub fn new(source: R, contexts: u8, dict_size: u32, size: u64) -> Result<RawLzmaReader<R>, CodecError> {
        let bad = |reason| CodecError::Malformed { codec: NAME, size: 5, reason };
        if contexts >= CONTEXTS {
            return Err(bad("invalid literal contexts"));
        }
        let [lc, lp, pb] = [contexts % 9, contexts / 9 % 5, contexts / 45].map(u32::from);
        let options = decoder_options(dict_size, [lc, lp, pb], size);
        // SAFETY: all fields are integers and raw pointers, and zero is the library's own `LZMA_STREAM_INIT`.
        let stream = unsafe { MaybeUninit::<sys::lzma_stream>::zeroed().assume_init() };
        let mut reader = RawLzmaReader { stream, source, taken: 0, ended: size == 0 };
        // SAFETY: the stream is initialised; options and filters live during the call, which copies them.
        match unsafe { sys::lzma_raw_decoder(&mut reader.stream, bare(&options).as_ptr()) } {
            sys::lzma_ret_LZMA_OK => Ok(reader),
            sys::lzma_ret_LZMA_MEM_ERROR => Err(CodecError::OutOfMemory { codec: NAME }),
            _ => Err(bad("its contexts are not supported")),
        }
    }

    fn failed(&self, code: sys::lzma_ret) -> io::Error {
        let bad = |reason| CodecError::Malformed { codec: NAME, size: self.taken, reason };
        let error = match code {
            sys::lzma_ret_LZMA_MEM_ERROR => CodecError::OutOfMemory { codec: NAME },
            sys::lzma_ret_LZMA_BUF_ERROR => bad("ends too early"),
            _ => bad("damaged"),
        };
        io::Error::new(io::ErrorKind::InvalidData, error)
    }
}

impl RawLzmaReader<&[u8]> {
    /// Upper bound in bytes of the memory of a reader, without its source and its output.
    pub fn memory(dict_size: u32) -> usize {
        STATE.saturating_add(MIN_DICT.max(dict_size as usize))
    }
}

impl<R: BufRead> Read for RawLzmaReader<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let mut made = 0;
        while !self.ended && made < into.len() {
            let input = self.source.fill_buf()?;
            let out = &mut into[made..];
            self.stream.next_in = input.as_ptr();
            self.stream.avail_in = input.len();
            self.stream.next_out = out.as_mut_ptr();
            self.stream.avail_out = out.len();
            let action = if input.is_empty() { sys::lzma_action_LZMA_FINISH } else { sys::lzma_action_LZMA_RUN };
            // SAFETY: a decoder was set up; input and output are valid for the lengths given and do not overlap.
            let code = unsafe { sys::lzma_code(&mut self.stream, action) };
            let read = input.len() - self.stream.avail_in;
            made += out.len() - self.stream.avail_out;
            self.source.consume(read);
            self.taken = self.taken.saturating_add(read);
            match code {
                sys::lzma_ret_LZMA_OK => {}
                sys::lzma_ret_LZMA_STREAM_END => self.ended = true,
                code => return Err(self.failed(code)),
            }
        }
        Ok(made)
    }
}

impl<R> Drop for RawLzmaReader<R> {
    fn drop(&mut self) {
        // SAFETY: the stream is initialised and ended once.
        unsafe { sys::lzma_end(&mut self.stream) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RawLzma;

    fn packed(plain: &[u8]) -> (Vec<u8>, RawLzma) {
        let raw = RawLzma::new(5).unwrap();
        let mut out = vec![0; plain.len()];
        let outcome = raw.encoder(plain.len()).unwrap().compress(plain, &mut out).unwrap();
        let crate::Outcome::Smaller(size) = outcome else { panic!("not smaller") };
        out.truncate(size);
        (out, raw)
    }

    fn plain() -> Vec<u8> {
        (0..200_000u32).flat_map(|n| (n / 7).to_le_bytes()).collect()
    }

    fn read(source: impl BufRead, raw: &RawLzma, size: u64) -> io::Result<Vec<u8>> {
        let mut out = Vec::new();
        RawLzmaReader::new(source, raw.contexts(), 1 << 20, size).unwrap().read_to_end(&mut out)?;
        Ok(out)
    }

    #[test]
    fn reads_data_at_once_and_in_parts() {
        let plain = plain();
        let (packed, raw) = packed(&plain);
        assert!(read(&packed[..], &raw, plain.len() as u64).unwrap() == plain);
        let pieces = io::BufReader::with_capacity(7, &packed[..]);
        assert!(read(pieces, &raw, plain.len() as u64).unwrap() == plain);
    }

    #[test]
    fn rejects_damaged_data() {
        let plain = plain();
        let (packed, raw) = packed(&plain);
        let size = plain.len() as u64;
        assert!(read(&packed[..packed.len() / 2], &raw, size).unwrap_err().to_string().contains("too early"));
        assert!(read(&packed[..], &raw, size - 1).is_err(), "longer than it says");
        assert!(RawLzmaReader::new(&packed[..], 225, 4096, 1).is_err());
    }
}
