//! Bytes that an update transfers, by transport.

use super::read;
use super::zsync;
use packline_codec::{Outcome, Spec};
use packline_testkit::{chunker, tools};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Size of RAUC's blocks in bytes.
const RAUC_BLOCK: usize = 4096;

/// Programs. Some may be missing.
pub struct Programs {
    pub desync: Option<PathBuf>,
    pub casync: Option<PathBuf>,
    pub xdelta: Option<PathBuf>,
    /// A packline that makes deltas.
    pub delta: Option<PathBuf>,
}

/// Bytes; `None` for a program that is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Traffic {
    /// Chunks, cut here as casync and desync do, each compressed with zstd.
    pub chunks: u64,
    pub desync: Option<u64>,
    pub casync: Option<u64>,
    /// Blocks whose content is in none of the old image's blocks.
    pub rauc: u64,
    /// Blocks whose content is nowhere in the old image.
    pub zsync: u64,
    pub xdelta: Option<u64>,
    /// packline's own delta.
    pub delta: Option<u64>,
}

impl Traffic {
    /// `place` is for temporary files.
    pub fn measure(old: &Path, new: &Path, place: &Path, programs: &Programs) -> Result<Traffic, String> {
        let old_bytes = read(old)?;
        let new_bytes = read(new)?;
        let stored = |program: &Option<PathBuf>, style| {
            program.as_ref().map(|program| missing_in_store(program, style, old, new, place)).transpose()
        };
        Ok(Traffic {
            chunks: missing_chunks(&old_bytes, &new_bytes)?,
            desync: stored(&programs.desync, Style::Desync)?,
            casync: stored(&programs.casync, Style::Casync)?,
            rauc: missing_blocks(&old_bytes, &new_bytes),
            zsync: zsync::missing(&old_bytes, &new_bytes),
            xdelta: programs.xdelta.as_ref().map(|program| xdelta(program, old, new, place)).transpose()?,
            delta: programs.delta.as_ref().map(|program| own_delta(program, old, new, place)).transpose()?,
        })
    }
}

/// A hash that recognises equal content.
fn hash(bytes: &[u8]) -> [u8; 32] {
    *blake3::hash(bytes).as_bytes()
}

fn missing_chunks(old: &[u8], new: &[u8]) -> Result<u64, String> {
    let mut known: BTreeSet<_> = chunker::chunks(old).map(hash).collect();
    let most = chunker::CHUNK_BYTES[2];
    let spec = Spec::parse("zstd:level=3").map_err(|error| error.to_string())?;
    let mut encoder = spec.encoder(most).map_err(|error| error.to_string())?;
    let mut total = 0;
    let mut out = vec![0; most];
    for chunk in chunker::chunks(new).filter(|chunk| known.insert(hash(chunk))) {
        let outcome = encoder.compress(chunk, &mut out[..chunk.len()]).map_err(|error| error.to_string())?;
        total += match outcome {
            Outcome::Smaller(size) => size,
            Outcome::NotSmaller => chunk.len(),
        } as u64;
    }
    Ok(total)
}

/// RAUC's hashes are SHA-256, which finds the same blocks equal.
fn missing_blocks(old: &[u8], new: &[u8]) -> u64 {
    let known: BTreeSet<_> = old.chunks(RAUC_BLOCK).map(hash).collect();
    new.chunks(RAUC_BLOCK).filter(|block| !known.contains(&hash(block))).map(|block| block.len() as u64).sum()
}

#[derive(Clone, Copy)]
enum Style {
    Desync,
    Casync,
}

/// Bytes of the files that a store gets when the chunks of `new` are added to those of `old`.
fn missing_in_store(program: &Path, style: Style, old: &Path, new: &Path, place: &Path) -> Result<u64, String> {
    let store = tempfile::tempdir_in(place).map_err(|cause| cause.to_string())?;
    let add = |image: &Path| {
        let mut command = Command::new(program);
        let chunks = store.path().join("chunks");
        let index = store.path().join("index.caibx");
        std::fs::create_dir_all(&chunks).map_err(|cause| format!("{}: {cause}", chunks.display()))?;
        match style {
            Style::Desync => command.args(["make", "-s"]).arg(&chunks).arg(&index).arg(image),
            Style::Casync => command.args(["make", "--store"]).arg(&chunks).arg(&index).arg(image),
        };
        tools::run(&mut command).and_then(|_| bytes_below(&chunks))
    };
    let before = add(old)?;
    Ok(add(new)? - before)
}

/// Bytes of all files below a directory.
fn bytes_below(directory: &Path) -> Result<u64, String> {
    let named = |cause: std::io::Error| format!("{}: {cause}", directory.display());
    let mut total = 0;
    for entry in std::fs::read_dir(directory).map_err(named)? {
        let entry = entry.map_err(named)?;
        let about = entry.metadata().map_err(named)?;
        total += if about.is_dir() { bytes_below(&entry.path())? } else { about.len() };
    }
    Ok(total)
}

fn xdelta(program: &Path, old: &Path, new: &Path, place: &Path) -> Result<u64, String> {
    let window = std::fs::metadata(old).map_err(|cause| format!("{}: {cause}", old.display()))?.len().to_string();
    let mut command = Command::new(program);
    command.args(["-e", "-f", "-q", "-B", &window, "-s"]).arg(old).arg(new);
    size_of_delta(command, place)
}

fn own_delta(program: &Path, old: &Path, new: &Path, place: &Path) -> Result<u64, String> {
    let mut command = Command::new(program);
    command.args(["delta", "--quiet"]).arg(old).arg(new);
    size_of_delta(command, place)
}

/// Runs a command and returns the size of its output file, which the last argument names.
fn size_of_delta(mut command: Command, place: &Path) -> Result<u64, String> {
    let delta = place.join("delta");
    tools::run(command.arg(&delta))?;
    let named = |cause| format!("{}: {cause}", delta.display());
    let size = std::fs::metadata(&delta).map_err(named)?.len();
    std::fs::remove_file(&delta).map_err(named)?;
    Ok(size)
}
