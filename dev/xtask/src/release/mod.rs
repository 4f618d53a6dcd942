//! `cargo xtask release`: everything that a release consists of, in one directory, without the network. docs/release.md describes the files.

mod archive;
mod binary;
mod notes;
mod packages;
mod recipes;
mod sbom;
mod source;
mod twice;

use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;

use crate::platform::{self, Platform};
use crate::{environment, shell};

/// The version of all crates of the workspace.
const VERSION: &str = env!("CARGO_PKG_VERSION");

#[derive(Debug, Args)]
pub struct Options {
    /// Directory for the files, which must not exist [default: target/release-VERSION]
    #[arg(long = "out", value_name = "DIR")]
    directory: Option<PathBuf>,
    /// Where the files will be published: the recipes download the source archive from there [default: the directory itself]
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// Only these targets or machines [default: x86_64 and aarch64]
    #[arg(long = "target", value_name = "NAME")]
    targets: Vec<String>,
    /// If a program, a compiler or a target is missing, name it and leave out what needs it
    #[arg(long)]
    partial: bool,
    /// Build binaries and packages again from the source archive, in another directory, and compare them bit for bit
    #[arg(long)]
    twice: bool,
}

/// Programs that do not come with cargo. Each makes some of the files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Tools {
    auditable: bool,
    deb: bool,
    rpm: bool,
}

impl Tools {
    /// Finds the programs. The list names each missing program.
    fn find(missing: &mut Vec<String>) -> Tools {
        let mut has = |name: &str, makes: &str| {
            let found = packline_testkit::tools::find(name).is_some();
            if !found {
                missing.push(format!("{name} ({makes}): cargo install --locked {name}"));
            }
            found
        };
        Tools {
            auditable: has("cargo-auditable", "the list of crates in each binary"),
            deb: has("cargo-deb", ".deb packages"),
            rpm: has("cargo-generate-rpm", ".rpm packages"),
        }
    }
}

/// One build of binaries and packages from one directory of sources.
struct Job {
    /// The sources.
    root: PathBuf,
    /// Cargo's directory for what it builds.
    target: PathBuf,
    /// Directory for the files of the release.
    out: PathBuf,
    /// Seconds since 1970 of all times in all files.
    time: u64,
    tools: Tools,
}

impl Job {
    /// Runs a command in the directory of the sources, with the time of the release.
    fn run(&self, command: &mut Command) -> Result<(), String> {
        let time = self.time.to_string();
        shell::run_here(command.current_dir(&self.root).env("SOURCE_DATE_EPOCH", time))
    }

    /// Builds the binary of a platform and everything that contains it. `host` makes manual pages and archives: it runs here.
    fn packages(&self, platform: &Platform, host: &Path) -> Result<(), String> {
        let binary = binary::build(self, platform)?;
        packages::make(&packages::Parts { job: self, platform, binary: &binary, host })
    }
}

/// Makes the release.
pub fn run(options: &Options) -> Result<(), String> {
    let (platforms, tools) = available(options)?;
    let target = environment::target_directory().join("dist");
    let target = std::path::absolute(&target).map_err(|cause| named(&target, cause))?;
    let out =
        options.directory.clone().unwrap_or_else(|| environment::target_directory().join(format!("release-{VERSION}")));
    std::fs::create_dir_all(out.parent().unwrap_or(&out)).map_err(|cause| named(&out, cause))?;
    std::fs::create_dir(&out).map_err(|cause| named(&out, cause))?;
    let out = out.canonicalize().map_err(|cause| named(&out, cause))?;
    let job = Job { root: shell::root().to_path_buf(), target, out, time: time()?, tools };
    let url = options.url.clone().unwrap_or_else(|| format!("file://{}", job.out.display()));

    let host = binary::build(&job, &platform::here()?)?;
    let archive = source::archive(&job, &host)?;
    platforms.iter().try_for_each(|platform| job.packages(platform, &host))?;
    shell::write(&job.out.join(format!("packline-{VERSION}.cdx.json")), &sbom::document(&job)?)?;
    shell::write(&job.out.join(format!("CHANGES-{VERSION}.md")), &notes::of_version(&job.root, VERSION)?)?;
    recipes::write(&job.out, &recipes::Values { version: VERSION, url: &url, sha256: &sha256(&archive)? })?;
    if options.twice {
        twice::compare(&job, &platforms, &archive)?;
    }
    sums(&job.out)?;
    shell::print(&job.out.display().to_string());
    Ok(())
}

/// The platforms and the programs that can be used here. An error names what is missing, unless a partial release is wanted.
fn available(options: &Options) -> Result<(Vec<Platform>, Tools), String> {
    let unknown = |name: &String| format!("--target {name}: not a known target or machine");
    let named = options.targets.iter().map(|name| Platform::named(name).ok_or_else(|| unknown(name)));
    let mut platforms: Vec<Platform> = named.collect::<Result<_, _>>()?;
    if platforms.is_empty() {
        platforms = platform::released().to_vec();
    }
    let mut missing = Vec::new();
    let tools = Tools::find(&mut missing);
    let mut complete = Vec::new();
    for platform in platforms {
        let lacks = platform.missing()?;
        if lacks.is_empty() {
            complete.push(platform);
        }
        missing.extend(lacks);
    }
    if missing.is_empty() {
        return Ok((complete, tools));
    }
    let list = missing.join("\n  ");
    if !options.partial {
        return Err(format!("missing (--partial leaves out what needs these):\n  {list}"));
    }
    shell::print_error(&format!("left out, because these are missing:\n  {list}"));
    Ok((complete, tools))
}

/// The time of all files: SOURCE_DATE_EPOCH, or the time of the last commit.
fn time() -> Result<u64, String> {
    let text = match environment::source_date() {
        Some(text) => text,
        None => shell::output(Command::new("git").args(["log", "-1", "--format=%ct"]))?,
    };
    text.trim_end().parse().map_err(|_| format!("'{text}' is not a time (expected seconds since 1970)"))
}

/// Writes SHA256SUMS, in the order of names.
fn sums(out: &Path) -> Result<(), String> {
    let names = shell::files(out)?;
    let lines = names.iter().map(|path| {
        let name = path.strip_prefix(out).unwrap_or(path);
        Ok(format!("{}  {}\n", sha256(path)?, name.display()))
    });
    let lines: String = lines.collect::<Result<_, String>>()?;
    shell::write(&out.join("SHA256SUMS"), &lines)
}

/// The SHA-256 hash of a file, in hexadecimal.
fn sha256(path: &Path) -> Result<String, String> {
    let printed = shell::output(Command::new("sha256sum").arg(path))?;
    Ok(printed.split_whitespace().next().unwrap_or_default().trim_start_matches('\\').to_owned())
}

fn named(path: &Path, cause: std::io::Error) -> String {
    format!("{}: {cause}", path.display())
}
