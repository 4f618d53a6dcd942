//! A tar or a cpio archive as a source, plain or compressed.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use packline_archives::cpio;
use packline_archives::decompress::Limits;
use packline_archives::pipe::ahead_bytes;
use packline_archives::tar::{self, TarOptions};
use packline_erofs::read::SUPERBLOCK_START;
use packline_runtime::escape::Escape;
use packline_runtime::memory::Demand;
use packline_runtime::{Input, MANY_WORKERS};

use super::planned::{OpenSource, Opening, PLAIN, PlannedSource, Share};
use crate::container::by_magic::ContentKind;
use crate::container::opened_file::OpenedFile;
use crate::container::recognise::{ZEROS, foreign_in, is_compressed, may_be_empty_tar, peeked, refuse_container};
use crate::error::Error;

/// Size in bytes of the largest dictionary of a compressed tar, if memory is not limited.
const WINDOW_MOST: u64 = 128 << 20;
/// Minimum memory for a compressed tar: enough for the default levels of gzip, xz, zstd and bzip2.
const WINDOW_LEAST: u64 = 9 << 20;
/// Maximum bytes in flight between decompressing threads.
const BUFFERS_MOST: u64 = 32 << 20;
/// Minimum bytes in flight between decompressing threads.
const BUFFERS_LEAST: u64 = 4 << 20;
/// Minimum memory of a decompressor in bytes.
pub(super) const DECOMPRESSOR_LEAST: u64 = WINDOW_LEAST + BUFFERS_LEAST;
/// Minimum number of buffers of a stream that workers may hold.
const SHARED_LEAST: usize = 8;
/// Memory of a tar that a stack reads in its file, in bytes: a buffer.
pub(super) const LAYER: u64 = 64 << 10;

/// A tar or a cpio archive whose first bytes were read.
pub(super) struct TarPlan {
    pub(super) name: String,
    pub(super) content: TarContent,
    /// Whether it is compressed, or a cpio archive, which a compressed part may follow.
    pub(super) compressed: bool,
}

/// The bytes of a tar.
pub(super) enum TarContent {
    File(OpenedFile),
    Stream(Box<dyn Read + Send>),
}

impl TarPlan {
    /// Examines a file, and opens it if it is not open. A file that is not a regular file is read as a stream.
    ///
    /// # Errors
    /// [`Error::Source`] if the file cannot be read, [`Error::Target`] if it is not a tar.
    pub(super) fn of_file(path: PathBuf, opened: Option<OpenedFile>) -> Result<TarPlan, Error> {
        let refused = |cause| Error::Source { path: path.clone(), action: "cannot open", cause };
        let file = match opened {
            Some(file) if file.is_regular() => file,
            Some(device) => return TarPlan::of_stream(path.escaped(), device.stream()),
            None => {
                let file = File::open(&path).map_err(refused)?;
                let about = file.metadata().map_err(refused)?;
                if !about.is_file() {
                    return TarPlan::of_stream(path.escaped(), Box::new(file));
                }
                OpenedFile::described(path.clone(), file, about).map_err(refused)?
            }
        };
        if file.is_unsized() {
            return TarPlan::of_stream(path.escaped(), file.stream());
        }
        let head = file.readable_head()?;
        refuse_container(&path, head, || ContentKind::foreign(&file))?;
        if head.starts_with(&ZEROS) && !may_be_empty_tar(&path) {
            // The content of a blank disk image must not be taken for the end of a tar.
            let (what, expected) = if has_bytes_at(&file, SUPERBLOCK_START) {
                ("zeros at byte 0, and no known superblock at byte 1024", "a tar or an image")
            } else {
                ("zeros at byte 0, as in a blank disk image", "a tar; the name of an empty tar ends in .tar")
            };
            return Err(Error::Target { path, what: what.to_string(), expected: expected.to_string() });
        }
        let compressed = may_be_compressed(head);
        Ok(TarPlan { name: path.escaped(), content: TarContent::File(file), compressed })
    }

    /// Examines a stream called `name` in messages.
    ///
    /// # Errors
    /// As for [`TarPlan::of_file`].
    pub(super) fn of_stream(name: String, stream: Box<dyn Read + Send>) -> Result<TarPlan, Error> {
        let (head, stream) = peeked(Path::new(&name), stream)?;
        let (foreign, stream) = foreign_in(Path::new(&name), &head, stream)?;
        refuse_container(Path::new(&name), &head, || foreign)?;
        let compressed = may_be_compressed(&head);
        Ok(TarPlan { name, content: TarContent::Stream(stream), compressed })
    }

    /// Whether a stack can read the entries without storing the tar first.
    pub(super) fn can_be_read_again(&self) -> bool {
        matches!(self.content, TarContent::File(_)) && !self.compressed
    }

    /// The number of buffers that workers may hold, if a thread reads ahead: with many workers, and where its buffers are a small part of
    /// the spare memory.
    fn ahead(&self, share: &Share) -> Option<usize> {
        let shared = share.threads.max(SHARED_LEAST);
        let fits = ahead_bytes(shared) <= share.spare / 8;
        let is_stream = matches!(self.content, TarContent::Stream(_)) && !self.compressed;
        (is_stream && share.threads >= MANY_WORKERS && fits).then_some(shared)
    }
}

impl PlannedSource for TarPlan {
    fn demand(&self, _limit: Option<u64>) -> Demand {
        Demand::fixed(PLAIN + if self.compressed { DECOMPRESSOR_LEAST } else { 0 })
    }

    fn layer_demand(&self, _limit: Option<u64>) -> Demand {
        Demand::fixed(LAYER)
    }

    fn memory(&self, share: &Share) -> u64 {
        decompressor(self.compressed, share.threads, share.spare).1 + self.ahead(share).map_or(0, ahead_bytes)
    }

    fn open(self: Box<Self>, share: &Share, opening: &Opening<'_>) -> Result<OpenSource, Error> {
        let (limits, _) = decompressor(self.compressed, share.threads, share.spare);
        let ahead = self.ahead(share);
        let options = TarOptions { input_name: self.name.clone(), ..opening.tar.clone() };
        let source = match self.content {
            TarContent::File(file) => {
                let input: Arc<dyn Input> = Arc::new(file);
                if let Some(inputs) = opening.inputs {
                    let read = Arc::clone(&input);
                    inputs.add(self.name.clone(), move || read.rewritten());
                }
                tar::open_input(input, options, &limits)?
            }
            TarContent::Stream(stream) => match ahead {
                Some(shared) => tar::open_ahead(stream, options, shared, opening.resources.engine.tracer.clone()),
                None => tar::open_stream(stream, options, &limits)?,
            },
        };
        Ok(OpenSource::new(self.name, source))
    }
}

/// Whether an input with this start is compressed, or is a cpio archive, which a compressed part may follow.
fn may_be_compressed(head: &[u8]) -> bool {
    is_compressed(head) || cpio::is_start(head)
}

/// Whether a block of a file has bytes other than zero.
fn has_bytes_at(file: &OpenedFile, start: u64) -> bool {
    let mut block = [0; 512];
    let there = file.size().saturating_sub(start).min(block.len() as u64) as usize;
    file.read_at(start, &mut block[..there]).is_ok() && block.iter().any(|byte| *byte != 0)
}

/// The limits of a decompressor, and the memory of the source in bytes: the minimum, and at most five eighths of the spare memory. Each
/// thread may need a window of its own.
pub(crate) fn decompressor(compressed: bool, threads: usize, spare: u64) -> (Limits, u64) {
    if !compressed {
        return (Limits::default(), PLAIN);
    }
    let share = spare / 4;
    let threads = (threads.max(1) as u64).min(1 + share / WINDOW_LEAST);
    let window = WINDOW_LEAST.saturating_add(share / threads).min(WINDOW_MOST);
    let buffers = BUFFERS_LEAST.saturating_add(spare / 8).min(BUFFERS_MOST);
    (Limits { threads: threads as usize, window, buffers }, PLAIN + window * threads + buffers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_read_ahead_for_many_workers_within_spare_memory() {
        let plan = |compressed| {
            let content = TarContent::Stream(Box::new(std::io::empty()));
            TarPlan { name: "s".to_string(), content, compressed }
        };
        let ahead = |threads, spare| plan(false).ahead(&Share { threads, limit: None, spare });
        assert_eq!([0, 1, 2, 3, 16].map(|threads| ahead(threads, u64::MAX)), [None, None, None, Some(8), Some(16)]);
        let enough = 8 * ahead_bytes(8);
        assert_eq!([ahead(3, enough - 1), ahead(3, enough)], [None, Some(8)]);
        let share = Share { threads: 3, limit: None, spare: enough };
        assert_eq!(plan(false).memory(&share), PLAIN + ahead_bytes(8));
        assert_eq!(plan(true).ahead(&share), None);
    }

    #[test]
    fn decompressors_get_their_minimum_and_a_share_of_spare_memory() {
        assert_eq!(decompressor(false, 2, 1 << 30).1, PLAIN);
        let (limits, memory) = decompressor(true, 3, u64::MAX);
        assert_eq!((limits.threads, limits.window, limits.buffers), (3, WINDOW_MOST, BUFFERS_MOST));
        assert_eq!(memory, PLAIN + 3 * WINDOW_MOST + BUFFERS_MOST);
        let least = PLAIN + WINDOW_LEAST + BUFFERS_LEAST;
        for spare in (0..400u64).map(|megabytes| megabytes << 20) {
            for threads in [0, 1, 7] {
                let (limits, memory) = decompressor(true, threads, spare);
                assert!(memory <= least + spare * 5 / 8 + 1, "{threads} {spare}: {limits:?}");
                assert!(limits.threads >= 1 && limits.window >= WINDOW_LEAST);
            }
        }
    }
}
