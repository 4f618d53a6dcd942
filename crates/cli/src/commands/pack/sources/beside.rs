//! Directories and plain files that are put side by side, each under the last name of its path.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use packline::Source;
use packline::requests::{DEFAULT_META, Part};
use packline_runtime::FileIdentity;
use packline_tree::{Bytes, DirectoryOptions, Names, Patterns, Symlinks};

use crate::ui::escape::Escape;
use crate::ui::failure::Failure;

/// Sources by their names in the root of the image.
pub struct Beside<'a> {
    operands: Vec<Operand>,
    image: &'a Path,
}

struct Operand {
    path: PathBuf,
    kind: OperandKind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum OperandKind {
    Directory,
    /// A plain file, or a symbolic link, which is stored as a link.
    Entry,
    /// A plain file that a symbolic link may lead to.
    Followed,
}

/// Why an option is refused.
pub fn refusal(long: &str) -> &'static str {
    match long {
        "files-from" => "names are those of one directory (expected one SOURCE)",
        "platform" => "only an image of containers can be packed so (the sources are directories and files)",
        _ => "the sources are put side by side (expected --overlay, which makes them layers)",
    }
}

impl<'a> Beside<'a> {
    /// No sources yet; `image` is the output.
    pub fn new(image: &'a Path) -> Beside<'a> {
        Beside { operands: Vec::new(), image }
    }

    /// A plain file alone, or as a layer; `image` is the output.
    ///
    /// # Errors
    /// As [`Beside::checked`].
    pub fn of_file(path: &Path, image: &'a Path) -> Result<Beside<'a>, Failure> {
        let mut beside = Beside::new(image);
        beside.add_followed(path);
        beside.checked()
    }

    pub fn add_directory(&mut self, path: &Path) {
        self.add(path, OperandKind::Directory);
    }

    /// Adds a plain file or a symbolic link.
    pub fn add_entry(&mut self, path: &Path) {
        self.add(path, OperandKind::Entry);
    }

    /// Adds a plain file that a symbolic link may lead to.
    pub fn add_followed(&mut self, path: &Path) {
        self.add(path, OperandKind::Followed);
    }

    fn add(&mut self, path: &Path, kind: OperandKind) {
        self.operands.push(Operand { path: path.to_path_buf(), kind });
    }

    pub fn count(&self) -> usize {
        self.operands.len()
    }

    /// Whether the source is one directory, which becomes the root.
    pub fn is_one_directory(&self) -> bool {
        matches!(&self.operands[..], [Operand { kind: OperandKind::Directory, .. }])
    }

    /// Checks that each source has a name of its own, and that none is the output.
    ///
    /// # Errors
    /// [`Failure::Usage`] for two sources with one name; [`Failure::Failed`] for a source without a name, and for the output.
    pub fn checked(self) -> Result<Beside<'a>, Failure> {
        let output = FileIdentity::of_path(self.image);
        let mut names: BTreeMap<Bytes, &Operand> = BTreeMap::new();
        for operand @ Operand { path, kind } in &self.operands {
            let name = base_name(path)?;
            if let Some(first) = names.insert(name.clone(), operand) {
                let name = OsStr::from_bytes(&name).escaped();
                let one = first.path.escaped();
                let other = path.escaped();
                let expected = if [first.kind, *kind] == [OperandKind::Directory; 2] {
                    "expected different names, or --overlay to merge directories"
                } else {
                    "expected different names; --files-from keeps files in their directories"
                };
                return Err(Failure::usage(format!("{one} and {other} are both called {name} ({expected})")));
            }
            if *kind != OperandKind::Directory && output.is_some() && FileIdentity::of_path(path) == output {
                let expected = "expected another file";
                return Err(Failure::failed(format!("{}: both source and output ({expected})", path.escaped())));
            }
        }
        Ok(self)
    }

    /// The source: directories one after the other, and the files of each directory together, in the order of the command line.
    ///
    /// # Errors
    /// [`Failure::Failed`] for a source that is not there any more.
    pub fn source(self, options: &DirectoryOptions, excludes: &Patterns) -> Result<Source, Failure> {
        let mut parts: Vec<Part> = Vec::new();
        let mut files: BTreeMap<PathBuf, (usize, Vec<Bytes>)> = BTreeMap::new();
        for Operand { path, kind } in self.operands {
            let name = base_name(&path)?;
            let mut options = options.clone();
            options.excludes = excludes.clone();
            if kind == OperandKind::Directory {
                options.prefix.clone_from(&name);
                if !excludes.matches(&name, true) {
                    parts.push(Part::new(path, options, name));
                }
                continue;
            }
            let parent = parent(&path);
            if kind == OperandKind::Followed && is_link(&path) {
                options.symlinks = Symlinks::Followed(packline_tree::NotFollowed::LeftOut);
                options.only = Some(named(&parent, std::slice::from_ref(&name))?);
                parts.push(Part { without_root: true, ..Part::new(parent, options, Bytes::new()) });
                continue;
            }
            let (_, names) = files.entry(parent.clone()).or_insert_with(|| {
                parts.push(Part { without_root: true, ..Part::new(parent, options, Bytes::new()) });
                (parts.len() - 1, Vec::new())
            });
            names.push(name);
        }
        for (parent, (part, names)) in files {
            parts[part].options.only = Some(named(&parent, &names)?);
        }
        Ok(Source::Directories { parts, root: DEFAULT_META })
    }
}

fn named(parent: &Path, names: &[Bytes]) -> Result<Names, Failure> {
    Names::existing(parent, "sources", (1..).zip(names.iter().map(Vec::as_slice))).map_err(Failure::failed)
}

/// Returns whether a path leads to a symbolic link, not to what the link leads to.
pub fn is_link(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink())
}

/// The directory that a file is in.
fn parent(path: &Path) -> PathBuf {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    parent.unwrap_or(Path::new(".")).to_path_buf()
}

fn base_name(path: &Path) -> Result<Bytes, Failure> {
    let expected = "expected a path that ends in a name, or the directory alone";
    let refused = || Failure::failed(format!("{}: there is no name for it in the image ({expected})", path.escaped()));
    Part::name_of(path).ok_or_else(refused)
}
