//! The settings of a benchmark, from its arguments.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use packline::codec::Spec;
use packline_bench::{
    Against, Benchmark, CodecSettings, Comparison, Filling, PACKERS, PackSettings, PackSource, ProgramKind, Runs,
    StorageSettings, Synthetic, UNPACKERS, UnpackSettings, at_levels, quoted_words,
};

use super::lists;
use crate::args::Args;
use crate::ui::escape::Escape;
use crate::ui::failure::Failure;
use crate::ui::io::Io;
use crate::ui::size::parse_size;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    Pack,
    Unpack,
    Codec,
    Storage,
    Report,
}

impl What {
    /// The words for them, in the order of the help.
    pub const NAMES: &'static [&'static str] = &["pack", "unpack", "codec", "storage", "report"];

    fn named(name: &str) -> Option<What> {
        let all = [What::Pack, What::Unpack, What::Codec, What::Storage, What::Report];
        Self::NAMES.iter().position(|known| *known == name).and_then(|index| all.get(index).copied())
    }

    fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}

/// The default codecs of `bench pack`: the fastest, and the two that are used most.
const FEW_CODECS: &str = "lz4,zstd:level=3,gzip";
/// The same where levels are given.
const FEW_WITH_LEVELS: &str = "lz4,zstd,gzip";

/// Options of some benchmarks only.
const ONLY: &[(&str, &[What])] = &[
    ("full", &[What::Pack]),
    ("codec", &[What::Pack, What::Codec]),
    ("levels", &[What::Pack, What::Codec]),
    ("block-size", &[What::Pack, What::Codec]),
    ("fragments", &[What::Pack]),
    ("tasks", &[What::Unpack]),
    ("jobs", &[What::Pack, What::Unpack]),
    ("runs", &[What::Pack, What::Unpack, What::Codec]),
    ("warmup", &[What::Pack, What::Unpack, What::Codec]),
    ("against", &[What::Pack, What::Unpack]),
    ("work-dir", &[What::Pack, What::Unpack]),
    ("keep", &[What::Pack, What::Unpack]),
    ("no-storage", &[What::Pack, What::Unpack]),
    ("bytes", &[What::Pack, What::Unpack, What::Storage]),
    ("mem", &[What::Pack, What::Unpack, What::Codec]),
    ("limit", &[What::Codec]),
    ("quiet", &[What::Pack, What::Unpack, What::Codec, What::Storage]),
    ("no-progress", &[What::Pack, What::Unpack, What::Codec, What::Storage]),
];

/// Bytes of a synthetic input by default.
const SYNTHETIC_BYTES: u64 = 64 << 20;

/// Reads the arguments.
///
/// # Errors
/// [`Failure::Usage`] for values that are wrong, and for options that have no effect.
pub fn read(args: &Args, io: &Io) -> Result<Benchmark, Failure> {
    let what = args.operand("WHAT").and_then(|word| What::named(word.to_str()?));
    let what = what.ok_or_else(|| Failure::usage(format!("missing argument: WHAT ({})", What::NAMES.join(", "))))?;
    refuse_misplaced(args, what)?;
    let inputs = inputs(args, what)?;
    let (input, runs) = (inputs[0].clone(), runs(args, what)?);
    Ok(match what {
        What::Pack => Benchmark::Pack(pack(args, io, &input, runs)?),
        What::Unpack => Benchmark::Unpack(UnpackSettings {
            comparison: comparison(args, io, runs, UNPACKERS, true)?,
            image: input,
            tasks: list(args, "tasks", lists::tasks)?.unwrap_or_default(),
        }),
        What::Codec => Benchmark::Codec(codec(args, input, runs)?),
        What::Storage => Benchmark::Storage(StorageSettings { runs, directory: input, bytes: args.size("bytes")? }),
        What::Report => Benchmark::Merge(inputs),
    })
}

fn in_full(args: &Args, what: What) -> bool {
    args.flag("full") || what != What::Pack
}

fn runs(args: &Args, what: What) -> Result<Runs, Failure> {
    Ok(Runs {
        command: format!("packline bench {}", quoted_words(args.typed())),
        runs: args.number("runs")?.unwrap_or(3) as usize,
        warmups: args.number("warmup")?.unwrap_or(i64::from(in_full(args, what))) as usize,
        memory: args.size("mem")?,
        notes: Vec::new(),
    })
}

fn pack(args: &Args, io: &Io, input: &Path, mut runs: Runs) -> Result<PackSettings, Failure> {
    let in_full = in_full(args, What::Pack);
    let (codecs, notes) = codecs(args, in_full)?;
    let known = codecs.iter().try_for_each(packline::image::check_codec);
    known.map_err(|error| args.wrong("codec", &error.to_string()))?;
    runs.notes = notes;
    Ok(PackSettings {
        comparison: comparison(args, io, runs, PACKERS, in_full)?,
        source: source(input)?,
        codecs,
        block_sizes: list(args, "block-size", lists::block_sizes)?.unwrap_or_default(),
        tails: list(args, "fragments", lists::fragments)?.unwrap_or_default(),
    })
}

fn codec(args: &Args, input: PathBuf, mut runs: Runs) -> Result<CodecSettings, Failure> {
    let (codecs, notes) = codecs(args, true)?;
    runs.notes = notes;
    let block_sizes = list(args, "block-size", lists::block_sizes)?.unwrap_or_default();
    Ok(CodecSettings { runs, input, codecs, block_sizes, limit: args.size("limit")? })
}

fn comparison(args: &Args, io: &Io, runs: Runs, known: &[ProgramKind], in_full: bool) -> Result<Comparison, Failure> {
    let against = args.raw("against").map(|text| Against::parse(text, known)).transpose();
    Ok(Comparison {
        runs,
        jobs: list(args, "jobs", lists::jobs)?.unwrap_or_else(|| usual_jobs(io.host.processors, in_full)),
        against: against.map_err(|what| args.wrong("against", &what))?.unwrap_or(Against::Usual),
        work_dir: args.path("work-dir").unwrap_or_else(|| PathBuf::from(".")),
        keep: args.flag("keep"),
        storage: !args.flag("no-storage"),
        storage_bytes: args.size("bytes")?,
    })
}

/// What is packed: a path, or `synthetic:NAME[:SIZE]`.
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

/// The number of processors; in full 1, 2, 4 and so on too.
fn usual_jobs(processors: usize, in_full: bool) -> Vec<usize> {
    if in_full { lists::usual_jobs(processors) } else { vec![processors.max(1)] }
}

/// The input, and for reports those that are merged with it; not empty.
fn inputs(args: &Args, what: What) -> Result<Vec<PathBuf>, Failure> {
    let inputs: Vec<PathBuf> = args.operands("INPUT...").into_iter().map(PathBuf::from).collect();
    match &inputs[..] {
        [] => Err(Failure::usage("missing argument: INPUT")),
        [_, second, ..] if what != What::Report => {
            let what = format!("unexpected argument '{}' (bench {} takes one input)", second.escaped(), what.name());
            Err(Failure::Usage(what))
        }
        _ => Ok(inputs),
    }
}

/// Refuses options that have no effect.
fn refuse_misplaced(args: &Args, what: What) -> Result<(), Failure> {
    for (long, places) in ONLY {
        if args.given(long) && !places.contains(&what) {
            let right: Vec<String> = places.iter().map(|place| format!("bench {}", place.name())).collect();
            let wrong = format!("has no effect on bench {} (it belongs to {})", what.name(), right.join(", "));
            return Err(args.wrong(long, &wrong));
        }
    }
    if args.given("bytes") && args.flag("no-storage") {
        return Err(args.wrong("bytes", "has no effect with --no-storage"));
    }
    Ok(())
}

/// The codecs at the levels that were given, and notes on levels that they do not have.
fn codecs(args: &Args, in_full: bool) -> Result<(Vec<Spec>, Vec<String>), Failure> {
    let mut all = Vec::new();
    let usual = match in_full {
        true => packline::image::CODECS.join(","),
        false if args.given("levels") => FEW_WITH_LEVELS.to_owned(),
        false => FEW_CODECS.to_owned(),
    };
    let named = Some(args.all("codec")).filter(|named| !named.is_empty());
    for text in named.unwrap_or_else(|| vec![usual.into()]) {
        let text = text.to_str().ok_or_else(|| args.wrong("codec", "the value is not UTF-8"))?;
        let codecs = lists::codecs(text).map_err(|what| args.wrong("codec", &what))?;
        codecs.into_iter().for_each(|codec| lists::put(&mut all, codec));
    }
    let levels = list(args, "levels", lists::levels)?.unwrap_or_default();
    at_levels(all, &levels).map_err(|what| args.wrong("levels", &what))
}

fn list<T>(
    args: &Args,
    long: &'static str,
    parse: fn(&str) -> Result<Vec<T>, String>,
) -> Result<Option<Vec<T>>, Failure> {
    args.text(long)?.map(parse).transpose().map_err(|what| args.wrong(long, &what))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_known_synthetic_inputs_are_accepted() {
        assert!(matches!(source(Path::new("zeros")).unwrap(), PackSource::Path(path) if path == Path::new("zeros")));
        let name = "synthetic:text".to_owned();
        let text = Synthetic { name, filling: Filling::Text, bytes: SYNTHETIC_BYTES };
        assert!(matches!(source(Path::new("synthetic:text")).unwrap(), PackSource::Synthetic(found) if found == text));
        for wrong in ["synthetic:", "synthetic:nope", "synthetic:text:x", "synthetic:text:"] {
            assert!(source(Path::new(wrong)).is_err(), "{wrong}");
        }
    }
}
