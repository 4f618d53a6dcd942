//! A zoo of hostile images: each breaks one rule of the format, or keeps all of them and is difficult nevertheless.
//!
//! A separate small builder can set every field freely and shares no code with the writer. The images are the same bytes on every machine.
//! [`all`] lists them, [`write_all`] writes them to a directory.

mod amplification;
pub(crate) mod bytes;
mod codecs;
mod contents;
mod directories;
mod draft;
mod inodes;
mod links;
mod metadata;
mod names;
mod plant;
mod sound;
mod streams;
mod superblocks;
mod tables;
mod tails;
mod unpacking;
mod xattrs;

pub use plant::{Part, planted, sound_part};
pub use sound::{good, good_with};

use std::io;
use std::path::Path;

/// The required result of reading a specimen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expect {
    /// The image cannot be opened.
    Refused,
    /// It can be opened; the tree has a fault. Everything else is readable.
    Tree,
    /// The whole tree is listed; the content of a file has a fault.
    Contents,
    /// The whole tree is listed and all contents are read; attributes have a fault.
    Attributes,
    /// Everything is readable; only a check of every rule finds the fault.
    Rules,
    /// No fault: everything is read, quickly.
    Sound,
    /// No fault, but the contents are too large to read.
    Huge,
}

impl Expect {
    /// The description in the README.
    fn text(self) -> &'static str {
        match self {
            Expect::Refused => "refused when opened",
            Expect::Tree => "opened, a fault in the tree",
            Expect::Contents => "listed, a fault in a content",
            Expect::Attributes => "read, a fault in attributes",
            Expect::Rules => "read, a fault for a check of all rules",
            Expect::Sound => "sound, read at once",
            Expect::Huge => "sound, listed at once; contents too large to store",
        }
    }
}

/// One image of the zoo.
#[derive(Debug, Clone, Copy)]
pub struct Specimen {
    /// `bad-...` if it breaks a rule, `odd-...` if it does not; also the file's name without `.sqfs`.
    pub name: &'static str,
    /// The fault or oddity, in one line.
    pub wrong: &'static str,
    /// The required result of reading it.
    pub expect: Expect,
    make: fn() -> Vec<u8>,
}

impl Specimen {
    fn new(name: &'static str, expect: Expect, wrong: &'static str, make: fn() -> Vec<u8>) -> Specimen {
        Specimen { name, wrong, expect, make }
    }

    /// Builds the image.
    pub fn bytes(&self) -> Vec<u8> {
        (self.make)()
    }
}

/// Every specimen, in the order of the README.
pub fn all() -> Vec<Specimen> {
    let parts = [
        superblocks::specimens,
        tables::specimens,
        metadata::specimens,
        names::specimens,
        directories::specimens,
        inodes::specimens,
        contents::specimens,
        tails::specimens,
        links::specimens,
        xattrs::specimens,
        codecs::specimens,
        streams::specimens,
        amplification::specimens,
        unpacking::specimens,
    ];
    parts.into_iter().flat_map(|part| part()).collect()
}

/// A line for each specimen: file name, fault and required result.
pub fn readme() -> String {
    let head = "# Hostile images\n\nEach file is a SquashFS 4.0 image that breaks a rule of the format (`bad-`) or keeps them all \
                and is nasty all the same (`odd-`).\nGenerated: do not edit.\n\n| image | what is wrong | expected |\n|---|---|---|\n";
    let line = |specimen: &Specimen| {
        format!("| `{}.sqfs` | {} | {} |\n", specimen.name, specimen.wrong, specimen.expect.text())
    };
    all().iter().map(line).fold(head.to_owned(), |text, line| text + &line)
}

/// Writes every specimen and the README to `directory`, which is created if missing.
///
/// # Errors
/// The directory or a file cannot be written.
pub fn write_all(directory: &Path) -> io::Result<()> {
    std::fs::create_dir_all(directory)?;
    for specimen in all() {
        std::fs::write(directory.join(format!("{}.sqfs", specimen.name)), specimen.bytes())?;
    }
    std::fs::write(directory.join("README.md"), readme())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_unique_and_say_whether_a_rule_is_broken() {
        let zoo = all();
        let names: BTreeSet<&str> = zoo.iter().map(|specimen| specimen.name).collect();
        assert_eq!(names.len(), zoo.len());
        for specimen in &zoo {
            let sound = matches!(specimen.expect, Expect::Sound | Expect::Huge);
            assert_eq!(sound, specimen.name.starts_with("odd-"), "{}", specimen.name);
            assert!(sound || specimen.name.starts_with("bad-"), "{}", specimen.name);
            assert!(!specimen.wrong.contains(['\n', '|']) && !specimen.wrong.is_empty());
        }
    }

    #[test]
    fn specimens_are_small_differ_and_stay_the_same() {
        let mut seen: BTreeSet<[u8; 32]> = BTreeSet::new();
        for specimen in all() {
            let bytes = specimen.bytes();
            assert!(bytes.len() < 4 << 20, "{}: {} bytes", specimen.name, bytes.len());
            assert_eq!(bytes, specimen.bytes(), "{}", specimen.name);
            assert!(seen.insert(*blake3::hash(&bytes).as_bytes()), "{} equals another", specimen.name);
        }
    }

    #[test]
    fn the_good_images_are_sound_to_an_independent_reader() {
        let place = tempfile::tempdir().unwrap();
        for codec in ["none", "gzip", "xz", "lzma", "lzo", "lz4", "zstd"] {
            let path = place.path().join(codec);
            std::fs::write(&path, good_with(codec)).unwrap();
            let found = crate::reader::inspect(&path).unwrap();
            assert_eq!(found.problems, Vec::<String>::new(), "{codec}");
        }
    }

    #[test]
    fn sound_parts_make_sound_images() {
        let place = tempfile::tempdir().unwrap();
        for part in [Part::Superblock, Part::Metadata, Part::Inodes, Part::Listing] {
            let path = place.path().join("image");
            std::fs::write(&path, planted(part, &sound_part(part))).unwrap();
            let found = crate::reader::inspect(&path).unwrap();
            assert_eq!(found.problems, Vec::<String>::new(), "{part:?}");
        }
    }

    #[test]
    fn write_all_writes_every_image_and_a_line_for_it() {
        let place = tempfile::tempdir().unwrap();
        write_all(place.path()).unwrap();
        let readme = std::fs::read_to_string(place.path().join("README.md")).unwrap();
        for specimen in all() {
            assert!(place.path().join(format!("{}.sqfs", specimen.name)).is_file());
            assert!(readme.contains(&format!("`{}.sqfs` | {}", specimen.name, specimen.wrong)));
        }
    }
}
