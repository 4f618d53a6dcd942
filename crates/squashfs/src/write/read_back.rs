//! Verification of the output: every byte of the image is read back from the sink before the superblock makes the image valid.
//!
//! While the image is written, each part (a block, a metadata block, an index, padding) is recorded with two hashes (`written.rs`): the
//! hash of the bytes given to the sink, and the hash of the content before compression. If deduplication has a digest of the content, it is the
//! second hash. Reading back compares both:
//!
//! - The hash of the stored bytes finds every changed bit, even a bit that no decoder looks at: padding of deflate, unused bits of LZO.
//! - Decoding and the hash of the content prove that the encoder was right, which no hash of its output can do.
//!
//! The parts cover the image from its first byte to the end of its padding without gaps; this is checked, too. The sink first writes everything
//! to the medium, and a file drops its cached pages as far as the system allows. Reading is in order. The workers of the pipeline hash and
//! decode, each with one decoder instead of its encoders. The superblock is written after all other parts are found right, and is then read back
//! itself. A wrong superblock is overwritten with zeros, so that a device does not contain an image either.

use std::sync::Arc;

use packline_engine::{Outbox, Sequencer};
use packline_runtime::{Buffers, TaskError, of_fault};
use packline_tree::{Content, Tree};

use crate::format::superblock::SUPERBLOCK_BYTES;
use crate::write::data_writer::{sink_error, write};
use crate::write::feeder::slab_size;
use crate::write::numbering::display_path;
use crate::write::work::{BlockPipeline, CompressTask, HashTask, Hashed, Job, Packed};
use crate::write::written::{Chunk, Part, Written};
use crate::{BlockSize, DataLayout, Error, ImageEnd, STORED_BLOCK, Sink};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReadBack {
    /// Bytes of the image, padding included.
    pub bytes: u64,
    /// Parts that were compared: blocks, metadata blocks, pieces of everything else.
    pub parts: u64,
}

/// An image without its superblock.
pub(crate) struct Unfinished<'a> {
    pub(crate) sink: &'a mut dyn Sink,
    pub(crate) pipeline: &'a mut BlockPipeline,
    pub(crate) block_size: BlockSize,
    /// Memory in bytes for parts that are read ahead of the workers.
    pub(crate) window: usize,
}

impl Unfinished<'_> {
    /// Reads all parts back, if they were recorded, and then writes the superblock. `progress` is called with the number of bytes read back so
    /// far and the total: first with 0, and at the end with the total.
    ///
    /// # Errors
    /// [`Error::ReadBack`] for the first part that differs from what was written; errors of the sink. The image then has no superblock.
    pub(crate) fn finish(
        &mut self,
        written: Written,
        superblock: &[u8],
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Option<ReadBack>, Error> {
        let Some(parts) = written.into_parts() else { return write(self.sink, 0, superblock).map(|()| None) };
        let total = check_coverage(&parts)?;
        progress(0, total);
        self.sync()?;
        let checked = self.read_all(&parts, &mut |done| progress(done, total));
        self.pipeline.drain(&mut Checking).map_err(of_fault).and(checked)?;
        write(self.sink, 0, superblock)?;
        self.check_superblock(superblock)?;
        progress(total, total);
        Ok(Some(ReadBack { bytes: total, parts: parts.len() as u64 + 1 }))
    }

    fn sync(&mut self) -> Result<(), Error> {
        self.sink.sync().map_err(|cause| sink_error("sync", 0, cause))
    }

    fn read_all(&mut self, parts: &[Part], progress: &mut dyn FnMut(u64)) -> Result<(), Error> {
        let pool = Buffers::new(slab_size(self.block_size), self.window);
        let mut rest = parts;
        while let Some(first) = rest.first() {
            let fits = |part: &&Part| part.end() - first.start <= pool.buffer_size() as u64;
            let (now, later) = rest.split_at(rest.iter().take_while(fits).count().max(1));
            let chunk = self.read(now, &pool)?;
            self.pipeline.outbox().submit(Job::Check(chunk));
            progress(now[now.len() - 1].end());
            rest = later;
        }
        Ok(())
    }

    /// Reads consecutive parts.
    fn read(&mut self, parts: &[Part], pool: &Arc<Buffers>) -> Result<Chunk, Error> {
        let start = parts[0].start;
        let length = (parts[parts.len() - 1].end() - start) as usize;
        if length > pool.buffer_size() {
            return Err(Error::internal(format!("a part of {length} bytes at byte {start}")));
        }
        let permit = self.pipeline.reserve(pool.buffer_size(), &mut Checking).map_err(of_fault)?;
        let mut buffer = pool.take(permit);
        let read = self.sink.read_at(start, &mut buffer.bytes_mut()[..length]);
        read.map_err(|cause| sink_error("read back", start, cause))?;
        Ok(Chunk { buffer, length, parts: parts.to_vec() })
    }

    /// Reads the superblock back, and removes it if it is wrong.
    fn check_superblock(&mut self, superblock: &[u8]) -> Result<(), Error> {
        let mut found = vec![0; superblock.len()];
        let read = self
            .sync()
            .and_then(|()| self.sink.read_at(0, &mut found).map_err(|cause| sink_error("read back", 0, cause)));
        let checked = read.and_then(|()| {
            if found == superblock {
                Ok(())
            } else {
                Err(Error::ReadBack { offset: 0, what: "the superblock".into(), is: "has different bytes".into() })
            }
        });
        if checked.is_err() {
            // The first error counts. An image with a wrong superblock would be worse than an image without one.
            let _: Result<(), Error> = write(self.sink, 0, &vec![0; superblock.len()]).and_then(|()| self.sync());
        }
        checked
    }
}

/// Checks that the parts follow each other from the superblock's end on, and returns the end of the image.
fn check_coverage(parts: &[Part]) -> Result<u64, Error> {
    let mut at = SUPERBLOCK_BYTES;
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

/// Adds the name of the part at the offset to an error of reading back.
pub(crate) fn name_part(error: Error, tree: &Tree, data: &DataLayout, end: &ImageEnd) -> Error {
    match error {
        Error::ReadBack { offset, what, is } if what.is_empty() => {
            Error::ReadBack { offset, what: name_at(offset, tree, data, end), is }
        }
        other => other,
    }
}

fn name_at(offset: u64, tree: &Tree, data: &DataLayout, end: &ImageEnd) -> String {
    let inodes_end = data.end + end.inode_table;
    let directories_end = inodes_end + end.directory_table;
    match offset {
        _ if offset < data.end => block_at(offset, tree, data),
        _ if offset < inodes_end => "the inode table".into(),
        _ if offset < directories_end => "the directory table".into(),
        _ if offset < end.bytes_used => "a table of fragments, exports, ids or attributes".into(),
        _ => "the padding".into(),
    }
}

/// Names the first file that has the block at an offset.
fn block_at(offset: u64, tree: &Tree, data: &DataLayout) -> String {
    let fragment = data.fragments.iter().position(|block| block.start == offset);
    let has = |payload: u32| match (data.files.get(payload as usize), fragment) {
        (Some(file), Some(index)) => file.tail.is_some_and(|tail| tail.fragment as usize == index),
        (Some(file), None) => {
            let first = file.first_block as usize;
            let sizes = data.sizes.get(first..first + file.blocks as usize).unwrap_or_default();
            let length: u64 = sizes.iter().map(|size| u64::from(size & !STORED_BLOCK)).sum();
            (file.start..file.start + length).contains(&offset)
        }
        (None, _) => false,
    };
    let of_file = |node: &packline_tree::NodeId| match tree.content(tree.inode(*node)) {
        Content::File(payload) => has(payload),
        _ => false,
    };
    let kind = if fragment.is_some() { "a fragment block" } else { "a block" };
    match tree.nodes().find(of_file) {
        Some(node) => format!("{kind} of {}", display_path(tree, node)),
        // The compressor's options, or a gap before an aligned file.
        None => "the bytes between files".into(),
    }
}
