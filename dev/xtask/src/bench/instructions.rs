//! Counts instructions on a small generated workload with valgrind: a measure of work without the noise of clocks.

use super::counts::{Counts, Task};
use super::{recorded, work_directory};
use crate::{clock, options, shell};
use clap::Args;
use packline_testkit::{generate, tools};
use std::path::{Path, PathBuf};
use std::process::Command;

const CODECS: [&str; 7] = ["gzip", "xz", "lzma", "zstd", "lz4", "lzo", "none"];
/// The codec of the image that is read.
const READ: &str = "zstd";
const MEGABYTES: u64 = 2;
const TINY_FILES: u64 = 3000;

/// A counted run: name, arguments of packline, and the resulting image.
type Step = (String, Vec<String>, Option<PathBuf>);

#[derive(Debug, Args)]
pub struct Options {
    #[command(flatten)]
    output: options::Output,
    #[command(flatten)]
    binary: options::Binary,
}

/// Writes `DATE-instructions.csv`.
pub fn run(options: &Options) -> Result<(), String> {
    if tools::find("valgrind").is_none() {
        return Err("valgrind is not installed (apt-get install valgrind)".into());
    }
    let binary = options.binary.path()?;
    let directory = work_directory(None)?.join("instructions");
    std::fs::create_dir_all(&directory).map_err(|cause| format!("{}: {cause}", directory.display()))?;
    let counts = count(&binary, &directory);
    std::fs::remove_dir_all(&directory).map_err(|cause| format!("{}: {cause}", directory.display()))?;
    let text = counts?.to_string();
    shell::print(&text);
    shell::write(&options.output.directory().join(format!("{}-instructions.csv", clock::today())), &text)
}

fn count(binary: &Path, directory: &Path) -> Result<Counts, String> {
    let named = |path: &Path, cause: std::io::Error| format!("{}: {cause}", path.display());
    let bulk = directory.join("bulk.tar");
    let tiny = directory.join("tiny.tar");
    generate::write_tar(&bulk, |sink| generate::mixed_bulk(sink, MEGABYTES)).map_err(|cause| named(&bulk, cause))?;
    generate::write_tar(&tiny, |sink| generate::many_files(sink, TINY_FILES)).map_err(|cause| named(&tiny, cause))?;
    let mut counts = Counts { machine: machine()?, tasks: Vec::new() };
    for (name, argv, made) in steps(directory)? {
        let instructions =
            counted(binary, &argv, &directory.join("counted")).map_err(|cause| format!("{name}: {cause}"))?;
        let bytes = made.map_or(Ok(0), |path| std::fs::metadata(&path).map(|found| found.len()));
        counts.tasks.push(Task { name, instructions, bytes: bytes.map_err(|cause| cause.to_string())? });
    }
    Ok(counts)
}

/// All runs in order: images are packed before they are read. Runs have no threads where packline allows it, so that the counts do
/// not depend on timing.
fn steps(directory: &Path) -> Result<Vec<Step>, String> {
    let path = |name: &str| shell::text(&directory.join(name)).map(str::to_owned);
    let bulk = path("bulk.tar")?;
    let tiny = path("tiny.tar")?;
    let image = path(&format!("{READ}.sqfs"))?;
    let tree = path("tree")?;
    let mut steps = Vec::new();
    for codec in CODECS {
        let image = path(&format!("{codec}.sqfs"))?;
        steps.push(packing(&format!("pack {codec}"), &bulk, &image, codec));
    }
    steps.push(packing("pack many files", &tiny, &path("many.sqfs")?, "none"));
    let mut read = |name: &str, words: &[&str]| {
        steps.push((name.to_owned(), words.iter().map(ToString::to_string).collect(), None));
    };
    read("unpack", &["unpack", &image, &tree, "-j0", "--quiet"]);
    read("sqfs2tar", &["sqfs2tar", "--serial", &image]);
    read("verify", &["verify", &image, "-j0", "--quiet"]);
    read("list", &["list", "-l", &image]);
    steps.push(packing("pack directory", &tree, &path("directory.sqfs")?, "none"));
    Ok(steps)
}

fn packing(name: &str, source: &str, image: &str, codec: &str) -> Step {
    let argv = ["pack", source, image, "-c", codec, "--serial", "--quiet"].map(str::to_owned);
    (name.to_owned(), argv.to_vec(), Some(PathBuf::from(image)))
}

/// Runs packline under valgrind and discards its standard output.
fn counted(binary: &Path, argv: &[String], report: &Path) -> Result<u64, String> {
    let mut command = Command::new("valgrind");
    command.args(["--tool=cachegrind", "--cache-sim=no", "--quiet"]);
    command.arg(format!("--cachegrind-out-file={}", report.display())).arg(binary).args(argv);
    tools::run(command.stdin(std::process::Stdio::null()))?;
    let text = std::fs::read_to_string(report).map_err(|cause| cause.to_string())?;
    summary(&text).ok_or_else(|| format!("{} has no summary", report.display()))
}

/// The count in cachegrind's output, `summary: N`.
fn summary(text: &str) -> Option<u64> {
    text.lines().rev().find_map(|line| line.strip_prefix("summary:"))?.trim().parse().ok()
}

fn machine() -> Result<String, String> {
    let version = shell::output(Command::new("valgrind").arg("--version"))?;
    Ok(format!("{}; {}", version.trim(), recorded::machine_model()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn count_of_a_report() {
        assert_eq!(summary("events: Ir\nfn=main\n1 5\nsummary: 12345\n"), Some(12_345));
        assert_eq!(summary("events: Ir\n"), None);
    }

    #[test]
    fn images_are_packed_before_they_are_read() {
        let steps = steps(Path::new("place")).unwrap();
        let made = steps.iter().position(|(_, _, made)| made.as_deref() == Some(Path::new("place/zstd.sqfs"))).unwrap();
        let read = steps.iter().position(|(name, ..)| name == "unpack").unwrap();
        assert!(made < read);
        assert!(steps.iter().all(|(name, ..)| !name.contains(',')));
    }
}
