//! The static binary of a platform. Its bytes depend on the sources and the compilers, and not on directories, users or the time.

use std::path::PathBuf;
use std::process::Command;

use crate::platform::Platform;
use crate::release::Job;
use crate::{environment, shell};

/// What liblzma's own build turns on where words may be read at any address, as in .cargo/config.toml.
const UNALIGNED: &str = "-DTUKLIB_FAST_UNALIGNED_ACCESS";

/// Builds the binary without debug information, and returns its path.
pub fn build(job: &Job, platform: &Platform) -> Result<PathBuf, String> {
    let mut command = shell::cargo();
    if job.tools.auditable {
        command.arg("auditable");
    }
    command.args(["build", "--release", "--locked", "--offline", "--package", "packline-cli"]);
    command.args(["--target", platform.triple]).env("CARGO_TARGET_DIR", &job.target);
    platform.configure(&mut command);
    let names = names(job)?;
    command.env("CARGO_ENCODED_RUSTFLAGS", rust_flags(&names)).env(platform.c_flags(), c_flags(&names, platform));
    job.run(&mut command)?;
    let binary = job.target.join(platform.triple).join("release/packline");
    let headers = shell::output(Command::new("readelf").arg("--program-headers").arg("--wide").arg(&binary))?;
    if headers.contains("INTERP") {
        return Err(format!("{} needs shared libraries", binary.display()));
    }
    Ok(binary)
}

/// Directories, and the names that replace them in messages of panics. The last match counts. Crates have the same names, whether they are in
/// cargo's registry or in the source archive.
fn names(job: &Job) -> Result<Vec<(PathBuf, &'static str)>, String> {
    let mut names =
        vec![(job.root.clone(), "/packline"), (job.root.join("vendor"), "/crates"), (job.target.clone(), "/target")];
    let registries = environment::cargo_home()?.join("registry/src");
    let entries = std::fs::read_dir(registries).into_iter().flatten().flatten();
    names.extend(entries.map(|entry| (entry.path(), "/crates")));
    Ok(names)
}

fn rust_flags(names: &[(PathBuf, &str)]) -> String {
    let remap = |(from, to): &(PathBuf, &str)| format!("--remap-path-prefix={}={to}", from.display());
    let flags = std::iter::once("-Ctarget-feature=+crt-static".to_owned()).chain(names.iter().map(remap));
    flags.collect::<Vec<_>>().join("\x1f")
}

fn c_flags(names: &[(PathBuf, &str)], platform: &Platform) -> String {
    let remap = |(from, to): &(PathBuf, &str)| format!("-ffile-prefix-map={}={to}", from.display());
    let unaligned = ["x86_64", "aarch64"].contains(&platform.machine).then(|| UNALIGNED.to_owned());
    unaligned.into_iter().chain(names.iter().map(remap)).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_name_each_directory() {
        let names = [(PathBuf::from("/a b"), "/packline"), (PathBuf::from("/c"), "/crates")];
        assert_eq!(
            rust_flags(&names),
            "-Ctarget-feature=+crt-static\x1f--remap-path-prefix=/a b=/packline\x1f--remap-path-prefix=/c=/crates"
        );
        let platform = Platform::named("s390x").unwrap();
        assert_eq!(c_flags(&names[1..], &platform), "-ffile-prefix-map=/c=/crates");
        let platform = Platform::named("aarch64").unwrap();
        assert_eq!(c_flags(&[], &platform), UNALIGNED);
    }

    #[test]
    fn the_flag_of_liblzma_is_that_of_other_builds() {
        let path = shell::root().join(".cargo/config.toml");
        let text = std::fs::read_to_string(path).unwrap();
        for platform in crate::platform::released() {
            assert!(text.contains(&format!("{} = \"{UNALIGNED}\"", platform.c_flags())), "{}", platform.triple);
        }
    }
}
