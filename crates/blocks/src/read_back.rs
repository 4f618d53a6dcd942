//! Verification of the output: every byte of the image is read back from the sink before the superblock makes the image valid.
//!
//! While the image is written, each part (a block, a metadata block, an index, padding) is recorded with two hashes (`written.rs`): the
//! hash of the bytes given to the sink, and the hash of the content before compression. If deduplication has a digest of the content, it is the
//! second hash. Reading back compares both:
//!
//! - The hash of the stored bytes finds every changed bit, even a bit that no decoder looks at: padding of deflate, unused bits of LZO.
//! - Decoding and the hash of the content prove that the encoder was right, which no hash of its output can do.
//!
//! The parts cover the image from the end of its superblock to the end of its padding without gaps; this is checked, too. The sink first writes
//! everything to the medium, and a file drops its cached pages as far as the system allows. Reading is in order. The workers of the pipeline hash
//! and decode, each with one decoder instead of its encoders. The superblock is written after all other parts are found right, and is then read
//! back itself. A wrong superblock is overwritten with zeros, so that a device does not contain an image either.

use std::sync::Arc;

use packline_engine::{Fault, Outbox, Sequencer};
use packline_runtime::escape::Escape;
use packline_runtime::{Buffers, TaskError, of_fault};
use packline_tree::{Content, NodeId, Tree};

use crate::data_writer::{sink_error, write};
use crate::work::{CompressTask, HashTask, Hashed, Job, Packed};
use crate::written::{Chunk, Part};
use crate::{DataLayout, Error, FileLayout, Sink, Workers, Written};

/// What was read back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReadBack {
    /// Bytes of the image, padding included.
    pub bytes: u64,
    /// Parts that were compared: blocks, metadata blocks, pieces of everything else.
    pub parts: u64,
}

impl Workers {
    /// Reads all parts of the image back, if they were recorded, and then writes the superblock: the first bytes of the image, up to the first
    /// recorded part. `progress` is called with the number of bytes read back so far and the total: first with 0, and at the end with the total.
    ///
    /// # Errors
    /// [`Error::ReadBack`] for the first part that differs from what was written, without its name (see [`block_at`]); errors of the sink. The
    /// image then has no superblock.
    pub fn finish(
        &mut self,
        sink: &mut dyn Sink,
        written: Written,
        superblock: &[u8],
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Option<ReadBack>, Error> {
        let Some(parts) = written.into_parts() else { return write(sink, 0, superblock).map(|()| None) };
        let total = check_coverage(superblock.len() as u64, &parts)?;
        progress(0, total);
        sync(sink)?;
        let checked = self.check_all(sink, &parts, &mut |done| progress(done, total));
        // A bad part comes before the parts whose reading waited for memory or failed.
        let drained = self.pipeline.drain(&mut Checking);
        match checked {
            Ok(()) => drained.map_err(of_fault)?,
            Err(error) => return Err(of_fault(Fault::earlier(drained, error))),
        }
        write(sink, 0, superblock)?;
        check_superblock(sink, superblock)?;
        progress(total, total);
        Ok(Some(ReadBack { bytes: total, parts: parts.len() as u64 + 1 }))
    }

    fn check_all(&mut self, sink: &mut dyn Sink, parts: &[Part], progress: &mut dyn FnMut(u64)) -> Result<(), Error> {
        let pool = Buffers::new(self.chunk_size, self.window);
        let mut rest = parts;
        while let Some(first) = rest.first() {
            let fits = |part: &&Part| part.end() - first.start <= pool.buffer_size() as u64;
            let (now, later) = rest.split_at(rest.iter().take_while(fits).count().max(1));
            let chunk = self.read(sink, now, &pool)?;
            self.pipeline.outbox().submit(Job::Check(chunk));
            progress(now[now.len() - 1].end());
            rest = later;
        }
        Ok(())
    }

    /// Reads consecutive parts.
    fn read(&mut self, sink: &mut dyn Sink, parts: &[Part], pool: &Arc<Buffers>) -> Result<Chunk, Error> {
        let start = parts[0].start;
        let length = (parts[parts.len() - 1].end() - start) as usize;
        if length > pool.buffer_size() {
            return Err(Error::internal(format!("a part of {length} bytes at byte {start}")));
        }
        let permit = self.pipeline.reserve(pool.buffer_size(), &mut Checking).map_err(of_fault)?;
        let mut buffer = pool.take(permit);
        let read = sink.read_at(start, &mut buffer.bytes_mut()[..length]);
        read.map_err(|cause| sink_error("read back", start, cause))?;
        Ok(Chunk { buffer, length, parts: parts.to_vec() })
    }
}

fn sync(sink: &mut dyn Sink) -> Result<(), Error> {
    sink.sync().map_err(|cause| sink_error("sync", 0, cause))
}

/// Reads the superblock back, and removes it if it is wrong.
fn check_superblock(sink: &mut dyn Sink, superblock: &[u8]) -> Result<(), Error> {
    let mut found = vec![0; superblock.len()];
    let read = sync(sink).and_then(|()| sink.read_at(0, &mut found).map_err(|cause| sink_error("read back", 0, cause)));
    let checked = read.and_then(|()| {
        if found == superblock {
            Ok(())
        } else {
            Err(Error::ReadBack { offset: 0, what: "the superblock".into(), is: "has different bytes".into() })
        }
    });
    if checked.is_err() {
        // The first error counts. An image with a wrong superblock would be worse than an image without one.
        let _: Result<(), Error> = write(sink, 0, &vec![0; superblock.len()]).and_then(|()| sync(sink));
    }
    checked
}

/// Checks that the parts follow each other from the superblock's end on, and returns the end of the image.
fn check_coverage(superblock: u64, parts: &[Part]) -> Result<u64, Error> {
    let mut at = superblock;
    for part in parts {
        if part.start != at {
            return Err(Error::internal(format!("a part was recorded at byte {} after byte {at}", part.start)));
        }
        at = part.end();
    }
    Ok(at)
}

/// Accepts results of checks, which are all good: a bad part is an error of its job.
struct Checking;

impl Sequencer<HashTask, CompressTask> for Checking {
    fn decide(&mut self, _: Hashed, _: &mut Outbox<CompressTask>) -> Result<(), Error> {
        Err(Error::internal("content after the end of the image".into()))
    }

    fn commit(&mut self, packed: Packed) -> Result<(), Error> {
        match packed {
            Packed::Checked(_) => Ok(()),
            _ => Err(Error::internal("data after the end of the image".into())),
        }
    }
}

/// Names the part of the data area at an offset: with the first file that has it, if there is one.
pub fn block_at(offset: u64, tree: &Tree, data: &DataLayout) -> String {
    let fragment = data.fragments.iter().position(|block| block.start == offset);
    let has = |file: &FileLayout| match fragment {
        Some(index) => file.tail.is_some_and(|tail| tail.fragment as usize == index),
        None => data.blocks(file).any(|block| (block.start..block.start + u64::from(block.size())).contains(&offset)),
    };
    let of_file = |node: &NodeId| match tree.content(tree.inode(*node)) {
        Content::File(payload) => data.files.get(payload as usize).is_some_and(has),
        _ => false,
    };
    let kind = if fragment.is_some() { "a fragment block" } else { "a block" };
    match tree.nodes().find(of_file) {
        Some(node) => format!("{kind} of {}", tree.path(node).escaped()),
        // The compressor's options, or a gap before an aligned file.
        None => "the bytes between files".into(),
    }
}
