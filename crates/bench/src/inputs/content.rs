//! File contents in memory, cut into blocks as in an image.

use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::path::Path;

use packline::requests::FileKind;
use packline_archives::decompress::Limits;
use packline_archives::tar;
use packline_archives::tar::TarOptions;
use packline_runtime::escape::Escape;
use packline_tree::{DirectoryOptions, DirectorySource, Extent, Kind, Source};

use crate::Error;
use crate::inputs::source::BUFFER;

/// The contents of files, one after another.
pub struct Content {
    bytes: Vec<u8>,
    files: Vec<Range<usize>>,
    /// Whether contents beyond the limit were ignored.
    cut: bool,
}

/// Holes of at least this many bytes are shortened by a multiple of the largest block, because blocks of zeros are ignored.
const LONG_HOLE: u64 = 2 << 20;
/// The largest block in bytes.
const MAX_BLOCK: u64 = 1 << 20;
/// The bytes of a tar with the magic number.
const MAGIC: Range<usize> = 257..262;

impl Content {
    /// Reads up to `limit` bytes of the files of a directory or a tar, in order, or of a single file.
    ///
    /// # Errors
    /// Returns an error if the input cannot be read or has no content, or if there is not enough memory.
    pub fn read(path: &Path, limit: u64) -> Result<Content, Error> {
        let mut bytes = Vec::new();
        let space = bytes.try_reserve_exact(usize::try_from(limit).unwrap_or(usize::MAX));
        space.map_err(|cause| Error::failed(format!("no memory for {limit} bytes of content: {cause}")))?;
        let mut content = Content { bytes, files: Vec::new(), cut: false };
        if path.is_dir() || is_tar(path)? {
            content.read_tree(&mut *open(path)?, limit as usize).map_err(Error::failed)?;
        } else {
            content.read_file(path, limit).map_err(|cause| Error::file("read", path, &cause))?;
        }
        if content.bytes.is_empty() { Err(Error::at(path, "there is no content to measure")) } else { Ok(content) }
    }

    pub fn bytes(&self) -> u64 {
        self.bytes.len() as u64
    }

    pub fn is_cut(&self) -> bool {
        self.cut
    }

    fn read_file(&mut self, path: &Path, limit: u64) -> std::io::Result<()> {
        let mut file = File::open(path)?;
        file.by_ref().take(limit).read_to_end(&mut self.bytes)?;
        self.cut = file.read(&mut [0])? > 0;
        self.files.push(0..self.bytes.len());
        Ok(())
    }

    fn read_tree(&mut self, source: &mut dyn Source, limit: usize) -> Result<(), packline_tree::Error> {
        while let Some(entry) = source.next_entry()? {
            if !matches!(entry.kind, Kind::File { size } if size > 0) {
                continue;
            }
            let start = self.bytes.len();
            self.read_content(source, limit)?;
            self.files.push(start..self.bytes.len());
            if self.cut {
                break;
            }
        }
        Ok(())
    }

    fn read_content(&mut self, source: &mut dyn Source, limit: usize) -> Result<(), packline_tree::Error> {
        let mut piece = vec![0; BUFFER];
        loop {
            let space = limit - self.bytes.len();
            let count = match source.read(&mut piece)? {
                Extent::Data(count) => {
                    self.bytes.extend_from_slice(&piece[..count.min(space)]);
                    count as u64
                }
                Extent::Hole(count) => {
                    let kept = shortened(count);
                    self.bytes.resize(self.bytes.len() + kept.min(space as u64) as usize, 0);
                    kept
                }
                Extent::End => return Ok(()),
            };
            self.cut = count > space as u64;
            if self.cut {
                return Ok(());
            }
        }
    }

    /// Cuts every file into blocks. Tail ends share blocks, as in an image. Blocks of zeros are ignored; equal blocks are not.
    pub fn cut(&self, block_size: usize) -> Blocks<'_> {
        let mut blocks = Blocks { whole: Vec::new(), tails: Vec::new(), places: Vec::new() };
        let mut open = 0..0;
        for file in &self.files {
            let bytes = &self.bytes[file.clone()];
            let (whole, tail) = bytes.split_at(bytes.len() - bytes.len() % block_size);
            blocks.whole.extend(whole.chunks_exact(block_size).filter(|block| !is_zero(block)));
            if tail.is_empty() || is_zero(tail) {
                continue;
            }
            if open.len() + tail.len() > block_size {
                blocks.places.push(open);
                open = blocks.tails.len()..blocks.tails.len();
            }
            blocks.tails.extend_from_slice(tail);
            open.end = blocks.tails.len();
        }
        if !open.is_empty() {
            blocks.places.push(open);
        }
        blocks
    }
}

pub struct Blocks<'a> {
    whole: Vec<&'a [u8]>,
    tails: Vec<u8>,
    /// The ranges of the blocks in `tails`.
    places: Vec<Range<usize>>,
}

impl Blocks<'_> {
    /// Returns all blocks: the blocks of files, then the blocks of tail ends.
    pub fn all(&self) -> Vec<&[u8]> {
        let tails = self.places.iter().map(|place| &self.tails[place.clone()]);
        self.whole.iter().copied().chain(tails).collect()
    }
}

/// Returns the length of a hole without most of its blocks. One block remains between the bytes before and after the hole.
fn shortened(hole: u64) -> u64 {
    if hole < LONG_HOLE { hole } else { MAX_BLOCK + hole % MAX_BLOCK }
}

fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().all(|&byte| byte == 0)
}

fn open(path: &Path) -> Result<Box<dyn Source>, Error> {
    if path.is_dir() {
        let mut options = DirectoryOptions::default();
        options.xattrs = false;
        let source = DirectorySource::open(path, options).map_err(Error::failed)?;
        return Ok(Box::new(source));
    }
    let options = TarOptions::named(path.escaped());
    let source = tar::open_file(path, options, &Limits::default()).map_err(Error::failed)?;
    Ok(source)
}

/// Whether a file is a tar: by its magic number, or by its name if it is compressed or older than the magic number.
fn is_tar(path: &Path) -> Result<bool, Error> {
    let mut head = Vec::new();
    let read = File::open(path).and_then(|file| file.take(512).read_to_end(&mut head));
    read.map_err(|cause| Error::file("read", path, &cause))?;
    let is_named_so = FileKind::of_path(path).is_some_and(FileKind::is_tar);
    Ok(is_named_so || head.get(MAGIC).is_some_and(|magic| magic == b"ustar"))
}

#[cfg(test)]
mod tests {
    use packline_testkit::model::{Content as Filled, Node, NodeKind};

    use super::*;

    fn lengths(content: &Content, block_size: usize) -> Vec<usize> {
        content.cut(block_size).all().iter().map(|block| block.len()).collect()
    }

    fn read(nodes: &[Node], limit: u64) -> Content {
        let top = tempfile::tempdir().unwrap();
        let path = top.path().join("x.tar");
        std::fs::write(&path, packline_testkit::tar::to_bytes(nodes)).unwrap();
        Content::read(&path, limit).unwrap()
    }

    #[test]
    fn cuts_files_into_blocks_and_joins_tail_ends() {
        let files = [Node::file("a", vec![1; 10_000]), Node::file("b", vec![2; 3000]), Node::file("c", vec![3; 4096])];
        let content = read(&files, 1 << 20);
        assert_eq!((content.bytes(), content.is_cut()), (17_096, false));
        // Two blocks of a, one of c; then the tail of a (1808 bytes), and b, which does not fit in the same block.
        assert_eq!(lengths(&content, 4096), [4096, 4096, 4096, 1808, 3000]);
        assert_eq!(lengths(&content, 32 << 10), [17_096]);
    }

    #[test]
    fn ignores_blocks_of_zeros_and_long_holes() {
        let sparse = Filled::sparse(50 << 20, vec![((40 << 20) + 5, vec![7; 100])]);
        let content = read(&[Node::new("s", NodeKind::File(sparse)), Node::file("z", vec![0; 99])], 8 << 20);
        assert!(!content.is_cut() && content.bytes() < 5 << 20, "{} bytes", content.bytes());
        assert_eq!(lengths(&content, 1 << 20), [1 << 20]);
    }

    #[test]
    fn holds_at_most_the_limit() {
        let content = read(&[Node::file("a", vec![1; 10_000]), Node::file("b", vec![2; 10_000])], 15_000);
        assert_eq!((content.bytes(), content.is_cut()), (15_000, true));
        let content = read(&[Node::file("a", vec![1; 10_000])], 10_000);
        assert!(!content.is_cut());
    }

    #[test]
    fn reads_any_file_and_any_directory() {
        let top = tempfile::tempdir().unwrap();
        let path = top.path().join("x");
        std::fs::write(&path, [1; 5000]).unwrap();
        for input in [path.as_path(), top.path()] {
            assert_eq!(lengths(&Content::read(input, 1 << 20).unwrap(), 4096), [4096, 904]);
        }
        std::fs::write(&path, "").unwrap();
        assert!(Content::read(&path, 1 << 20).is_err());
        assert!(Content::read(&top.path().join("none"), 1 << 20).is_err());
    }
}
