//! The content of a sealed file from start to end, without its padding.

use std::fmt;
use std::io::{self, Read};
use std::sync::Arc;

use packline_runtime::Resources;

use super::chunk_stream::ChunkStream;
use super::opened::malformed_padding;
use super::{Damage, OpenedHead};
use crate::Error;
use crate::format::padding::{LENGTH, content_of};

/// Bytes of a padded content that are read at a time.
const STEP: usize = 4096;

/// Reads the content of a sealed file. Each byte is authentic before it is returned; an error follows the content before it. In a padded
/// content, zeros are counted and held back until another byte or the end follows. At the end, the length says how many of them are
/// content.
pub struct PlainStream<R> {
    chunks: ChunkStream<R>,
    padding: Option<HeldBack>,
    /// Offset of the first chunk in the file, for errors.
    start: u64,
    damage: Option<Arc<Damage>>,
}

/// The end of the bytes read so far, which may be padding.
#[derive(Default)]
struct HeldBack {
    /// Number of held zeros that are content.
    content_zeros: u64,
    /// Other content, not yet returned from byte `at` on.
    bytes: Vec<u8>,
    at: usize,
    /// Bytes of content so far, including those that were not returned yet.
    content: u64,
    /// Number of zeros after the content, which are content or padding.
    zeros: u64,
    /// Up to [`LENGTH`] bytes after the zeros, which may be the length of the content.
    last: Vec<u8>,
    ended: bool,
}

impl HeldBack {
    /// Copies bytes that are known to be content.
    fn take(&mut self, into: &mut [u8]) -> usize {
        if self.content_zeros > 0 {
            let length = self.content_zeros.min(into.len() as u64) as usize;
            into[..length].fill(0);
            self.content_zeros -= length as u64;
            return length;
        }
        let rest = &self.bytes[self.at..];
        let length = rest.len().min(into.len());
        into[..length].copy_from_slice(&rest[..length]);
        self.at += length;
        length
    }

    /// Adds bytes that were read. The caller must have read all earlier content.
    fn add(&mut self, read: &[u8]) {
        self.bytes.clear();
        self.bytes.append(&mut self.last);
        self.bytes.extend_from_slice(read);
        self.last = self.bytes.split_off(self.bytes.len().saturating_sub(LENGTH));
        let end = self.bytes.iter().rposition(|&byte| byte != 0).map_or(0, |at| at + 1);
        let zeros = (self.bytes.len() - end) as u64;
        self.bytes.truncate(end);
        self.at = 0;
        self.content_zeros = 0;
        if end == 0 {
            self.zeros += zeros;
            return;
        }
        self.content += self.zeros + end as u64;
        self.content_zeros = self.zeros;
        self.zeros = zeros;
    }

    /// Ends the content: the length says how many zeros are content. `None` if the length is impossible.
    fn end(&mut self) -> Option<()> {
        let length = self.last.as_slice().try_into().ok()?;
        let size = content_of(self.content + self.zeros + LENGTH as u64, length)?;
        self.content_zeros = size.checked_sub(self.content)?;
        self.ended = true;
        Some(())
    }
}

impl<R> fmt::Debug for PlainStream<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PlainStream").field("chunks", &self.chunks).finish_non_exhaustive()
    }
}

impl<R: Read + Send> PlainStream<R> {
    pub(super) fn new(
        head: OpenedHead,
        file: R,
        resources: &Resources,
        may_follow: Option<[u8; 8]>,
    ) -> Result<PlainStream<R>, Error> {
        let padding = head.padded.then(HeldBack::default);
        let start = head.start;
        let damage = head.damage.clone();
        Ok(PlainStream { chunks: ChunkStream::new(head, file, resources, may_follow)?, padding, start, damage })
    }
}

impl<R: Read + Send> Read for PlainStream<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let Some(held) = &mut self.padding else { return self.chunks.read(into) };
        loop {
            let length = held.take(into);
            if length > 0 || into.is_empty() || held.ended {
                return Ok(length);
            }
            let mut read = [0; STEP];
            let length = self.chunks.read(&mut read)?;
            if length > 0 {
                held.add(&read[..length]);
            } else if held.end().is_none() {
                let error = malformed_padding(self.start);
                let Some(damage) = &self.damage else { return Err(error.into_io()) };
                // After damage the padding was noted already.
                if !damage.is_seen() {
                    damage.note_other(error);
                }
                held.ended = true;
            }
        }
    }
}
