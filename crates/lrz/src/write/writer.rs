//! Writes a file from its magic to its digest, chunk by chunk.

use std::sync::Arc;

use packline_engine::OrderedMap;
use packline_longrange::Window;
use packline_runtime::of_fault;

use super::compress::{Block, CompressTask, Content, Origin, map};
use super::digest::Sums;
use super::layout::{Layout, Output};
use super::literals::{LiteralPlace, LiteralSource, Literals};
use super::memory::{Memory, Share};
use super::opcodes::Recorder;
use super::policy::Policy;
use super::seal::Seal;
use super::search::Search;
use super::source::in_use;
use super::view::View;
use super::{WriteOptions, Written};
use crate::format::{ChunkHead, Dialect, Magic, OpcodeForm, Protection, Width, width_for};
use crate::spool::Spool;
use crate::{Error, Input, Observer, Pass, Progress, Resources, Sink};

/// Offset of the plain size in the magic.
const SIZE_AT: u64 = 6;

/// A file that is being written.
pub(super) struct Writer<'a> {
    out: Output<'a>,
    policy: Policy,
    seal: Option<Seal>,
    resources: &'a Resources,
    observer: &'a mut dyn Observer,
    sums: Sums,
    written: Written,
    /// Size of the plain data, if known. It is written to the magic.
    total: Option<u64>,
    /// The opcodes of the current chunk, which workers read.
    opcodes: Arc<Spool>,
    /// The compressed blocks of stream 0.
    kept: Spool,
    warned: bool,
}

impl<'a> Writer<'a> {
    pub(super) fn new(
        sink: &'a mut dyn Sink,
        options: &WriteOptions,
        resources: &'a Resources,
        observer: &'a mut dyn Observer,
    ) -> Result<Writer<'a>, Error> {
        let policy = Policy::new(options)?;
        let seal = options.password.as_ref().map(Seal::new).transpose()?;
        let spool = || Spool::new(Memory::new(&policy, resources, false).opcodes(), resources.scratch.as_deref());
        let opcodes = Arc::new(spool());
        let kept = spool();
        Ok(Writer {
            out: Output::new(sink),
            policy,
            seal,
            resources,
            observer,
            sums: Sums::new(),
            written: Written { workers: usize::MAX, ..Written::default() },
            total: None,
            opcodes,
            kept,
            warned: false,
        })
    }

    /// Returns the demands and the limit for chunks.
    pub(super) fn memory(&self) -> Memory<'_> {
        let compresses = self.policy.compresses() || self.seal.is_some();
        Memory::new(&self.policy, self.resources, compresses)
    }

    /// Reports that `done` bytes of the next chunk were read from a pipe.
    pub(super) fn reading(&mut self, done: u64) {
        let pass = Pass { name: "reading", part: self.written.chunks + 1, done, total: None };
        self.observer.advance(&passing(self.written.plain, self.total, pass));
    }

    /// Begins the file. `total`: bytes of plain data, if known.
    pub(super) fn begin(&mut self, total: Option<u64>) -> Result<(), Error> {
        let protection =
            self.seal.as_ref().map_or(Protection::None, |seal| Protection::Aes128 { salt: seal.file_salt() });
        let magic =
            Magic { dialect: Dialect::V6, size: total, lzma: self.policy.lzma(), md5: true, protection, extra: [0; 2] };
        self.total = total;
        self.out.write(&magic.encode())
    }

    /// Writes a chunk, of which `held` bytes are in memory.
    pub(super) fn chunk(&mut self, view: &View, held: u64, is_last: bool) -> Result<(), Error> {
        let length = view.length();
        let share = self.memory().share(length, held)?;
        self.warn_of_fewer_workers(share);
        let width = width_for(length);
        let form = OpcodeForm::new(Dialect::V6, width);
        let literals = self.search(view, form, share)?;
        // The index consisted of many small pages, and encoders need large ones.
        packline_codec::release_freed_memory();
        let mut head = Vec::new();
        ChunkHead::new(length, is_last, self.seal.is_some()).encode(&mut head);
        self.out.write(&head)?;
        self.compress(view, form, literals, share)?;
        self.written.chunks += 1;
        self.written.plain += length;
        Ok(())
    }

    fn warn_of_fewer_workers(&mut self, share: Share) {
        let fewest = if self.memory().compresses() {
            share.search_workers.min(share.compress_workers)
        } else {
            share.search_workers
        };
        self.written.workers = self.written.workers.min(fewest);
        if fewest < self.resources.workers && !self.warned {
            self.warned = true;
            self.resources.warn_of_fewer(fewest, self.observer);
        }
    }

    /// Finds matches, and writes the opcodes to the spool. Returns the number of literal bytes.
    fn search(&mut self, view: &View, form: OpcodeForm, share: Share) -> Result<u64, Error> {
        let settings = self.memory().settings(view.length());
        let opcodes = Arc::get_mut(&mut self.opcodes).ok_or_else(in_use)?;
        opcodes.clear()?;
        let before = self.written.plain;
        let total = self.total;
        let half = !self.policy.is_slow();
        let part = self.written.chunks + 1;
        let all = Some(view.length());
        let observer = &mut *self.observer;
        let mut progress = |done: u64| {
            let pass = Pass { name: "matching", part, done, total: all };
            observer.advance(&passing(before + if half { done / 2 } else { 0 }, total, pass));
        };
        progress(0);
        let workers = share.search_workers;
        let cancel = &self.resources.cancel;
        let policy = &self.policy;
        let search = Search { view, settings: &settings, policy, workers, cancel, progress: &mut progress };
        let counts = search.run(&mut self.sums, Recorder::new(form, opcodes))?;
        self.written.matches += counts.matches;
        self.written.match_bytes += counts.match_bytes;
        self.written.literals += counts.literals;
        self.written.literal_bytes += counts.literal_bytes;
        Ok(counts.literal_bytes)
    }

    /// Compresses both streams and writes them.
    fn compress(&mut self, view: &View, form: OpcodeForm, literals: u64, share: Share) -> Result<(), Error> {
        let length = view.length();
        let block = self.memory().block(length);
        let work = CompressTask { policy: self.policy.clone(), block: block as usize, seal: self.seal.clone() };
        let window = usize::try_from(share.window).unwrap_or(usize::MAX);
        let mut map = map(work, share.compress_workers, window, self.resources)?;
        if self.memory().compresses() {
            self.written.workers = self.written.workers.min(map.workers());
        }
        let pieces = [EqualBlocks::new(self.opcodes.size(), block), EqualBlocks::new(literals, block)];
        let before = self.written.plain;
        let total = self.total;
        let half = !self.policy.is_slow();
        let part = self.written.chunks + 1;
        let observer = &mut *self.observer;
        let mut progress = |reached: u64| {
            let done = if half { (length + reached) / 2 } else { reached };
            let pass = Pass { name: "compressing", part, done: reached, total: Some(length) };
            observer.advance(&passing(before + done, total, pass));
        };
        progress(0);
        let mut layout = Layout {
            out: &mut self.out,
            seal: self.seal.as_ref(),
            width: if self.seal.is_some() { Width::FULL } else { width_for(length) },
            kept: &mut self.kept,
            waiting: Vec::new(),
            left: pieces.map(|pieces| pieces.count),
            position: 0,
            sums: &mut self.written.streams,
            progress: &mut progress,
        };
        let feeding = Feeding { map: &mut map, seal: self.seal.as_ref() };
        let source = LiteralSource { form, opcodes: Arc::clone(&self.opcodes), view: view.clone() };
        feeding.run(&mut layout, pieces, &source)
    }

    /// Ends the file with the digest.
    pub(super) fn finish(mut self) -> Result<Written, Error> {
        self.written.md5 = self.sums.finish();
        let mut digest = self.written.md5.to_vec();
        if let Some(seal) = &self.seal {
            seal.close(&mut digest, seal.file_salt());
        }
        self.out.write(&digest)?;
        if self.total.is_none() && self.seal.is_none() {
            // In a pipe, the size stays 0, which means unknown.
            self.out.patch(SIZE_AT, &self.written.plain.to_le_bytes())?;
        }
        self.written.stored = self.out.written();
        self.observer.advance(&Progress::of_source(self.written.plain, Some(self.written.plain)));
        Ok(self.written)
    }
}

/// Progress of a pass. `done` counts bytes of the source; if two passes take long, each counts half.
fn passing(done: u64, total: Option<u64>, pass: Pass) -> Progress {
    Progress { pass: Some(pass), ..Progress::of_source(done, total) }
}

/// A stream divided into as few blocks of equal size as possible. Several blocks are an even number: most machines have an even number of
/// processors, and the last block should not keep the others waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct EqualBlocks {
    total: u64,
    count: u64,
}

impl EqualBlocks {
    /// Divides `total` bytes. There is at least one block, which may be empty.
    fn new(total: u64, block: u64) -> EqualBlocks {
        match total.div_ceil(block) {
            count @ (0 | 1) => EqualBlocks { total, count: count.max(1) },
            // Rounded up, the sizes may reach the total before the last block.
            count => EqualBlocks { total, count: total.div_ceil(total.div_ceil(count.next_multiple_of(2))) },
        }
    }

    /// Returns the bytes of each block, in order.
    fn sizes(self) -> impl Iterator<Item = usize> {
        let size = self.total.div_ceil(self.count);
        (0..self.count).map(move |index| (self.total - (index * size).min(self.total)).min(size) as usize)
    }
}

/// Submits the blocks of a chunk.
struct Feeding<'a> {
    map: &'a mut OrderedMap<CompressTask>,
    seal: Option<&'a Seal>,
}

impl Feeding<'_> {
    fn run(
        mut self,
        layout: &mut Layout<'_, '_>,
        pieces: [EqualBlocks; 2],
        source: &LiteralSource,
    ) -> Result<(), Error> {
        let mut at = 0;
        for size in pieces[0].sizes() {
            let bytes = |at: u64| {
                let mut bytes = vec![0; size];
                source.opcodes.read_at(at, &mut bytes).map_err(Error::Scratch)?;
                Ok((Content::Bytes(bytes), Origin { stream: 0, reached: 0 }))
            };
            self.feed(size, layout, || bytes(at))?;
            at += size as u64;
        }
        let mut literals = Literals::at(source, LiteralPlace::default());
        for size in pieces[1].sizes() {
            let mut next = || {
                let content = Content::Literals(source.clone(), literals.place(), size);
                literals.advance(size, |_, _| Ok(()))?;
                Ok((content, Origin { stream: 1, reached: literals.position() }))
            };
            self.feed(size, layout, &mut next)?;
        }
        self.map.drain(layout).map_err(of_fault)
    }

    /// Submits a block when there is memory for it.
    fn feed(
        &mut self,
        size: usize,
        layout: &mut Layout<'_, '_>,
        content: impl FnOnce() -> Result<(Content, Origin), Error>,
    ) -> Result<(), Error> {
        let permit = self.map.reserve(size, layout).map_err(of_fault)?;
        let made = content().and_then(|made| Ok((made, self.seal.map(Seal::salt).transpose()?)));
        let ((content, from), salt) = match made {
            Ok(made) => made,
            // Errors of earlier blocks come first.
            Err(error) => return Err(of_fault(self.map.earlier_error(layout, error))),
        };
        self.map.submit(Block { content, from, salt, permit }, layout).map_err(of_fault)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_few_and_of_equal_size() {
        let sizes = |total, block| EqualBlocks::new(total, block).sizes().collect::<Vec<_>>();
        assert_eq!(sizes(0, 10), [0]);
        assert_eq!(sizes(10, 10), [10]);
        assert_eq!(sizes(11, 10), [6, 5]);
        assert_eq!(sizes(25, 10), [7, 7, 7, 4]);
        for total in 0..300 {
            let sizes = sizes(total, 7);
            assert_eq!(sizes.iter().sum::<usize>() as u64, total);
            assert!(total == 0 || sizes.iter().all(|&size| (1..=7).contains(&size)), "{total}: {sizes:?}");
        }
    }
}
