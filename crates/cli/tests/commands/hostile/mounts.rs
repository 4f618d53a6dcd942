//! Mounts every hostile image and reads it: the process stays alive, in little memory, and ends with the mount.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::hostile::support::{Canary, Ended, Wrong};
use packline_testkit::hostile::{self, Expect};
use packline_testkit::{mount, share};

/// The most names, bytes of one file, and bytes of all files that are read through a mount.
const NAMES: usize = 400;
const FILE: u64 = 256 << 10;
const BYTES: u64 = 16 << 20;

/// Mounts, reads, unmounts. Also whether it was mounted.
fn mount_and_read(canary: &Canary) -> (Ended, bool) {
    let point = canary.sandbox.at("point");
    let mut limited = canary.start(&["mount", "--foreground", "--announce", "bad.sqfs", "point"], Stdio::null());
    let mut line = String::new();
    BufReader::new(limited.child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let mounted = line == "mounted\n";
    if mounted {
        read_all(&point);
        let quiet = |program: &str, word: &str| {
            let mut command = Command::new(program);
            command.arg(word).arg(&point).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
        };
        assert!(quiet("umount", "-i") || quiet("umount", "-l"), "cannot be unmounted");
    }
    (canary.end(limited, Vec::new(), false), mounted)
}

/// Reads names, attributes, targets and contents, within bounds. Errors are the image's.
fn read_all(point: &Path) {
    let mut pending = vec![point.to_path_buf()];
    let mut names = 0;
    let mut left = BYTES;
    while let Some(path) = pending.pop().filter(|_| names < NAMES) {
        names += 1;
        let Ok(status) = path.symlink_metadata() else { continue };
        let mut list = vec![0; 1 << 16];
        let _ = rustix::fs::llistxattr(&path, list.as_mut_slice());
        if status.is_dir() {
            pending.extend(children(&path));
        } else if status.is_symlink() {
            let _ = fs::read_link(&path);
        } else if status.is_file() && left > 0 {
            left = left.saturating_sub(read(&path, status.len()));
        }
    }
}

fn children(path: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(path).into_iter().flatten();
    entries.take(NAMES).map_while(Result::ok).map(|entry| entry.path()).collect()
}

/// Reads the start and the end of a file; the number of bytes.
fn read(path: &Path, size: u64) -> u64 {
    use std::os::unix::fs::FileExt;
    let Ok(file) = File::open(path) else { return 0 };
    let mut buffer = [0; 4096];
    let _ = file.read_at(&mut buffer, size.saturating_sub(4096));
    std::io::copy(&mut file.take(FILE), &mut std::io::sink()).unwrap_or(0)
}

#[test]
fn mounts() {
    if !mount::fuse_available() {
        return;
    }
    let canary = Canary::new();
    let mut wrong = Wrong::default();
    fs::create_dir(canary.sandbox.at("point")).unwrap();
    for specimen in share(hostile::all(), 4, "mounts") {
        canary.put(&specimen);
        let (ran, mounted) = mount_and_read(&canary);
        let words = ["mount"];
        if let Some(what) = ran.broken() {
            wrong.note(&specimen, &words, &what);
        } else if mounted != (specimen.expect != Expect::Refused) || mounted != (ran.status == 0) {
            wrong.note(&specimen, &words, &format!("mounted: {mounted}, {}", ran.shown()));
        }
        canary.check().into_iter().for_each(|what| wrong.note(&specimen, &words, &what));
    }
    wrong.end();
}
