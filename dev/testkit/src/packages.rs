//! The Debian packages of the programs that tests run.

/// Programs that a minimal Debian (debootstrap's variant minbase) with a C compiler may lack, and their packages. Continuous integration
/// installs them all; elsewhere a test that needs a missing one is skipped.
const OPTIONAL: &[(&str, &str)] = &[
    ("age", "age"),
    ("age-keygen", "age"),
    ("b3sum", "b3sum"),
    ("bsdtar", "libarchive-tools"),
    ("bzip2", "bzip2"),
    ("cpio", "cpio"),
    ("fakeroot", "fakeroot"),
    ("fish", "fish"),
    ("fusermount", "fuse"),
    ("gensquashfs", "squashfs-tools-ng"),
    ("getfacl", "acl"),
    ("getfattr", "attr"),
    ("lrzip", "lrzip"),
    ("lrztar", "lrzip"),
    ("lrzuntar", "lrzip"),
    ("lz4", "lz4"),
    ("man", "man-db"),
    ("mandoc", "mandoc"),
    ("mkfs.btrfs", "btrfs-progs"),
    ("mkfs.erofs", "erofs-utils"),
    ("mksquashfs", "squashfs-tools"),
    ("openssl", "openssl"),
    ("pigz", "pigz"),
    ("pseudo", "pseudo"),
    ("pzstd", "zstd"),
    ("python3", "python3"),
    ("rdsquashfs", "squashfs-tools-ng"),
    ("sqfs2tar", "squashfs-tools-ng"),
    ("sqfsdiff", "squashfs-tools-ng"),
    ("setfacl", "acl"),
    ("setfattr", "attr"),
    ("skopeo", "skopeo"),
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
pub(crate) fn of(program: &str) -> Option<&'static str> {
    let found = OPTIONAL.iter().chain(REQUIRED).find(|(name, _)| *name == program);
    found.map(|(_, package)| *package)
}

#[cfg(test)]
mod tests {
    use super::*;

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
