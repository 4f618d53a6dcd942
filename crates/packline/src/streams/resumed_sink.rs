//! A sink to which the same bytes are written again after an error, and which continues where the output ended.

use std::io;

use packline_runtime::Sink;

/// Passes on the bytes that the output does not have yet.
pub(crate) struct ResumedSink<'s> {
    sink: &'s mut dyn Sink,
    /// Bytes that the output has.
    written: u64,
    /// Bytes that the output has already and that are written again.
    known: u64,
}

impl<'s> ResumedSink<'s> {
    pub(crate) fn new(sink: &'s mut dyn Sink) -> ResumedSink<'s> {
        ResumedSink { sink, written: 0, known: 0 }
    }

    /// The same bytes come again.
    pub(crate) fn start_again(&mut self) {
        self.known = self.written;
    }

    /// Whether all bytes that the output had before were written again.
    pub(crate) fn is_caught_up(&self) -> bool {
        self.known == 0
    }
}

impl Sink for ResumedSink<'_> {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let known = self.known.min(bytes.len() as u64);
        self.known -= known;
        let new = &bytes[known as usize..];
        if new.is_empty() {
            return Ok(());
        }
        self.sink.append(new)?;
        self.written += new.len() as u64;
        Ok(())
    }

    fn skip_zeros(&mut self, count: u64) -> io::Result<bool> {
        if self.known > 0 {
            let all = self.known >= count;
            self.known -= if all { count } else { 0 };
            return Ok(all);
        }
        let skipped = self.sink.skip_zeros(count)?;
        self.written += if skipped { count } else { 0 };
        Ok(skipped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sink with holes.
    #[derive(Default)]
    struct Holes(Vec<u8>);

    impl Sink for Holes {
        fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
            self.0.append_bytes(bytes)
        }

        fn skip_zeros(&mut self, count: u64) -> io::Result<bool> {
            self.0.resize(self.0.len() + count as usize, 0);
            Ok(true)
        }
    }

    trait AppendBytes {
        fn append_bytes(&mut self, bytes: &[u8]) -> io::Result<()>;
    }

    impl AppendBytes for Vec<u8> {
        fn append_bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
            Sink::append(self, bytes)
        }
    }

    fn put(sink: &mut dyn Sink, pieces: &[(&[u8], u64)]) {
        for (bytes, zeros) in pieces {
            sink.append(bytes).unwrap();
            if !sink.skip_zeros(*zeros).unwrap() {
                sink.append(&vec![0; *zeros as usize]).unwrap();
            }
        }
    }

    #[test]
    fn passes_repeated_bytes_on_once() {
        let all: [(&[u8], u64); 3] = [(b"abc", 5), (b"defgh", 0), (b"i", 7)];
        let mut expected = Holes::default();
        put(&mut expected, &all);
        for (first, pieces) in [(&b"ab"[..], 0), (b"abc", 2), (b"", 1), (b"", 2), (b"", 3)] {
            let mut found = Holes::default();
            let mut sink = ResumedSink::new(&mut found);
            put(&mut sink, if first.is_empty() { &all[..pieces] } else { &[] });
            put(&mut sink, &[(first, pieces as u64 * u64::from(!first.is_empty()))]);
            sink.start_again();
            put(&mut sink, &all);
            assert_eq!(found.0, expected.0);
        }
    }
}
