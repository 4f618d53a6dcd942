//! Runs of `packline bench` whose reports are kept with a date.

use crate::{clock, corpus, options, shell};
use clap::Args;
use std::path::PathBuf;
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
}
