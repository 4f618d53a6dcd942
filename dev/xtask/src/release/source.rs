//! The source archive: the committed files and the sources of all crates, so that a build needs no network.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::release::{Job, VERSION, archive, named};
use crate::shell;

/// Lets cargo take all crates from the folder `vendor`.
const CONFIGURATION: &str = "
[source.crates-io]
replace-with = \"vendored-sources\"

[source.vendored-sources]
directory = \"vendor\"
";

/// Starts of the names of crates for Windows. They are more than half of all bytes, and some of them are compiled libraries.
const FOR_WINDOWS: [&str; 2] = ["winapi", "windows"];

/// Writes the archive, whose only entry is a directory `packline-VERSION`. Returns its path.
pub fn archive(job: &Job, host: &Path) -> Result<PathBuf, String> {
    let stage = tempfile::tempdir_in(&job.target).map_err(|cause| named(&job.target, cause))?;
    let directory = stage.path().join("source").join(format!("packline-{VERSION}"));
    fs::create_dir_all(&directory).map_err(|cause| named(&directory, cause))?;
    committed_files(&job.root, stage.path(), &directory)?;
    let vendor = ["vendor", "--quiet", "--locked", "--offline", "--versioned-dirs", "vendor"];
    let vendored = shell::output_here(shell::cargo().args(vendor).current_dir(&directory));
    vendored.map_err(|cause| format!("{cause}\ncargo fetch --locked downloads crates that are missing"))?;
    empty_crates_for_windows(&directory.join("vendor"))?;
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

/// Leaves the manifests of crates for Windows and an empty library. Cargo needs a directory for each crate in Cargo.lock, but compiles none of these.
fn empty_crates_for_windows(vendor: &Path) -> Result<(), String> {
    for entry in fs::read_dir(vendor).map_err(|cause| named(vendor, cause))?.flatten() {
        let directory = entry.path();
        let name = entry.file_name();
        if !FOR_WINDOWS.iter().any(|start| name.as_encoded_bytes().starts_with(start.as_bytes())) {
            continue;
        }
        let [manifest, sums] = ["Cargo.toml", ".cargo-checksum.json"].map(|name| directory.join(name));
        let [kept, sums_text] =
            [&manifest, &sums].map(|path| fs::read_to_string(path).map_err(|cause| named(path, cause)));
        let mut left: Value =
            serde_json::from_str(&sums_text?).map_err(|cause| format!("{}: {cause}", sums.display()))?;
        left["files"] = json!({});
        let kept = kept?;
        fs::remove_dir_all(&directory).map_err(|cause| named(&directory, cause))?;
        shell::write(&manifest, &kept)?;
        shell::write(&sums, &left.to_string())?;
        shell::write(&directory.join("src/lib.rs"), "")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_for_windows_are_empty() {
        let vendor = tempfile::tempdir().unwrap();
        for (name, text) in [("windows-sys-0.1.0", "all"), ("libc-0.2.0", "all")] {
            let directory = vendor.path().join(name);
            shell::write(&directory.join("Cargo.toml"), name).unwrap();
            shell::write(&directory.join("src/lib.rs"), text).unwrap();
            shell::write(&directory.join("lib/part.a"), text).unwrap();
            shell::write(&directory.join(".cargo-checksum.json"), r#"{"files":{"src/lib.rs":"00"},"package":"ff"}"#)
                .unwrap();
        }
        empty_crates_for_windows(vendor.path()).unwrap();
        let read = |name: &str| fs::read_to_string(vendor.path().join(name)).unwrap();
        assert_eq!(read("windows-sys-0.1.0/Cargo.toml"), "windows-sys-0.1.0");
        assert_eq!(read("windows-sys-0.1.0/src/lib.rs"), "");
        assert_eq!(read("windows-sys-0.1.0/.cargo-checksum.json"), r#"{"files":{},"package":"ff"}"#);
        assert!(!vendor.path().join("windows-sys-0.1.0/lib").exists());
        assert_eq!(read("libc-0.2.0/src/lib.rs"), "all");
        assert_eq!(read("libc-0.2.0/lib/part.a"), "all");
    }
}
