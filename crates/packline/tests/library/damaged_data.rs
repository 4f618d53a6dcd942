//! Damaged data that still decodes: the checksum in the record of the image finds the damage.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use packline::{Error, Image, Packer, Resources, Source, Unpacker};
use packline_testkit::Random;
use tempfile::TempDir;

/// Codecs whose blocks have no checksum.
const CODECS: [&str; 3] = ["zstd", "lz4", "lzo"];

/// An image with a block, a tail end, a small file, and a file that does not compress.
fn packed(codec: &str, noise: usize) -> (TempDir, PathBuf) {
    let top = tempfile::tempdir().unwrap();
    let tree = top.path().join("tree");
    let image = top.path().join("a.sqfs");
    fs::create_dir(&tree).unwrap();
    let prose = Random::new(1).prose(300);
    fs::write(tree.join("large"), [prose.repeat(14), Random::new(2).prose(100)].concat()).unwrap();
    fs::write(tree.join("small"), &prose[..200]).unwrap();
    fs::write(tree.join("noise"), Random::new(3).noise(noise)).unwrap();
    let packer = Packer::new(Source::directory(&tree)).codec(codec).block_size(4096).resources(Resources::new(0));
    packer.write_to(&image).unwrap();
    (top, image)
}

/// The bytes from the compressor options to the inode table.
fn data_area(image: &[u8]) -> Range<usize> {
    let half = |at: usize| usize::from(u16::from_le_bytes([image[at], image[at + 1]]));
    let options = if half(24) & 0x400 == 0 { 0 } else { 2 + (half(96) & 0x7fff) };
    96 + options..u64::from_le_bytes(image[64..72].try_into().unwrap()) as usize
}

fn unpack(image: &Path) -> Unpacker<'static> {
    Unpacker::new(image).resources(Resources::new(0))
}

#[test]
fn finds_each_damaged_byte_of_the_data() {
    for codec in CODECS {
        let (top, image) = packed(codec, 50);
        let at = |name: &str| top.path().join(name);
        let whole = fs::read(&image).unwrap();
        unpack(&image).to_directory(at("whole")).unwrap();
        let area = data_area(&whole);
        assert!((250..1500).contains(&area.len()), "{codec}: {area:?}");
        for byte in area {
            let mut damaged = whole.clone();
            damaged[byte] ^= 1 << (byte % 8);
            fs::write(&image, damaged).unwrap();
            let failed = |result: Result<(), Error>, name: &str| {
                let error = result.expect_err(&format!("{codec}: byte {byte}"));
                assert!(error.to_string().contains("a.sqfs"), "{codec}: byte {byte}: {error}");
                assert!(!at(name).exists(), "{codec}: byte {byte}: {name}");
            };
            failed(unpack(&image).to_directory(at("unpacked")).map(drop), "unpacked");
            failed(unpack(&image).to_tar(at("a.tar")).map(drop), "a.tar");
            let source = || Source::image(Image::open(&image).unwrap());
            let packer = |codec: &str| Packer::new(source()).codec(codec).block_size(4096).resources(Resources::new(0));
            failed(packer(codec).write_to(at("same.sqfs")).map(drop), "same.sqfs");
            failed(packer("gzip").write_to(at("other.sqfs")).map(drop), "other.sqfs");
        }
    }
}

#[test]
fn reads_a_part_of_an_image_with_damage_elsewhere() {
    let (top, image) = packed("zstd", 4096);
    let mut bytes = fs::read(&image).unwrap();
    let noise = Random::new(3).noise(4096);
    let place = bytes.windows(4096).position(|window| window == noise).unwrap();
    bytes[place + 7] ^= 0x10;
    fs::write(&image, bytes).unwrap();
    let large = || packline::Selection::pattern("large").unwrap();
    unpack(&image).select(large()).to_directory(top.path().join("part")).unwrap();
    let unpacked = unpack(&image).continue_on_error(true).to_directory(top.path().join("all"));
    assert_eq!(unpacked.unwrap().errors, 1, "the contents are there, and the damage is reported");
    assert_eq!(fs::read(top.path().join("all/noise")).unwrap().len(), 4096);
}
