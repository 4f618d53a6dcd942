//! Images by other programs, with their arguments and all codecs in turn.

use std::path::Path;
use std::process::Command;

use packline_testkit::{generate, plant, tools};

/// The codecs that each program can write.
pub const MKSQUASHFS: [&str; 5] = ["gzip", "xz", "lzo", "lz4", "zstd"];
pub const GENSQUASHFS: [&str; 6] = ["gzip", "xz", "lzo", "lz4", "zstd", "lzma"];
pub const TAR2SQFS: [&str; 5] = MKSQUASHFS;

/// Creates a source directory from the tree of `seed` and the changes of `add`, and an image of it with each codec. Calls `look` with each image.
pub fn each(
    program: &str,
    codecs: &[&str],
    (seed, add): (u64, impl FnOnce(&Path)),
    make: impl Fn(&str, &Path, &Path) -> Command,
    look: impl Fn(&str, &Path),
) {
    if !tools::need(&[program]) || !tools::root() {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let source = place.path().join("source");
    std::fs::create_dir(&source).unwrap();
    plant::plant(&generate::small_tree(seed, 16_384), &source).unwrap();
    add(&source);
    for codec in codecs {
        let path = place.path().join(format!("{codec}.sqfs"));
        tools::run(&mut make(codec, &source, &path)).unwrap();
        look(codec, &path);
    }
}

pub fn mksquashfs(codec: &str, source: &Path, image: &Path) -> Command {
    let mut command = Command::new("mksquashfs");
    command.arg(source).arg(image).args(["-comp", codec, "-b", "16K", "-no-progress", "-quiet"]);
    command
}

pub fn gensquashfs(codec: &str, source: &Path, image: &Path) -> Command {
    let mut command = Command::new("gensquashfs");
    command.arg("--pack-dir").arg(source).args(["-c", codec, "-b", "16K", "-e", "-x", "-k", "-q"]).arg(image);
    command
}

pub fn tar2sqfs(codec: &str, source: &Path, image: &Path) -> Command {
    let pipe = "tar -C \"$1\" --xattrs --xattrs-include='*' -cf - . | tar2sqfs -q -b 16K -c \"$2\" \"$3\"";
    let mut command = Command::new("sh");
    command.args(["-c", pipe, "sh"]).arg(source).arg(codec).arg(image);
    command
}
