//! The programs that can take part, and which of them do.

use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use packline::bench;

use crate::failure::Failure;

/// A program whose command line is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
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

use crate::shown::Escape;
use Kind::*;

/// Programs that make something of a tree.
pub const PACKERS: &[Kind] = &[Mksquashfs, Tar2sqfs, Gensquashfs, Zstd, Xz, Gzip, Pigz, Lrzip, Mkdwarfs];
/// Programs that make a tree or a tar of an image.
pub const UNPACKERS: &[Kind] = &[Unsquashfs, Rdsquashfs, Sqfs2tar];

impl Kind {
    /// The program's name.
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

    /// The option that makes it say its version.
    fn version_option(self) -> &'static str {
        match self {
            Mksquashfs | Unsquashfs => "-version",
            _ => "--version",
        }
    }

    /// Whether it works on one thread whatever it is told.
    pub fn is_serial(self) -> bool {
        matches!(self, Gzip | Rdsquashfs | Sqfs2tar)
    }

    /// Whether what it makes is a SquashFS image.
    pub fn makes_squashfs(self) -> bool {
        matches!(self, Packline | Mksquashfs | Tar2sqfs | Gensquashfs)
    }
}

/// What a program is known to lose, and says so or is known for it: that is noted, and no wrong answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lost {
    /// Attributes of the root.
    Root,
    /// Which names are one file.
    Links,
    /// Extended attributes.
    Xattrs,
}

impl Lost {
    /// For notes.
    pub fn name(self) -> &'static str {
        match self {
            Lost::Root => "attributes of the root",
            Lost::Links => "hard links",
            Lost::Xattrs => "extended attributes",
        }
    }

    /// The option with which `packline diff` does not look at it, if there is one.
    pub fn option(self) -> Option<&'static str> {
        match self {
            Lost::Root => None,
            Lost::Links => Some("--no-hard-links"),
            Lost::Xattrs => Some("--no-xattrs"),
        }
    }
}

impl Kind {
    /// What it loses of a directory or an image.
    pub fn loses(self) -> &'static [Lost] {
        match self {
            Gensquashfs => &[Lost::Root, Lost::Links],
            Rdsquashfs => &[Lost::Root, Lost::Links],
            Mkdwarfs => &[Lost::Root, Lost::Xattrs],
            _ => &[],
        }
    }
}

/// A program that takes part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    pub kind: Kind,
    /// What it is called in the report: its name, or `NAME=PATH` as it was given.
    pub label: String,
    /// What is started.
    pub path: PathBuf,
    /// What it says of its version.
    pub version: String,
}

impl Program {
    /// This program.
    pub fn ours(path: PathBuf) -> Program {
        let version = format!("packline {}", env!("CARGO_PKG_VERSION"));
        Program { kind: Packline, label: "packline".to_owned(), path, version }
    }

    /// For the report.
    pub fn described(&self) -> bench::Program {
        bench::Program { name: self.label.clone(), version: self.version.clone() }
    }
}

/// A program as a user names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    kind: Kind,
    label: String,
    path: PathBuf,
}

/// The programs of a list `NAME[=PATH],...`; `all` stands for those of `known` that are installed. An error if one is named
/// that is not known.
pub fn named(text: &OsStr, known: &[Kind]) -> Result<Vec<Named>, String> {
    let mut all: Vec<Named> = Vec::new();
    for part in text.as_encoded_bytes().split(|&byte| byte == b',') {
        let one = one_named(part, known)?;
        if all.iter().any(|other| other.label == one.label) {
            return Err(format!("'{}' stands there twice", one.label));
        }
        all.push(one);
    }
    Ok(all)
}

fn one_named(part: &[u8], known: &[Kind]) -> Result<Named, String> {
    use std::os::unix::ffi::OsStrExt;
    let label = String::from_utf8_lossy(part).into_owned();
    let equals = part.iter().position(|&byte| byte == b'=');
    let name = &part[..equals.unwrap_or(part.len())];
    let kind = known.iter().find(|kind| kind.name().as_bytes() == name).copied();
    let kind = kind.or((name == b"packline" && equals.is_some()).then_some(Packline)).ok_or_else(|| {
        let names: Vec<&str> = known.iter().map(|kind| kind.name()).collect();
        format!("unknown '{label}' (expected all, none, or some of {}, each with =PATH or not)", names.join(", "))
    })?;
    let path = match equals.map(|equals| &part[equals + 1..]) {
        Some([]) => return Err(format!("'{label}' names no program (expected {}=PATH)", kind.name())),
        Some(path) => PathBuf::from(OsStr::from_bytes(path)),
        None => PathBuf::from(kind.name()),
    };
    Ok(Named { kind, label, path })
}

/// The peers that `--against` names, found and asked for their versions; and a note of those that would have been if they were
/// installed. `usual` are those that take part if nobody says; `none` names none, `all` those of `known` that are installed.
///
/// # Errors
/// [`Failure::Usage`]: one that was named is not known or not installed.
pub fn peers(text: Option<&OsStr>, known: &[Kind], usual: &[Kind]) -> Result<(Vec<Program>, Option<String>), Failure> {
    let wrong = |what: String| Failure::usage(format!("--against: {what}"));
    match text {
        None => installed(usual),
        Some(text) if text == "none" => Ok((Vec::new(), None)),
        Some(text) if text == "all" => installed(known),
        Some(text) => {
            let named = named(text, known).map_err(wrong)?;
            let missing = |named: &Named| wrong(format!("{} is not installed", named.path.escaped()));
            let found = named.into_iter().map(|named| find(named.clone())?.ok_or_else(|| missing(&named)));
            Ok((found.collect::<Result<_, _>>()?, None))
        }
    }
}

fn installed(known: &[Kind]) -> Result<(Vec<Program>, Option<String>), Failure> {
    let (mut found, mut missing) = (Vec::new(), Vec::new());
    for kind in known {
        let named = Named { kind: *kind, label: kind.name().into(), path: kind.name().into() };
        match find(named)? {
            Some(program) => found.push(program),
            None => missing.push(kind.name()),
        }
    }
    let note = (!missing.is_empty()).then(|| format!("Not installed: {}.", missing.join(", ")));
    Ok((found, note))
}

/// Asks a program for its version; `None` if there is none to ask.
fn find(named: Named) -> Result<Option<Program>, Failure> {
    let asked = Command::new(&named.path).arg(named.kind.version_option()).stdin(Stdio::null()).output();
    let output = match asked {
        Ok(output) => output,
        Err(cause) if cause.kind() == ErrorKind::NotFound => return Ok(None),
        Err(cause) => return Err(Failure::failed(format!("{}: cannot start: {cause}", named.path.escaped()))),
    };
    // Some say it on standard error.
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    let line = said.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("version unknown");
    let Named { kind, label, path } = named;
    Ok(Some(Program { kind, label, path, version: line.to_owned() }))
}

/// A command line's words.
pub fn words<T: AsRef<OsStr>>(words: &[T]) -> Vec<OsString> {
    words.iter().map(|word| word.as_ref().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_named_with_and_without_a_path() {
        let found = named(OsStr::new("mksquashfs,tar2sqfs=/new/t2s,packline=/old/p"), PACKERS).unwrap();
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
            assert!(named(OsStr::new(wrong), PACKERS).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn program_that_is_not_there_is_an_error_only_if_it_was_named() {
        let error = peers(Some(OsStr::new("xz=/nonesuch/xz")), PACKERS, &[]).unwrap_err();
        assert!(matches!(error, Failure::Usage(what) if what.contains("/nonesuch/xz is not installed")));
        let (found, missing) = peers(Some(OsStr::new("all")), PACKERS, &[]).unwrap();
        assert_eq!(found.len() < PACKERS.len(), missing.is_some());
        assert_eq!(peers(None, PACKERS, &[]).unwrap(), (Vec::new(), None));
        assert_eq!(peers(None, &[], PACKERS).unwrap(), (found, missing));
        assert_eq!(peers(Some(OsStr::new("none")), PACKERS, PACKERS).unwrap(), (Vec::new(), None));
    }
}
