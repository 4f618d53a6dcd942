//! Helpers: deltas in memory, and images.

use std::sync::Arc;

use packline_codec::Spec;
use packline_delta::{DeltaOptions, Error, Made, delta, patch};
use packline_engine::Config;
use packline_runtime::{Input, Resources, Unobserved};
use packline_squashfs::{BlockSize, FileHints, Options, Start, Writer};
use packline_tree::{Entry, Extent, Kind, Meta, Source};

pub fn input(bytes: &[u8]) -> Arc<dyn Input> {
    Arc::new(bytes.to_vec())
}

/// Resources with a directory for temporary files.
pub fn resources(workers: usize) -> Resources {
    let mut resources = Resources::new(workers);
    resources.scratch = Some(std::env::temp_dir());
    resources
}

pub fn made(old: &[u8], new: &[u8], options: &DeltaOptions, resources: &Resources) -> Result<(Vec<u8>, Made), Error> {
    let mut out = Vec::new();
    let made = delta(&input(old), &input(new), &mut out, options, resources, &mut Unobserved)?;
    assert_eq!(made.size, out.len() as u64);
    Ok((out, made))
}

pub fn applied(old: &[u8], delta: &[u8], resources: &Resources) -> Result<Vec<u8>, Error> {
    let mut out = Vec::new();
    patch(&input(old), &input(delta), &mut out, resources, &mut Unobserved).map(|_| out)
}

/// Returns a delta from the old file to the new one. It checks that any number of workers writes and applies the same delta.
pub fn round_trip(old: &[u8], new: &[u8]) -> (Vec<u8>, Made) {
    let options = DeltaOptions::default();
    let (delta, whole) = made(old, new, &options, &resources(0)).unwrap();
    for workers in [1, 2, 7] {
        let (again, _) = made(old, new, &options, &resources(workers)).unwrap();
        assert!(again == delta, "{workers} workers");
    }
    let (again, _) = made(old, new, &options, &Resources::new(2)).unwrap();
    assert!(again == delta, "without temporary files");
    for workers in [0, 1, 2, 7] {
        assert!(applied(old, &delta, &resources(workers)).unwrap() == new, "{workers} workers");
    }
    (delta, whole)
}

const META: Meta = Meta::new(0o644, 0, 0, 0);

/// The content of a file, and the number of bytes that were read.
struct Content(Vec<u8>, usize);

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

/// Packs some files into an image.
pub fn image(files: &[(String, Vec<u8>)], codec: &str, block_size: u32) -> Vec<u8> {
    let mut image = Vec::new();
    let mut options = Options::new(Spec::parse(codec).unwrap());
    options.block_size = BlockSize::new(block_size.into()).unwrap();
    let start = Start {
        root: META,
        defaults: META,
        input: "test".into(),
        memory: usize::MAX,
        verify: false,
        lookup: Default::default(),
        scratch: None,
    };
    let mut writer = Writer::new(&mut image, options, Config::new(0, 1 << 20), start).unwrap();
    for (path, bytes) in files {
        let kind = Kind::File { size: bytes.len() as u64 };
        let entry = Entry { path: path.as_bytes().to_vec(), kind, meta: META, xattrs: Vec::new() };
        writer.add(&entry, FileHints::default(), &mut Content(bytes.clone(), 0)).unwrap();
    }
    writer.finish().unwrap();
    image
}
