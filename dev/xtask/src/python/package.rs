//! The package without maturin and pip: a directory for `PYTHONPATH`, with what a wheel has.

use std::path::Path;

use crate::{environment, shell};

/// Puts the package into a directory, with a library as its native part.
pub fn assemble(library: &Path, directory: &Path) -> Result<(), String> {
    let package = directory.join("packline");
    for file in shell::files(&shell::root().join("python/packline"))? {
        if let Some(name) = file.file_name().filter(|_| !file.to_string_lossy().contains("__pycache__")) {
            copy(&file, &package.join(name))?;
        }
    }
    copy(library, &package.join("_native.abi3.so"))?;
    let metadata = directory.join("packline-0.dist-info");
    shell::write(&metadata.join("METADATA"), "Metadata-Version: 2.1\nName: packline\nVersion: 0\n")?;
    shell::write(&metadata.join("entry_points.txt"), &entry_points()?)
}

/// The entry points of `pyproject.toml` in the format of an installed package.
fn entry_points() -> Result<String, String> {
    const TABLE: &str = "[project.entry-points.\"";
    let path = shell::root().join("python/pyproject.toml");
    let text = std::fs::read_to_string(&path).map_err(|cause| format!("{}: {cause}", path.display()))?;
    let mut points = String::new();
    let mut inside = false;
    for line in text.lines() {
        if line.starts_with('[') {
            inside = line.starts_with(TABLE);
            let group = line.trim_start_matches(TABLE).trim_end_matches("\"]");
            points += &if inside { format!("[{group}]\n") } else { String::new() };
        } else if inside && !line.is_empty() {
            points += &format!("{}\n", line.replace('"', ""));
        }
    }
    Ok(points)
}

/// A `PYTHONPATH` that begins with a directory.
pub fn search_path(directory: &Path) -> String {
    let more = environment::python_path().map_or_else(String::new, |more| format!(":{more}"));
    directory.display().to_string() + &more
}

fn copy(from: &Path, to: &Path) -> Result<(), String> {
    let named = |cause: std::io::Error| format!("{}: {cause}", from.display());
    to.parent().map_or(Ok(()), std::fs::create_dir_all).map_err(named)?;
    std::fs::copy(from, to).map(drop).map_err(named)
}
