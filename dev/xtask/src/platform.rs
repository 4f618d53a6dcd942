//! Processors that packline is built for, and what a build for another one needs on this machine.

use std::path::PathBuf;
use std::process::Command;

use packline_testkit::tools;

use crate::shell;

/// A processor with Linux and glibc.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Platform {
    /// Rust's name of the target.
    pub triple: &'static str,
    /// The name that `uname -m` prints.
    pub machine: &'static str,
    /// Debian's name.
    pub debian: &'static str,
    /// The C compiler on other machines, which links too.
    cross_compiler: &'static str,
    /// The package of Debian with that compiler and its libraries.
    package: &'static str,
    /// The emulator, from Debian's package qemu-user-static.
    pub emulator: &'static str,
    /// Where the compiler's package has the shared libraries, if outputs are compared with a program that uses them. Calls in static ARM programs
    /// reach 16 MiB. GNU ld 2.40 links farther calls of `memcpy` wrongly there, and such a program crashes when it starts.
    pub libraries: Option<&'static str>,
}

/// All processors that are tried. The first two are released. QEMU_CPU=Westmere gives the emulated x86-64 no AVX.
pub const PLATFORMS: [Platform; 6] = [
    Platform {
        triple: "x86_64-unknown-linux-gnu",
        machine: "x86_64",
        debian: "amd64",
        cross_compiler: "x86_64-linux-gnu-gcc",
        package: "gcc",
        emulator: "qemu-x86_64-static",
        libraries: None,
    },
    Platform {
        triple: "aarch64-unknown-linux-gnu",
        machine: "aarch64",
        debian: "arm64",
        cross_compiler: "aarch64-linux-gnu-gcc",
        package: "gcc-aarch64-linux-gnu",
        emulator: "qemu-aarch64-static",
        libraries: None,
    },
    Platform {
        triple: "s390x-unknown-linux-gnu",
        machine: "s390x",
        debian: "s390x",
        cross_compiler: "s390x-linux-gnu-gcc",
        package: "gcc-s390x-linux-gnu",
        emulator: "qemu-s390x-static",
        libraries: None,
    },
    Platform {
        triple: "riscv64gc-unknown-linux-gnu",
        machine: "riscv64",
        debian: "riscv64",
        cross_compiler: "riscv64-linux-gnu-gcc",
        package: "gcc-riscv64-linux-gnu",
        emulator: "qemu-riscv64-static",
        libraries: None,
    },
    Platform {
        triple: "armv7-unknown-linux-gnueabihf",
        machine: "armv7l",
        debian: "armhf",
        cross_compiler: "arm-linux-gnueabihf-gcc",
        package: "gcc-arm-linux-gnueabihf",
        emulator: "qemu-arm-static",
        libraries: Some("/usr/arm-linux-gnueabihf"),
    },
    Platform {
        triple: "i686-unknown-linux-gnu",
        machine: "i686",
        debian: "i386",
        cross_compiler: "i686-linux-gnu-gcc",
        package: "gcc-i686-linux-gnu",
        emulator: "qemu-i386-static",
        libraries: None,
    },
];

/// The platforms of a release.
pub fn released() -> &'static [Platform] {
    &PLATFORMS[..2]
}

/// The platform of this machine.
pub fn here() -> Result<Platform, String> {
    let found = PLATFORMS.into_iter().find(Platform::is_here);
    found.ok_or_else(|| format!("{}: not a known platform", std::env::consts::ARCH))
}

impl Platform {
    /// The platform of a target's or a machine's name.
    pub fn named(name: &str) -> Option<Platform> {
        PLATFORMS.into_iter().find(|platform| [platform.triple, platform.machine].contains(&name))
    }

    /// What a build needs and this machine lacks, each with the command that installs it.
    pub fn missing(&self) -> Result<Vec<String>, String> {
        let mut missing = Vec::new();
        if !self.library_directory()?.is_dir() {
            missing.push(format!("Rust's library for {0}: rustup target add {0}", self.triple));
        }
        let (compiler, package) = self.compiler();
        if tools::find(compiler).is_none() {
            missing.push(format!("{compiler}: apt-get install {package}"));
        }
        Ok(missing)
    }

    /// Whether programs of the platform run on this machine.
    pub fn is_here(&self) -> bool {
        self.machine == std::env::consts::ARCH
    }

    /// The C compiler and its package.
    fn compiler(&self) -> (&'static str, &'static str) {
        if self.is_here() { ("cc", "gcc") } else { (self.cross_compiler, self.package) }
    }

    fn library_directory(&self) -> Result<PathBuf, String> {
        let printed = shell::output(Command::new("rustc").args(["--print", "target-libdir", "--target", self.triple]))?;
        Ok(PathBuf::from(printed.trim_end()))
    }

    /// Lets cargo and the build scripts of C libraries use the platform's compiler.
    pub fn configure(&self, command: &mut Command) {
        let name = self.triple.replace('-', "_");
        let (compiler, _) = self.compiler();
        command.env(format!("CARGO_TARGET_{}_LINKER", name.to_uppercase()), compiler);
        command.env(format!("CC_{name}"), compiler);
    }

    /// The name of the variable with the flags of the C compiler.
    pub fn c_flags(&self) -> String {
        format!("CFLAGS_{}", self.triple.replace('-', "_"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn platforms_are_found_by_both_names() {
        for platform in PLATFORMS {
            assert_eq!(Platform::named(platform.triple), Some(platform));
            assert_eq!(Platform::named(platform.machine), Some(platform));
        }
        assert_eq!(Platform::named("vax"), None);
        assert!(PLATFORMS.iter().filter(|platform| platform.is_here()).count() <= 1);
    }

    #[test]
    fn metadata_lists_the_crates_of_the_released_platforms() {
        assert!(released().iter().map(|platform| platform.triple).eq(crate::metadata::TARGETS));
    }
}
