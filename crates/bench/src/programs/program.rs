//! The programs that can be measured, and the choice of programs.

use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use packline_runtime::escape::Escape;

use crate::{Error, Setting, report};

/// A program whose command line is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgramKind {
    Packline,
    Mksquashfs,
    Tar2sqfs,
    Gensquashfs,
    Unsquashfs,
    Rdsquashfs,
    Sqfs2tar,
    Zstd,
    Xz,
    Gzip,
    Pigz,
    Lrzip,
    Mkdwarfs,
}

use ProgramKind::*;

/// Competitors that pack a tree or compress a tar.
pub const PACKERS: &[ProgramKind] = &[Mksquashfs, Tar2sqfs, Gensquashfs, Zstd, Xz, Gzip, Pigz, Lrzip, Mkdwarfs];
/// Competitors that unpack an image to a directory or a tar.
pub const UNPACKERS: &[ProgramKind] = &[Unsquashfs, Rdsquashfs, Sqfs2tar];

impl ProgramKind {
    pub fn name(self) -> &'static str {
        match self {
            Packline => "packline",
            Mksquashfs => "mksquashfs",
            Tar2sqfs => "tar2sqfs",
            Gensquashfs => "gensquashfs",
            Unsquashfs => "unsquashfs",
            Rdsquashfs => "rdsquashfs",
            Sqfs2tar => "sqfs2tar",
            Zstd => "zstd",
            Xz => "xz",
            Gzip => "gzip",
            Pigz => "pigz",
            Lrzip => "lrzip",
            Mkdwarfs => "mkdwarfs",
        }
    }

    fn version_option(self) -> &'static str {
        match self {
            Mksquashfs | Unsquashfs => "-version",
            _ => "--version",
        }
    }

    /// Whether the program has one thread, and no option for more.
    pub(crate) fn is_serial(self) -> bool {
        matches!(self, Gzip | Rdsquashfs | Sqfs2tar)
    }

    pub(crate) fn makes_squashfs(self) -> bool {
        matches!(self, Packline | Mksquashfs | Tar2sqfs | Gensquashfs)
    }

    /// The parts of a directory or an image that the program does not keep. A note names them, and they are not compared.
    pub(crate) fn losses(self) -> &'static [Loss] {
        match self {
            Gensquashfs | Rdsquashfs => &[Loss::Root, Loss::Links],
            Mkdwarfs => &[Loss::Root, Loss::Xattrs],
            _ => &[],
        }
    }
}

/// A part of a tree that a program does not keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loss {
    /// The attributes of the root.
    Root,
    Links,
    Xattrs,
}

impl Loss {
    /// The name in notes.
    pub fn name(self) -> &'static str {
        match self {
            Loss::Root => "attributes of the root",
            Loss::Links => "hard links",
            Loss::Xattrs => "extended attributes",
        }
    }

    /// The option of `packline diff` that ignores the loss.
    pub fn diff_option(self) -> Option<&'static str> {
        match self {
            Loss::Root => None,
            Loss::Links => Some("--no-hard-links"),
            Loss::Xattrs => Some("--no-xattrs"),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    pub kind: ProgramKind,
    /// The name in the report: the name of the program, or `NAME=PATH` as the user typed it.
    pub label: String,
    pub path: PathBuf,
    /// The first line of its version.
    pub version: String,
}

impl Program {
    pub fn packline(path: PathBuf) -> Program {
        let version = format!("packline {}", env!("CARGO_PKG_VERSION"));
        Program { kind: Packline, label: "packline".to_owned(), path, version }
    }

    /// Whether this is the packline that is measured, not a competitor (which may be another build of packline).
    pub fn is_packline(&self) -> bool {
        self.kind == Packline && self.label == Packline.name()
    }

    pub fn described(&self) -> report::Program {
        report::Program { name: self.label.clone(), version: self.version.clone() }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Against {
    /// The installed programs for SquashFS.
    Usual,
    /// All installed programs.
    All,
    /// These programs.
    Named(Vec<NamedProgram>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedProgram {
    kind: ProgramKind,
    label: String,
    path: PathBuf,
}

impl Against {
    /// Parses `all`, `none` or a list `NAME[=PATH],...` of programs in `known`; `packline=PATH` is another build of packline.
    ///
    /// # Errors
    /// Returns the fault of the list, and the expected form.
    pub fn parse(text: &OsStr, known: &[ProgramKind]) -> Result<Against, String> {
        if text == "all" {
            return Ok(Against::All);
        }
        let mut all: Vec<NamedProgram> = Vec::new();
        for part in text.as_bytes().split(|&byte| byte == b',').filter(|_| text != "none") {
            let one = parse_program(part, known)?;
            if all.iter().any(|other| other.label == one.label) {
                return Err(format!("'{}' is named twice", one.label));
            }
            all.push(one);
        }
        Ok(Against::Named(all))
    }

    /// Returns the programs with their versions, and a note that lists the programs that are not installed.
    ///
    /// # Errors
    /// Returns an error if a named program is not installed, or cannot be started.
    pub(crate) fn find(
        &self,
        known: &[ProgramKind],
        usual: &[ProgramKind],
    ) -> Result<(Vec<Program>, Option<String>), Error> {
        let missing = |named: &NamedProgram| {
            Error::setting(Setting::Against, format!("{} is not installed", named.path.escaped()))
        };
        match self {
            Against::Usual => installed(usual),
            Against::All => installed(known),
            Against::Named(named) => {
                let found = named.iter().map(|named| find(named)?.ok_or_else(|| missing(named)));
                Ok((found.collect::<Result<_, _>>()?, None))
            }
        }
    }
}

fn parse_program(part: &[u8], known: &[ProgramKind]) -> Result<NamedProgram, String> {
    let label = String::from_utf8_lossy(part).into_owned();
    let equals = part.iter().position(|&byte| byte == b'=');
    let name = &part[..equals.unwrap_or(part.len())];
    let packline = (name == b"packline" && equals.is_some()).then_some(Packline);
    let named = known.iter().find(|kind| kind.name().as_bytes() == name).copied();
    let kind = named.or(packline).ok_or_else(|| {
        let names: Vec<&str> = known.iter().map(|kind| kind.name()).collect();
        format!("unknown '{label}' (expected all, none, or some of {}, each with =PATH or not)", names.join(", "))
    })?;
    let path = match equals.map(|equals| &part[equals + 1..]) {
        Some([]) => return Err(format!("'{label}' has no program (expected {}=PATH)", kind.name())),
        Some(path) => PathBuf::from(OsStr::from_bytes(path)),
        None => PathBuf::from(kind.name()),
    };
    Ok(NamedProgram { kind, label, path })
}

fn installed(known: &[ProgramKind]) -> Result<(Vec<Program>, Option<String>), Error> {
    let mut found = Vec::new();
    let mut missing = Vec::new();
    for kind in known {
        let named = NamedProgram { kind: *kind, label: kind.name().into(), path: kind.name().into() };
        match find(&named)? {
            Some(program) => found.push(program),
            None => missing.push(kind.name()),
        }
    }
    let note = (!missing.is_empty()).then(|| format!("Not installed: {}.", missing.join(", ")));
    Ok((found, note))
}

/// Runs a program to get its version. Returns `None` if the program is not installed.
fn find(named: &NamedProgram) -> Result<Option<Program>, Error> {
    let output = match Command::new(&named.path).arg(named.kind.version_option()).stdin(Stdio::null()).output() {
        Ok(output) => output,
        Err(cause) if cause.kind() == ErrorKind::NotFound => return Ok(None),
        Err(cause) => return Err(Error::file("start", &named.path, &cause)),
    };
    // Some programs print the version to standard error.
    let bytes = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&bytes);
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("version unknown");
    let NamedProgram { kind, label, path } = named.clone();
    Ok(Some(Program { kind, label, path, version: line.to_owned() }))
}

/// The words of a command line.
pub fn words<T: AsRef<OsStr>>(words: &[T]) -> Vec<OsString> {
    words.iter().map(|word| word.as_ref().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Against {
        Against::parse(OsStr::new(text), PACKERS).unwrap()
    }

    #[test]
    fn parses_programs_with_and_without_a_path() {
        let Against::Named(found) = parsed("mksquashfs,tar2sqfs=/new/t2s,packline=/old/p") else { panic!() };
        let shown: Vec<_> =
            found.iter().map(|one| (one.kind, one.label.as_str(), one.path.to_str().unwrap())).collect();
        assert_eq!(
            shown,
            [
                (Mksquashfs, "mksquashfs", "mksquashfs"),
                (Tar2sqfs, "tar2sqfs=/new/t2s", "/new/t2s"),
                (Packline, "packline=/old/p", "/old/p"),
            ]
        );
        for wrong in ["", "unsquashfs", "packline", "xz,xz", "xz=", "mksquash"] {
            assert!(Against::parse(OsStr::new(wrong), PACKERS).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn missing_program_is_an_error_only_if_it_was_named() {
        let error = parsed("xz=/nonesuch/xz").find(PACKERS, &[]).unwrap_err();
        let expected = "/nonesuch/xz is not installed";
        assert!(matches!(error, Error::Setting { setting: Setting::Against, reason } if reason.contains(expected)));
        let (found, missing) = parsed("all").find(PACKERS, &[]).unwrap();
        assert_eq!(found.len() < PACKERS.len(), missing.is_some());
        assert_eq!(Against::Usual.find(PACKERS, &[]).unwrap(), (Vec::new(), None));
        assert_eq!(Against::Usual.find(&[], PACKERS).unwrap(), (found, missing));
        assert_eq!(parsed("none").find(PACKERS, PACKERS).unwrap(), (Vec::new(), None));
    }
}
