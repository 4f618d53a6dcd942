//! The C library as programs use it: made from the static library that cargo builds, with its header and its file for pkg-config.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::tools::run;

/// The shared library has this name in programs that are linked with it. A change that breaks these programs needs another one.
const SONAME: &str = "libpackline.so.0";
/// Libraries of the system that Rust's standard library needs.
const SYSTEM: [&str; 7] = ["-lgcc_s", "-lutil", "-lrt", "-lpthread", "-lm", "-ldl", "-lc"];
/// The version of cbindgen that makes the header.
const CBINDGEN: &str = "0.29.";

/// The parts of the library, and where they are installed.
#[derive(Debug)]
pub struct CLibrary<'a> {
    /// The directory of the crate, with the header and the list of symbols.
    pub sources: &'a Path,
    /// The static library that cargo has built.
    pub archive: &'a Path,
    /// MAJOR.MINOR.PATCH.
    pub version: &'a str,
    /// The directory below which the files will be when programs use them, such as /usr.
    pub prefix: &'a Path,
    /// The directory of libraries below `prefix`, such as lib.
    pub libraries: &'a str,
    /// A directory in place of the root, in which the files are written, for packages.
    pub root: Option<&'a Path>,
}

impl CLibrary<'_> {
    /// Writes all files, and replaces earlier ones.
    ///
    /// # Errors
    /// A file cannot be written, or the C compiler fails.
    pub fn install(&self) -> Result<(), String> {
        let prefix = self.written();
        let libraries = prefix.join(self.libraries);
        let shared = libraries.join(format!("libpackline.so.{}", self.version));
        create(&prefix.join("include"))?;
        create(&libraries.join("pkgconfig"))?;
        self.link(&shared)?;
        link_name(&shared, &libraries.join(SONAME))?;
        link_name(&libraries.join(SONAME), &libraries.join("libpackline.so"))?;
        copy(self.archive, &libraries.join("libpackline.a"))?;
        copy(&self.sources.join("include/packline.h"), &prefix.join("include/packline.h"))?;
        let described = libraries.join("pkgconfig/packline.pc");
        fs::write(&described, self.description()).map_err(|cause| named(&described, &cause))
    }

    /// `prefix` below `root`.
    fn written(&self) -> PathBuf {
        let below = self.prefix.strip_prefix("/").unwrap_or(self.prefix);
        self.root.map_or_else(|| self.prefix.to_path_buf(), |root| root.join(below))
    }

    /// Links the shared library. Cargo could link it, too, but rustc passes a list of symbols without versions to the linker, and GNU ld takes
    /// only one such list.
    fn link(&self, shared: &Path) -> Result<(), String> {
        let map = self.sources.join("packline.map");
        let mut linker = Command::new("cc");
        linker.args(["-shared", "-o"]).arg(shared).arg(format!("-Wl,-soname,{SONAME}"));
        linker.arg(format!("-Wl,--version-script={}", map.display()));
        linker.args(["-Wl,--gc-sections,--strip-debug,--no-undefined,-z,relro,-z,now"]);
        // The linker takes only what is needed from an archive.
        linker.args(symbols(&map)?.iter().map(|symbol| format!("-Wl,--undefined={symbol}")));
        run(linker.arg(self.archive).args(SYSTEM)).map(drop)
    }

    /// The file for pkg-config.
    fn description(&self) -> String {
        let CLibrary { prefix, libraries, version, .. } = self;
        format!(
            "prefix={}\nlibdir=${{prefix}}/{libraries}\nincludedir=${{prefix}}/include\n\n\
             Name: packline\nDescription: Reads, packs and unpacks SquashFS and EROFS images\nVersion: {version}\n\
             Cflags: -I${{includedir}}\nLibs: -L${{libdir}} -lpackline\nLibs.private: {}\n",
            prefix.display(),
            SYSTEM.join(" ")
        )
    }
}

/// The exported symbols in a version script.
///
/// # Errors
/// The script cannot be read.
pub fn symbols(map: &Path) -> Result<Vec<String>, String> {
    let text = fs::read_to_string(map).map_err(|cause| named(map, &cause))?;
    let names =
        text.lines().filter_map(|line| line.trim().strip_suffix(';').filter(|name| name.starts_with("packline_")));
    Ok(names.map(str::to_owned).collect())
}

/// Whether the version of cbindgen that makes the header is installed. The error says which version is.
///
/// # Errors
/// cbindgen is missing or has another version.
pub fn has_cbindgen() -> Result<(), String> {
    let wanted = format!("cbindgen {CBINDGEN}");
    let missing = |cause: &str| format!("{wanted}x is needed: cargo install --locked cbindgen ({cause})");
    let output = run(Command::new("cbindgen").arg("--version")).map_err(|cause| missing(&cause))?;
    let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    if version.starts_with(&wanted) { Ok(()) } else { Err(missing(&version)) }
}

/// Makes the header from the sources of the crate.
///
/// # Errors
/// cbindgen fails.
pub fn make_header(sources: &Path, header: &Path) -> Result<(), String> {
    has_cbindgen()?;
    let mut cbindgen = Command::new("cbindgen");
    cbindgen.arg("--quiet").arg("--config").arg(sources.join("cbindgen.toml"));
    run(cbindgen.arg("--output").arg(header).arg(sources)).map(drop)
}

/// Makes a symbolic link to a file in the same directory.
fn link_name(file: &Path, link: &Path) -> Result<(), String> {
    let _ = fs::remove_file(link);
    symlink(file.file_name().unwrap_or_default(), link).map_err(|cause| named(link, &cause))
}

fn create(directory: &Path) -> Result<(), String> {
    fs::create_dir_all(directory).map_err(|cause| named(directory, &cause))
}

fn copy(from: &Path, to: &Path) -> Result<(), String> {
    fs::copy(from, to).map(drop).map_err(|cause| format!("{} to {}: {cause}", from.display(), to.display()))
}

fn named(path: &Path, cause: &std::io::Error) -> String {
    format!("{}: {cause}", path.display())
}
