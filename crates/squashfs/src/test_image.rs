//! Small images for the tests of this crate.

use packline_cache::Lookup;
use packline_codec::Spec;
use packline_engine::Config;
use packline_tree::{Entry, Extent, Kind, Meta, Source};

use crate::{BlockSize, FileHints, Options, Start, Writer};

/// Block size of the test images in bytes.
pub(crate) const BLOCK: usize = 4096;
pub(crate) const META: Meta = Meta::new(0o644, 0, 0, 0);

/// The content of a file, and how far it was read.
pub(crate) struct Content(pub(crate) Vec<u8>, pub(crate) usize);

impl Source for Content {
    fn next_entry(&mut self) -> Result<Option<Entry>, packline_tree::Error> {
        Ok(None)
    }

    fn read(&mut self, buffer: &mut [u8]) -> Result<Extent, packline_tree::Error> {
        let count = buffer.len().min(self.0.len() - self.1);
        buffer[..count].copy_from_slice(&self.0[self.1..][..count]);
        self.1 += count;
        Ok(if count == 0 { Extent::End } else { Extent::Data(count) })
    }

    fn progress(&self) -> (u64, Option<u64>) {
        (0, None)
    }
}

pub(crate) fn entry(path: &str, kind: Kind) -> Entry {
    Entry { path: path.as_bytes().to_vec(), kind, meta: META, xattrs: Vec::new() }
}

/// A file and its content.
pub(crate) fn file(path: &str, bytes: &[u8]) -> (Entry, Vec<u8>) {
    (entry(path, Kind::File { size: bytes.len() as u64 }), bytes.to_vec())
}

/// An image of entries, each with its content.
pub(crate) fn image(
    entries: impl IntoIterator<Item = (Entry, Vec<u8>)>,
    codec: &str,
    change: impl FnOnce(&mut Options),
) -> Vec<u8> {
    let mut options = options(codec);
    change(&mut options);
    image_with(entries, &options, Lookup::default(), 0)
}

pub(crate) fn options(codec: &str) -> Options {
    let mut options = Options::new(Spec::parse(codec).unwrap());
    options.block_size = BlockSize::new(BLOCK as u64).unwrap();
    options
}

/// Writes an image with workers, with blocks that are already known.
pub(crate) fn image_with(
    entries: impl IntoIterator<Item = (Entry, Vec<u8>)>,
    options: &Options,
    lookup: Lookup,
    workers: usize,
) -> Vec<u8> {
    let mut image = Vec::new();
    let start = Start {
        root: META,
        defaults: META,
        input: "test".into(),
        memory: usize::MAX,
        verify: false,
        lookup,
        scratch: None,
    };
    let config = Config::new(workers, 1 << 20);
    let mut writer = Writer::new(&mut image, options.clone(), config, start).unwrap();
    for (entry, bytes) in entries {
        writer.add(&entry, FileHints::default(), &mut Content(bytes, 0)).unwrap();
    }
    writer.finish().unwrap();
    image
}
