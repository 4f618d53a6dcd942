//! A block cache on a real bazel-remote, by http and https: machines find the blocks that another machine packed, and continue without the server.

mod server;

use crate::{generate, options, shell};
use clap::Args;
use packline_testkit::certificates::Certificates;
use packline_testkit::tools;
use serde_json::Value;
use server::BazelRemote;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Megabytes of the generated tar.
const MEGABYTES: u64 = 200;

#[derive(Debug, Args)]
pub struct Options {
    /// The server: bazel-remote
    #[arg(long, value_name = "PROGRAM", default_value = "bazel-remote")]
    server: PathBuf,
    /// A directory or a tar [default: a generated tar of 200 MB]
    #[arg(long, value_name = "PATH")]
    input: Option<PathBuf>,
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "lz4,gzip,zstd,xz")]
    codecs: Vec<String>,
    #[command(flatten)]
    binary: options::Binary,
}

/// Prints a line for each pack. Returns an error if an image differs, or if a block was not found where it must be.
pub fn run(options: &Options) -> Result<(), String> {
    let directory = tempfile::tempdir().map_err(|cause| cause.to_string())?;
    let input = options.input.clone().map_or_else(|| bulk(directory.path()), Ok)?;
    let machines = Machines { packline: options.binary.path()?, input, directory: directory.path() };
    let program = &options.server;
    let server = BazelRemote::start(program, directory.path(), None)?;
    options.codecs.iter().try_for_each(|codec| machines.share(codec, server.url()))?;
    let url = server.url().to_string();
    drop(server);
    machines.without(&url, &options.codecs[0])?;
    if tools::find("openssl").is_none() {
        shell::print_error("https is left out: there is no openssl");
        return Ok(());
    }
    let trusted = Certificates::make(directory.path())?;
    let server = BazelRemote::start(program, directory.path(), Some(&trusted))?;
    machines.by_https(&trusted.root, server.url())
}

fn bulk(directory: &Path) -> Result<PathBuf, String> {
    let path = directory.join("bulk.tar");
    let failed = |cause| format!("{}: {cause}", path.display());
    let mut file = std::io::BufWriter::new(std::fs::File::create(&path).map_err(failed)?);
    generate::Kind::Bulk.write(MEGABYTES, &mut file).and_then(|()| file.flush()).map_err(failed)?;
    Ok(path)
}

/// Packs of the same input with caches of several machines.
struct Machines<'a> {
    packline: PathBuf,
    input: PathBuf,
    directory: &'a Path,
}

/// The place in which a block must have been found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    Nowhere,
    InDirectory,
    OnServer,
}

impl Machines<'_> {
    fn share(&self, codec: &str, url: &str) -> Result<(), String> {
        let expected = self.image(codec)?;
        let [first, second] = ["first", "second"].map(|machine| format!("{}-{codec},{url}", self.at(machine)));
        let packs = [
            ("first machine, empty server", &first, Found::Nowhere),
            ("second machine", &second, Found::OnServer),
            ("second machine again", &second, Found::InDirectory),
            ("third machine, no directory", &url.to_string(), Found::OnServer),
        ];
        for (name, cache, found) in packs {
            let report = self.pack(codec, &["--cache", cache], &[])?;
            self.check(name, codec, &report, &expected)?;
            let count = |pointer: &str| report.pointer(pointer).and_then(Value::as_u64).unwrap_or(u64::MAX);
            let all = count("/cache/found");
            let server = count("/cache/server/found");
            let right = match found {
                Found::Nowhere => server == 0 && count("/cache/server/added") == count("/cache/missed"),
                Found::InDirectory => server == 0 && count("/cache/missed") == 0,
                Found::OnServer => server == all && count("/cache/missed") == 0,
            };
            if !right {
                return Err(format!("{codec}, {name}: {}", report["cache"]));
            }
        }
        Ok(())
    }

    /// The server does not run.
    fn without(&self, url: &str, codec: &str) -> Result<(), String> {
        let expected = self.image(codec)?;
        let report = self.pack(codec, &["--cache", url], &[])?;
        self.check("server away", codec, &report, &expected)
    }

    fn by_https(&self, root: &Path, url: &str) -> Result<(), String> {
        let expected = self.image("zstd")?;
        for (name, missed) in [("https, empty server", false), ("https", true)] {
            let report = self.pack("zstd", &["--cache", url], &[("SSL_CERT_FILE", root)])?;
            self.check(name, "zstd", &report, &expected)?;
            if (report["cache"]["missed"] == 0) != missed {
                return Err(format!("{name}: {}", report["cache"]));
            }
        }
        Ok(())
    }

    fn image(&self, codec: &str) -> Result<blake3::Hash, String> {
        let report = self.pack(codec, &["--no-cache"], &[])?;
        let expected = shell::hash(&[self.directory.join("image")])?;
        self.check("no cache", codec, &report, &expected)?;
        Ok(expected)
    }

    fn check(&self, name: &str, codec: &str, report: &Value, expected: &blake3::Hash) -> Result<(), String> {
        let seconds = report["seconds"].as_f64().unwrap_or_default();
        shell::print(&format!("{codec:<6} {name:<28} {seconds:>7.2} s  {}", report["cache"]));
        if shell::hash(&[self.directory.join("image")])? == *expected {
            Ok(())
        } else {
            Err(format!("{codec}, {name}: the image differs from the one without a cache"))
        }
    }

    fn pack(&self, codec: &str, options: &[&str], environment: &[(&str, &Path)]) -> Result<Value, String> {
        let mut command = Command::new(&self.packline);
        command.args(["pack", "--force", "--json", "-c", codec]).args(options);
        command.arg(&self.input).arg(self.directory.join("image")).envs(environment.iter().copied());
        let output = tools::run(&mut command)?;
        serde_json::from_slice(&output.stdout).map_err(|cause| format!("{command:?}: {cause}"))
    }

    fn at(&self, name: &str) -> String {
        self.directory.join(name).to_string_lossy().into_owned()
    }
}
