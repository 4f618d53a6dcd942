//! The C interface as programs in C see it: the header, the binary interface, the installed files, and programs with sanitizers.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod abi;
mod declarations;
mod guide;
mod header;
mod programs;
mod sources;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use packline_testkit::c_library::CLibrary;
use packline_testkit::tools::run;

/// The directory of the crate.
fn capi() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The declarations of the header.
fn header() -> Vec<declarations::Declaration> {
    declarations::parse(&fs::read_to_string(capi().join("include/packline.h")).unwrap())
}

/// The static library that cargo has built next to the test. Builds with other features have other names; the last one has today's sources.
fn archive() -> PathBuf {
    let directory = std::env::current_exe().unwrap().parent().unwrap().to_path_buf();
    let files = fs::read_dir(directory).unwrap().map(|file| file.unwrap().path());
    let is_ours = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy();
        name.starts_with("libpackline_capi") && name.ends_with(".a")
    };
    files.filter(is_ours).max_by_key(|path| fs::metadata(path).unwrap().modified().unwrap()).unwrap()
}

/// The prefix of the installed library.
fn prefix() -> &'static Path {
    static PREFIX: OnceLock<PathBuf> = OnceLock::new();
    PREFIX.get_or_init(|| {
        let prefix = Path::new(env!("CARGO_TARGET_TMPDIR")).join("c-library");
        let archive = archive();
        let library = CLibrary {
            sources: capi(),
            archive: &archive,
            version: env!("CARGO_PKG_VERSION"),
            prefix: &prefix,
            libraries: "lib",
            root: None,
        };
        library.install().unwrap();
        prefix
    })
}

/// Compiles a program with all warnings.
fn compiler(source: &Path, program: &Path) -> Command {
    let mut compiler = Command::new("cc");
    compiler.args(["-std=c11", "-D_XOPEN_SOURCE=700", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-g", "-o"]);
    compiler.arg(program).arg(source);
    compiler
}

/// Compiles a program with the sanitizers and the shared library, and returns its path.
fn sanitized(source: &Path, directory: &Path) -> PathBuf {
    let program = directory.join(source.file_stem().unwrap());
    let libraries = prefix().join("lib");
    let mut compiler = compiler(source, &program);
    compiler.args(["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-pthread", "-I"]);
    compiler.arg(prefix().join("include")).arg("-L").arg(&libraries).arg("-lpackline");
    run(compiler.arg(format!("-Wl,-rpath,{}", libraries.display()))).unwrap();
    program
}

/// Returns what a program prints, which must exit with 0.
fn printed(program: &mut Command) -> String {
    String::from_utf8(run(program).unwrap().stdout).unwrap()
}
