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
    /// Makes all files under temporary names, and then gives them their names: after an error, an earlier library is unchanged, and no program that
    /// starts meanwhile finds a part of a file.
    ///
    /// # Errors
    /// A file cannot be written, or the C compiler or objcopy fails.
    pub fn install(&self) -> Result<(), String> {
        let prefix = self.written();
        let libraries = prefix.join(self.libraries);
        let shared = libraries.join(format!("libpackline.so.{}", self.version));
        create(&prefix.join("include"))?;
        create(&libraries.join("pkgconfig"))?;
        let header = self.sources.join("include/packline.h");
        let files = [
            Made::new(&shared, |to| self.link(to))?,
            Made::new(&libraries.join(SONAME), |to| link_name(&shared, to))?,
            Made::new(&libraries.join("libpackline.so"), |to| link_name(Path::new(SONAME), to))?,
            Made::new(&libraries.join("libpackline.a"), |to| self.archive(to))?,
            Made::new(&prefix.join("include/packline.h"), |to| {
                fs::copy(&header, to).map(drop).map_err(|cause| named(&header, &cause))
            })?,
            Made::new(&libraries.join("pkgconfig/packline.pc"), |to| {
                fs::write(to, self.description()).map_err(|cause| named(to, &cause))
            })?,
        ];
        files.into_iter().try_for_each(Made::rename)
    }

    /// `prefix` below `root`.
    fn written(&self) -> PathBuf {
        let below = self.prefix.strip_prefix("/").unwrap_or(self.prefix);
        self.root.map_or_else(|| self.prefix.to_path_buf(), |root| root.join(below))
    }

    /// Links the shared library. Cargo could link it, too, but rustc passes a list of symbols without versions to the linker, and GNU ld takes
    /// only one such list.
    fn link(&self, shared: &Path) -> Result<(), String> {
        let mut linker = self.linker(shared)?;
        linker.arg("-shared").arg(format!("-Wl,-soname,{SONAME}"));
        linker.arg(format!("-Wl,--version-script={}", self.map().display()));
        run(linker.arg("-Wl,--no-undefined,-z,relro,-z,now").arg(self.archive).args(SYSTEM)).map(drop)
    }

    /// Makes the static library: one object whose other symbols are local. A program may have symbols of the same names, such as those of its own
    /// copy of zstd.
    fn archive(&self, archive: &Path) -> Result<(), String> {
        let directory = Removed(archive.with_extension("d"));
        create(&directory.0)?;
        let object = directory.0.join("packline.o");
        run(self.linker(&object)?.args(["-r", "-nostdlib"]).arg(self.archive))?;
        let kept = symbols(&self.map())?;
        let kept = kept.iter().map(|symbol| format!("--keep-global-symbol={symbol}"));
        // The objects of Rust's standard library have bitcode for optimisations at link time. Joined, it is not valid.
        let mut objcopy = Command::new("objcopy");
        objcopy.args(["--remove-section=.llvmbc", "--remove-section=.llvmcmd"]);
        run(objcopy.args(kept).arg(&object))?;
        run(Command::new("ar").arg("rcsD").arg(archive).arg(&object)).map(drop)
    }

    /// A linker that takes what the interface needs from the archive, without information for debuggers.
    fn linker(&self, output: &Path) -> Result<Command, String> {
        let mut linker = Command::new("cc");
        linker.arg("-o").arg(output).arg("-Wl,--gc-sections,--strip-debug");
        linker.args(symbols(&self.map())?.iter().map(|symbol| format!("-Wl,--undefined={symbol}")));
        Ok(linker)
    }

    /// The list of the exported symbols.
    fn map(&self) -> PathBuf {
        self.sources.join("packline.map")
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

/// A temporary file or directory, which is removed if it still has its name.
struct Removed(PathBuf);

impl Drop for Removed {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0).or_else(|_| fs::remove_dir_all(&self.0));
    }
}

/// A file under a temporary name next to its own.
struct Made {
    temporary: Removed,
    path: PathBuf,
}

impl Made {
    fn new(path: &Path, make: impl FnOnce(&Path) -> Result<(), String>) -> Result<Made, String> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let temporary = Removed(path.with_file_name(format!(".{name}.{}", std::process::id())));
        let _ = fs::remove_file(&temporary.0);
        make(&temporary.0)?;
        Ok(Made { temporary, path: path.to_path_buf() })
    }

    fn rename(self) -> Result<(), String> {
        fs::rename(&self.temporary.0, &self.path).map_err(|cause| named(&self.path, &cause))
    }
}

/// Makes a symbolic link to a file in the same directory.
fn link_name(file: &Path, link: &Path) -> Result<(), String> {
    symlink(file.file_name().unwrap_or_default(), link).map_err(|cause| named(link, &cause))
}

fn create(directory: &Path) -> Result<(), String> {
    fs::create_dir_all(directory).map_err(|cause| named(directory, &cause))
}

fn named(path: &Path, cause: &std::io::Error) -> String {
    format!("{}: {cause}", path.display())
}
