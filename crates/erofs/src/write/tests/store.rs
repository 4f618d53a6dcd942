//! A data area in memory: contents cut at random, stored as each form wants it.

use packline_codec::{Encoder, Outcome};
use packline_testkit::Random;

use crate::options::{BLOCK, Form, Options};
use crate::write::contents::{Coded, Content, Contents, Owner, Piece, Stored, Tail};
use crate::write::map::{ZeroCluster, Zeros};

/// A file as it is stored.
struct StoredFile {
    content: Content,
    pieces: Vec<Piece>,
}

pub(super) struct Store {
    /// The image so far.
    pub(super) image: Vec<u8>,
    pub(super) zeros: Option<Zeros>,
    form: Form,
    encoder: Option<Box<dyn Encoder>>,
    files: Vec<StoredFile>,
    /// Content of the packed inode.
    packed: Vec<u8>,
    packed_pieces: Vec<Piece>,
    random: Random,
    /// Whether files may end in the packed inode.
    pub(super) has_tails: bool,
}

impl Store {
    pub(super) fn new(options: &Options, seed: u64) -> Store {
        let form = options.form();
        let encoder = options.bare_codec().map(|_| options.codec.encoder(128 << 10).unwrap());
        let mut store = Store {
            image: vec![0; BLOCK as usize],
            zeros: None,
            form,
            encoder,
            files: Vec::new(),
            packed: Vec::new(),
            packed_pieces: Vec::new(),
            random: Random::new(seed),
            has_tails: form != Form::Flat,
        };
        if form == Form::Clusters {
            let content = 128 << 10;
            let Stored::Coded(Coded { start, bytes, .. }) = store.put(&vec![0; content]) else { panic!("not smaller") };
            let plain = store.image.len() as u64;
            store.image.resize(store.image.len() + BLOCK as usize, 0);
            let cluster = ZeroCluster { start, bytes, content: content as u32 };
            store.zeros = Some(Zeros { cluster: Some(cluster), plain });
        }
        store
    }

    /// Stores a file and returns its number.
    pub(super) fn add(&mut self, content: &[u8]) -> u32 {
        let size = content.len() as u64;
        let body = if self.has_tails && self.random.below(3) > 0 { self.body(content) } else { content.len() };
        let pieces = self.store(&content[..body]);
        let mut tail = Tail::None;
        if body < content.len() {
            tail = Tail::Packed(self.packed.len() as u64);
            self.packed.extend_from_slice(&content[body..]);
        }
        self.files.push(StoredFile { content: Content { size, tail }, pieces });
        self.files.len() as u32 - 1
    }

    /// Adds another file with the pieces of a file.
    pub(super) fn add_same(&mut self, number: u32) -> u32 {
        let StoredFile { content, pieces } = &self.files[number as usize];
        let same = StoredFile { content: *content, pieces: pieces.clone() };
        self.files.push(same);
        self.files.len() as u32 - 1
    }

    /// Stores the packed inode.
    pub(super) fn finish(&mut self) {
        let packed = std::mem::take(&mut self.packed);
        self.packed_pieces = self.store(&packed);
        self.packed = packed;
    }

    /// Chooses where the tail starts: at the start of a block of the largest content, or anywhere.
    fn body(&mut self, content: &[u8]) -> usize {
        let size = content.len();
        match self.random.below(3) {
            0 => size - size % (64 << 10),
            1 => 0,
            _ => (size - size % BLOCK as usize).saturating_sub(self.random.below(2) as usize * BLOCK as usize),
        }
    }

    /// Cuts and stores content.
    fn store(&mut self, content: &[u8]) -> Vec<Piece> {
        let block = BLOCK as usize;
        let common = 1usize << (12 + self.random.below(5));
        let is_common = self.random.below(2) == 0;
        let leaves_gaps = self.random.below(2) == 0;
        let mut pieces = Vec::new();
        let mut left = content;
        while !left.is_empty() {
            let wanted = if is_common { common } else { block + self.random.below(100_000) as usize };
            let zeros = left.iter().take_while(|byte| **byte == 0).count();
            let (length, is_hole) = match zeros / common * common {
                0 => (wanted.min(left.len()), false),
                zeros => (zeros, true),
            };
            // The rest has at least a block of content.
            let rest = left.len() - length;
            let (length, is_hole) = match (1..block).contains(&rest) {
                true if is_hole && length > block => (length - block, true),
                true => (left.len(), false),
                false => (length, is_hole),
            };
            let is_odd = self.form == Form::Flat && length < left.len();
            let length = if is_odd { length / block * block } else { length };
            let stored = if is_hole { Stored::Hole } else { self.put(&left[..length]) };
            // Content that is not compressed is in whole blocks.
            let is_odd = matches!(stored, Stored::Plain { .. }) && self.form == Form::Clusters && length < left.len();
            let length = if is_odd { length / block * block } else { length };
            pieces.push(Piece { length: length as u64, stored });
            left = &left[length..];
            if leaves_gaps {
                self.gap();
            }
        }
        pieces
    }

    fn gap(&mut self) {
        let unit = if self.form == Form::Extents { 1 } else { BLOCK as usize };
        let gap = self.random.below(3) as usize * unit;
        self.image.resize(self.image.len() + gap, 0xee);
    }

    fn put(&mut self, content: &[u8]) -> Stored {
        let block = BLOCK as usize;
        let compressed = self.compressed(content);
        let is_whole = self.form != Form::Extents;
        let bytes = compressed
            .as_ref()
            .map_or(content.len(), |bytes| if is_whole { bytes.len().next_multiple_of(block) } else { bytes.len() });
        let start = self.image.len() as u64;
        match compressed.filter(|_| bytes < content.len()) {
            Some(compressed) => {
                self.image.resize(self.image.len() + bytes - compressed.len(), 0);
                self.image.extend_from_slice(&compressed);
                Stored::Coded(Coded { start, bytes: bytes as u32, is_partial: false })
            }
            None => {
                self.image.extend_from_slice(content);
                if is_whole {
                    self.image.resize(self.image.len().next_multiple_of(block), 0);
                }
                Stored::Plain { start }
            }
        }
    }

    fn compressed(&mut self, content: &[u8]) -> Option<Vec<u8>> {
        let encoder = self.encoder.as_mut()?;
        let mut out = vec![0; content.len()];
        match encoder.compress(content, &mut out).unwrap() {
            Outcome::Smaller(size) => {
                out.truncate(size);
                Some(out)
            }
            Outcome::NotSmaller => None,
        }
    }
}

impl Contents for Store {
    fn content(&self, owner: Owner) -> Option<Content> {
        match owner {
            Owner::File(number) => self.files.get(number as usize).map(|file| file.content),
            Owner::Packed => Some(Content { size: self.packed.len() as u64, tail: Tail::None }),
        }
    }

    fn pieces(&self, owner: Owner) -> Box<dyn Iterator<Item = Piece> + '_> {
        match owner {
            Owner::File(number) => Box::new(self.files[number as usize].pieces.iter().copied()),
            Owner::Packed => Box::new(self.packed_pieces.iter().copied()),
        }
    }
}
