//! The settings of a benchmark, from its arguments.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use packline_bench::{
    Against, Benchmark, CodecSettings, Comparison, Filling, PACKERS, PackSettings, PackSource, ProgramKind, Runs,
    SerialSettings, StorageSettings, Synthetic, UNPACKERS, UnpackSettings, at_levels, quoted_words,
};
use packline_codec::Spec;

use super::Bench;
use super::lists;
use crate::args::{Invocation, wrong};
use crate::ui::escape::Escape;
use crate::ui::failure::Failure;
use crate::ui::io::Io;
use crate::ui::size::parse_size;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BenchKind {
    Pack,
    Unpack,
    Codec,
    Serial,
    Storage,
    Report,
}

impl BenchKind {
    /// All benchmarks, in the order of the help.
    pub const ALL: [BenchKind; 6] = [
        BenchKind::Pack,
        BenchKind::Unpack,
        BenchKind::Codec,
        BenchKind::Serial,
        BenchKind::Storage,
        BenchKind::Report,
    ];

    /// Returns the word on the command line.
    pub fn name(self) -> &'static str {
        ["pack", "unpack", "codec", "serial", "storage", "report"][self as usize]
    }
}

/// The default codecs of `bench pack`: the fastest codec, and the two most popular ones.
const FEW_CODECS: &str = "lz4,zstd:level=3,gzip";
/// The default codecs of `bench serial`: those with which the main thread limits the speed first, and a slow one.
const SERIAL_CODECS: &str = "none,lz4,zstd:level=1,gzip,zstd";
/// The default codecs if levels are given.
const FEW_WITH_LEVELS: &str = "lz4,zstd,gzip";

/// The options that only some benchmarks have.
const ONLY: &[(&str, &[BenchKind])] = &[
    ("full", &[BenchKind::Pack]),
    ("codec", &[BenchKind::Pack, BenchKind::Codec, BenchKind::Serial]),
    ("levels", &[BenchKind::Pack, BenchKind::Codec, BenchKind::Serial]),
    ("block-size", &[BenchKind::Pack, BenchKind::Codec, BenchKind::Serial]),
    ("fragments", &[BenchKind::Pack]),
    ("containers", &[BenchKind::Serial]),
    ("steps", &[BenchKind::Serial]),
    ("traces", &[BenchKind::Serial]),
    ("tasks", &[BenchKind::Unpack]),
    ("jobs", &[BenchKind::Pack, BenchKind::Unpack, BenchKind::Serial]),
    ("runs", &[BenchKind::Pack, BenchKind::Unpack, BenchKind::Codec, BenchKind::Serial]),
    ("warmup", &[BenchKind::Pack, BenchKind::Unpack, BenchKind::Codec, BenchKind::Serial]),
    ("against", &[BenchKind::Pack, BenchKind::Unpack]),
    ("work-dir", &[BenchKind::Pack, BenchKind::Unpack, BenchKind::Serial]),
    ("keep", &[BenchKind::Pack, BenchKind::Unpack]),
    ("no-storage", &[BenchKind::Pack, BenchKind::Unpack]),
    ("bytes", &[BenchKind::Pack, BenchKind::Unpack, BenchKind::Storage]),
    ("mem", &[BenchKind::Pack, BenchKind::Unpack, BenchKind::Codec, BenchKind::Serial]),
    ("limit", &[BenchKind::Codec]),
    ("quiet", &[BenchKind::Pack, BenchKind::Unpack, BenchKind::Codec, BenchKind::Storage, BenchKind::Serial]),
    ("no-progress", &[BenchKind::Pack, BenchKind::Unpack, BenchKind::Codec, BenchKind::Storage, BenchKind::Serial]),
];

/// The default size of a synthetic input in bytes.
const SYNTHETIC_BYTES: u64 = 64 << 20;

/// Reads the arguments.
///
/// # Errors
/// [`Failure::Usage`] for invalid values, and for options without effect.
pub fn read(bench: &Bench, invocation: &Invocation, io: &Io) -> Result<Benchmark, Failure> {
    let what = bench.what;
    refuse_misplaced(bench, invocation)?;
    refuse_further_inputs(bench)?;
    let input = bench.inputs[0].clone();
    let runs = runs(bench, invocation);
    Ok(match what {
        BenchKind::Pack => Benchmark::Pack(pack(bench, io, &input, runs)?),
        BenchKind::Unpack => Benchmark::Unpack(UnpackSettings {
            comparison: comparison(bench, io, runs, UNPACKERS)?,
            image: input,
            tasks: bench.choice.tasks.0.clone(),
        }),
        BenchKind::Codec => Benchmark::Codec(codec(bench, input, runs)?),
        BenchKind::Serial => Benchmark::Serial(serial(bench, io, runs)?),
        BenchKind::Storage => Benchmark::Storage(StorageSettings { runs, directory: input, bytes: bench.runs.bytes }),
        BenchKind::Report => Benchmark::Merge(bench.inputs.clone()),
    })
}

fn in_full(bench: &Bench) -> bool {
    bench.choice.full || bench.what != BenchKind::Pack
}

fn runs(bench: &Bench, invocation: &Invocation) -> Runs {
    Runs {
        command: format!("packline bench {}", quoted_words(&invocation.words)),
        runs: bench.runs.runs,
        warmups: bench.runs.warmup.unwrap_or(usize::from(in_full(bench))),
        memory: bench.runs.mem,
        notes: Vec::new(),
    }
}

fn pack(bench: &Bench, io: &Io, input: &Path, mut runs: Runs) -> Result<PackSettings, Failure> {
    let (codecs, notes) = codecs(bench)?;
    codecs.iter().try_for_each(packline_squashfs::check_codec).map_err(|error| wrong("codec", error))?;
    runs.notes = notes;
    Ok(PackSettings {
        comparison: comparison(bench, io, runs, PACKERS)?,
        source: source(input)?,
        codecs,
        block_sizes: bench.choice.block_size.0.clone(),
        tails: bench.choice.fragments.0.clone(),
    })
}

fn codec(bench: &Bench, input: PathBuf, mut runs: Runs) -> Result<CodecSettings, Failure> {
    let (codecs, notes) = codecs(bench)?;
    runs.notes = notes;
    let block_sizes = bench.choice.block_size.0.clone();
    Ok(CodecSettings { runs, input, codecs, block_sizes, limit: bench.choice.limit })
}

fn serial(bench: &Bench, io: &Io, mut runs: Runs) -> Result<SerialSettings, Failure> {
    let (codecs, notes) = codecs(bench)?;
    runs.notes = notes;
    let jobs = bench.choice.jobs.clone().map(|jobs| jobs.0);
    Ok(SerialSettings {
        runs,
        inputs: bench.inputs.clone(),
        codecs,
        containers: bench.choice.containers.0.clone(),
        steps: bench.choice.steps.0.clone(),
        block_sizes: bench.choice.block_size.0.clone(),
        jobs: jobs.unwrap_or_else(|| usual_jobs((io.host.processors)(), false)),
        work_dir: bench.runs.work_dir.clone(),
        traces: bench.choice.traces.clone(),
    })
}

fn comparison(bench: &Bench, io: &Io, runs: Runs, known: &[ProgramKind]) -> Result<Comparison, Failure> {
    let against = bench.choice.against.as_ref().map(|text| Against::parse(text, known)).transpose();
    let jobs = bench.choice.jobs.clone().map(|jobs| jobs.0);
    Ok(Comparison {
        runs,
        jobs: jobs.unwrap_or_else(|| usual_jobs((io.host.processors)(), in_full(bench))),
        against: against.map_err(|what| wrong("against", what))?.unwrap_or(Against::Usual),
        work_dir: bench.runs.work_dir.clone(),
        keep: bench.runs.keep,
        storage: !bench.runs.no_storage,
        storage_bytes: bench.runs.bytes,
    })
}

/// Parses the source: a path, or `synthetic:NAME[:SIZE]`.
fn source(input: &Path) -> Result<PackSource, Failure> {
    let Some(name) = input.as_os_str().as_bytes().strip_prefix(b"synthetic:") else {
        return Ok(PackSource::Path(input.to_path_buf()));
    };
    let name = String::from_utf8_lossy(name).into_owned();
    let (name, size) = name.split_once(':').map_or((name.as_str(), None), |(name, size)| (name, Some(size)));
    let unknown =
        || Failure::Usage(format!("unknown input 'synthetic:{name}' (expected zeros, random, text or mixed)"));
    let filling = Filling::parse(name).ok_or_else(unknown)?;
    let bytes = size.map_or(Ok(SYNTHETIC_BYTES), |size| parse_size(size.as_ref()));
    let bytes = bytes.map_err(|what| Failure::Usage(format!("synthetic:{name}: {what}")))?;
    Ok(PackSource::Synthetic(Synthetic { name: input.to_string_lossy().into_owned(), filling, bytes }))
}

/// Returns the number of processors; in full also 1, 2, 4 and so on.
fn usual_jobs(processors: usize, in_full: bool) -> Vec<usize> {
    if in_full { lists::usual_jobs(processors) } else { vec![processors.max(1)] }
}

/// Rejects more than one input, except for reports, which are merged, and for `bench serial`.
fn refuse_further_inputs(bench: &Bench) -> Result<(), Failure> {
    match &bench.inputs[..] {
        [_, second, ..] if ![BenchKind::Report, BenchKind::Serial].contains(&bench.what) => {
            let second = second.escaped();
            let what = bench.what.name();
            Err(Failure::Usage(format!("unexpected argument '{second}' (bench {what} takes one input)")))
        }
        _ => Ok(()),
    }
}

/// Rejects options that have no effect.
fn refuse_misplaced(bench: &Bench, invocation: &Invocation) -> Result<(), Failure> {
    for (long, places) in ONLY {
        if invocation.has(long) && !places.contains(&bench.what) {
            let right: Vec<String> = places.iter().map(|place| format!("bench {}", place.name())).collect();
            let what = format!("has no effect on bench {} (it belongs to {})", bench.what.name(), right.join(", "));
            return Err(wrong(long, what));
        }
    }
    if bench.runs.bytes.is_some() && bench.runs.no_storage {
        return Err(wrong("bytes", "has no effect with --no-storage"));
    }
    Ok(())
}

/// Returns the codecs at the given levels, and notes on levels that a codec does not have.
fn codecs(bench: &Bench) -> Result<(Vec<Spec>, Vec<String>), Failure> {
    let choice = &bench.choice;
    let usual = match (in_full(bench), &choice.levels) {
        (_, None) if bench.what == BenchKind::Serial => SERIAL_CODECS.to_owned(),
        (true, _) => packline_squashfs::CODECS.join(","),
        (false, Some(_)) => FEW_WITH_LEVELS.to_owned(),
        (false, None) => FEW_CODECS.to_owned(),
    };
    let mut all = Vec::new();
    let named = if choice.codec.is_empty() { vec![usual] } else { choice.codec.clone() };
    for text in &named {
        let codecs = lists::codecs(text).map_err(|what| wrong("codec", what))?;
        codecs.into_iter().for_each(|codec| lists::put(&mut all, codec));
    }
    let levels = choice.levels.as_ref().map_or(&[][..], |levels| &levels.0);
    at_levels(all, levels).map_err(|what| wrong("levels", what))
}
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejects_unknown_synthetic_inputs() {
        assert!(matches!(source(Path::new("zeros")).unwrap(), PackSource::Path(path) if path == Path::new("zeros")));
        let name = "synthetic:text".to_owned();
        let text = Synthetic { name, filling: Filling::Text, bytes: SYNTHETIC_BYTES };
        assert!(matches!(source(Path::new("synthetic:text")).unwrap(), PackSource::Synthetic(found) if found == text));
        for wrong in ["synthetic:", "synthetic:nope", "synthetic:text:x", "synthetic:text:"] {
            assert!(source(Path::new(wrong)).is_err(), "{wrong}");
        }
    }
}
