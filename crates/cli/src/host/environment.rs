//! Reads the environment; no other file does.
#![allow(clippy::disallowed_methods, reason = "this is the only file that may read the environment")]

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use packline_http::Proxies;

use crate::host::fake_root::{FakeRoot, Variables};

/// Returns `SOURCE_DATE_EPOCH`, the time that reproducible builds set, as text. Invalid UTF-8 is converted lossily, so that it is
/// rejected later and not ignored.
pub fn source_date_epoch() -> Option<String> {
    std::env::var_os("SOURCE_DATE_EPOCH").map(|value| value.to_string_lossy().into_owned())
}

/// Returns the directory for temporary files: `TMPDIR`, or `/var/tmp`, which is rarely in memory.
pub fn scratch() -> PathBuf {
    directory_in("TMPDIR").unwrap_or_else(|| PathBuf::from("/var/tmp"))
}

/// `PACKLINE_LOG`.
pub fn log() -> Option<OsString> {
    filled("PACKLINE_LOG")
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

/// Returns whether messages on a terminal may have colours: `NO_COLOR` is not set, and `TERM` is not `dumb`.
pub fn permits_colour() -> bool {
    filled("NO_COLOR").is_none() && std::env::var_os("TERM").is_none_or(|terminal| terminal != "dumb")
}

/// `HOME`.
pub fn home() -> Option<PathBuf> {
    directory_in("HOME")
}

/// Returns the file with names and passwords for servers: `NETRC`, or `.netrc` in the home directory.
pub fn netrc() -> Option<PathBuf> {
    directory_in("NETRC").or_else(|| home().map(|home| home.join(".netrc")))
}

/// Returns the files with credentials for registries: `REGISTRY_AUTH_FILE` alone, or those of containers-auth.json(5) and Docker's `config.json`.
pub fn registry_files() -> Vec<PathBuf> {
    if let Some(file) = directory_in("REGISTRY_AUTH_FILE") {
        return vec![file];
    }
    let config = || Some(home()?.join(".config"));
    let docker = || Some(home()?.join(".docker"));
    let containers = [directory_in("XDG_RUNTIME_DIR"), directory_in("XDG_CONFIG_HOME").or_else(config)];
    let containers = containers.into_iter().flatten().map(|directory| directory.join("containers/auth.json"));
    let docker = directory_in("DOCKER_CONFIG").or_else(docker).map(|directory| directory.join("config.json"));
    containers.chain(docker).collect()
}

/// Returns the proxies for servers. As in curl, `HTTP_PROXY` in capitals is ignored: a web server sets it for its programs, from a header.
pub fn proxies() -> Proxies {
    let either = |names: [&str; 2]| names.into_iter().find_map(filled).map(|text| text.to_string_lossy().into_owned());
    Proxies {
        http: either(["http_proxy"; 2]),
        https: either(["https_proxy", "HTTPS_PROXY"]),
        all: either(["all_proxy", "ALL_PROXY"]),
        none_for: either(["no_proxy", "NO_PROXY"]),
    }
}

/// Returns whether `lrzip.conf` is ignored: `LRZIP=NOCONFIG`.
pub fn no_lrzip_conf() -> bool {
    std::env::var_os("LRZIP").is_some_and(|value| value == "NOCONFIG")
}

/// Returns fakeroot or pseudo, if this process runs under one of them.
pub fn fake_root() -> Option<FakeRoot> {
    let value = |name| std::env::var_os(name).map(OsString::into_vec);
    FakeRoot::of(&Variables {
        fakeroot_key: value("FAKEROOTKEY"),
        pseudo_prefix: value("PSEUDO_PREFIX"),
        pseudo_disabled: value("PSEUDO_DISABLED"),
        ld_preload: value("LD_PRELOAD"),
    })
}

/// Returns the file of this program, for a process that starts itself again.
pub fn program() -> Option<PathBuf> {
    // The kernel still has the program open, even if its file is replaced while it runs.
    let kernels = PathBuf::from("/proc/self/exe");
    std::env::current_exe().ok().filter(|path| path.is_file()).or_else(|| kernels.exists().then_some(kernels))
}
