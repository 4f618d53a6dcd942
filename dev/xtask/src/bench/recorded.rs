//! Benchmarks whose reports are kept with a date, the dated results of earlier runs, and the machine that they name.

use crate::{clock, corpus, options, shell};
use clap::Args;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

#[derive(Debug, Args)]
pub struct Options {
    /// Input of the benchmark [default: the corpus debian-root]
    #[arg(long, value_name = "PATH")]
    input: Option<PathBuf>,
    /// Name of the reports [default: the benchmark's]
    #[arg(long)]
    name: Option<String>,
    #[command(flatten)]
    output: options::Output,
    #[command(flatten)]
    binary: options::Binary,
    /// Options of packline bench, after all options above
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTIONS")]
    forwarded: Vec<String>,
}

pub fn run(what: &str, options: &Options) -> Result<(), String> {
    let input = options.input.clone().unwrap_or_else(corpus::archive);
    if !input.exists() {
        return Err(format!("{}: not found (make it with `cargo xtask corpus debian-root`)", input.display()));
    }
    let mut command = Command::new(options.binary.path()?);
    command.args(["bench", what]).arg(input).args(&options.forwarded).arg("--force");
    for (option, path) in reports(what, options) {
        command.arg(option).arg(path);
    }
    shell::run(&mut command)
}

fn reports(what: &str, options: &Options) -> [(&'static str, PathBuf); 3] {
    let name = format!("{}-{}", clock::today(), options.name.as_deref().unwrap_or(what));
    [("--csv", "csv"), ("--markdown", "md"), ("--html", "html")]
        .map(|(option, suffix)| (option, options.output.directory().join(format!("{name}.{suffix}"))))
}

/// The last two files of each name in a directory, for names with at least two.
pub fn last_two(directory: &Path) -> Result<Vec<[PathBuf; 2]>, String> {
    let entries = std::fs::read_dir(directory).map_err(|cause| format!("{}: {cause}", directory.display()))?;
    let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let pairs = pairs(names.collect());
    Ok(pairs.into_iter().map(|pair| pair.map(|name| directory.join(name))).collect())
}

fn pairs(mut names: Vec<String>) -> Vec<[String; 2]> {
    names.sort();
    let mut by_name: BTreeMap<String, Vec<&String>> = BTreeMap::new();
    for name in &names {
        if let Some(rest) = undated(name) {
            by_name.entry(rest.to_owned()).or_default().push(name);
        }
    }
    by_name.values().filter_map(|all| all.last_chunk::<2>()).map(|pair| pair.map(Clone::clone)).collect()
}

/// The part of a CSV file's name after the date.
fn undated(name: &str) -> Option<&str> {
    let date = name.get(..10)?;
    let rest = name.get(10..)?.strip_prefix('-')?.strip_suffix(".csv")?;
    let digit =
        |(index, byte): (usize, u8)| if index == 4 || index == 7 { byte == b'-' } else { byte.is_ascii_digit() };
    date.bytes().enumerate().all(digit).then_some(rest)
}

pub fn machine_description() -> String {
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let processors = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let count = processors.lines().filter(|line| line.starts_with("processor")).count();
    format!("{count} x {}, Linux {}", model_in(&processors), kernel.trim())
}

pub fn machine_model() -> String {
    model_in(&std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default()).to_owned()
}

fn model_in(processors: &str) -> &str {
    let line = processors.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or(": unknown");
    line.trim_start_matches([' ', '\t', ':'])
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        options: Options,
    }

    #[test]
    fn options_of_the_benchmark_are_forwarded() {
        let line = "pack --name big --out x --codec lz4,zstd:level=3 --no-storage --runs 5";
        let Line { options } = Line::try_parse_from(line.split(' ')).unwrap();
        assert_eq!(options.forwarded, ["--codec", "lz4,zstd:level=3", "--no-storage", "--runs", "5"]);
        let [csv, ..] = reports("pack", &options);
        assert!(csv.1.starts_with("x") && csv.1.to_string_lossy().ends_with("-big.csv"), "{csv:?}");
    }

    #[test]
    fn last_two_of_each_name() {
        let names = [
            "2026-02-01-a.csv",
            "2025-12-31-a.csv",
            "2026-01-01-a.csv",
            "2026-01-01-b.csv",
            "2026-02-01-a.md",
            "x.csv",
        ];
        let found = pairs(names.map(str::to_owned).to_vec());
        assert_eq!(found, [["2026-01-01-a.csv".to_owned(), "2026-02-01-a.csv".to_owned()]]);
    }

    #[test]
    fn name_after_a_date() {
        assert_eq!(undated("2026-02-01-pack-debian-root.csv"), Some("pack-debian-root"));
        for name in [
            "2026-02-1-a.csv",
            "2026-02-01.csv",
            "a.csv",
            "2026-02-01-a.md",
            "2026_02_01-a.csv",
            "\u{fc}\u{fc}\u{fc}\u{fc}\u{fc}-a.csv",
        ] {
            assert_eq!(undated(name), None, "{name}");
        }
    }
}
