//! Programs started, lines printed, files found: what every command here needs.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The repository's root.
pub fn root() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here)
}

/// Prints a line.
#[allow(clippy::print_stdout, reason = "this is a program for a terminal")]
pub fn say(line: &str) {
    println!("{line}");
}

/// Prints a line to standard error.
#[allow(clippy::print_stderr, reason = "this is a program for a terminal")]
pub fn complain(line: &str) {
    eprintln!("{line}");
}

/// Runs a program in the repository's root, its output on the terminal. An error unless it succeeds.
pub fn run(command: &mut Command) -> Result<(), String> {
    started(command.current_dir(root()))
}

/// Runs a program where it is told to, its output on the terminal. An error unless it succeeds.
pub fn started(command: &mut Command) -> Result<(), String> {
    let shown = show(command);
    complain(&format!("+ {shown}"));
    let status = command.status().map_err(|cause| format!("{shown}: {cause}"))?;
    if status.success() { Ok(()) } else { Err(format!("{shown}: {status}")) }
}

/// The standard output of a program. An error unless it succeeds.
pub fn output(command: &mut Command) -> Result<String, String> {
    let output = packline_testkit::tools::run(command.current_dir(root()))?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn show(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
}

/// The cargo that runs us.
pub fn cargo() -> Command {
    Command::new("cargo")
}

/// Builds the binary as users have it, and says where it is.
pub fn release_binary() -> Result<PathBuf, String> {
    run(cargo().args(["build", "--release", "--package", "packline-cli"]))?;
    Ok(crate::environment::target_directory().join("release/packline"))
}

/// Builds the binary as the tests use it, with the features of the whole workspace, and says where it is.
pub fn debug_binary() -> Result<PathBuf, String> {
    run(cargo().args(["build", "--quiet", "--workspace", "--bin", "packline", "--example", "seeds"]))?;
    Ok(crate::environment::target_directory().join("debug/packline"))
}

/// All files of the project below a directory, build outputs left out, in order.
pub fn files(below: &Path) -> Result<Vec<PathBuf>, String> {
    let (mut pending, mut found) = (vec![below.to_path_buf()], Vec::new());
    while let Some(directory) = pending.pop() {
        let entries = std::fs::read_dir(&directory).map_err(|cause| format!("{}: {cause}", directory.display()))?;
        for path in entries.flatten().map(|entry| entry.path()) {
            let skipped = ["target", ".git", "fuzz/corpus", "fuzz/artifacts"].iter().any(|name| path.ends_with(name));
            match path.is_dir() {
                true if skipped => {}
                true => pending.push(path),
                false => found.push(path),
            }
        }
    }
    found.sort();
    Ok(found)
}

/// A path as text, or an error.
pub fn text(path: &Path) -> Result<&str, String> {
    path.to_str().ok_or_else(|| format!("{} is not UTF-8", path.display()))
}

/// Writes a file, its directory made if need be.
pub fn write(path: &Path, content: &str) -> Result<(), String> {
    let named = |cause: std::io::Error| format!("{}: {cause}", path.display());
    path.parent().map_or(Ok(()), std::fs::create_dir_all).map_err(named)?;
    std::fs::write(path, content).map_err(named)
}
