//! Sound images of many makers are found sound.

use std::fs::File;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use packline_engine::CancelToken;
use packline_squashfs::read::{FileInput, Image, Opening, Origin, ReadSettings};
use packline_squashfs::verify::{Examiner, Finding, Severity, VerifySettings, verify};
use packline_testkit::{generate, plant, tools};

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
    let cancel = CancelToken::new();
    let reading = ReadSettings { workers: 2, window: 4 << 20, fragments: 4 << 20, cancel, ..ReadSettings::default() };
    let mut notes = Notes::default();
    let totals = verify(&image, &VerifySettings { reading, records: 1 << 20 }, &mut notes).unwrap();
    let faults: Vec<&Finding> = notes.0.iter().filter(|finding| finding.severity == Severity::Fault).collect();
    assert!(faults.is_empty(), "{}: {faults:#?}", path.display());
    assert!(totals.inodes > 20 && totals.content > 0 && totals.metadata_blocks > 3);
}

/// Images that `make` writes with each codec.
fn by_others(program: &str, codecs: &[&str], make: impl Fn(&str, &Path, &Path) -> Command) {
    if !tools::need(&[program]) || !tools::root() {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let source = place.path().join("source");
    std::fs::create_dir(&source).unwrap();
    plant::plant(&generate::small_tree(12, 16_384), &source).unwrap();
    // A directory with an index, and hard links.
    let large = source.join("large");
    std::fs::create_dir(&large).unwrap();
    for number in 0..900 {
        std::fs::write(large.join(format!("{number}{}", "-name".repeat(number % 9))), number.to_string()).unwrap();
    }
    std::fs::hard_link(large.join("0"), source.join("again")).unwrap();
    for codec in codecs {
        let path = place.path().join(format!("{codec}.sqfs"));
        tools::run(&mut make(codec, &source, &path)).unwrap();
        is_sound(&path);
    }
}

fn mksquashfs(codec: &str, source: &Path, image: &Path) -> Command {
    let mut command = Command::new("mksquashfs");
    command.arg(source).arg(image).args(["-comp", codec, "-b", "16K", "-no-progress", "-quiet"]);
    command
}

#[test]
fn images_by_mksquashfs() {
    by_others("mksquashfs", &["gzip", "xz", "lzo", "lz4", "zstd"], mksquashfs);
}

#[test]
fn images_by_mksquashfs_with_other_options() {
    for options in [
        &["-noI", "-noX", "-noId"][..],
        &["-no-fragments", "-no-exports"],
        &["-always-use-fragments", "-no-duplicates"],
    ] {
        by_others("mksquashfs", &["gzip"], |codec, source, image| {
            let mut command = mksquashfs(codec, source, image);
            command.args(options);
            command
        });
    }
}

#[test]
fn images_by_gensquashfs() {
    by_others("gensquashfs", &["gzip", "xz", "lzo", "lz4", "zstd", "lzma"], |codec, source, image| {
        let mut command = Command::new("gensquashfs");
        command.arg("--pack-dir").arg(source).args(["-c", codec, "-b", "16K", "-e", "-x", "-k", "-q"]).arg(image);
        command
    });
}

#[test]
fn images_by_tar2sqfs() {
    by_others("tar2sqfs", &["gzip", "xz", "lzo", "lz4", "zstd"], |codec, source, image| {
        let pipe = "tar -C \"$1\" --xattrs --xattrs-include='*' -cf - . | tar2sqfs -q -b 16K -c \"$2\" \"$3\"";
        let mut command = Command::new("sh");
        command.args(["-c", pipe, "sh"]).arg(source).arg(codec).arg(image);
        command
    });
}
