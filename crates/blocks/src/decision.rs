//! The in-order decisions: which parts of each file are stored, shared, packed into a fragment block or left out as holes.

use packline_codec::Anchor;
use packline_engine::Outbox;
use packline_runtime::TaskError;

use crate::batch::Batch;
use crate::block_matcher::BlockMatcher;
use crate::blocks::Blocks;
use crate::digest::Digest;
use crate::fragments::{Fragments, NewTail};
use crate::run_matcher::{RunMatcher, Step};
use crate::slab::{Item, PieceKind};
use crate::work::{BlockRef, CompressTask, Hashed, HashedPiece, Packed, PieceHash};
use crate::{BlockSize, DataLayout, DataOptions, Error, FileLayout, Sharing};

/// Marks a stored block in the size words until its size is known; a hole is 0 from the start.
const TO_BE_STORED: u32 = 1;

/// Savings of deduplication and holes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Saved {
    /// Files whose complete content was already stored, without empty files.
    pub duplicate_files: u64,
    /// Bytes of content in those files.
    pub duplicate_bytes: u64,
    /// Blocks that were already in the image, copied ones included.
    pub duplicate_blocks: u64,
    /// Duplicate blocks that had to be written again, in compressed form.
    pub copied_blocks: u64,
    /// Tail ends that were already in a fragment block, alone or as a part of another tail end.
    pub duplicate_tails: u64,
    /// Tail ends that share fragment blocks, duplicates not counted.
    pub stored_tails: u64,
    /// Bytes left out as holes.
    pub sparse_bytes: u64,
}

#[derive(Debug)]
struct Current {
    file: u32,
    matcher: Matcher,
    /// Whether a tail end was stored, not found.
    new_tail: bool,
    /// Number of the block that would continue the file, once it has a block.
    next: Option<u32>,
    /// Whether the file has a hole, or blocks that do not follow each other.
    is_scattered: bool,
}

impl Current {
    /// Notes a block, or a hole.
    fn note(&mut self, number: Option<u32>) {
        self.is_scattered |= number.is_none() || self.next.is_some_and(|next| number != Some(next));
        self.next = number.map(|number| number + 1);
    }
}

/// Finds out which blocks of the current file are stored.
#[derive(Debug)]
enum Matcher {
    Runs(RunMatcher),
    Blocks(BlockMatcher),
}

impl Matcher {
    /// `share`: the file may use the blocks of other files.
    fn new(sharing: Sharing, share: bool) -> Matcher {
        match sharing {
            Sharing::Runs => Matcher::Runs(RunMatcher::new(share)),
            Sharing::Blocks => Matcher::Blocks(BlockMatcher::new(share)),
        }
    }

    /// Returns the first block of the file, if it has any.
    fn first(&self) -> Option<u32> {
        match self {
            Matcher::Runs(matcher) => matcher.run(),
            Matcher::Blocks(matcher) => matcher.first(),
        }
    }

    /// Whether the file has a block of its own.
    fn has_own_block(&self) -> bool {
        match self {
            Matcher::Runs(matcher) => matcher.has_own_run(),
            Matcher::Blocks(matcher) => matcher.has_own_block(),
        }
    }
}

#[derive(Debug)]
pub(crate) struct Decisions {
    pub(crate) blocks: Blocks,
    pub(crate) fragments: Fragments,
    pub(crate) saved: Saved,
    files: Vec<FileLayout>,
    /// The blocks of all files; 0 is a hole. With [`Sharing::Runs`] the others are [`TO_BE_STORED`], with [`Sharing::Blocks`] 1 + their number.
    list: Vec<u32>,
    /// Pairs of files: the first one has the content of the second one, which was added later.
    replaced: Vec<(u32, u32)>,
    current: Option<Current>,
    block_size: BlockSize,
    sharing: Sharing,
    stored_fragments: bool,
    /// See [`DataOptions::keep_tails`].
    keeps_tails: bool,
    /// Whether the encoder tried to compress each block.
    pub(crate) all_tried: bool,
}

impl Decisions {
    /// `window` bounds the memory of the pipeline in bytes.
    pub(crate) fn new(options: &DataOptions, window: usize) -> Decisions {
        let keeps_tails = options.keep_tails.is_some();
        let stored_fragments = options.stored_fragments || !options.compresses || keeps_tails;
        Decisions {
            blocks: Blocks::default(),
            fragments: Fragments::new(options, window),
            saved: Saved::default(),
            files: Vec::new(),
            list: Vec::new(),
            replaced: Vec::new(),
            current: None,
            block_size: options.block_size,
            sharing: options.sharing,
            stored_fragments,
            keeps_tails,
            // Kept tail ends are not blocks.
            all_tried: options.compresses && !options.stored_fragments,
        }
    }

    /// Adds a file of `size` bytes whose pieces will follow, and returns its number.
    pub(crate) fn add_file(&mut self, size: u64) -> Result<u32, Error> {
        let number = u32::try_from(self.files.len()).map_err(|_| Error::Limit {
            what: "the input has too many files".into(),
            expected: format!("at most {}", u32::MAX),
        })?;
        u32::try_from(size.div_ceil(self.block_size.into())).map_err(|_| too_large(size))?;
        self.files.push(FileLayout { size, sparse: 0, start: 0, first_block: 0, blocks: 0, tail: None });
        Ok(number)
    }

    /// Replaces the content of a file with the content of a file that was added later.
    pub(crate) fn replace_file(&mut self, file: u32, other: u32) {
        self.replaced.push((file, other));
    }

    /// Decides on the pieces of one slab.
    pub(crate) fn decide(&mut self, hashed: Hashed, next: &mut Outbox<CompressTask>) -> Result<(), Error> {
        let Hashed { slab, pieces, anchors } = hashed;
        let mut batch = Batch::new(next, slab.buffer, slab.products);
        for (item, HashedPiece { hash, anchors: range }) in slab.items.iter().zip(pieces) {
            self.piece(item, (hash, &anchors[range]), &mut batch)?;
        }
        batch.flush();
        Ok(())
    }

    pub(crate) fn memory(&self) -> usize {
        self.blocks.memory()
            + self.fragments.memory()
            + self.files.capacity() * size_of::<FileLayout>()
            + self.list.capacity() * size_of::<u32>()
    }

    /// Returns the finished layout, after all commits; `end` is the end of the data area.
    pub(crate) fn into_layout(mut self, end: u64) -> Result<DataLayout, Error> {
        self.blocks.forget_content();
        for file in &mut self.files {
            settle(file, &self.blocks, (self.sharing == Sharing::Runs).then_some(&mut self.list))?;
        }
        for (file, other) in self.replaced {
            self.files[file as usize] = self.files[other as usize];
        }
        let (files, (fragments, fragment_clusters)) = (self.files, self.fragments.into_table());
        Ok(match self.sharing {
            Sharing::Runs => DataLayout { files, sizes: self.list, fragments, end, ..DataLayout::default() },
            Sharing::Blocks => {
                let places = self.blocks.into_places();
                DataLayout { files, numbers: self.list, places, fragments, fragment_clusters, end, sizes: Vec::new() }
            }
        })
    }

    fn piece(
        &mut self,
        item: &Item,
        (hash, anchors): (PieceHash, &[Anchor]),
        batch: &mut Batch<'_>,
    ) -> Result<(), Error> {
        self.begin(item);
        match (item.piece, hash) {
            (PieceKind::Holes(bytes), _) => self.holes(item.file, bytes)?,
            (piece, PieceHash::Zero) => {
                drop(batch.take_memory(reserved(piece, item.range.len())));
                self.holes(item.file, item.range.len() as u64)?;
            }
            (PieceKind::Block, PieceHash::Content(digest)) => self.block(item, digest, batch)?,
            (PieceKind::Tail, PieceHash::Content(digest)) if self.cannot_keep() => {
                // A block takes less memory than a tail end.
                drop(batch.take_memory(reserved(PieceKind::Tail, item.range.len()) - item.range.len()));
                self.block(item, digest, batch)?;
            }
            (PieceKind::Tail, PieceHash::Content(digest)) => self.tail(item, (digest, anchors), batch)?,
        }
        if item.last {
            self.finish(item.file);
        }
        Ok(())
    }

    fn begin(&mut self, item: &Item) {
        if self.current.as_ref().is_none_or(|current| current.file != item.file) {
            let matcher = Matcher::new(self.sharing, item.rules.deduplicate && item.rules.align.is_none());
            self.current = Some(Current { file: item.file, matcher, new_tail: false, next: None, is_scattered: false });
            self.files[item.file as usize].first_block = self.list.len() as u64;
        }
    }

    /// Whether the current file needs its tail end as a block of its own.
    fn cannot_keep(&self) -> bool {
        self.keeps_tails && self.current.as_ref().is_some_and(|current| current.is_scattered)
    }

    /// Adds blocks of zeros; the last of them may be short.
    fn holes(&mut self, file: u32, bytes: u64) -> Result<(), Error> {
        if let Some(current) = &mut self.current {
            current.note(None);
        }
        let file = &mut self.files[file as usize];
        file.sparse += bytes;
        self.saved.sparse_bytes += bytes;
        let count = bytes.div_ceil(self.block_size.into());
        file.blocks = u32::try_from(u64::from(file.blocks) + count).map_err(|_| too_large(file.size))?;
        self.list.resize(self.list.len() + count as usize, 0);
        Ok(())
    }

    fn block(&mut self, item: &Item, digest: Option<Digest>, batch: &mut Batch<'_>) -> Result<(), Error> {
        let Some(current) = &mut self.current else {
            return Err(Error::internal("a block without a file".into()));
        };
        if let (Some(bytes), false) = (item.rules.align, current.matcher.has_own_block()) {
            batch.pass(Packed::Align { bytes });
        }
        let shared = digest.filter(|_| item.rules.deduplicate);
        let (listed, step) = match &mut current.matcher {
            Matcher::Runs(matcher) => (TO_BE_STORED, matcher.step(&mut self.blocks, shared)?),
            Matcher::Blocks(matcher) => {
                let (number, step) = matcher.step(&mut self.blocks, shared)?;
                current.note(Some(number));
                (number + 1, step)
            }
        };
        self.list.push(listed);
        let file = &mut self.files[item.file as usize];
        file.blocks = file.blocks.checked_add(1).ok_or_else(|| too_large(file.size))?;
        self.apply(step, item, digest, batch);
        Ok(())
    }

    fn apply(&mut self, step: Step, item: &Item, content: Option<Digest>, batch: &mut Batch<'_>) {
        match step {
            Step::Matched => {
                self.saved.duplicate_blocks += 1;
                drop(batch.take_memory(item.range.len()));
            }
            Step::Compress { copies, block } => {
                self.saved.copied_blocks += u64::from(copies.count);
                self.all_tried &= !item.rules.stored;
                batch.copies(copies);
                batch.block(BlockRef { ordinal: block, range: item.range.clone(), content }, item.rules.stored);
            }
            Step::Copy { copies, block } => {
                self.saved.copied_blocks += u64::from(copies.count) + 1;
                self.saved.duplicate_blocks += 1;
                drop(batch.take_memory(item.range.len()));
                batch.copies(copies);
                batch.copies(block);
            }
        }
    }

    fn tail(
        &mut self,
        item: &Item,
        (digest, anchors): (Option<Digest>, &[Anchor]),
        batch: &mut Batch<'_>,
    ) -> Result<(), Error> {
        let permit = batch.take_memory(reserved(PieceKind::Tail, item.range.len()));
        let tail = NewTail { content: batch.content(item.range.clone()), digest, anchors };
        let shared = if item.rules.deduplicate { self.fragments.find(&tail)? } else { None };
        let place = match shared {
            Some(place) => {
                self.saved.duplicate_tails += 1;
                place
            }
            None => {
                let (place, closed) = self.fragments.place(&tail, permit, item.rules)?;
                self.saved.stored_tails += 1;
                if let Some(full) = closed {
                    full.submit(self.stored_fragments, batch.in_order());
                }
                if let Some(current) = &mut self.current {
                    current.new_tail = true;
                }
                place
            }
        };
        self.files[item.file as usize].tail = Some(place);
        Ok(())
    }

    fn finish(&mut self, number: u32) {
        let Some(current) = self.current.take() else { return };
        let file = &mut self.files[number as usize];
        // Until `settle`, `start` holds the number of the first block, plus one.
        file.start = current.matcher.first().map_or(0, |first| u64::from(first) + 1);
        let has_content = file.start > 0 || file.tail.is_some();
        if has_content && !current.matcher.has_own_block() && !current.new_tail {
            self.saved.duplicate_files += 1;
            self.saved.duplicate_bytes += file.size - file.sparse;
        }
    }

    /// Submits the open fragment blocks, after the last file.
    pub(crate) fn close(&mut self, next: &mut Outbox<CompressTask>) {
        for rest in self.fragments.close_all() {
            rest.submit(self.stored_fragments, next);
        }
    }
}

/// Memory reserved for the result of a piece of `length` bytes.
pub(crate) fn reserved(piece: PieceKind, length: usize) -> usize {
    match piece {
        PieceKind::Block => length,
        PieceKind::Tail => 2 * length,
        PieceKind::Holes(_) => 0,
    }
}

/// Puts the start of a file's first block into the layout, and the sizes of a run into the list.
fn settle(file: &mut FileLayout, blocks: &Blocks, list: Option<&mut Vec<u32>>) -> Result<(), Error> {
    let Some(first) = file.start.checked_sub(1) else { return Ok(()) };
    let place = |number: u64| {
        let found = u32::try_from(number).ok().and_then(|number| blocks.place(number));
        found.ok_or_else(|| Error::internal(format!("block {number} was never written")))
    };
    if let Some(sizes) = list {
        let start = file.first_block as usize;
        let stored = sizes[start..start + file.blocks as usize].iter_mut().filter(|size| **size != 0);
        for (number, size) in (first..).zip(stored) {
            *size = place(number)?.size_word;
        }
    }
    file.start = place(first)?.start;
    Ok(())
}

fn too_large(size: u64) -> Error {
    Error::Limit {
        what: format!("a file of {size} bytes has too many blocks"),
        expected: format!("at most {}", u32::MAX),
    }
}
