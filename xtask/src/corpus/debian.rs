//! Corpora from Debian's packages. Which versions a suite holds moves on; what was got is in the manifest.

use super::manifest::{Manifest, Part};
use super::site::{Site, digest, named};
use crate::shell;
use packline_testkit::tools;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const SUITE: &str = "bookworm";
/// Programs, libraries, scripts, documents, fonts, byte code: a little more than 1 GB of what root file systems hold.
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
/// What is made when packages are installed and holds the time: without it the tar is the same every time.
const UNSTEADY: &str = "etc/ssl/certs/java/cacerts";
const LEAST_BYTES: u64 = 1_000_000_000;
const TIME: &str = "1700000000";
const MEDIA: [&str; 3] = ["fluid-soundfont-gm", "hydrogen-drumkits", "supertux-data"];
const SOURCE: &str = "linux-source-6.1";
/// The identity of the disk image's file system, and the seed of its directory hashes: any, but always the same.
const IDENTITY: &str = "5f0f6f0e-7061-636b-6c69-6e6500000001";
const IMAGE_SIZE: &str = "2G";
/// The first inode of an ext4 file system that is not reserved.
const FIRST_INODE: u64 = 11;

/// The tar as mmdebstrap makes it, and the tree in it.
pub fn root_file_system(site: &Site) -> Result<Vec<Part>, String> {
    need_root()?;
    let archive = site.scratch(&site.corpus.tar());
    let mut command = site.command("mmdebstrap");
    command.args(["--variant=standard", &format!("--include={}", PACKAGES.join(",")), SUITE]);
    command.arg(format!("--customize-hook=rm -f \"$1/{UNSTEADY}\""));
    shell::started(command.arg(&archive).env("SOURCE_DATE_EPOCH", TIME))?;
    let size = fs::metadata(&archive).map_err(|cause| named(&archive, &cause))?.len();
    if size < LEAST_BYTES {
        return Err(format!("{} has {size} bytes (expected at least {LEAST_BYTES})", archive.display()));
    }
    site.tree_of_tar()?;
    let status = site.scratch(site.corpus.name).join("var/lib/dpkg/status");
    fs::read_to_string(&status).map(|text| installed(&text)).map_err(|cause| named(&status, &cause))
}

/// Name and version of each package in dpkg's database.
fn installed(status: &str) -> Vec<Part> {
    let part = |stanza: &str| {
        let field =
            |key: &str| stanza.lines().find_map(|line| line.strip_prefix(key)).map(|text| text.trim().to_owned());
        Some(Part { name: field("Package:")?, version: field("Version:")?, digest: String::new() })
    };
    status.split("\n\n").filter_map(part).collect()
}

/// An ext4 image of the root file system.
pub fn disk_image(site: &Site) -> Result<Vec<Part>, String> {
    need_root()?;
    let root = super::make(super::catalogue::find("debian-root")?, &site.place, false)?;
    let mut command = site.command("mke2fs");
    let options = format!("hash_seed={IDENTITY},lazy_itable_init=0,lazy_journal_init=0");
    command.args(["-q", "-F", "-t", "ext4", "-U", IDENTITY, "-E", &options, "-d"]).arg(site.place.join("debian-root"));
    let image = site.scratch(site.corpus.file);
    shell::started(command.arg(&image).arg(IMAGE_SIZE).env("E2FSPROGS_FAKE_TIME", TIME))?;
    same_times(site, &image)?;
    Ok(content_of(&root))
}

/// Sets the times that no program can set in a directory, and that mke2fs copied from it: when an inode was read and changed.
fn same_times(site: &Site, image: &Path) -> Result<(), String> {
    let report = shell::output(Command::new("dumpe2fs").arg("-h").arg(image))?;
    let last = inodes_in_use(&report).ok_or_else(|| format!("{}: dumpe2fs counts no inodes", image.display()))?;
    let line = |inode| format!("sif <{inode}> ctime @{TIME}\nsif <{inode}> atime @{TIME}\n");
    let script = site.scratch("times");
    shell::write(&script, &(FIRST_INODE..=last).map(line).collect::<String>())?;
    let mut debugfs = site.command("debugfs");
    debugfs.args(["-w", "-f"]).arg(script).arg(image).env("E2FSPROGS_FAKE_TIME", TIME);
    tools::run(&mut debugfs).map(drop)
}

/// The number of inodes that are not free: they are taken one after the other.
fn inodes_in_use(report: &str) -> Option<u64> {
    let number = |key: &str| report.lines().find_map(|line| line.strip_prefix(key))?.trim().parse::<u64>().ok();
    number("Inode count:")?.checked_sub(number("Free inodes:")?)
}

/// What an image was made from: the tar, by its digest.
fn content_of(root: &Manifest) -> Vec<Part> {
    let part = |sum: &super::manifest::Sum| Part {
        name: sum.name.clone(),
        version: sum.bytes.to_string(),
        digest: sum.digest.clone(),
    };
    root.sums.iter().map(part).collect()
}

/// Packages of sound and pictures, unpacked.
pub fn media(site: &Site) -> Result<Vec<Part>, String> {
    let tree = site.directory("unpacked")?;
    let parts = MEDIA.iter().map(|name| unpack(site, name, &tree)).collect::<Result<_, _>>()?;
    site.tar_of(&tree)?;
    site.tree_of_tar()?;
    Ok(parts)
}

/// The kernel's source, which its package holds as a compressed tar.
pub fn many_small(site: &Site) -> Result<Vec<Part>, String> {
    let tree = site.directory("unpacked")?;
    let part = unpack(site, SOURCE, &tree)?;
    let (packed, archive) = (tree.join(format!("usr/src/{SOURCE}.tar.xz")), site.scratch(&site.corpus.tar()));
    let sink = fs::File::create(&archive).map_err(|cause| named(&archive, &cause))?;
    shell::started(site.command("xz").args(["--decompress", "--stdout"]).arg(packed).stdout(sink))?;
    site.tree_of_tar()?;
    Ok(vec![part])
}

/// Downloads a package, which apt verifies, and unpacks it into a tree.
fn unpack(site: &Site, name: &str, tree: &Path) -> Result<Part, String> {
    let place = site.directory(&format!("package-{name}"))?;
    shell::started(site.command("apt-get").current_dir(&place).args(["-qq", "download", name]))
        .map_err(|cause| format!("{cause} (apt-get update first? is {name} in this suite?)"))?;
    let package = only_file(&place)?;
    let version = shell::output(Command::new("dpkg-deb").arg("--field").arg(&package).arg("Version"))?;
    let part = Part { name: name.to_owned(), version: version.trim().to_owned(), digest: digest("sha256", &package)? };
    shell::started(site.command("dpkg-deb").arg("--extract").arg(&package).arg(tree))?;
    fs::remove_dir_all(&place).map_err(|cause| named(&place, &cause))?;
    Ok(part)
}

/// The one file in a directory to which something was downloaded.
pub fn only_file(place: &Path) -> Result<PathBuf, String> {
    let entries = fs::read_dir(place).map_err(|cause| named(place, &cause))?;
    let files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    match &files[..] {
        [file] => Ok(file.clone()),
        _ => Err(format!("{} files were downloaded (expected one)", files.len())),
    }
}

fn need_root() -> Result<(), String> {
    let user = shell::output(Command::new("id").arg("-u"))?;
    if user.trim() == "0" { Ok(()) } else { Err("owners and devices can be kept only by root".into()) }
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
        let place = tempfile::tempdir().unwrap();
        assert!(only_file(place.path()).is_err());
        fs::write(place.path().join("a.deb"), "").unwrap();
        assert_eq!(only_file(place.path()).unwrap(), place.path().join("a.deb"));
        fs::write(place.path().join("b.deb"), "").unwrap();
        assert!(only_file(place.path()).is_err());
    }
}
