//! What contains the binary of a platform: an archive, a .deb and an .rpm. All have the manual pages, the completions and the drop-ins.

use std::fs;
use std::path::Path;

use crate::package;
use crate::platform::Platform;
use crate::release::{Job, VERSION, archive, named};
use crate::shell;

/// What goes into packages.
pub struct Parts<'a> {
    pub job: &'a Job,
    pub platform: &'a Platform,
    pub binary: &'a Path,
    /// packline for this machine.
    pub host: &'a Path,
}

/// Files of the archive below its directory, and where [`package::make_assets`] or the sources have them.
const ASSETS: [(&str, &str); 6] = [
    ("share/man/man1", "man"),
    ("lib/packline/bin", "drop-ins/bin"),
    ("lib/packline/man", "drop-ins/man"),
    ("share/bash-completion/completions/packline", "bash"),
    ("share/zsh/site-functions/_packline", "zsh"),
    ("share/fish/vendor_completions.d/packline.fish", "fish"),
];
const DOCUMENTS: [&str; 4] = ["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"];

/// Makes all packages for which there is a program.
pub fn make(parts: &Parts) -> Result<(), String> {
    // cargo-deb and cargo-generate-rpm look for `target/release/` in the target directory of the platform.
    let assets = parts.binary.with_file_name("package");
    package::make_assets(parts.host, &assets)?;
    installed(parts, &assets)?;
    if parts.job.tools.deb {
        deb(parts)?;
    }
    if parts.job.tools.rpm {
        rpm(parts)?;
    }
    Ok(())
}

/// Writes the archive, which can be unpacked over /usr/local without its first component.
fn installed(parts: &Parts, assets: &Path) -> Result<(), String> {
    let Parts { job, platform, .. } = parts;
    let stage = tempfile::tempdir_in(&job.target).map_err(|cause| named(&job.target, cause))?;
    let name = format!("packline-{VERSION}-{}-linux", platform.machine);
    let top = stage.path().join("archive").join(&name);
    for (to, from) in ASSETS {
        copy(&assets.join(from), &top.join(to))?;
    }
    for document in DOCUMENTS {
        copy(&job.root.join(document), &top.join("share/doc/packline").join(document))?;
    }
    copy(parts.binary, &top.join("bin/packline"))?;
    let out = job.out.join(format!("{name}.tar.xz"));
    archive::write(parts.host, &stage.path().join("archive"), &out, job.time)
}

/// Copies a file, a link or a directory. Creates the directory above.
fn copy(from: &Path, to: &Path) -> Result<(), String> {
    let above = to.parent().unwrap_or(to);
    fs::create_dir_all(above).map_err(|cause| named(above, cause))?;
    let mut pending = vec![(from.to_path_buf(), to.to_path_buf())];
    while let Some((from, to)) = pending.pop() {
        let metadata = fs::symlink_metadata(&from).map_err(|cause| named(&from, cause))?;
        if metadata.is_dir() {
            fs::create_dir_all(&to).map_err(|cause| named(&to, cause))?;
            let entries = fs::read_dir(&from).map_err(|cause| named(&from, cause))?;
            pending.extend(entries.flatten().map(|entry| (entry.path(), to.join(entry.file_name()))));
        } else if metadata.is_symlink() {
            let target = fs::read_link(&from).map_err(|cause| named(&from, cause))?;
            std::os::unix::fs::symlink(target, &to).map_err(|cause| named(&to, cause))?;
        } else {
            fs::copy(&from, &to).map_err(|cause| named(&from, cause))?;
        }
    }
    Ok(())
}

fn deb(parts: &Parts) -> Result<(), String> {
    let Parts { job, platform, .. } = parts;
    let out = job.out.join(format!("packline_{VERSION}_{}.deb", platform.debian));
    let mut command = shell::cargo();
    command.args(["deb", "--package", "packline-cli", "--no-build", "--no-strip", "--target", platform.triple]);
    job.run(command.arg("--output").arg(out).env("CARGO_TARGET_DIR", &job.target))
}

fn rpm(parts: &Parts) -> Result<(), String> {
    let Parts { job, platform, .. } = parts;
    let out = job.out.join(format!("packline-{VERSION}-1.{}.rpm", platform.machine));
    let mut command = shell::cargo();
    command.args(["generate-rpm", "--package", "crates/cli", "--target", platform.triple, "--target-dir"]);
    command.arg(&job.target).arg("--output").arg(out);
    job.run(command.args(["--source-date", &job.time.to_string()]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_links_and_directories() {
        let place = tempfile::tempdir().unwrap();
        let from = place.path().join("from");
        fs::create_dir_all(from.join("a/b")).unwrap();
        fs::write(from.join("a/b/file"), "text").unwrap();
        std::os::unix::fs::symlink("../nowhere", from.join("a/link")).unwrap();
        let to = place.path().join("x/y/to");
        copy(&from, &to).unwrap();
        assert_eq!(fs::read_to_string(to.join("a/b/file")).unwrap(), "text");
        assert_eq!(fs::read_link(to.join("a/link")).unwrap(), Path::new("../nowhere"));
        assert!(copy(&from.join("none"), &to).is_err());
    }
}
