//! Measures everything that the documentation reports, in one run of one build, and writes docs/benchmarks.md and docs/charts.html.

mod side_by_side;
mod tasks;

use super::{erofs, recorded, work_directory};
use crate::{clock, corpus, options, shell};
use clap::{Args, ValueEnum};
use side_by_side::Bench;
use std::path::{Path, PathBuf};
use std::process::Command;

#[derive(Debug, Args)]
pub struct Options {
    /// The first input, a tar [default: the corpus debian-root]
    #[arg(long, value_name = "TAR")]
    input: Option<PathBuf>,
    /// The second input, a tar of versions of a program, one directory each [default: the corpus versions-binary]
    #[arg(long, value_name = "TAR")]
    second: Option<PathBuf>,
    /// Runs of each program
    #[arg(long, value_name = "N", default_value_t = 1)]
    runs: usize,
    /// Codecs of the images, except those of the part slow
    #[arg(long, value_name = "LIST", default_value = CODECS)]
    codecs: String,
    /// Programs that pack images, each NAME or NAME=PATH
    #[arg(long, value_name = "LIST", default_value = "mksquashfs,tar2sqfs")]
    against: String,
    /// Measure these parts again. The other parts are those measured earlier on the same day [default: all]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    parts: Vec<Part>,
    /// Directory for temporary files, best in memory
    #[arg(long, value_name = "DIR")]
    work_dir: Option<PathBuf>,
    #[command(flatten)]
    erofs: erofs::Peers,
    #[command(flatten)]
    binary: options::Binary,
}

const CODECS: &str = "none,lz4,lz4:hc,lzo,gzip,zstd:level=3,zstd";
const SLOW_CODECS: &str = "xz,lzma";

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Pack the first input
    Pack,
    /// Pack the first input with the codecs that take half of the time of all
    Slow,
    /// Pack the second input
    Second,
    /// Unpack an image of the first input
    Unpack,
    /// Read EROFS images of the first input in the kernel, and extract them
    Erofs,
    /// Archives, streams, rebuilds, deltas and recovery data
    Tasks,
}

impl Part {
    fn name(self) -> &'static str {
        match self {
            Part::Pack => "page-pack",
            Part::Slow => "page-slow",
            Part::Second => "page-second",
            Part::Unpack => "page-unpack",
            Part::Erofs => "erofs",
            Part::Tasks => "page-tasks",
        }
    }

    fn title(self) -> &'static str {
        match self {
            Part::Pack => "Pack a Debian root file system",
            Part::Slow => "Pack a Debian root file system with xz and lzma",
            Part::Second => "Pack versions of a program",
            Part::Unpack => "Unpack a Debian root file system",
            Part::Erofs => "Read EROFS images of a Debian root file system",
            Part::Tasks => "Other tasks",
        }
    }

    fn report(self, suffix: &str) -> PathBuf {
        shell::root().join(format!("bench/results/{}-{}.{suffix}", clock::today(), self.name()))
    }
}

/// The inputs and the program of one run.
struct Page<'a> {
    options: &'a Options,
    binary: PathBuf,
    input: PathBuf,
    second: PathBuf,
    directory: PathBuf,
}

pub fn run(options: &Options) -> Result<(), String> {
    let page = Page::new(options)?;
    for part in Part::value_variants() {
        if options.parts.is_empty() || options.parts.contains(part) {
            page.measure(*part)?;
        }
    }
    shell::write(&shell::root().join("docs/benchmarks.md"), &page.text()?)?;
    let html = Part::Pack.report("html");
    let target = shell::root().join("docs/charts.html");
    std::fs::copy(&html, &target).map(drop).map_err(|cause| format!("{}: {cause}", html.display()))
}

impl Page<'_> {
    fn new(options: &Options) -> Result<Page<'_>, String> {
        let input = options.input.clone().unwrap_or_else(corpus::archive);
        let second = options.second.clone().unwrap_or_else(|| corpus::directory().join("versions-binary.tar"));
        let binary = options.binary.path()?;
        let directory = work_directory(options.work_dir.as_deref())?.join("page");
        std::fs::create_dir_all(&directory).map_err(|cause| format!("{}: {cause}", directory.display()))?;
        let absolute = |path: PathBuf| path.canonicalize().map_err(|cause| format!("{}: {cause}", path.display()));
        Ok(Page {
            options,
            binary: absolute(binary)?,
            input: absolute(input)?,
            second: absolute(second)?,
            directory: absolute(directory)?,
        })
    }

    fn measure(&self, part: Part) -> Result<(), String> {
        match part {
            Part::Pack => self.pack(part, &self.input, &self.options.codecs),
            Part::Slow => self.pack(part, &self.input, SLOW_CODECS),
            Part::Second => self.pack(part, &self.second, &format!("{},{SLOW_CODECS}", self.options.codecs)),
            Part::Unpack => self.unpack(),
            Part::Erofs => self.erofs(),
            Part::Tasks => self.tasks(),
        }
    }

    fn pack(&self, part: Part, input: &Path, codecs: &str) -> Result<(), String> {
        let mut command = self.bench("pack", input);
        command.args(["-c", codecs, "-b", "128K,1M", "--against", &self.options.against]);
        self.report(part, &mut command)
    }

    fn unpack(&self) -> Result<(), String> {
        let image = self.directory.join("root.sqfs");
        shell::run(Command::new(&self.binary).args(["pack", "-q", "-f"]).arg(&self.input).arg(&image))?;
        let mut command = self.bench("unpack", &image);
        command.args(["--jobs", &crate::environment::processors().to_string()]);
        self.report(Part::Unpack, &mut command)
    }

    /// Runs `cargo xtask bench erofs` with the tree of the first input.
    fn erofs(&self) -> Result<(), String> {
        let tree = self.directory.join("debian-root");
        std::fs::create_dir_all(&tree).map_err(|cause| format!("{}: {cause}", tree.display()))?;
        let mut tar = Command::new("tar");
        shell::run(tar.args(["--xattrs", "--xattrs-include=*", "-xpf"]).arg(&self.input).arg("-C").arg(&tree))?;
        let erofs::Peers { mkfs, fsck } = &self.options.erofs;
        let mut command = Command::new(crate::environment::own_path()?);
        command.args(["bench", "erofs", "--tree"]).arg(&tree).arg("--trees").arg(&self.directory);
        command.arg("--mkfs").arg(mkfs).arg("--fsck").arg(fsck).arg("--binary").arg(&self.binary);
        shell::run(&mut command)
    }

    fn bench(&self, what: &str, input: &Path) -> Command {
        let mut command = Command::new(&self.binary);
        command.args(["bench", what]).arg(input).arg("--work-dir").arg(&self.directory);
        command.args(["--no-storage", "--force", "--runs", &self.options.runs.to_string()]);
        command
    }

    fn report(&self, part: Part, command: &mut Command) -> Result<(), String> {
        for (option, suffix) in [("--csv", "csv"), ("--markdown", "md"), ("--html", "html")] {
            command.arg(option).arg(part.report(suffix));
        }
        shell::run(command)?;
        for suffix in ["csv", "md", "html"] {
            let report = part.report(suffix);
            let text = read(&report)?;
            shell::write(&report, &self.without_paths(&text))?;
        }
        Ok(())
    }

    /// Prepares the directory that [`tasks::TASKS`] describes, and measures the tasks.
    fn tasks(&self) -> Result<(), String> {
        const PREPARE: &str =
            "mkdir -p bin && ln -sf \"$1\" bin/packline && ln -sf \"$2\" root.tar && ln -sf \"$3\" versions.tar
            rm -rf versions cache && mkdir versions && tar -xf versions.tar -C versions
            cd versions && set -- $(find . -mindepth 1 -maxdepth 1 -type d -name '*[0-9].[0-9]*' | sort -V | tail -n 2)
            tar -cf ../old.tar -C \"$1\" . && tar -cf ../new.tar -C \"$2\" .";
        let mut command = Command::new("sh");
        command.args(["-e", "-c", PREPARE, "prepare"]).args([&self.binary, &self.input, &self.second]);
        packline_testkit::tools::run(command.current_dir(&self.directory))?;
        let bench = Bench { directory: &self.directory, runs: self.options.runs };
        let table = bench.table()?;
        let machine = recorded::machine_description();
        let text = format!("# Other tasks\n\n- Machine: {machine}\n- Runs: {}\n\n{table}", self.options.runs);
        shell::write(&Part::Tasks.report("md"), &text)
    }

    fn text(&self) -> Result<String, String> {
        let mut text = format!(
            "# Benchmarks\n\n{}\n\n[charts.html](charts.html) has charts of the first part: size against processor time for each codec, with \
             all programs.\n\nMachine: {}. Date: {}.\n",
            INTRODUCTION,
            recorded::machine_description(),
            clock::today()
        );
        for part in Part::value_variants() {
            let body = read(&part.report("md"))?;
            text.push_str(&format!("\n## {}\n{}", part.title(), demoted(&body)));
        }
        Ok(text)
    }

    /// Replaces the paths of this machine by short names.
    fn without_paths(&self, text: &str) -> String {
        let results = shell::root().join("bench/results");
        let mut short = vec![
            (self.input.display().to_string(), "debian-root.tar"),
            (self.second.display().to_string(), "versions-binary.tar"),
            (self.directory.display().to_string(), "page"),
            (self.binary.display().to_string(), "packline"),
            (results.display().to_string(), "bench/results"),
        ];
        let programs =
            self.options.against.split(',').filter_map(|program| Some((program, program.split_once('=')?.0)));
        short.extend(programs.map(|(program, name)| (program.to_owned(), name)));
        short.iter().fold(text.to_owned(), |text, (path, name)| text.replace(path, name))
    }
}

const INTRODUCTION: &str = "\
This page compares packline with the programs that it replaces. One run of one build measured all figures. To repeat the run:

    cargo xtask corpus debian-root
    cargo xtask corpus versions-binary
    cargo xtask bench page

The input is in the page cache, and the output is in memory. All programs use two threads and their default levels unless a table says
otherwise. They run in turn, so changes of the machine's speed affect all of them. The outputs are compared. CPU is the user and
system time of the program. A ratio is packline's figure divided by the other program's figure, so a ratio below 1 is better.";

fn read(report: &Path) -> Result<String, String> {
    std::fs::read_to_string(report).map_err(|cause| format!("{}: {cause}", report.display()))
}

/// Returns a report without its first heading. The other headings are one level lower.
fn demoted(report: &str) -> String {
    let lines = report.lines().filter(|line| !line.starts_with("# "));
    let lowered = lines.map(|line| if line.starts_with("##") { format!("#{line}\n") } else { format!("{line}\n") });
    lowered.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_of_reports_are_lowered() {
        assert_eq!(demoted("# Report\n\ntext\n\n## Part\n#tag\n"), "\ntext\n\n### Part\n#tag\n");
    }
}
