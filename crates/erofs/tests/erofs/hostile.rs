//! Damaged images lead to errors, never to a panic, and to the same errors whatever reads them.

use packline_erofs::read::{Image, ReadError};
use packline_testkit::Random;
use packline_volume::{Files, RandomSettings, Volume, Walk};

use super::support::{file_of, fixture, in_order, open_with};

/// Entries of one image that are visited at most.
const ENTRIES: usize = 2000;
const IMAGES: [(&str, Option<&str>); 12] = [
    ("inline.erofs", None),
    ("b512.erofs", None),
    ("plain.erofs", None),
    ("chunks.erofs", None),
    ("indexes.erofs", None),
    ("blob.erofs", Some("blob.bin")),
    ("wide.erofs", None),
    ("prefixes.erofs", None),
    ("metabox.erofs", None),
    ("metaplain.erofs", None),
    ("fragments.erofs", None),
    ("fragplain.erofs", None),
];

fn describe(path: &[u8], error: &ReadError) -> String {
    assert!(!matches!(error, ReadError::Work(_)), "{}: {error}", path.escape_ascii());
    format!("{}: {error}", path.escape_ascii())
}

/// Reads everything, within bounds; returns the faults.
fn read(image: &Image) -> Vec<String> {
    let mut faults = Vec::new();
    let mut files = Vec::new();
    for visit in Walk::new(image, image.root(), Vec::new()).take(ENTRIES) {
        match visit {
            Err((path, error)) => faults.push(describe(&path, &error)),
            Ok(visit) => {
                faults.extend(image.xattrs(&visit.inode).err().map(|error| describe(&visit.path, &error)));
                faults.extend(image.resolve(&visit.path).err().map(|error| describe(&visit.path, &error)));
                files.extend(file_of(&visit));
            }
        }
    }
    let all = in_order(image, &files, 0);
    let random = Files::new(image, RandomSettings { workers: 0, cache: 1 << 20, ahead: 0 }).unwrap();
    let mut out = Vec::new();
    for (path, file) in files.iter().take(100) {
        for at in [0, file.size / 2, file.size.saturating_sub(1)] {
            faults.extend(random.read(&random.open(file), at, 100, &mut out).err().map(|error| describe(path, &error)));
        }
    }
    let failed = all.into_iter().filter(|(_, (_, failed))| !failed.is_empty());
    faults.extend(failed.map(|(path, (_, failed))| format!("{}: {failed:?}", path.escape_ascii())));
    faults
}

/// Opens an image with bytes at random places changed, without its checksum, and reads it.
fn damaged(bytes: &[u8], device: Option<&Vec<u8>>, random: &mut Random, places: &[usize]) -> Option<Vec<String>> {
    let mut bytes = bytes.to_vec();
    bytes[1024 + 8] &= !1;
    for place in places {
        bytes[*place] = match random.below(4) {
            0 => 0,
            1 => 255,
            2 => bytes[*place] ^ (1 << random.below(8)),
            _ => random.bits() as u8,
        };
    }
    let devices: Vec<Vec<u8>> = device.into_iter().cloned().collect();
    match open_with(bytes, &devices) {
        Ok(image) => Some(read(&image)),
        Err(error) => {
            describe(b"", &error);
            None
        }
    }
}

#[test]
fn survives_damaged_bytes() {
    let mut random = Random::new(43);
    for (name, device) in IMAGES {
        let bytes = fixture(name);
        let device = device.map(fixture);
        assert_eq!(damaged(&bytes, device.as_ref(), &mut random, &[]), Some(Vec::new()), "{name}");
        let mut faulty = 0;
        for round in 0..60 {
            let count = 1 + round % 20;
            let places: Vec<usize> =
                (0..count).map(|_| 1024 + random.below(bytes.len() as u64 - 1024) as usize).collect();
            let found = damaged(&bytes, device.as_ref(), &mut random, &places);
            faulty += usize::from(found.is_none_or(|faults| !faults.is_empty()));
        }
        assert!(faulty > 0, "{name}");
    }
}

#[test]
fn survives_every_damaged_byte_of_the_superblock() {
    let mut random = Random::new(44);
    for (name, device) in IMAGES {
        let bytes = fixture(name);
        let device = device.map(fixture);
        for place in 1024..1024 + 160 {
            damaged(&bytes, device.as_ref(), &mut random, &[place]);
        }
    }
}

#[test]
fn survives_images_that_are_cut_off() {
    for (name, device) in IMAGES {
        let bytes = fixture(name);
        let device = device.map(fixture);
        for part in 0..24 {
            let mut short = bytes[..bytes.len() * part / 24].to_vec();
            short.truncate(bytes.len() - 1);
            if let Some(features) = short.get_mut(1032) {
                *features &= !1;
            }
            let devices: Vec<Vec<u8>> = device.clone().into_iter().collect();
            // The last blocks may be padding.
            if let Ok(image) = open_with(short, &devices) {
                assert!(!read(&image).is_empty() || part > 12, "{name} {part}");
            }
        }
    }
}

#[test]
fn rejects_a_wrong_checksum() {
    let mut bytes = fixture("inline.erofs");
    bytes[1024 + 60] ^= 1;
    let error = open_with(bytes, &[]).unwrap_err();
    assert!(error.to_string().contains("checksum"), "{error}");
}

#[test]
fn names_the_size_of_an_image_that_is_cut_off() {
    let mut bytes = fixture("inline.erofs");
    let size = bytes.len();
    bytes.truncate(1210);
    bytes[1024 + 8] &= !1;
    let error = open_with(bytes, &[]).unwrap_err();
    assert!(error.is_cut_off());
    assert_eq!(
        error.to_string(),
        format!("the image is cut off: 1210 of {size} bytes, by its superblock at byte 1060")
    );
}
