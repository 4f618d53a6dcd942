//! Packs trees that differ a little from one packed before: with a block cache, with the earlier image as base, with both, and without.

use super::{median, recorded, work_directory};
use crate::{options, shell};
use clap::Args;
use packline_testkit::peer::{Cost, Job};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

#[derive(Debug, Args)]
pub struct Options {
    /// The tree that was packed before
    #[arg(long, value_name = "DIR")]
    old: PathBuf,
    /// The same tree after a change; repeated for each change
    #[arg(long, value_name = "DIR")]
    new: Vec<PathBuf>,
    /// Codecs of packline pack
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "gzip,zstd,xz")]
    codecs: Vec<String>,
    #[arg(long, value_name = "SIZE", default_value = "128K")]
    block_size: String,
    /// Runs of a rebuild; a clean build runs once
    #[arg(long, value_name = "N", default_value_t = 3)]
    runs: usize,
    /// Directory for images and caches
    #[arg(long, value_name = "DIR")]
    work_dir: Option<PathBuf>,
    #[command(flatten)]
    output: options::Output,
    #[command(flatten)]
    binary: options::Binary,
}

/// The places in which a rebuild finds blocks.
const MEANS: [(&str, bool, bool); 3] = [("cache", true, false), ("base", false, true), ("cache and base", true, true)];

struct Row {
    codec: String,
    tree: String,
    means: &'static str,
    costs: Vec<Cost>,
    /// CPU time in seconds of the clean build of the same tree.
    clean: f64,
    size: u64,
    equal: bool,
}

struct Bench<'a> {
    options: &'a Options,
    binary: PathBuf,
    directory: PathBuf,
    rows: Vec<Row>,
}

pub fn run(options: &Options) -> Result<(), String> {
    let binary = options.binary.path()?;
    let directory = work_directory(options.work_dir.as_deref())?;
    let mut bench = Bench { options, binary, directory, rows: Vec::new() };
    bench.stored()?;
    for codec in &options.codecs {
        bench.codec(codec)?;
    }
    shell::print(&table(&bench.rows));
    options.output.write("rebuild", &csv(&bench.rows), &page(options, &bench.rows))?;
    match bench.rows.iter().find(|row| !row.equal) {
        Some(row) => Err(format!("{} {} with {}: not the clean build", row.codec, row.tree, row.means)),
        None => Ok(()),
    }
}

impl Bench<'_> {
    fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// Reading, hashing and writing alone: the minimum cost of a rebuild.
    fn stored(&mut self) -> Result<(), String> {
        warm(&self.options.old)?;
        let costs = self.pack("none", &self.options.old, "rebuild.none.sqfs", &[], self.options.runs)?;
        let clean = median(costs.iter().map(Cost::cpu));
        self.row("none", &self.options.old, "nothing", costs, clean, "rebuild.none.sqfs", "rebuild.none.sqfs")
    }

    fn codec(&mut self, codec: &str) -> Result<(), String> {
        let old = self.options.old.clone();
        let filled = self.path("rebuild.filled");
        let clean = self.clean(codec, &old, "rebuild.old.sqfs")?;
        remove(&filled)?;
        let cold = self.pack(codec, &old, "rebuild.sqfs", &["--cache", shell::text(&filled)?], 1)?;
        self.row(codec, &old, "empty cache", cold, clean, "rebuild.sqfs", "rebuild.old.sqfs")?;
        self.rebuilds(codec, &old, clean, "rebuild.old.sqfs")?;
        for new in &self.options.new {
            warm(new)?;
            let clean = self.clean(codec, new, "rebuild.new.sqfs")?;
            self.rebuilds(codec, new, clean, "rebuild.new.sqfs")?;
        }
        remove(&filled)
    }

    fn clean(&mut self, codec: &str, tree: &Path, image: &str) -> Result<f64, String> {
        let costs = self.pack(codec, tree, image, &[], 1)?;
        let clean = median(costs.iter().map(Cost::cpu));
        self.row(codec, tree, "nothing", costs, clean, image, image)?;
        Ok(clean)
    }

    /// The rebuilds of one tree. Each time the cache has the blocks of the old tree.
    fn rebuilds(&mut self, codec: &str, tree: &Path, clean: f64, image: &str) -> Result<(), String> {
        let cache = self.path("rebuild.cache");
        let base = self.path("rebuild.old.sqfs");
        let cache_text = shell::text(&cache)?.to_owned();
        let base_text = shell::text(&base)?.to_owned();
        for (means, with_cache, with_base) in MEANS {
            let mut words = Vec::new();
            if with_cache {
                words.extend(["--cache", &cache_text]);
            }
            if with_base {
                words.extend(["--base", &base_text]);
            }
            let mut costs = Vec::new();
            for _ in 0..self.options.runs {
                if with_cache {
                    remove(&cache)?;
                    shell::run(Command::new("cp").arg("-a").arg(self.path("rebuild.filled")).arg(&cache))?;
                }
                costs.extend(self.pack(codec, tree, "rebuild.sqfs", &words, 1)?);
            }
            self.row(codec, tree, means, costs, clean, "rebuild.sqfs", image)?;
        }
        remove(&cache)
    }

    fn pack(&self, codec: &str, tree: &Path, image: &str, words: &[&str], runs: usize) -> Result<Vec<Cost>, String> {
        let image = self.path(image);
        let binary = shell::text(&self.binary)?;
        let tree = shell::text(tree)?;
        let image = shell::text(&image)?;
        let mut argv = vec![binary, "pack", "--quiet", "--force", "-c", codec, "-b", &self.options.block_size];
        argv.extend_from_slice(words);
        argv.extend([tree, image]);
        (0..runs).map(|_| Job::new("pack", &argv).measure()).collect()
    }

    #[allow(clippy::too_many_arguments, reason = "the columns of a row")]
    fn row(
        &mut self,
        codec: &str,
        tree: &Path,
        means: &'static str,
        costs: Vec<Cost>,
        clean: f64,
        image: &str,
        expected: &str,
    ) -> Result<(), String> {
        let image = self.path(image);
        let size = std::fs::metadata(&image).map_err(|cause| format!("{}: {cause}", image.display()))?.len();
        let equal = shell::hash(&[image])? == shell::hash(&[self.path(expected)])?;
        let tree = tree.file_name().unwrap_or_default().to_string_lossy().into_owned();
        self.rows.push(Row { codec: codec.to_owned(), tree, means, costs, clean, size, equal });
        Ok(())
    }
}

/// Reads a tree once, so that it is in the page cache.
fn warm(tree: &Path) -> Result<(), String> {
    let packed = Command::new("tar")
        .arg("-cf")
        .arg("-")
        .arg("-C")
        .arg(tree)
        .arg(".")
        .stdout(std::process::Stdio::piped())
        .spawn();
    let mut child = packed.map_err(|cause| format!("tar: {cause}"))?;
    if let Some(mut out) = child.stdout.take() {
        std::io::copy(&mut out, &mut std::io::sink()).map_err(|cause| format!("tar: {cause}"))?;
    }
    child.wait().map(drop).map_err(|cause| format!("tar: {cause}"))
}

fn remove(directory: &Path) -> Result<(), String> {
    match std::fs::remove_dir_all(directory) {
        Err(cause) if cause.kind() != std::io::ErrorKind::NotFound => Err(format!("{}: {cause}", directory.display())),
        _ => Ok(()),
    }
}

fn table(rows: &[Row]) -> String {
    let mut text =
        "| codec | tree | blocks found in | CPU, s | of clean | wall, s | peak, MB | image, bytes | equal |\n\
                    |---|---|---|--:|--:|--:|--:|--:|---|\n"
            .to_owned();
    for row in rows {
        let number = |number: fn(&Cost) -> f64| median(row.costs.iter().map(number));
        let cpu = number(Cost::cpu);
        let wall = number(|cost| cost.wall);
        let peak = number(|cost| cost.peak as f64) / 1e6;
        let share = cpu / row.clean;
        let equal = if row.equal { "yes" } else { "NO" };
        let Row { codec, tree, means, size, .. } = row;
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "| {codec} | {tree} | {means} | {cpu:.2} | {share:.3} | {wall:.2} | {peak:.0} | {size} | {equal} |"
        );
    }
    text
}

/// One line for each run.
fn csv(rows: &[Row]) -> String {
    let mut text = "codec,tree,means,run,cpu_s,wall_s,peak_bytes,image_bytes,equal\n".to_owned();
    for row in rows {
        for (run, cost) in row.costs.iter().enumerate() {
            let cpu = cost.cpu();
            let wall = cost.wall;
            let peak = cost.peak;
            let Row { codec, tree, means, size, equal, .. } = row;
            let _ = writeln!(text, "{codec},{tree},{means},{run},{cpu},{wall},{peak},{size},{equal}");
        }
    }
    text
}

fn page(options: &Options, rows: &[Row]) -> String {
    format!(
        "# Rebuilds\n\n{}\n\nBlocks of {}. A clean build (blocks found in nothing) runs once, a rebuild {} times: medians, trees in the \
         page cache. CPU is user and system time; \"of clean\" is relative to the clean build of the same tree. \"equal\": the image has the \
         hash of that clean build. The cache is as packing the first tree left it.\n\n{}",
        recorded::machine_description(),
        options.block_size,
        options.runs,
        table(rows)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_beside_its_clean_build() {
        let cost = |wall| Cost { wall, user: 2.0 * wall, system: 0.0, peak: 3_000_000 };
        let costs = vec![cost(3.0), cost(1.0), cost(2.0)];
        let row = |equal| Row {
            codec: "xz".into(),
            tree: "root".into(),
            means: "base",
            costs: costs.clone(),
            clean: 100.0,
            size: 4096,
            equal,
        };
        let text = table(&[row(true), row(false)]);
        let lines: Vec<&str> = text.lines().skip(2).collect();
        assert_eq!(lines[0], "| xz | root | base | 4.00 | 0.040 | 2.00 | 3 | 4096 | yes |");
        assert!(lines[1].ends_with("| NO |"));
    }
}
