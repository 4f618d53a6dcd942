//! Corpora from Debian's packages. A suite's versions change; the manifest records those that were used.

use super::manifest::{Manifest, Part};
use super::staging::{Staging, digest, with_path};
use crate::shell;
use packline_testkit::tools;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const SUITE: &str = "bookworm";
/// A little more than 1 GB of typical content: programs, libraries, scripts, documents, fonts, byte code.
const PACKAGES: [&str; 9] = [
    "build-essential",
    "fonts-dejavu",
    "fonts-noto-core",
    "git",
    "openjdk-17-jre-headless",
    "perl-doc",
    "python3-full",
    "vim",
    "xz-utils",
];
/// Files that the installation generates with the present time. They are removed, because otherwise no two tars would be equal.
const TIMESTAMPED: &str = "etc/ssl/certs/java/cacerts";
const MIN_BYTES: u64 = 1_000_000_000;
const TIME: &str = "1700000000";
const MEDIA: [&str; 3] = ["fluid-soundfont-gm", "hydrogen-drumkits", "supertux-data"];
const SOURCE: &str = "linux-source-6.1";
/// UUID of the disk image's file system and seed of its directory hashes: arbitrary but constant.
const IDENTITY: &str = "5f0f6f0e-7061-636b-6c69-6e6500000001";
const IMAGE_SIZE: &str = "2G";
/// The first inode of an ext4 file system that is not reserved.
const FIRST_INODE: u64 = 11;

/// Builds the tar with mmdebstrap, and its tree.
pub fn root_file_system(staging: &Staging) -> Result<Vec<Part>, String> {
    require_root()?;
    let archive = staging.scratch(&staging.corpus.tar());
    let mut command = staging.command("mmdebstrap");
    command.args(["--variant=standard", &format!("--include={}", PACKAGES.join(",")), SUITE]);
    command.arg(format!("--customize-hook=rm -f \"$1/{TIMESTAMPED}\""));
    shell::run_here(command.arg(&archive).env("SOURCE_DATE_EPOCH", TIME))?;
    let size = fs::metadata(&archive).map_err(|cause| with_path(&archive, &cause))?.len();
    if size < MIN_BYTES {
        return Err(format!("{} has {size} bytes (expected at least {MIN_BYTES})", archive.display()));
    }
    staging.tree_of_tar()?;
    let status = staging.scratch(staging.corpus.name).join("var/lib/dpkg/status");
    fs::read_to_string(&status).map(|text| installed(&text)).map_err(|cause| with_path(&status, &cause))
}

/// Names and versions of the packages in dpkg's database.
fn installed(status: &str) -> Vec<Part> {
    let part = |stanza: &str| {
        let field =
            |key: &str| stanza.lines().find_map(|line| line.strip_prefix(key)).map(|text| text.trim().to_owned());
        Some(Part { name: field("Package:")?, version: field("Version:")?, digest: String::new() })
    };
    status.split("\n\n").filter_map(part).collect()
}

/// An ext4 image of the root file system.
pub fn disk_image(staging: &Staging) -> Result<Vec<Part>, String> {
    require_root()?;
    let root = super::make(super::catalogue::find("debian-root")?, &staging.target, false)?;
    let mut command = staging.command("mke2fs");
    let options = format!("hash_seed={IDENTITY},lazy_itable_init=0,lazy_journal_init=0");
    command
        .args(["-q", "-F", "-t", "ext4", "-U", IDENTITY, "-E", &options, "-d"])
        .arg(staging.target.join("debian-root"));
    let image = staging.scratch(staging.corpus.file);
    shell::run_here(command.arg(&image).arg(IMAGE_SIZE).env("E2FSPROGS_FAKE_TIME", TIME))?;
    set_times(staging, &image)?;
    Ok(content_of(&root))
}

/// Sets the inodes' access and change times, which mke2fs copies from the directory and which cannot be set there.
fn set_times(staging: &Staging, image: &Path) -> Result<(), String> {
    let report = shell::output(Command::new("dumpe2fs").arg("-h").arg(image))?;
    let last =
        inodes_in_use(&report).ok_or_else(|| format!("{}: dumpe2fs reports no number of inodes", image.display()))?;
    let line = |inode| format!("sif <{inode}> ctime @{TIME}\nsif <{inode}> atime @{TIME}\n");
    let script = staging.scratch("times");
    shell::write(&script, &(FIRST_INODE..=last).map(line).collect::<String>())?;
    let mut debugfs = staging.command("debugfs");
    debugfs.args(["-w", "-f"]).arg(script).arg(image).env("E2FSPROGS_FAKE_TIME", TIME);
    tools::run(&mut debugfs).map(drop)
}

/// The number of inodes in use; they are allocated consecutively.
fn inodes_in_use(report: &str) -> Option<u64> {
    let number = |key: &str| report.lines().find_map(|line| line.strip_prefix(key))?.trim().parse::<u64>().ok();
    number("Inode count:")?.checked_sub(number("Free inodes:")?)
}

/// The source of an image: the tar and its digest.
fn content_of(root: &Manifest) -> Vec<Part> {
    let part = |sum: &super::manifest::Sum| Part {
        name: sum.name.clone(),
        version: sum.bytes.to_string(),
        digest: sum.digest.clone(),
    };
    root.sums.iter().map(part).collect()
}

/// Packages of sound and pictures, unpacked.
pub fn media(staging: &Staging) -> Result<Vec<Part>, String> {
    let tree = staging.create_directory("unpacked")?;
    let parts = MEDIA.iter().map(|name| unpack(staging, name, &tree)).collect::<Result<_, _>>()?;
    staging.tar_of(&tree)?;
    staging.tree_of_tar()?;
    Ok(parts)
}

/// The kernel's source, a compressed tar inside its package.
pub fn many_small(staging: &Staging) -> Result<Vec<Part>, String> {
    let tree = staging.create_directory("unpacked")?;
    let part = unpack(staging, SOURCE, &tree)?;
    let packed = tree.join(format!("usr/src/{SOURCE}.tar.xz"));
    let archive = staging.scratch(&staging.corpus.tar());
    let sink = fs::File::create(&archive).map_err(|cause| with_path(&archive, &cause))?;
    shell::run_here(staging.command("xz").args(["--decompress", "--stdout"]).arg(packed).stdout(sink))?;
    staging.tree_of_tar()?;
    Ok(vec![part])
}

/// Downloads a package and unpacks it into a tree. apt verifies it.
fn unpack(staging: &Staging, name: &str, tree: &Path) -> Result<Part, String> {
    let directory = staging.create_directory(&format!("package-{name}"))?;
    shell::run_here(staging.command("apt-get").current_dir(&directory).args(["-qq", "download", name]))
        .map_err(|cause| format!("{cause} (is apt-get update needed, or {name} not in this suite?)"))?;
    let package = only_file(&directory)?;
    let version = shell::output(Command::new("dpkg-deb").arg("--field").arg(&package).arg("Version"))?;
    let part = Part { name: name.to_owned(), version: version.trim().to_owned(), digest: digest("sha256", &package)? };
    shell::run_here(staging.command("dpkg-deb").arg("--extract").arg(&package).arg(tree))?;
    fs::remove_dir_all(&directory).map_err(|cause| with_path(&directory, &cause))?;
    Ok(part)
}

pub fn only_file(directory: &Path) -> Result<PathBuf, String> {
    let entries = fs::read_dir(directory).map_err(|cause| with_path(directory, &cause))?;
    let files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    match &files[..] {
        [file] => Ok(file.clone()),
        _ => Err(format!("{} files were downloaded (expected 1)", files.len())),
    }
}

fn require_root() -> Result<(), String> {
    let user = shell::output(Command::new("id").arg("-u"))?;
    if user.trim() == "0" { Ok(()) } else { Err("only root can keep owners and devices".into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_of_a_database() {
        let status = "Package: adduser\nStatus: install ok installed\nVersion: 3.134\n\nPackage: zlib1g\nArchitecture: amd64\n\
                      Version: 1:1.2.13.dfsg-1\nDescription: x\n Version: of a text\n\n";
        let found: Vec<(String, String)> =
            installed(status).into_iter().map(|part| (part.name, part.version)).collect();
        assert_eq!(found, [("adduser".into(), "3.134".into()), ("zlib1g".into(), "1:1.2.13.dfsg-1".into())]);
    }

    #[test]
    fn inodes_of_a_file_system() {
        let report =
            "Inode count:              131072\nBlock count:              524288\nFree inodes:              91669\n";
        assert_eq!(inodes_in_use(report), Some(39_403));
        assert_eq!(inodes_in_use("Inode count: 5\n"), None);
    }

    #[test]
    fn one_download_is_one_file() {
        let directory = tempfile::tempdir().unwrap();
        assert!(only_file(directory.path()).is_err());
        fs::write(directory.path().join("a.deb"), "").unwrap();
        assert_eq!(only_file(directory.path()).unwrap(), directory.path().join("a.deb"));
        fs::write(directory.path().join("b.deb"), "").unwrap();
        assert!(only_file(directory.path()).is_err());
    }
}
