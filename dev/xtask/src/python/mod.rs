//! The Python package: its tests in CI with the library that cargo built, and its tests and benchmark with an installed wheel.

mod environment;
mod package;

use std::path::PathBuf;
use std::process::Command;

use clap::Args;

use crate::bench::recorded::machine_description;
use crate::environment::target_directory;
use crate::{clock, options, shell};
use environment::{Environment, empty};

#[derive(Debug, Args)]
pub struct Options {
    /// Read this number of damaged images after the tests
    #[arg(long, value_name = "N", default_value_t = 0)]
    mutants: u64,
    /// Install more packages first, which some programs of the guide need, such as pandas
    #[arg(long = "with", value_name = "PACKAGE")]
    packages: Vec<String>,
    /// Test this wheel [default: one that is built]
    #[arg(long, value_name = "FILE")]
    wheel: Option<PathBuf>,
    /// Build the wheel from a source distribution, as `pip install` does where there is no wheel
    #[arg(long, conflicts_with = "wheel")]
    from_source: bool,
}

#[derive(Debug, Args)]
pub struct BenchOptions {
    /// Directory for the files that are read [default: one in cargo's target directory]
    #[arg(long, value_name = "DIR")]
    work: Option<PathBuf>,
    /// Runs of each task, in turn with all programs
    #[arg(long, value_name = "N", default_value_t = 5)]
    rounds: u32,
    /// Measure this wheel [default: one that is built]
    #[arg(long, value_name = "FILE")]
    wheel: Option<PathBuf>,
    #[command(flatten)]
    output: options::Output,
}

/// What the tests need besides the wheel. mypy compares the type stubs with the package.
const FOR_TESTS: [&str; 2] = ["fsspec", "mypy>=1.19"];
/// Other programs that read images in Python. zstandard is what PySquashfsImage decodes zstd with.
const PEERS: [&str; 3] = ["PySquashfsImage", "ratarmountcore", "zstandard"];

/// Runs the tests with the extension as cargo builds it for the other tests, and the `python3` of the path. The package is not installed, so
/// nothing but fsspec is needed. Where `CI` is set, a test fails if a module is missing.
pub fn check() -> Result<(), String> {
    // The example selects the features of the tests, so that no library is compiled again.
    shell::run(shell::cargo().args(["build", "--quiet", "--workspace", "--lib", "--example", "seeds"]))?;
    let directory = empty(target_directory().join("python/package"))?;
    package::assemble(&target_directory().join("debug/lib_native.so"), &directory)?;
    let mut tests = unittest(Command::new("python3"));
    shell::run_here(tests.env("PYTHONPATH", package::search_path(&directory)).env("PACKLINE_TESTS", "short"))
}

/// Builds the wheel and runs all tests.
pub fn run(options: &Options) -> Result<(), String> {
    let environment = Environment::make(FOR_TESTS.into_iter().chain(options.packages.iter().map(String::as_str)))?;
    let wheel = match (&options.wheel, options.from_source) {
        (Some(wheel), _) => wheel.clone(),
        (None, false) => environment.wheel()?,
        (None, true) => environment.source()?,
    };
    environment.install(&wheel)?;
    shell::run_here(&mut unittest(environment.python()))?;
    let stubtest = ["-m", "mypy.stubtest", "packline", "--ignore-disjoint-bases", "--allowlist"];
    shell::run_here(environment.python().args(stubtest).arg(tests().join("stubtest.txt")))?;
    if options.mutants > 0 {
        shell::run_here(environment.python().arg(tests().join("mutants.py")).arg(options.mutants.to_string()))?;
    }
    Ok(())
}

/// Compares the wheel with other ways to read many small files.
pub fn bench(options: &BenchOptions) -> Result<(), String> {
    let environment = Environment::make(PEERS)?;
    environment.install(&options.wheel.clone().map_or_else(|| environment.wheel(), Ok)?)?;
    let work = options.work.clone().unwrap_or_else(target_directory);
    let mut compare = environment.python();
    compare.arg(shell::root().join("python/bench/compare.py")).args(["--rounds", &options.rounds.to_string()]);
    let tables = shell::output_here(compare.arg(work))?;
    let versions = environment.versions(&PEERS)?;
    let today = clock::today();
    let head = format!(
        "# Many small files in Python, {today}\n\nMachine: {}. Programs: {versions}. 100,000 files of 100 to 4,000 bytes \
         of text.\nProcessor time is that of a process without what its interpreter and its imports take.\n\n",
        machine_description()
    );
    let page = head + &tables;
    shell::print(&page);
    shell::write(&options.output.directory().join(format!("{today}-python.md")), &page)
}

/// The tests, with a program that runs Python.
fn unittest(mut python: Command) -> Command {
    python.args(["-m", "unittest", "discover", "--start-directory"]).arg(tests());
    python
}

fn tests() -> PathBuf {
    shell::root().join("python/tests")
}
