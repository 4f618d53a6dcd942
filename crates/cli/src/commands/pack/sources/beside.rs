//! Puts directories and plain files side by side, each under the last name of its path.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use packline::Source;
use packline::requests::{DEFAULT_META, ImagePlace, Part};
use packline_runtime::FileIdentity;
use packline_tree::{Bytes, DirectoryOptions, Names, Patterns, Symlinks};

use crate::ui::escape::Escape;
use crate::ui::failure::Failure;

/// A source on the command line.
pub struct Operand<'a> {
    pub path: &'a Path,
    pub kind: OperandKind,
    /// The file; a layer may have been opened to recognise it.
    pub place: ImagePlace,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum OperandKind {
    Directory,
    /// A plain file, or a symbolic link that is stored as a link.
    File,
    /// A plain file; a symbolic link to it is followed.
    FollowedFile,
    /// A tar, an image, or a stream: its entries are merged with those of the other sources.
    Layer,
}

pub struct SideBySide<'a> {
    operands: Vec<Operand<'a>>,
}

/// Returns why an option is rejected.
pub fn refusal(long: &str) -> &'static str {
    match long {
        "files-from" => "works only with one SOURCE, a directory",
        "platform" => "works only with a container image (the sources are directories and files)",
        _ => "the sources are put side by side; --overlay makes them layers",
    }
}

impl<'a> SideBySide<'a> {
    /// Checks that all sources have different names, and that none of them is the output `image`.
    ///
    /// # Errors
    /// [`Failure::Usage`] for two sources with one name; [`Failure::Failed`] for a source without a name, and for the output.
    pub fn new(operands: Vec<Operand<'a>>, image: &Path) -> Result<SideBySide<'a>, Failure> {
        let output = FileIdentity::of_path(image);
        let mut names: BTreeMap<Bytes, &Operand<'_>> = BTreeMap::new();
        for operand @ Operand { path, kind, .. } in &operands {
            let name = base_name(path)?;
            if let Some(first) = names.insert(name.clone(), operand) {
                let name = OsStr::from_bytes(&name).escaped();
                let one = first.path.escaped();
                let other = path.escaped();
                let hint = if [first.kind, *kind] == [OperandKind::Directory; 2] {
                    "--overlay merges directories"
                } else {
                    "--files-from keeps files in their directories"
                };
                return Err(Failure::usage(format!("{one} and {other} have the same name {name}; {hint}")));
            }
            if *kind != OperandKind::Directory && output.is_some() && FileIdentity::of_path(path) == output {
                return Err(Failure::failed(format!(
                    "{}: is both source and output; choose another output",
                    path.escaped()
                )));
            }
        }
        Ok(SideBySide { operands })
    }

    /// Returns the source: directories one after the other, and the files of each directory together, in the order of the command line.
    ///
    /// # Errors
    /// [`Failure::Failed`] if a source no longer exists.
    pub fn source(self, options: &DirectoryOptions, excludes: &Patterns) -> Result<Source, Failure> {
        let mut parts: Vec<Part> = Vec::new();
        let mut files: BTreeMap<PathBuf, (usize, Vec<Bytes>)> = BTreeMap::new();
        for Operand { path, kind, .. } in self.operands {
            let name = base_name(path)?;
            let mut options = options.clone();
            options.excludes = excludes.clone();
            if kind == OperandKind::Directory {
                options.prefix.clone_from(&name);
                if !excludes.matches(&name, true) {
                    parts.push(Part::new(path, options, name));
                }
                continue;
            }
            let parent = parent(path);
            if kind == OperandKind::FollowedFile && is_link(path) {
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

/// Returns whether a path is a symbolic link, whatever the link leads to.
pub fn is_link(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink())
}

fn parent(path: &Path) -> PathBuf {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    parent.unwrap_or(Path::new(".")).to_path_buf()
}

fn base_name(path: &Path) -> Result<Bytes, Failure> {
    let hint = "use a path that ends in a name, or pack the directory alone";
    let refused = || Failure::failed(format!("{}: has no name for the image; {hint}", path.escaped()));
    Part::name_of(path).ok_or_else(refused)
}
