//! A minimal Debian in a directory, and commands in it.

use super::outcome::Ended;
use crate::{environment, shell};
use packline_testkit::tools;
use std::fmt;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The release that CI runs on.
const SUITE: &str = "bookworm";
/// The packages that README asks for besides Rust. Downloads of a newcomer need the certificates.
const PACKAGES: &str = "gcc,libc6-dev,ca-certificates";
/// The user's and the group's number.
const USER: &str = "1000:1000";
/// Paths of the checkout, the toolchain and the files of cargo inside the system.
const CHECKOUT: &str = "/build/packline";
const TOOLCHAIN: &str = "/opt/rust";
const CARGO_HOME: &str = "/build/cargo";

/// Mounts the minimum of a system in a separate namespace, and runs a command in the system. `/dev` has what debootstrap creates, and
/// memory at `/dev/shm`: no terminals. The toolchain and the crates are those of this machine, read-only.
const ENTER: &str = r#"
    set -e
    root=$1 toolchain=$2 registry=$3 account=$4 jobs=$5 command=$6
    mount --make-rprivate /
    mount -t proc proc "$root/proc"
    mount -t tmpfs shm "$root/dev/shm"
    mount --bind "$toolchain" "$root/opt/rust"
    mount -o remount,bind,ro "$root/opt/rust"
    mount --bind "$registry" "$root/build/cargo/registry"
    mount -o remount,bind,ro "$root/build/cargo/registry"
    exec chroot --userspec="$account" --groups= "$root" /usr/bin/env -i HOME=/build LC_ALL=C.UTF-8 \
        PATH=/opt/rust/bin:/usr/bin:/bin CARGO_HOME=/build/cargo CARGO_NET_OFFLINE=true CARGO_TERM_COLOR=never $jobs \
        sh -c "cd /build/packline && $command" 2>&1 </dev/null
"#;

/// The user that runs the commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Account {
    Root,
    User,
}

impl Account {
    fn numbers(self) -> &'static str {
        match self {
            Account::Root => "0:0",
            Account::User => USER,
        }
    }
}

impl fmt::Display for Account {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(match self {
            Account::Root => "root",
            Account::User => "user",
        })
    }
}

/// A system with the checkout in it.
pub struct Chroot {
    directory: PathBuf,
    toolchain: PathBuf,
    registry: PathBuf,
}

impl Chroot {
    /// Builds the system, unless the directory has one.
    pub fn prepare(directory: &Path) -> Result<Chroot, String> {
        let toolchain = shell::output(Command::new("rustc").args(["--print", "sysroot"]))?;
        shell::run(shell::cargo().args(["fetch", "--locked"]))?;
        let registry = environment::cargo_home()?.join("registry");
        fs::create_dir_all(directory).map_err(|cause| format!("{}: {cause}", directory.display()))?;
        let directory = directory.canonicalize().map_err(|cause| format!("{}: {cause}", directory.display()))?;
        let chroot = Chroot { directory, toolchain: toolchain.trim().into(), registry };
        chroot.install()?;
        Ok(chroot)
    }

    fn root(&self) -> PathBuf {
        self.directory.join("root")
    }

    /// The path on this machine of one in the system.
    fn outside(&self, inside: &str) -> PathBuf {
        self.root().join(inside.trim_start_matches('/'))
    }

    fn install(&self) -> Result<(), String> {
        let root = self.root();
        if !self.directory.join("complete").exists() {
            if tools::find("debootstrap").is_none() {
                return Err("debootstrap is not installed (apt-get install debootstrap)".into());
            }
            let include = format!("--include={PACKAGES}");
            let mut command = Command::new("debootstrap");
            shell::run(command.args(["--variant=minbase", &include, SUITE]).arg(&root))?;
            shell::write(&self.directory.join("complete"), "")?;
        }
        for place in [CHECKOUT, TOOLCHAIN, &format!("{CARGO_HOME}/registry")] {
            let path = self.outside(place);
            fs::create_dir_all(&path).map_err(|cause| format!("{}: {cause}", path.display()))?;
        }
        Ok(())
    }

    /// Copies the files that git tracks, as they are now, and removes others. Files that have not changed stay, so that they are not compiled
    /// again.
    fn copy_checkout(&self) -> Result<(), String> {
        let checkout = self.outside(CHECKOUT);
        let named = |path: &Path, cause: std::io::Error| format!("{}: {cause}", path.display());
        let tracked = shell::output(Command::new("git").args(["ls-files", "-z"]))?;
        let tracked: Vec<&str> = tracked.split('\0').filter(|name| !name.is_empty()).collect();
        for path in shell::files(&checkout)? {
            let name = path.strip_prefix(&checkout).map_err(|cause| cause.to_string())?;
            if !tracked.iter().any(|tracked| name == Path::new(tracked)) {
                fs::remove_file(&path).map_err(|cause| named(&path, cause))?;
            }
        }
        for name in tracked {
            let from = shell::root().join(name);
            // Removed, but not yet from the index.
            if from.symlink_metadata().is_ok() {
                copy(&from, &checkout.join(name)).map_err(|cause| named(&from, cause))?;
            }
        }
        Ok(())
    }

    /// Restores the checkout, and lets an account write where the commands write.
    pub fn give_to(&self, account: Account) -> Result<(), String> {
        self.copy_checkout()?;
        shell::run(Command::new("chown").args(["-R", account.numbers()]).arg(self.outside("/build")))
    }

    /// Runs a shell command in the checkout. Prints the output at once and keeps it in a file next to the system.
    pub fn run(&self, account: Account, command: &str) -> Result<Ended, String> {
        let jobs = environment::build_jobs().map_or(String::new(), |jobs| format!("CARGO_BUILD_JOBS={jobs}"));
        let mut inside = Command::new("unshare");
        inside.args(["--mount", "--pid", "--fork", "--kill-child", "sh", "-c", ENTER, "enter"]);
        inside.arg(self.root()).arg(&self.toolchain).arg(&self.registry);
        inside.args([account.numbers(), &jobs, command]).stdin(Stdio::null()).stdout(Stdio::piped());
        let started = |cause| format!("unshare: {cause}");
        let mut child = inside.spawn().map_err(started)?;
        let path = self.directory.join(format!("{account}.log"));
        let mut log =
            fs::OpenOptions::new().append(true).create(true).open(&path).map_err(|cause| cause.to_string())?;
        let mut output = String::new();
        let pipe = child.stdout.take().map(BufReader::new);
        for line in pipe.into_iter().flat_map(|pipe| pipe.split(b'\n')) {
            let line = line.map_err(|cause| cause.to_string())?;
            let line = String::from_utf8_lossy(&line);
            shell::print(&line);
            writeln!(log, "{line}").map_err(|cause| format!("{}: {cause}", path.display()))?;
            output.push_str(&line);
            output.push('\n');
        }
        let status = child.wait().map_err(started)?;
        Ok(Ended { succeeded: status.success(), output })
    }
}

/// Copies a file or a link, unless the copy has the same content already.
fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    if let Some(parent) = to.parent() {
        fs::create_dir_all(parent)?;
    }
    if from.symlink_metadata()?.is_symlink() {
        let _: std::io::Result<()> = fs::remove_file(to);
        return symlink(fs::read_link(from)?, to);
    }
    let same = to.symlink_metadata().is_ok_and(|about| about.is_file()) && fs::read(from)? == fs::read(to)?;
    if same { Ok(()) } else { fs::copy(from, to).map(drop) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn copy_that_is_the_same_is_left_alone() {
        let place = tempfile::tempdir().unwrap();
        let [from, to] = ["from", "deep/to"].map(|name| place.path().join(name));
        fs::write(&from, "1").unwrap();
        copy(&from, &to).unwrap();
        let before = to.metadata().unwrap();
        copy(&from, &to).unwrap();
        let after = to.metadata().unwrap();
        assert_eq!((before.mtime(), before.mtime_nsec()), (after.mtime(), after.mtime_nsec()));
        fs::write(&from, "2").unwrap();
        copy(&from, &to).unwrap();
        assert_eq!(fs::read(&to).unwrap(), b"2");
        fs::remove_file(&from).unwrap();
        symlink("elsewhere", &from).unwrap();
        copy(&from, &to).unwrap();
        assert_eq!(fs::read_link(&to).unwrap(), Path::new("elsewhere"));
    }
}
