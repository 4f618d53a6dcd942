//! The Python package: builds a wheel, installs it in a virtual environment, and runs its tests or its benchmark there.

use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;

use crate::{environment, shell};

#[derive(Debug, Args)]
pub struct Options {
    /// Read this number of damaged images after the tests
    #[arg(long, value_name = "N", default_value_t = 0)]
    mutants: u64,
    /// Install more packages first, which some programs of the guide need, such as pandas
    #[arg(long = "with", value_name = "PACKAGE")]
    packages: Vec<String>,
}

#[derive(Debug, Args)]
pub struct BenchOptions {
    /// Directory for the image [default: one in cargo's target directory]
    #[arg(long, value_name = "DIR")]
    work: Option<PathBuf>,
}

/// Packages that the tests need besides the wheel. The tests of fsspec are skipped without it.
const PACKAGES: [&str; 2] = ["maturin>=1.7,<2", "fsspec"];

/// Builds the wheel and runs all tests.
pub fn run(options: &Options) -> Result<(), String> {
    let environment = Environment::make(options.packages.iter().map(String::as_str))?;
    let tests = shell::root().join("python/tests");
    shell::run_here(environment.python().args(["-m", "unittest", "discover", "--start-directory"]).arg(&tests))?;
    if options.mutants > 0 {
        let program = tests.join("mutants.py");
        shell::run_here(environment.python().arg(program).arg(options.mutants.to_string()))?;
    }
    Ok(())
}

/// Compares the wheel with PySquashfsImage.
pub fn bench(options: &BenchOptions) -> Result<(), String> {
    let environment = Environment::make(["PySquashfsImage", "zstandard"])?;
    let work = options.work.clone().unwrap_or_else(environment::target_directory);
    shell::run_here(environment.python().arg(shell::root().join("python/bench/compare.py")).arg(work))
}

/// A virtual environment with the wheel.
struct Environment(PathBuf);

impl Environment {
    /// Makes the environment, or takes the one of an earlier run, and installs a new wheel.
    fn make<'p>(packages: impl IntoIterator<Item = &'p str>) -> Result<Environment, String> {
        let directory = environment::target_directory().join("python");
        let environment = Environment(directory.join("venv"));
        if !environment.program("pip").exists() {
            shell::run_here(Command::new("python3").args(["-m", "venv"]).arg(&environment.0))?;
        }
        let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
        shell::run_here(environment.python().args(install).args(PACKAGES).args(packages))?;
        let wheel = environment.wheel(&directory.join("wheels"))?;
        shell::run_here(environment.python().args(install).args(["--force-reinstall", "--no-deps"]).arg(wheel))?;
        Ok(environment)
    }

    /// Builds the wheel in a directory, which then has no other.
    fn wheel(&self, directory: &Path) -> Result<PathBuf, String> {
        let named = |cause: std::io::Error| format!("{}: {cause}", directory.display());
        if directory.exists() {
            std::fs::remove_dir_all(directory).map_err(named)?;
        }
        let mut build = Command::new(self.program("maturin"));
        build.args(["build", "--release", "--locked", "--manifest-path", "python/Cargo.toml", "--out"]).arg(directory);
        shell::run(&mut build)?;
        let wheel = shell::files(directory)?.into_iter().next();
        wheel.ok_or_else(|| format!("{}: there is no wheel", directory.display()))
    }

    fn python(&self) -> Command {
        Command::new(self.program("python"))
    }

    fn program(&self, name: &str) -> PathBuf {
        self.0.join("bin").join(name)
    }
}
