//! Builds binaries and packages again from the source archive, in a directory with another name and another length, and compares them.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::platform::{self, Platform};
use crate::release::{Job, VERSION, binary, named};
use crate::shell;

/// Returns an error that names each file that differs.
pub fn compare(job: &Job, platforms: &[Platform], archive: &Path) -> Result<(), String> {
    let stage = tempfile::tempdir_in(&job.target).map_err(|cause| named(&job.target, cause))?;
    shell::run(Command::new("tar").arg("-xf").arg(archive).arg("-C").arg(stage.path()))?;
    let again = Job {
        root: stage.path().join(format!("packline-{VERSION}")),
        target: stage.path().join("built-again-elsewhere"),
        out: stage.path().join("out"),
        ..*job
    };
    fs::create_dir(&again.out).map_err(|cause| named(&again.out, cause))?;
    let host = binary::build(&again, &platform::here()?)?;
    platforms.iter().try_for_each(|platform| again.packages(platform, &host))?;
    let differing = differing(&again.out, &job.out)?;
    if differing.is_empty() {
        shell::print_error("built twice: all binaries and packages are equal");
        return Ok(());
    }
    let kept = stage.keep();
    Err(format!("built twice, these differ: {}; compare with diffoscope in {}", differing.join(", "), kept.display()))
}

/// Names of the files of one directory that are missing in the other or have other bytes there.
fn differing(some: &Path, others: &Path) -> Result<Vec<String>, String> {
    let files = shell::files(some)?;
    if files.is_empty() {
        return Err(format!("{} holds no files", some.display()));
    }
    let mut differing = Vec::new();
    for file in files {
        let name = file.strip_prefix(some).unwrap_or(&file);
        let other = others.join(name);
        if !other.exists() || shell::hash(std::slice::from_ref(&file))? != shell::hash(&[other])? {
            differing.push(name.display().to_string());
        }
    }
    Ok(differing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_named() {
        let place = tempfile::tempdir().unwrap();
        let [some, others] = ["some", "others"].map(|name| place.path().join(name));
        for (directory, name, text) in [
            (&some, "same", "1"),
            (&others, "same", "1"),
            (&some, "other", "1"),
            (&others, "other", "2"),
            (&some, "new", ""),
        ] {
            shell::write(&directory.join(name), text).unwrap();
        }
        assert_eq!(differing(&some, &others).unwrap(), ["new", "other"]);
        assert!(differing(&place.path().join("none"), &others).is_err());
    }
}
