//! How fast a place is written and read, in order.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use packline::bench::{Input, Report, Storage, Task};
use rustix::fs::{Advice, OFlags, fadvise, fdatasync, statvfs};

use super::input::cannot;
use super::outputs::directory_of;
use super::report::{blank, ours};
use super::scratch::{Scratch, clear};
use super::settings::Settings;
use crate::clock::Stopwatch;
use crate::failure::Failure;
use crate::io::Io;

/// Bytes of a read or a write; small, since the peak memory of a child is never below what its parent has.
const PIECE: usize = 512 << 10;
/// What every device wants addresses and sizes to be a multiple of, bytes.
const ALIGNMENT: usize = 4096;
/// Bytes that are written if nobody says how many.
const USUAL: u64 = 1 << 30;
/// How often it is written and read: what is wanted is what the place can do, and others may use it meanwhile.
const PASSES: usize = 3;

/// Bytes written for each byte of content, for which the ceiling is told.
const RATIOS: [f64; 5] = [0.1, 0.25, 0.5, 0.75, 1.0];

/// `bench storage`.
///
/// # Errors
/// The place cannot be written or read.
pub fn run(settings: &Settings, io: &mut Io) -> Result<Report, Failure> {
    let (place, scratch) = (&settings.input, Scratch::new(&settings.input, &io.temporaries)?);
    let measured = measure(&place.display().to_string(), &scratch.at("storage"), settings.bytes)?;
    let input = Input { name: place.display().to_string(), bytes: measured.bytes };
    let mut report = blank(settings, io, &[ours(io)?], input);
    let ceiling = |ratio| {
        let rate = measured.ceiling(Task::Pack, ratio) / 1e6;
        format!("At a ratio of {ratio} nothing packs more than {rate:.0} MB/s here: 1 / (1 / read + ratio / write).")
    };
    report.notes.extend(RATIOS.map(ceiling));
    report.storage = Some(measured);
    Ok(report)
}

/// Writes `path`, so that it is on the medium, reads it and removes it; the best of several times. `bytes`: how many; without it a gigabyte, or a tenth
/// of what is free if that is less. `shown`: the place in the report.
///
/// # Errors
/// The operating system's refusal.
pub fn measure(shown: &str, path: &Path, bytes: Option<u64>) -> Result<Storage, Failure> {
    let free = statvfs(directory_of(path)).map_err(|cause| cannot("look at", path, &cause.into()))?;
    let free = free.f_bavail.saturating_mul(free.f_frsize);
    let bytes = bytes.unwrap_or((free / 10).min(USUAL)).next_multiple_of(PIECE as u64);
    if bytes > free {
        let what = format!("{shown}: {free} bytes are free, and {bytes} would be written to measure it");
        return Err(Failure::failed(what));
    }
    let (mut write, mut read, mut direct) = (f64::INFINITY, f64::INFINITY, true);
    for _ in 0..PASSES {
        let (wrote, (took, passed_by)) = pass(path, bytes)?;
        (write, read, direct) = (write.min(wrote), read.min(took), direct && passed_by);
    }
    let rate = |seconds: f64| bytes as f64 / seconds.max(1e-9);
    Ok(Storage { place: shown.to_owned(), bytes, read: rate(read), write: rate(write), direct })
}

/// Seconds of writing and of reading once, and whether the page cache was passed by.
fn pass(path: &Path, bytes: u64) -> Result<(f64, (f64, bool)), Failure> {
    let measured = write(path, bytes)
        .map_err(|cause| cannot("write", path, &cause))
        .and_then(|write| Ok((write, read(path).map_err(|cause| cannot("read", path, &cause))?)));
    clear(path)?;
    measured
}

/// Seconds of writing, until it is on the medium.
fn write(path: &Path, bytes: u64) -> io::Result<f64> {
    let mut piece = noise();
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    let watch = Stopwatch::start();
    for number in 0..bytes / PIECE as u64 {
        stamp(&mut piece, number);
        file.write_all(&piece)?;
    }
    fdatasync(&file)?;
    Ok(watch.seconds())
}

/// Bytes that no file system compresses or finds twice.
fn noise() -> Vec<u8> {
    let mut piece = vec![0; PIECE];
    blake3::Hasher::new().update(b"storage").finalize_xof().fill(&mut piece);
    piece
}

/// Makes each block of the piece another one than it was before.
fn stamp(piece: &mut [u8], number: u64) {
    piece.chunks_mut(ALIGNMENT).for_each(|block| block[..8].copy_from_slice(&number.to_le_bytes()));
}

/// Seconds of reading, and whether the page cache was passed by. Where that cannot be, it is asked to forget the file.
fn read(path: &Path) -> io::Result<(f64, bool)> {
    let direct = OpenOptions::new().read(true).custom_flags(OFlags::DIRECT.bits() as i32).open(path);
    if let Ok(file) = direct
        && let Ok(seconds) = read_through(file)
    {
        return Ok((seconds, true));
    }
    let file = File::open(path)?;
    // Where it does nothing (a file system in memory) reading is as fast as it will ever be.
    let _: rustix::io::Result<()> = fadvise(&file, 0, None, Advice::DontNeed);
    read_through(file).map(|seconds| (seconds, false))
}

fn read_through(mut file: File) -> io::Result<f64> {
    let mut room = vec![0u8; PIECE + ALIGNMENT];
    let start = room.as_ptr().align_offset(ALIGNMENT);
    let buffer = &mut room[start..start + PIECE];
    let watch = Stopwatch::start();
    while file.read(buffer)? > 0 {}
    Ok(watch.seconds())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn place_is_measured_and_left_as_it_was() {
        let top = tempfile::tempdir().unwrap();
        let found = measure("here", &top.path().join("x"), Some(3 << 20)).unwrap();
        assert_eq!((found.place.as_str(), found.bytes), ("here", 3 << 20));
        assert!(found.read > 0.0 && found.write > 0.0);
        assert_eq!(std::fs::read_dir(top.path()).unwrap().count(), 0);
        assert!(measure("here", &top.path().join("x"), Some(u64::MAX / 2)).is_err());
        assert!(measure("here", &top.path().join("none/x"), Some(1)).is_err());
    }

    #[test]
    fn no_two_pieces_are_alike() {
        let mut piece = noise();
        let mut blocks = std::collections::BTreeSet::new();
        for number in 0..3 {
            stamp(&mut piece, number);
            piece.chunks(ALIGNMENT).for_each(|block| assert!(blocks.insert(block.to_vec())));
        }
    }
}
