//! A virtual environment for a wheel.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::environment::target_directory;
use crate::shell;

const MATURIN: &str = "maturin>=1.7,<2";
const PIP: [&str; 4] = ["-m", "pip", "--quiet", "--disable-pip-version-check"];

/// A virtual environment in cargo's target directory.
pub struct Environment {
    directory: PathBuf,
    root: PathBuf,
}

impl Environment {
    /// Creates the environment, or uses that of an earlier run, and installs maturin and the packages.
    pub fn make<'p>(packages: impl IntoIterator<Item = &'p str>) -> Result<Environment, String> {
        let directory = target_directory().join("python");
        let environment = Environment { root: directory.join("venv"), directory };
        if !environment.program("pip").exists() {
            shell::run_here(Command::new("python3").args(["-m", "venv"]).arg(&environment.root))?;
        }
        shell::run_here(environment.python().args(PIP).args(["install", MATURIN]).args(packages))?;
        Ok(environment)
    }

    pub fn install(&self, package: &Path) -> Result<(), String> {
        let again = ["install", "--force-reinstall", "--no-deps"];
        shell::run_here(self.python().args(PIP).args(again).arg(package))
    }

    /// Builds a wheel.
    pub fn wheel(&self) -> Result<PathBuf, String> {
        self.maturin(&["build", "--release", "--locked"], "wheels")
    }

    /// Builds a source distribution, and a wheel from it.
    pub fn source(&self) -> Result<PathBuf, String> {
        let source = self.maturin(&["sdist"], "source")?;
        let wheels = empty(self.directory.join("wheels"))?;
        shell::run_here(self.python().args(PIP).args(["wheel", "--no-deps", "--wheel-dir"]).arg(&wheels).arg(source))?;
        only_file(&wheels)
    }

    /// Returns the only file that maturin writes to a directory.
    fn maturin(&self, command: &[&str], directory: &str) -> Result<PathBuf, String> {
        let directory = empty(self.directory.join(directory))?;
        let mut maturin = Command::new(self.program("maturin"));
        maturin.args(command).args(["--manifest-path", "python/Cargo.toml", "--out"]).arg(&directory);
        shell::run(&mut maturin)?;
        only_file(&directory)
    }

    /// The packages with their versions, as text.
    pub fn versions(&self, packages: &[&str]) -> Result<String, String> {
        let list = "import sys, importlib.metadata as m\n\
                    print(', '.join(f'{name} {m.version(name)}' for name in ('packline', *sys.argv[1:])), end='')\n\
                    print(f', Python {sys.version.split()[0]}', end='')";
        shell::output_here(self.python().args(["-c", list]).args(packages))
    }

    pub fn python(&self) -> Command {
        Command::new(self.program("python"))
    }

    fn program(&self, name: &str) -> PathBuf {
        self.root.join("bin").join(name)
    }
}

/// Removes the files of an earlier run from a directory.
pub fn empty(directory: PathBuf) -> Result<PathBuf, String> {
    if directory.exists() {
        std::fs::remove_dir_all(&directory).map_err(|cause| format!("{}: {cause}", directory.display()))?;
    }
    Ok(directory)
}

fn only_file(directory: &Path) -> Result<PathBuf, String> {
    let file = shell::files(directory)?.into_iter().next();
    file.ok_or_else(|| format!("{}: is empty (expected a file)", directory.display()))
}
