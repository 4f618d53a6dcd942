//! Size against processor time of our levels and the libraries' levels, on the same blocks in memory, one thread.

mod encoders;
mod points;

use self::encoders::{Candidate, Compress, candidates};
use self::points::{Point, csv, page};
use super::work_directory;
use crate::{clock, corpus, options, shell};
use clap::Args;
use packline_codec::Spec;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
pub struct Options {
    /// File whose blocks are compressed [default: the corpus debian-root]
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,
    /// Codecs with their levels: gzip, lzo, lz4, zstd, xz
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "gzip,lzo,lz4,zstd,xz")]
    codecs: Vec<String>,
    /// Also measure this codec of ours, with its parameters; may be repeated
    #[arg(long, value_name = "CODEC", value_parser = Spec::parse)]
    also: Vec<Spec>,
    /// Block sizes, KiB
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "128,1024")]
    blocks: Vec<u32>,
    /// Content for each block size, MiB, in blocks spread over the file
    #[arg(long, value_name = "N", default_value_t = 16)]
    sample: u32,
    #[command(flatten)]
    output: options::Output,
}

pub fn run(options: &Options) -> Result<(), String> {
    let input = options.input.clone().unwrap_or_else(corpus::archive);
    let mut points = Vec::new();
    for &size in &options.blocks {
        let size = size as usize * 1024;
        let blocks = sample(&input, size, options.sample as usize * (1 << 20) / size)?;
        points.extend(measure(candidates(&options.codecs, &options.also, size)?, &blocks, size)?);
        if options.codecs.iter().any(|codec| codec == "lzo") {
            let file = work_directory(None)?.join("curve-blocks");
            points.extend(encoders::lzo2_points(&blocks, size, &file)?);
        }
    }
    points.iter().for_each(|point| shell::print(&point.line(&points)));
    options.output.write("curve", &csv(&points), &page(&points, options.sample))
}

/// Blocks at equal distances in a file, or all full blocks if it has fewer.
fn sample(path: &Path, size: usize, count: usize) -> Result<Vec<Vec<u8>>, String> {
    let named = |cause: std::io::Error| format!("{}: {cause}", path.display());
    let file = File::open(path).map_err(named)?;
    let total = file.metadata().map_err(named)?.len() / size as u64;
    let count = (count as u64).min(total);
    if count == 0 {
        return Err(format!(
            "{}: no block to measure (expected {size} bytes or more, and a --sample of as much)",
            path.display()
        ));
    }
    let read = |number: u64| {
        let mut block = vec![0; size];
        file.read_exact_at(&mut block, number * total / count * size as u64).map_err(named)?;
        Ok(block)
    };
    (0..count).map(read).collect()
}

/// Each block is compressed by all candidates in turn, so that a slower minute of the machine is slower for all.
fn measure(candidates: Vec<Candidate>, blocks: &[Vec<u8>], size: usize) -> Result<Vec<Point>, String> {
    let mut encoders = Vec::new();
    for Candidate { codec, ours, level, mut compress } in candidates {
        let mut product = Vec::new();
        let first = &blocks[0];
        compress(first, &mut product)?; // fresh memory costs a page fault every 4 KiB
        encoders.push((Point { codec, ours, level, size, content: 0, stored: 0, seconds: 0.0 }, compress, product));
    }
    for block in blocks {
        for (point, compress, product) in &mut encoders {
            let (seconds, stored) = timed(compress, block, product)?;
            point.seconds += seconds;
            point.add(block.len(), stored);
        }
    }
    Ok(encoders.into_iter().map(|(point, ..)| point).collect())
}

/// Processor seconds, and the size of the result.
fn timed(compress: &mut Compress, block: &[u8], product: &mut Vec<u8>) -> Result<(f64, usize), String> {
    let start = clock::processor_seconds();
    let stored = compress(block, product)?;
    Ok((clock::processor_seconds() - start, stored))
}

#[cfg(test)]
mod tests {
    use super::*;
    use packline_testkit::Random;

    #[test]
    fn every_candidate_compresses_what_is_sampled() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("text");
        std::fs::write(&file, Random::new(7).prose(40_000)).unwrap();
        let blocks = sample(&file, 4096, 3).unwrap();
        assert_eq!(blocks.len(), 3);
        assert!(sample(&file, 65_536, 3).is_err());
        let codecs = ["gzip", "lzo", "lz4", "zstd", "xz"].map(str::to_owned);
        let also = [Spec::parse("xz:x86").unwrap()];
        let points = measure(candidates(&codecs, &also, 4096).unwrap(), &blocks, 4096).unwrap();
        assert!(
            points.iter().all(|point| point.content == 3 * 4096 && (1..3 * 4096).contains(&point.stored)),
            "{points:?}"
        );
        assert!(points.iter().any(|point| point.codec == "xz" && point.level == "x86"), "{points:?}");
        assert!(candidates(&["lzop".to_owned()], &[], 4096).is_err());
    }
}
