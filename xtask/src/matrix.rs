//! The first law on a large input: one hash over workers, budgets and the serial reference, for each codec.

use crate::arguments::Arguments;
use crate::{corpus, environment, shell};
use packline_testkit::packer::Packer;
use packline_testkit::tools;
use std::path::{Path, PathBuf};

const WORKERS: [&str; 7] = ["0", "1", "2", "3", "7", "16", "64"];
const CODECS: [&str; 7] = ["none", "lz4", "gzip", "zstd", "lzo", "xz", "lzma"];
const LARGE: &str = "2G";

/// `matrix`: prints a hash for each run; an error at the first that differs from the serial reference.
pub fn run(arguments: &Arguments) -> Result<(), String> {
    arguments.only(&["input", "codecs", "workers", "binary"])?;
    let binary = arguments.path("binary").map_or_else(shell::release_binary, Ok)?;
    let input = arguments.path("input").unwrap_or_else(corpus::archive);
    let directory = environment::target_directory().join("matrix");
    std::fs::create_dir_all(&directory).map_err(|cause| cause.to_string())?;
    let matrix = Matrix { packer: Packer::new(binary), input, image: directory.join("image.sqfs") };
    for codec in arguments.list("codecs", &CODECS) {
        matrix.codec(&codec, &arguments.list("workers", &WORKERS))?;
    }
    std::fs::remove_dir_all(&directory).map_err(|cause| cause.to_string())
}

struct Matrix {
    packer: Packer,
    input: PathBuf,
    image: PathBuf,
}

impl Matrix {
    fn codec(&self, codec: &str, workers: &[String]) -> Result<(), String> {
        let reference = self.hash(codec, &["--serial"])?;
        shell::say(&format!("{codec} --serial {reference}"));
        let smallest = self.smallest_budget(codec)?;
        for workers in workers {
            for memory in [Some(smallest.as_str()), None, Some(LARGE)] {
                let mut options = vec!["-j", workers];
                options.extend(memory.iter().flat_map(|memory| ["--mem", *memory]));
                let hash = self.hash(codec, &options)?;
                shell::say(&format!("{codec} {} {hash}", options.join(" ")));
                if hash != reference {
                    return Err(format!("{codec} {options:?}: other bytes than --serial"));
                }
            }
        }
        Ok(())
    }

    fn hash(&self, codec: &str, options: &[&str]) -> Result<String, String> {
        tools::run(&mut self.command(codec, options))?;
        hash_of(&self.image)
    }

    fn command(&self, codec: &str, options: &[&str]) -> std::process::Command {
        let all = [&["-c", codec, "--force", "--quiet"], options].concat();
        self.packer.command(&self.input, &self.image, &all)
    }

    /// The smallest power of two of MiB that one worker can do with.
    fn smallest_budget(&self, codec: &str) -> Result<String, String> {
        let budgets = (0..12).map(|power| format!("{}M", 1 << power));
        let works = |budget: &String| {
            let outcome = self.command(codec, &["-j", "1", "--mem", budget]).output();
            outcome.is_ok_and(|output| output.status.success())
        };
        let mut budgets = budgets.filter(works);
        budgets.next().ok_or_else(|| format!("{codec}: no budget suffices"))
    }
}

fn hash_of(path: &Path) -> Result<String, String> {
    let named = |cause: std::io::Error| format!("{}: {cause}", path.display());
    let mut hasher = blake3::Hasher::new();
    let mut file = std::fs::File::open(path).map_err(named)?;
    std::io::copy(&mut file, &mut hasher).map_err(named)?;
    Ok(hasher.finalize().to_hex().to_string())
}
