//! Running programs, printing lines and finding files, for all commands.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

pub fn root() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here)
}

/// Prints a line to standard output. A closed pipe is not an error.
pub fn print(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

pub fn print_error(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Runs a program in the repository's root with output to the terminal. An error unless it succeeds.
pub fn run(command: &mut Command) -> Result<(), String> {
    run_here(command.current_dir(root()))
}

/// Runs a program in the command's own directory with output to the terminal. An error unless it succeeds.
pub fn run_here(command: &mut Command) -> Result<(), String> {
    let line = command_line(command);
    print_error(&format!("+ {line}"));
    let status = command.status().map_err(|cause| format!("{line}: {cause}"))?;
    if status.success() { Ok(()) } else { Err(format!("{line}: {status}")) }
}

/// The standard output of a program that runs in the repository's root. An error unless it succeeds.
pub fn output(command: &mut Command) -> Result<String, String> {
    output_here(command.current_dir(root()))
}

/// The standard output of a program that runs in the command's own directory. An error unless it succeeds.
pub fn output_here(command: &mut Command) -> Result<String, String> {
    let output = packline_testkit::tools::run(command)?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn command_line(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
}

pub fn cargo() -> Command {
    Command::new("cargo")
}

/// Builds the release binary. Returns its path.
pub fn release_binary() -> Result<PathBuf, String> {
    run(cargo().args(["build", "--release", "--package", "packline-cli"]))?;
    Ok(crate::environment::target_directory().join("release/packline"))
}

/// Builds the binary that the tests use, with the features of the whole workspace. Returns its path.
pub fn debug_binary() -> Result<PathBuf, String> {
    run(cargo().args(["build", "--quiet", "--workspace", "--bin", "packline", "--example", "seeds"]))?;
    Ok(crate::environment::target_directory().join("debug/packline"))
}

/// All files of the project below a directory except build outputs, sorted.
pub fn files(below: &Path) -> Result<Vec<PathBuf>, String> {
    let mut pending = vec![below.to_path_buf()];
    let mut found = Vec::new();
    while let Some(directory) = pending.pop() {
        let entries = std::fs::read_dir(&directory).map_err(|cause| format!("{}: {cause}", directory.display()))?;
        for path in entries.flatten().map(|entry| entry.path()) {
            let skipped =
                ["target", ".git", "libfuzzer/corpus", "libfuzzer/artifacts"].iter().any(|name| path.ends_with(name));
            if !path.is_dir() {
                found.push(path);
            } else if !skipped {
                pending.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// The hash of the concatenation of files.
pub fn hash(paths: &[PathBuf]) -> Result<blake3::Hash, String> {
    let mut hasher = blake3::Hasher::new();
    for path in paths {
        let hashed = std::fs::File::open(path).and_then(|file| hasher.update_reader(file).map(drop));
        hashed.map_err(|cause| format!("{}: {cause}", path.display()))?;
    }
    Ok(hasher.finalize())
}

pub fn text(path: &Path) -> Result<&str, String> {
    path.to_str().ok_or_else(|| format!("{} is not UTF-8", path.display()))
}

/// Writes a file. Creates its directory.
pub fn write(path: &Path, content: &str) -> Result<(), String> {
    let named = |cause: std::io::Error| format!("{}: {cause}", path.display());
    path.parent().map_or(Ok(()), std::fs::create_dir_all).map_err(named)?;
    std::fs::write(path, content).map_err(named)
}
