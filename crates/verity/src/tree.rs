//! Writes a tree: all levels in one pass over the hashes of the data, with one open block per level.

use packline_runtime::Sink;

use crate::hashing::{DIGEST, Digest, Salted};
use crate::layout::{BLOCK, BLOCK_BYTES, FANOUT, Layout};
use crate::{Error, Leaves, Superblock, Uuid};

/// A tree that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tree {
    /// The hash that proves the data.
    pub root_hash: Digest,
    /// The superblock of the tree.
    pub superblock: Superblock,
    /// Bytes of the tree, including the superblock's block.
    pub bytes: u64,
}

/// Writes the tree of `leaves` to `out` at offset `at`, a multiple of 4096. The superblock is written last, so that an incomplete tree is
/// not mistaken for a complete one. Without a UUID, the UUID is derived from the root hash.
///
/// # Errors
/// [`Error::Output`] and [`Error::Scratch`]; [`Error::Size`] if there are no blocks.
pub fn write_tree(leaves: &mut Leaves, uuid: Option<Uuid>, out: &mut dyn Sink, at: u64) -> Result<Tree, Error> {
    if leaves.count() == 0 {
        return Err(Error::Size { bytes: 0 });
    }
    let layout = Layout::of(leaves.count())?;
    let salted = Salted::new(leaves.salt());
    let bytes = BLOCK_BYTES + layout.bytes();
    let levels =
        layout.levels.iter().map(|level| OpenLevel { start: at + BLOCK_BYTES + level.start, ..OpenLevel::default() });
    let mut writer = LevelWriter { levels: levels.collect(), salted, out, root: [0; DIGEST] };
    let mut first = 0;
    let mut buffer = [0; BLOCK];
    while first < leaves.count() {
        let filled = leaves.read(first, &mut buffer)?;
        buffer[..filled].as_chunks().0.iter().try_for_each(|digest| writer.push(0, digest))?;
        first += FANOUT;
    }
    let root_hash = writer.finish()?;
    let data_blocks = leaves.count();
    let salt = leaves.salt().to_vec();
    let superblock = Superblock { uuid: uuid.unwrap_or_else(|| Uuid::derived(&root_hash)), data_blocks, salt };
    let mut block = superblock.encode().to_vec();
    block.resize(BLOCK, 0);
    write(out, at, &block)?;
    Ok(Tree { root_hash, superblock, bytes })
}

/// A level whose last block is incomplete.
#[derive(Default)]
struct OpenLevel {
    /// Offset of the next block.
    start: u64,
    block: Vec<u8>,
}

struct LevelWriter<'o> {
    levels: Vec<OpenLevel>,
    salted: Salted,
    out: &'o mut dyn Sink,
    root: Digest,
}

impl LevelWriter<'_> {
    /// Adds a hash to a level. The hash above the top level is the root hash.
    fn push(&mut self, level: usize, digest: &Digest) -> Result<(), Error> {
        let Some(open) = self.levels.get_mut(level) else {
            self.root = *digest;
            return Ok(());
        };
        open.block.extend_from_slice(digest);
        if open.block.len() == BLOCK { self.close(level) } else { Ok(()) }
    }

    /// Writes the open block of a level, with zeros at its end.
    fn close(&mut self, level: usize) -> Result<(), Error> {
        let open = &mut self.levels[level];
        open.block.resize(BLOCK, 0);
        write(self.out, open.start, &open.block)?;
        let digest = self.salted.digest(&open.block);
        open.start += BLOCK_BYTES;
        open.block.clear();
        self.push(level + 1, &digest)
    }

    fn finish(mut self) -> Result<Digest, Error> {
        for level in 0..self.levels.len() {
            if !self.levels[level].block.is_empty() {
                self.close(level)?;
            }
        }
        Ok(self.root)
    }
}

fn write(out: &mut dyn Sink, at: u64, bytes: &[u8]) -> Result<(), Error> {
    if out.write_at(at, bytes).map_err(Error::Output)? {
        Ok(())
    } else {
        Err(Error::Output(std::io::ErrorKind::NotSeekable.into()))
    }
}
