//! An input read from front to back.

use std::io::{self, Read};
use std::ops::Deref;

use crate::Input;

/// The bytes of an input, borrowed or shared, from an offset to its end.
pub struct InputStream<I> {
    input: I,
    at: u64,
}

impl<I> InputStream<I> {
    /// From byte `at` on.
    pub fn new(input: I, at: u64) -> InputStream<I> {
        InputStream { input, at }
    }
}

impl<I: Deref<Target = dyn Input>> Read for InputStream<I> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let left = self.input.size().saturating_sub(self.at);
        let bytes = into.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        self.input.read_at(self.at, &mut into[..bytes])?;
        self.at += bytes as u64;
        Ok(bytes)
    }
}
