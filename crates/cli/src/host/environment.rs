//! The one file that reads the environment.
#![allow(clippy::disallowed_methods, reason = "this is the file that may")]

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use crate::host::fake_root::{FakeRoot, Variables};

/// `SOURCE_DATE_EPOCH`: the time that reproducible builds ask for, as text. Invalid UTF-8 is converted lossily, so that it
/// is refused later and not ignored.
pub fn source_date_epoch() -> Option<String> {
    std::env::var_os("SOURCE_DATE_EPOCH").map(|value| value.to_string_lossy().into_owned())
}

/// Directory for temporary files: `TMPDIR`, else `/var/tmp`, which is rarely in memory.
pub fn scratch() -> PathBuf {
    directory_in("TMPDIR").unwrap_or_else(|| PathBuf::from("/var/tmp"))
}

/// `PACKLINE_CACHE`.
pub fn cache() -> Option<OsString> {
    filled("PACKLINE_CACHE")
}

fn directory_in(name: &str) -> Option<PathBuf> {
    filled(name).map(PathBuf::from)
}

fn filled(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// `HOME`.
pub fn home() -> Option<PathBuf> {
    directory_in("HOME")
}

/// Whether `lrzip.conf` is not to be read: `LRZIP=NOCONFIG`.
pub fn no_lrzip_conf() -> bool {
    std::env::var_os("LRZIP").is_some_and(|value| value == "NOCONFIG")
}

/// fakeroot or pseudo, where this process runs under it.
pub fn fake_root() -> Option<FakeRoot> {
    let value = |name| std::env::var_os(name).map(OsString::into_vec);
    FakeRoot::of(&Variables {
        fakeroot_key: value("FAKEROOTKEY"),
        pseudo_prefix: value("PSEUDO_PREFIX"),
        pseudo_disabled: value("PSEUDO_DISABLED"),
        ld_preload: value("LD_PRELOAD"),
    })
}

/// The file of this program, for a process that starts itself again.
pub fn program() -> Option<PathBuf> {
    // Replaced while it runs, the program is still found by what the kernel has open.
    let kernels = PathBuf::from("/proc/self/exe");
    std::env::current_exe().ok().filter(|path| path.is_file()).or_else(|| kernels.exists().then_some(kernels))
}
