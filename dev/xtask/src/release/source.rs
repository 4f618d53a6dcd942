//! The source archive: the committed files and the sources of all crates, so that a build needs no network.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::release::{Job, VERSION, archive, named};
use crate::shell;

/// Lets cargo take all crates from the folder `vendor`.
const CONFIGURATION: &str = "
[source.crates-io]
replace-with = \"vendored-sources\"

[source.vendored-sources]
directory = \"vendor\"
";

/// Writes the archive, whose only entry is a directory `packline-VERSION`. Returns its path.
pub fn archive(job: &Job, host: &Path) -> Result<PathBuf, String> {
    let stage = tempfile::tempdir_in(&job.target).map_err(|cause| named(&job.target, cause))?;
    let directory = stage.path().join("source").join(format!("packline-{VERSION}"));
    fs::create_dir_all(&directory).map_err(|cause| named(&directory, cause))?;
    committed_files(&job.root, stage.path(), &directory)?;
    let vendor = ["vendor", "--quiet", "--locked", "--offline", "--versioned-dirs", "vendor"];
    let vendored = shell::output_here(shell::cargo().args(vendor).current_dir(&directory));
    vendored.map_err(|cause| format!("{cause}\ncargo fetch --locked downloads crates that are missing"))?;
    let path = directory.join(".cargo/config.toml");
    let configuration = fs::read_to_string(&path).map_err(|cause| named(&path, cause))?;
    shell::write(&path, &(configuration + CONFIGURATION))?;
    let out = job.out.join(format!("packline-{VERSION}-source.tar.xz"));
    archive::write(host, &stage.path().join("source"), &out, job.time)?;
    Ok(out)
}

/// Copies the files of the last commit. Changes that are not committed would be in the binaries, but in no source: they are an error.
fn committed_files(root: &Path, scratch: &Path, directory: &Path) -> Result<(), String> {
    let git = || {
        let mut command = Command::new("git");
        command.arg("-C").arg(root);
        command
    };
    let changed = shell::output(git().args(["status", "--porcelain", "--untracked-files=no"]))?;
    if !changed.is_empty() {
        return Err(format!(
            "files that are not committed (expected none, because the release is the last commit):\n{changed}"
        ));
    }
    let tar = scratch.join("committed.tar");
    shell::run(git().args(["archive", "--format=tar", "--output"]).arg(&tar).arg("HEAD"))?;
    shell::run(Command::new("tar").arg("-xf").arg(&tar).arg("-C").arg(directory))
}
