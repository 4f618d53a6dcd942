//! Determinism on a large input: one hash over workers, memory budgets and the serial reference, for each codec.

use crate::{corpus, environment, options, shell};
use clap::Args;
use packline_testkit::tools;
use std::path::PathBuf;

const LARGE: &str = "2G";

#[derive(Debug, Args)]
pub struct Options {
    /// A tar or a directory [default: the corpus debian-root]
    #[arg(long, value_name = "PATH")]
    input: Option<PathBuf>,
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "none,lz4,gzip,zstd,lzo,xz,lzma")]
    codecs: Vec<String>,
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "0,1,2,3,7,16,64")]
    workers: Vec<String>,
    #[command(flatten)]
    binary: options::Binary,
}

/// Prints a hash for each run. Returns an error at the first hash that differs from the serial reference.
pub fn run(options: &Options) -> Result<(), String> {
    let directory = environment::target_directory().join("matrix");
    std::fs::create_dir_all(&directory).map_err(|cause| cause.to_string())?;
    let input = options.input.clone().unwrap_or_else(corpus::archive);
    let matrix = Matrix { packline: options.binary.path()?, input, image: directory.join("image.sqfs") };
    options.codecs.iter().try_for_each(|codec| matrix.codec(codec, &options.workers))?;
    std::fs::remove_dir_all(&directory).map_err(|cause| cause.to_string())
}

struct Matrix {
    packline: PathBuf,
    input: PathBuf,
    image: PathBuf,
}

impl Matrix {
    fn codec(&self, codec: &str, workers: &[String]) -> Result<(), String> {
        let reference = self.hash(codec, &["--serial"])?;
        shell::print(&format!("{codec} --serial {reference}"));
        let smallest = self.smallest_budget(codec)?;
        for workers in workers {
            for memory in [Some(smallest.as_str()), None, Some(LARGE)] {
                let mut options = vec!["-j", workers];
                options.extend(memory.iter().flat_map(|memory| ["--mem", *memory]));
                let hash = self.hash(codec, &options)?;
                shell::print(&format!("{codec} {} {hash}", options.join(" ")));
                if hash != reference {
                    return Err(format!("{codec} {options:?}: the image differs from the one with --serial"));
                }
            }
        }
        Ok(())
    }

    fn hash(&self, codec: &str, options: &[&str]) -> Result<blake3::Hash, String> {
        tools::run(&mut self.command(codec, options))?;
        shell::hash(std::slice::from_ref(&self.image))
    }

    fn command(&self, codec: &str, options: &[&str]) -> std::process::Command {
        let mut command = std::process::Command::new(&self.packline);
        command.arg("pack").args([&self.input, &self.image]).args(["-c", codec, "--force", "--quiet"]).args(options);
        command.env_remove("SOURCE_DATE_EPOCH").stdin(std::process::Stdio::null());
        command
    }

    /// The smallest power of two of MiB that is enough for one worker.
    fn smallest_budget(&self, codec: &str) -> Result<String, String> {
        let budgets = (0..12).map(|power| format!("{}M", 1 << power));
        let works = |budget: &String| {
            let outcome = self.command(codec, &["-j", "1", "--mem", budget]).output();
            outcome.is_ok_and(|output| output.status.success())
        };
        let mut budgets = budgets.filter(works);
        budgets.next().ok_or_else(|| format!("{codec}: no memory budget up to 2G is enough"))
    }
}
