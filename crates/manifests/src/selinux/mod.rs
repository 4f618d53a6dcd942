//! SELinux labels: looks up the context of a path in a `file_contexts` file.
//!
//! The format is that of selabel_file(5): `pathname [type] context`, where `pathname` is a regular expression for the complete path. The
//! lookup is that of libselinux before 3.8. A specification without wildcards wins over all others; otherwise the last one that matches wins.
//! `<<none>>` means no context. The local customisations (`FILE.homedirs`, `FILE.local`) are read after the file, and the substitutions of
//! path prefixes (`FILE.subs`, `FILE.subs_dist`) are applied.
//!
//! libselinux uses Perl's regular expressions. We use the `regex` crate, whose matching time is linear in the path. Syntax that only Perl has
//! (look-around, back references, possessive repeats) is an error that names the line. libselinux 3.8 prefers the match with the longest
//! fixed prefix, but real policies are sorted so that the result is the same.

mod pattern;
mod spec;

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use packline_runtime::escape::Escape;
use packline_runtime::open_regular;
use packline_tree::text::lines;
use packline_tree::{Bytes, Error, Kind};

use spec::{Spec, Substitutions, Target};

/// The extended attribute that holds a context.
pub const SELINUX_XATTR: &str = "security.selinux";

/// The context of paths without a matching specification, as in squashfs-tools-ng.
pub const UNLABELED: &str = "system_u:object_r:unlabeled_t:s0";

#[derive(Debug, Default)]
pub struct FileContexts {
    /// Specifications without wildcards by their path, in the order of the lines.
    literal: BTreeMap<Bytes, Vec<Spec>>,
    /// Specifications with wildcards whose path starts with a fixed directory, by that directory.
    below: BTreeMap<Bytes, Vec<Spec>>,
    /// All other specifications.
    anywhere: Vec<Spec>,
    substitutions: Substitutions,
    lines: u64,
}

impl FileContexts {
    /// Reads a file and the related files next to it.
    ///
    /// # Errors
    /// [`Error::Io`] if an existing file cannot be read, [`Error::Line`] for the first malformed line.
    pub fn open(path: &Path) -> Result<FileContexts, Error> {
        let mut contexts = FileContexts::default();
        contexts.add(&path.escaped(), &read(path)?)?;
        for extension in ["homedirs", "local"] {
            if let Some((name, text)) = beside(path, extension)? {
                contexts.add(&name, &text)?;
            }
        }
        for extension in ["subs", "subs_dist"] {
            if let Some((name, text)) = beside(path, extension)? {
                contexts.substitutions.add(&name, &text)?;
            }
        }
        Ok(contexts)
    }

    /// Adds the specifications of a text after the existing ones. `input` is the name of the text for errors.
    ///
    /// # Errors
    /// [`Error::Line`] for the first malformed line.
    pub fn add(&mut self, input: &str, text: &[u8]) -> Result<(), Error> {
        for (place, line) in lines(input, text) {
            self.lines += 1;
            let (target, spec) = spec::parse(place, line, self.lines)?;
            match target {
                Target::Literal(path) => self.literal.entry(path).or_default().push(spec),
                Target::Below(directory) => self.below.entry(directory).or_default().push(spec),
                Target::Anywhere => self.anywhere.push(spec),
            }
        }
        Ok(())
    }

    /// The context of a canonical path, if it has one. The path of the root is empty.
    ///
    /// Time: one lookup, then the expressions for the path's first directory and the expressions without a directory.
    pub fn lookup(&self, path: &[u8], kind: &Kind) -> Option<&str> {
        let full = self.substitutions.apply([b"/", path].concat());
        let literal = self.literal.get(&full).map_or(&[][..], |specs| specs);
        let found = last(literal, &full, kind).or_else(|| self.lookup_patterns(&full, kind));
        found.and_then(|spec| spec.context.as_deref())
    }

    fn lookup_patterns(&self, full: &[u8], kind: &Kind) -> Option<&Spec> {
        let specs = spec::first_directory(full).and_then(|directory| self.below.get(directory));
        let below = specs.and_then(|specs| last(specs, full, kind));
        let later = below.map_or(0, |spec| spec.number);
        let anywhere = self.anywhere.iter().rev().take_while(|spec| spec.number > later);
        anywhere.into_iter().find(|spec| spec.matches(full, kind)).or(below)
    }
}

fn last<'a>(specs: &'a [Spec], full: &[u8], kind: &Kind) -> Option<&'a Spec> {
    specs.iter().rev().find(|spec| spec.matches(full, kind))
}

fn read(path: &Path) -> Result<Bytes, Error> {
    std::fs::read(path).map_err(unreadable(path))
}

fn unreadable(path: &Path) -> impl FnOnce(io::Error) -> Error {
    move |cause| Error::Io { path: path.to_owned(), action: "cannot read", cause }
}

/// The file `path.extension` and its name, if it exists.
fn beside(path: &Path, extension: &str) -> Result<Option<(String, Bytes)>, Error> {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(extension);
    let name = PathBuf::from(name);
    if !name.exists() {
        return Ok(None);
    }
    let mut text = Bytes::new();
    open_regular(&name).and_then(|mut file| file.read_to_end(&mut text)).map_err(unreadable(&name))?;
    Ok(Some((name.escaped(), text)))
}

#[cfg(test)]
mod tests;
