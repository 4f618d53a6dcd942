//! Finds and runs the programs that tests need, and names the Debian packages of missing ones.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// The path of a program, or `None` if it is not installed.
pub fn find(name: &str) -> Option<PathBuf> {
    let directories = crate::environment::search_path();
    std::env::split_paths(&directories).map(|directory| directory.join(name)).find(|path| path.is_file())
}

/// Returns whether all of these programs are installed. If one is missing, the test fails in CI (`CI=true`). Elsewhere a line names the test and
/// the Debian package of the program, and the caller returns without testing.
pub fn need(names: &[&str]) -> bool {
    match names.iter().find(|name| find(name).is_none()) {
        None => true,
        Some(missing) => skip(&format!("needs {missing}{}", source_of(missing))),
    }
}

/// The package of a program, for a message.
fn source_of(program: &str) -> String {
    package_of(program).map_or(String::new(), |package| format!(" (Debian package {package})"))
}

/// Returns whether the test runs as root. If not, the test is skipped as in [`need`].
pub fn root() -> bool {
    rustix::process::geteuid().is_root() || skip("needs root")
}

/// Returns whether programs can run on a separate terminal, which script(1) creates. If not, the test is skipped as in [`need`].
pub fn terminal() -> bool {
    need(&["script"]) && (has_terminals() || skip("needs a pseudo-terminal (/dev/pts is not mounted)"))
}

fn has_terminals() -> bool {
    let mut script = Command::new("script");
    run(script.args(["-qec", "true", "/dev/null"]).stdin(Stdio::null())).is_ok()
}

/// Prints that this test is skipped, with its name, and returns false; in CI nothing may be skipped, so there it panics.
#[allow(clippy::panic, reason = "in CI a test that is skipped is a test that fails")]
pub fn skip(reason: &str) -> bool {
    let line = skipped(std::thread::current().name(), reason);
    assert!(!crate::environment::in_ci(), "{line} (in CI nothing is skipped)");
    // The test harness would capture the output of `println!` if the test passes. A closed standard error loses only the line.
    let _: std::io::Result<()> = writeln!(std::io::stderr(), "{line}");
    false
}

/// The harness names a test's thread after the test.
fn skipped(test: Option<&str>, reason: &str) -> String {
    format!("{}: skipped: {reason}", test.unwrap_or("a test"))
}

/// Lets a command find the programs that [`find`] finds, unless the command has its own `PATH`.
pub(crate) fn with_system_programs(command: &mut Command) -> &mut Command {
    let has_path = command.get_envs().any(|(name, _)| name == "PATH");
    if has_path { command } else { command.env("PATH", crate::environment::search_path()) }
}

/// Runs a program to its end, also a system program that is not on every user's `PATH`. Returns an error with the output of the program if the
/// program cannot be started or does not exit with 0.
pub fn run(command: &mut Command) -> Result<Output, String> {
    let shown = format!("{command:?}");
    let output = with_system_programs(command).output().map_err(|cause| format!("{shown}: {cause}"))?;
    if output.status.success() {
        return Ok(output);
    }
    let text = [output.stdout.as_slice(), &output.stderr].concat();
    let text = String::from_utf8_lossy(&text[..text.len().min(4000)]).into_owned();
    Err(format!("{shown}: {}\n{text}", output.status))
}

/// Programs that a minimal Debian (debootstrap's variant minbase) with a C compiler may lack, and their packages. Continuous integration
/// installs them all; elsewhere a test that needs a missing one is skipped.
const OPTIONAL: &[(&str, &str)] = &[
    ("age", "age"),
    ("age-keygen", "age"),
    ("b3sum", "b3sum"),
    ("bsdtar", "libarchive-tools"),
    ("bzip2", "bzip2"),
    ("cpio", "cpio"),
    ("dump.erofs", "erofs-utils"),
    ("docker-registry", "docker-registry"),
    ("fakeroot", "fakeroot"),
    ("fish", "fish"),
    ("fsck.erofs", "erofs-utils"),
    ("fusermount", "fuse"),
    ("gensquashfs", "squashfs-tools-ng"),
    ("getfacl", "acl"),
    ("getfattr", "attr"),
    ("jq", "jq"),
    ("lrzip", "lrzip"),
    ("lrztar", "lrzip"),
    ("lrzuntar", "lrzip"),
    ("lz4", "lz4"),
    ("man", "man-db"),
    ("mandoc", "mandoc"),
    ("mkfs.btrfs", "btrfs-progs"),
    ("mkfs.erofs", "erofs-utils"),
    ("mksquashfs", "squashfs-tools"),
    ("nginx", "nginx-light"),
    ("openssl", "openssl"),
    ("pigz", "pigz"),
    ("pkg-config", "pkgconf"),
    ("proot", "proot"),
    ("pseudo", "pseudo"),
    ("pzstd", "zstd"),
    ("python3", "python3"),
    ("rauc", "rauc"),
    ("rdsquashfs", "squashfs-tools-ng"),
    ("sqfs2tar", "squashfs-tools-ng"),
    ("sqfsdiff", "squashfs-tools-ng"),
    ("setfacl", "acl"),
    ("setfattr", "attr"),
    ("skopeo", "skopeo"),
    ("snap", "snapd"),
    ("ssh-keygen", "openssh-client"),
    ("squashfuse", "squashfuse"),
    ("squashfuse_ll", "squashfuse"),
    ("strace", "strace"),
    ("tar2sqfs", "squashfs-tools-ng"),
    ("time", "time"),
    ("umoci", "umoci"),
    ("unsquashfs", "squashfs-tools"),
    ("veritysetup", "cryptsetup-bin"),
    ("xorriso", "xorriso"),
    ("xz", "xz-utils"),
    ("zip", "zip"),
    ("zsh", "zsh"),
    ("zstd", "zstd"),
];

/// Programs of packages that every Debian has (essential or of priority required), but smaller systems may lack.
const REQUIRED: &[(&str, &str)] = &[
    ("bash", "bash"),
    ("chmod", "coreutils"),
    ("filefrag", "e2fsprogs"),
    ("gzip", "gzip"),
    ("losetup", "mount"),
    ("mkfs.ext4", "e2fsprogs"),
    ("mount", "mount"),
    ("prlimit", "util-linux"),
    ("script", "bsdutils"),
    ("setpriv", "util-linux"),
    ("setsid", "util-linux"),
    ("tar", "tar"),
    ("timeout", "coreutils"),
    ("umount", "mount"),
];

/// The package of a program, if known.
fn package_of(program: &str) -> Option<&'static str> {
    let found = OPTIONAL.iter().chain(REQUIRED).find(|(name, _)| *name == program);
    found.map(|(_, package)| *package)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skipped_test_is_named_with_what_it_lacks() {
        let reason = format!("needs nonesuch{}", source_of("nonesuch"));
        assert_eq!(skipped(Some("some::test"), &reason), "some::test: skipped: needs nonesuch");
        assert_eq!(source_of("bsdtar"), " (Debian package libarchive-tools)");
    }

    #[test]
    fn continuous_integration_installs_every_package() {
        let script = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../.ci/run")).unwrap();
        let (_, list) = script.split_once("wanted=(").unwrap();
        let (list, _) = list.split_once(')').unwrap();
        let installed: Vec<&str> = list.split_whitespace().filter_map(|pair| Some(pair.split_once(':')?.1)).collect();
        for (program, package) in OPTIONAL {
            assert!(installed.contains(package), "{program}: .ci/run does not install {package}");
        }
    }
}
