//! Verification finds no fault in sound images of many programs.

use std::fs::File;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use crate::others;
use packline_engine::Config;
use packline_squashfs::read::{FileInput, Image, Opening, Origin, ReadSettings};
use packline_squashfs::verify::{Examiner, Finding, Severity, VerifySettings, verify};

#[derive(Default)]
struct Notes(Vec<Finding>);

impl Examiner for Notes {
    fn found(&mut self, finding: Finding) {
        self.0.push(finding);
    }
}

fn is_sound(path: &Path) {
    let input = Arc::new(FileInput::new(File::open(path).unwrap()).unwrap());
    let image = Image::open(input, Opening { origin: Origin::At(0), metadata_cache: 1 << 20 }).unwrap();
    let reading = ReadSettings { shared: 4 << 20, scratch: None, engine: Config::new(2, 4 << 20), listener: None };
    let mut notes = Notes::default();
    let totals = verify(&image, &VerifySettings { reading, records: 1 << 20 }, &mut notes).unwrap();
    let faults: Vec<&Finding> = notes.0.iter().filter(|finding| finding.severity == Severity::Fault).collect();
    assert!(faults.is_empty(), "{}: {faults:#?}", path.display());
    assert!(totals.inodes > 20 && totals.content > 0 && totals.metadata_blocks > 3);
}

/// Images that `make` writes with each codec.
fn by_others(program: &str, codecs: &[&str], make: impl Fn(&str, &Path, &Path) -> Command) {
    others::each(program, codecs, (12, large), make, |_, path| is_sound(path));
}

/// A directory with an index, and hard links.
fn large(source: &Path) {
    let large = source.join("large");
    std::fs::create_dir(&large).unwrap();
    for number in 0..900 {
        std::fs::write(large.join(format!("{number}{}", "-name".repeat(number % 9))), number.to_string()).unwrap();
    }
    std::fs::hard_link(large.join("0"), source.join("again")).unwrap();
}

#[test]
fn images_by_mksquashfs() {
    by_others("mksquashfs", &others::MKSQUASHFS, others::mksquashfs);
}

#[test]
fn images_by_mksquashfs_with_other_options() {
    for options in [
        &["-noI", "-noX", "-noId"][..],
        &["-no-fragments", "-no-exports"],
        &["-always-use-fragments", "-no-duplicates"],
    ] {
        by_others("mksquashfs", &["gzip"], |codec, source, image| {
            let mut command = others::mksquashfs(codec, source, image);
            command.args(options);
            command
        });
    }
}

#[test]
fn images_by_gensquashfs() {
    by_others("gensquashfs", &others::GENSQUASHFS, others::gensquashfs);
}

#[test]
fn images_by_tar2sqfs() {
    by_others("tar2sqfs", &others::TAR2SQFS, others::tar2sqfs);
}
