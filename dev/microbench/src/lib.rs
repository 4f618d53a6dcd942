//! Inputs of the benchmarks of hot functions: generated blocks, trees and images, the same on every machine.

mod idle;

pub use idle::Idle;

use packline_archives::tar::{TarOptions, TarSource};
use packline_engine::Config;
use packline_squashfs::read::{Image, Opening, Origin};
use packline_squashfs::{FileHints, Options, Start, Writer};
use packline_testkit::Random;
use packline_tree::Meta;
use packline_tree::Source;
use std::sync::Arc;

/// The attributes of entries without attributes.
pub const META: Meta = Meta::new(0o755, 0, 0, 0);
/// Bytes of decompressed metadata that a reader keeps.
const METADATA_CACHE: usize = 1 << 20;
/// Bytes a writer has in its pipeline.
const WINDOW: usize = 64 << 20;

/// A block that compresses as text does.
pub fn text(length: usize) -> Vec<u8> {
    Random::new(1).prose(length)
}

/// A block that compresses about as machine code does: few operations, small offsets, addresses that rise, gaps of zeros.
pub fn program(length: usize) -> Vec<u8> {
    let mut random = Random::new(2);
    let mut bytes = Vec::with_capacity(length + 64);
    let mut address = 0x40_1000_u32;
    while bytes.len() < length {
        address = address.wrapping_add(random.below(64) as u32);
        match random.below(8) {
            0 => bytes.extend([0xe8].iter().chain(&address.to_le_bytes())),
            1 => bytes.extend([0; 12]),
            2 => bytes.extend(random.bits().to_le_bytes()),
            _ => bytes.extend([0x48, 0x8b, 0x40 + random.below(8) as u8, 8 * random.below(16) as u8]),
        }
    }
    bytes.truncate(length);
    bytes
}

pub fn noise(length: usize) -> Vec<u8> {
    Random::new(3).noise(length)
}

/// Packs a tar in memory into an image in memory.
pub fn pack(tar: &[u8], options: &Options, workers: usize) -> Result<Vec<u8>, String> {
    let mut image = Vec::new();
    let start = Start {
        root: META,
        defaults: META,
        input: "generated".into(),
        memory: usize::MAX,
        verify: false,
        lookup: Default::default(),
        scratch: None,
    };
    let as_text = |cause: packline_squashfs::Error| cause.to_string();
    let config = Config::new(workers, WINDOW);
    let mut writer = Writer::new(&mut image, options.clone(), config, start).map_err(as_text)?;
    let mut source = TarSource::new(tar, TarOptions::named("generated"));
    while let Some(entry) = source.next_entry().map_err(|cause| cause.to_string())? {
        writer.add(&entry, FileHints::default(), &mut source).map_err(as_text)?;
    }
    writer.finish().map_err(as_text)?;
    Ok(image)
}

/// Opens an image in memory, with an empty cache.
pub fn open(image: Vec<u8>) -> Result<Image, String> {
    let opening = Opening { origin: Origin::At(0), metadata_cache: METADATA_CACHE };
    Image::open(Arc::new(image), opening).map_err(|cause| cause.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use packline_testkit::generate;
    use packline_volume::Walk;

    #[test]
    fn blocks_are_as_long_as_asked_and_unlike() {
        for length in [1, 100, 4096] {
            let blocks = [text(length), program(length), noise(length)];
            assert!(blocks.iter().all(|block| block.len() == length));
            assert!(length == 1 || blocks[0] != blocks[1] && blocks[1] != blocks[2]);
        }
    }

    #[test]
    fn packed_tar_is_walked() {
        let mut tar = Vec::new();
        generate::many_files(&mut tar, 600).unwrap();
        let options = Options::new("zstd".parse().unwrap());
        let images = [0, 2].map(|workers| pack(&tar, &options, workers).unwrap());
        assert!(images[0] == images[1]);
        let [image, _] = images.map(|image| open(image).unwrap());
        assert_eq!(Walk::new(&image, image.root(), Vec::new()).filter(|visit| visit.is_ok()).count(), 603);
        assert!(pack(b"no tar", &options, 0).is_err() && open(vec![0; 4096]).is_err());
    }
}
