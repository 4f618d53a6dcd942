//! One image read by all common programs: each must see the source's tree, except for its own known faults.

use crate::model::Bytes;
use crate::mount::{self, Mounted};
use crate::snapshot::{self, Except, Snapshot, assert_same};
use crate::{extract, reader, tools};
use std::path::Path;

/// The programs that [`assert_all_agree`] runs.
pub const PROGRAMS: [&str; 6] = ["mount", "mkfs.ext4", "unsquashfs", "rdsquashfs", "squashfuse", "fusermount"];

/// Whether this machine can run [`assert_all_agree`]: as root, with all programs installed.
pub fn available() -> bool {
    tools::need(&PROGRAMS) && mount::fuse_available() && mount::scratch_available()
}

/// Panics unless the kernel, squashfuse, unsquashfs, rdsquashfs and our own reader all see `source` in the image, and the reader finds no
/// fault in it. `what` names the image in the message. Works in `directory`, and cleans up there.
#[allow(clippy::panic, reason = "this is an assertion for tests")]
pub fn assert_all_agree(what: &str, image: &Path, source: &Snapshot, directory: &Path) -> reader::Report {
    let report = assert_sound(what, image, source);
    assert_programs_agree(what, image, source, directory);
    report
}

/// Asserts that all programs except our own reader agree about an image.
#[allow(clippy::panic, reason = "this is an assertion for tests")]
pub fn assert_programs_agree(what: &str, image: &Path, source: &Snapshot, directory: &Path) {
    let codec = reader::codec_of(image).unwrap_or_else(|cause| panic!("{what}: {cause}"));
    let check = || -> Result<(), String> {
        if mount::kernel_mounts(codec) {
            kernel(what, image, source)?;
        }
        // Neither the kernel nor squashfuse supports lzma.
        if codec != "lzma" {
            squashfuse(what, image, source)?;
        }
        unsquashfs(what, image, source, &directory.join("unsquashfs"))?;
        rdsquashfs(what, image, source, &directory.join("rdsquashfs"))
    };
    if let Err(cause) = check() {
        panic!("{what}: {cause}");
    }
}

/// Panics unless our own reader sees `source` in the image and finds no fault in it.
#[allow(clippy::panic, reason = "this is an assertion for tests")]
pub fn assert_sound(what: &str, image: &Path, source: &Snapshot) -> reader::Report {
    let report = reader::inspect(image).unwrap_or_else(|cause| panic!("{what}: the reader: {cause}"));
    assert!(report.problems.is_empty(), "{what}: the reader finds faults: {:#?}", report.problems);
    assert_same(&format!("{what}: the reader"), source, &report.tree, Except::default());
    report
}

/// Compares the tree that the kernel mounts.
pub fn kernel(what: &str, image: &Path, source: &Snapshot) -> Result<(), String> {
    let mounted = Mounted::kernel(image)?;
    compare(&format!("{what}: the kernel"), source, mounted.path(), Except::default())
}

/// Compares the tree that squashfuse mounts. It shows an inode for each name.
pub fn squashfuse(what: &str, image: &Path, source: &Snapshot) -> Result<(), String> {
    let mounted = Mounted::fuse(image)?;
    let except = Except { groups: true, ..Except::default() };
    compare(&format!("{what}: squashfuse"), &as_squashfuse_shows(source), mounted.path(), except)
}

/// Compares the tree that unsquashfs extracts into `place`, which must not exist and is removed.
pub fn unsquashfs(what: &str, image: &Path, source: &Snapshot, place: &Path) -> Result<(), String> {
    extract::with_unsquashfs(image, place)?;
    compare(&format!("{what}: unsquashfs"), source, place, Except::default())?;
    std::fs::remove_dir_all(place).map_err(|cause| cause.to_string())
}

/// Compares the tree that rdsquashfs extracts into `place`, which must not exist and is removed. It creates a file for each name, ignores
/// the root, and changes owners after setting capabilities, which clears them.
pub fn rdsquashfs(what: &str, image: &Path, source: &Snapshot, place: &Path) -> Result<(), String> {
    extract::with_rdsquashfs(image, place)?;
    let except = Except { links: true, root: true, capability: true, ..Except::default() };
    compare(&format!("{what}: rdsquashfs"), source, place, except)?;
    std::fs::remove_dir_all(place).map_err(|cause| cause.to_string())
}

fn compare(what: &str, source: &Snapshot, place: &Path, except: Except) -> Result<(), String> {
    let found = snapshot::of_directory(place).map_err(|cause| format!("{what}: {cause}"))?;
    assert_same(what, source, &found, except);
    Ok(())
}

/// The tree as squashfuse shows it: it swaps the prefixes `trusted.` and `security.`.
fn as_squashfuse_shows(tree: &Snapshot) -> Snapshot {
    let swapped = |name: &Bytes| match (name.strip_prefix(b"trusted."), name.strip_prefix(b"security.")) {
        (Some(rest), _) => [b"security.", rest].concat(),
        (_, Some(rest)) => [b"trusted.".as_slice(), rest].concat(),
        _ => name.clone(),
    };
    let mut shown = tree.clone();
    for attributes in shown.values_mut() {
        attributes.xattrs = attributes.xattrs.iter().map(|(name, value)| (swapped(name), value.clone())).collect();
    }
    shown
}
