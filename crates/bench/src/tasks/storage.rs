//! Measures the speed of sequential writing and reading in a directory.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::{Advice, OFlags, fadvise, fdatasync, statvfs};

use crate::programs::program::Program;
use crate::report::{Input, Report, Storage, Task, binary_bytes};
use crate::runs::facts::empty_report;
use crate::runs::work_dir::{WorkDir, remove};
use crate::settings::StorageSettings;
use crate::{Clock, Error, Session};

/// Bytes of a read or a write. The number is small, because the kernel never reports a smaller peak for a child than for its parent.
const PIECE: usize = 512 << 10;
/// An alignment of addresses and sizes that every device accepts, in bytes.
const ALIGNMENT: usize = 4096;
const DEFAULT_BYTES: u64 = 1 << 30;
/// The number of passes. The best pass counts, because other processes may use the medium too.
const PASSES: usize = 3;

/// Compression ratios for which the report gives the ceiling.
const RATIOS: [f64; 5] = [0.1, 0.25, 0.5, 0.75, 1.0];

/// # Errors
/// Returns an error if the directory cannot be written or read.
pub fn run(settings: &StorageSettings, session: &mut Session<'_>) -> Result<Report, Error> {
    let work_dir = WorkDir::new(&settings.directory, &session.temporaries)?;
    let name = settings.directory.display().to_string();
    let measured = measure(&name, &work_dir.at("storage"), settings.bytes, session.machine.clock)?;
    let program = Program::packline(session.machine.program()?);
    let input = Input { name, bytes: measured.bytes };
    let mut report = empty_report(&settings.runs, &session.machine, &[program], input);
    let ceiling = |ratio| {
        let rate = measured.ceiling(Task::Pack, ratio) / 1e6;
        format!(
            "At a ratio of {ratio}, no program can pack more than {rate:.0} MB/s here: 1 / (1 / read + ratio / write)."
        )
    };
    report.notes.extend(RATIOS.map(ceiling));
    report.storage = Some(measured);
    Ok(report)
}

/// Writes, syncs, reads and removes the file `path` several times. `bytes` is the file's size; if `None`, 1 GiB, or a tenth of the free space
/// if that is less. `name` is the directory's name in the report.
///
/// # Errors
/// Returns an error if the file cannot be written or read.
pub fn measure(name: &str, path: &Path, bytes: Option<u64>, clock: Clock) -> Result<Storage, Error> {
    let directory = path.parent().unwrap_or(path);
    let stat = statvfs(directory).map_err(|cause| Error::file("stat", path, &cause.into()))?;
    let free = stat.f_bavail.saturating_mul(stat.f_frsize);
    let bytes = bytes.unwrap_or((free / 10).min(DEFAULT_BYTES)).next_multiple_of(PIECE as u64);
    if bytes > free {
        let free = binary_bytes(free);
        let needed = binary_bytes(bytes);
        return Err(Error::failed(format!("{name}: only {free} are free (expected at least {needed})")));
    }
    let mut write = f64::INFINITY;
    let mut read = f64::INFINITY;
    let mut direct = true;
    for _ in 0..PASSES {
        let pass = pass(path, bytes, clock)?;
        write = write.min(pass.write);
        read = read.min(pass.read);
        direct = direct && pass.direct;
    }
    let rate = |seconds: f64| bytes as f64 / seconds.max(1e-9);
    Ok(Storage { place: name.to_owned(), bytes, read: rate(read), write: rate(write), direct })
}

/// The seconds of writing and of reading once.
struct Pass {
    write: f64,
    read: f64,
    /// Whether reading bypassed the page cache.
    direct: bool,
}

fn pass(path: &Path, bytes: u64, clock: Clock) -> Result<Pass, Error> {
    let write = write(path, bytes, clock).map_err(|cause| Error::file("write", path, &cause));
    let measured = write.and_then(|write| {
        let (read, direct) = read(path, clock).map_err(|cause| Error::file("read", path, &cause))?;
        Ok(Pass { write, read, direct })
    });
    remove(path)?;
    measured
}

/// Writes and syncs the file. Returns the seconds.
fn write(path: &Path, bytes: u64, clock: Clock) -> io::Result<f64> {
    let mut piece = noise();
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    let write = || {
        for number in 0..bytes / PIECE as u64 {
            stamp(&mut piece, number);
            file.write_all(&piece)?;
        }
        fdatasync(&file).map_err(io::Error::from)
    };
    let (written, seconds) = clock.time(write);
    written?;
    Ok(seconds)
}

/// Returns bytes that no file system compresses or deduplicates.
fn noise() -> Vec<u8> {
    let mut piece = vec![0; PIECE];
    blake3::Hasher::new().update(b"storage").finalize_xof().fill(&mut piece);
    piece
}

/// Makes each block of the piece unique.
fn stamp(piece: &mut [u8], number: u64) {
    piece.chunks_mut(ALIGNMENT).for_each(|block| block[..8].copy_from_slice(&number.to_le_bytes()));
}

/// Reads the file. Returns the seconds, and whether reads bypassed the page cache. If that is impossible, the kernel is advised to drop the
/// file's pages.
fn read(path: &Path, clock: Clock) -> io::Result<(f64, bool)> {
    let direct = OpenOptions::new().read(true).custom_flags(OFlags::DIRECT.bits() as i32).open(path);
    if let Ok(file) = direct
        && let Ok(seconds) = read_to_end(file, clock)
    {
        return Ok((seconds, true));
    }
    let file = File::open(path)?;
    // The advice has no effect on a file system in memory, where reads cannot be slower.
    let _: rustix::io::Result<()> = fadvise(&file, 0, None, Advice::DontNeed);
    read_to_end(file, clock).map(|seconds| (seconds, false))
}

fn read_to_end(mut file: File, clock: Clock) -> io::Result<f64> {
    let mut buffer = vec![0u8; PIECE + ALIGNMENT];
    let start = buffer.as_ptr().align_offset(ALIGNMENT);
    let buffer = &mut buffer[start..start + PIECE];
    let (result, seconds) = clock.time(|| {
        while file.read(buffer)? > 0 {}
        Ok(())
    });
    result.map(|()| seconds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::tests::CLOCK;

    #[test]
    fn measures_a_directory_and_leaves_it_unchanged() {
        let top = tempfile::tempdir().unwrap();
        let found = measure("here", &top.path().join("x"), Some(3 << 20), CLOCK).unwrap();
        assert_eq!((found.place.as_str(), found.bytes), ("here", 3 << 20));
        assert!(found.read > 0.0 && found.write > 0.0);
        assert_eq!(std::fs::read_dir(top.path()).unwrap().count(), 0);
        assert!(measure("here", &top.path().join("x"), Some(u64::MAX / 2), CLOCK).is_err());
        assert!(measure("here", &top.path().join("none/x"), Some(1), CLOCK).is_err());
    }

    #[test]
    fn all_blocks_differ() {
        let mut piece = noise();
        let mut blocks = std::collections::BTreeSet::new();
        for number in 0..3 {
            stamp(&mut piece, number);
            piece.chunks(ALIGNMENT).for_each(|block| assert!(blocks.insert(block.to_vec())));
        }
    }
}
