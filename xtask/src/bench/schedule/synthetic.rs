//! Trees that exist only as a list of files over a pool of bytes: reading them is a copy, without a file system.

use packline_testkit::Random;
use packline_tree::{Entry, Error, Extent, Kind, Meta, Source};
use std::sync::Arc;

/// A pool's length, bytes. Not a multiple of a block size, so that no block repeats when the pool is read again.
const POOL: usize = (8 << 20) + 4099;
/// Files in a directory.
const FILES: usize = 1000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Filling {
    /// The pool, cyclically, from this offset.
    Pool(usize),
    /// One hole.
    Hole,
}

#[derive(Debug, Clone, Copy)]
struct File {
    size: u64,
    filling: Filling,
}

/// Files with their contents. Clones share them.
#[derive(Debug, Clone)]
pub struct Tree {
    pool: Arc<Vec<u8>>,
    files: Arc<Vec<File>>,
}

impl Tree {
    fn new(pool: Vec<u8>, files: impl Iterator<Item = File>) -> Tree {
        Tree { pool: Arc::new(pool), files: Arc::new(files.collect()) }
    }

    /// `count` files of `size` bytes that compress about as text does.
    pub fn prose(count: u64, size: u64) -> Tree {
        Tree::new(Random::new(1).prose(POOL), consecutive(count, size))
    }

    /// `count` files of `size` bytes that do not compress.
    pub fn noise(count: u64, size: u64) -> Tree {
        Tree::new(Random::new(2).noise(POOL), consecutive(count, size))
    }

    /// `count` files of 4 to 16 KiB, each one of 50.
    pub fn duplicates(count: u64) -> Tree {
        let mut random = Random::new(3);
        let kinds: Vec<File> = (0..50)
            .map(|kind| File { size: 4096 + random.below(12_288), filling: Filling::Pool(kind * 20_000) })
            .collect();
        let files: Vec<File> = (0..count).map(|_| kinds[random.below(50) as usize]).collect();
        Tree::new(random.prose(POOL), files.into_iter())
    }

    /// Half of the bytes are zeros that have to be read, half are a hole known to the source.
    pub fn sparse(size: u64) -> Tree {
        let fillings = [Filling::Pool(0), Filling::Hole];
        Tree::new(vec![0; 1 << 20], fillings.into_iter().map(|filling| File { size: size / 2, filling }))
    }

    pub fn empty(count: u64) -> Tree {
        Tree::new(vec![0], consecutive(count, 0))
    }

    pub fn source(&self) -> Box<dyn Source> {
        Box::new(Reading { tree: self.clone(), next: 0, at: 0, done: 0 })
    }
}

/// Files at consecutive offsets of the pool.
fn consecutive(count: u64, size: u64) -> impl Iterator<Item = File> {
    (0..count).map(move |index| File { size, filling: Filling::Pool((index * size) as usize % POOL) })
}

struct Reading {
    tree: Tree,
    /// Index of the next file.
    next: usize,
    /// Offset in the current file.
    at: u64,
    /// Bytes read so far.
    done: u64,
}

impl Source for Reading {
    fn next_entry(&mut self) -> Result<Option<Entry>, Error> {
        let Some(file) = self.tree.files.get(self.next) else { return Ok(None) };
        let path = format!("d{:04}/f{}", self.next / FILES, self.next).into_bytes();
        (self.next, self.at) = (self.next + 1, 0);
        let meta = Meta { mode: 0o644, uid: 0, gid: 0, mtime: 0 };
        Ok(Some(Entry { path, kind: Kind::File { size: file.size }, meta, xattrs: Vec::new() }))
    }

    fn read(&mut self, buffer: &mut [u8]) -> Result<Extent, Error> {
        let file = self.tree.files[self.next - 1];
        let left = file.size - self.at;
        let extent = match file.filling {
            _ if left == 0 => return Ok(Extent::End),
            Filling::Hole => Extent::Hole(left),
            Filling::Pool(start) => Extent::Data(self.copy(start, left, buffer)),
        };
        let count = if let Extent::Data(count) = extent { count as u64 } else { left };
        (self.at, self.done) = (self.at + count, self.done + count);
        Ok(extent)
    }

    fn progress(&self) -> (u64, Option<u64>) {
        (self.done, None)
    }
}

impl Reading {
    /// Copies up to the end of the buffer, the file or the pool.
    fn copy(&self, start: usize, left: u64, buffer: &mut [u8]) -> usize {
        let pool = &self.tree.pool;
        let from = &pool[(start + self.at as usize) % pool.len()..];
        let count = buffer.len().min(from.len()).min(usize::try_from(left).unwrap_or(usize::MAX));
        buffer[..count].copy_from_slice(&from[..count]);
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sizes and contents, holes as zeros.
    fn contents(tree: &Tree) -> Vec<(u64, Vec<u8>)> {
        let (mut source, mut found, mut buffer) = (tree.source(), Vec::new(), vec![1; 60_000]);
        while let Some(entry) = source.next_entry().unwrap() {
            let Kind::File { size } = entry.kind else { panic!("{entry:?}") };
            let mut content = Vec::new();
            loop {
                match source.read(&mut buffer).unwrap() {
                    Extent::Data(count) => content.extend_from_slice(&buffer[..count]),
                    Extent::Hole(count) => content.resize(content.len() + count as usize, 0),
                    Extent::End => break,
                }
            }
            found.push((size, content));
        }
        let bytes: u64 = found.iter().map(|(size, _)| size).sum();
        assert_eq!(source.progress(), (bytes, None));
        found
    }

    #[test]
    fn files_have_the_size_they_say() {
        for tree in [Tree::prose(3, 100_000), Tree::noise(2, 70_000), Tree::duplicates(40), Tree::empty(7)] {
            assert!(contents(&tree).iter().all(|(size, content)| *size == content.len() as u64));
        }
        assert_eq!(contents(&Tree::empty(7)).len(), 7);
    }

    #[test]
    fn duplicates_are_such_and_prose_is_not() {
        let distinct = |tree: &Tree| {
            let mut all = contents(tree);
            all.sort();
            all.dedup();
            all.len()
        };
        assert!(distinct(&Tree::duplicates(400)) <= 50);
        assert_eq!(distinct(&Tree::prose(9, 5_000)), 9);
    }

    #[test]
    fn a_pool_that_is_read_twice_has_no_block_twice() {
        let content = contents(&Tree::prose(1, 2 * POOL as u64)).remove(0).1;
        assert_eq!(content[..POOL], content[POOL..]);
        let mut blocks: Vec<&[u8]> = content.chunks_exact(128 << 10).collect();
        let count = blocks.len();
        blocks.sort();
        blocks.dedup();
        assert_eq!(blocks.len(), count);
    }

    #[test]
    fn sparse_is_all_zeros() {
        let found = contents(&Tree::sparse(4 << 20));
        assert_eq!(found.len(), 2);
        assert!(found.iter().all(|(size, content)| *size == 2 << 20 && content.iter().all(|byte| *byte == 0)));
    }
}
