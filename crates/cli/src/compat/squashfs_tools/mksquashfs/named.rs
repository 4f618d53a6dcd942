//! Entries that keep their complete paths in the image: `-cpiostyle` and `-no-strip`.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use packline_tree::Names;

use crate::ui::escape::Escape;
use crate::ui::failure::Failure;

#[derive(Debug)]
pub struct NamedEntries {
    /// The root, the working directory, or one above it.
    pub directory: PathBuf,
    /// The paths below the directory.
    pub names: Names,
}

impl NamedEntries {
    /// Returns entries without their contents, from the lines of a list called `input`. A path without a name (`.`) is ignored.
    ///
    /// # Errors
    /// [`Failure::Failed`] for a path that leads to nothing, and for paths that start from several directories.
    pub fn alone<'n>(input: &str, paths: impl Iterator<Item = (u64, &'n [u8])>) -> Result<NamedEntries, Failure> {
        let NamedEntries { directory, names } = collect(input, paths, |_| Ok(()))?;
        Ok(NamedEntries { directory, names: names.alone() })
    }

    /// Returns entries with everything below them.
    ///
    /// # Errors
    /// [`Failure::Failed`] for a path that leads to nothing, for paths that start from several directories, and for a path without a name.
    pub fn whole<'n>(input: &str, paths: impl Iterator<Item = (u64, &'n [u8])>) -> Result<NamedEntries, Failure> {
        collect(input, paths, |path| {
            let expected = "expected a path that ends in a name, or no -no-strip";
            Err(Failure::failed(format!(
                "{}: has no name for the image ({expected})",
                OsStr::from_bytes(path).escaped()
            )))
        })
    }
}

fn collect<'n>(
    input: &str,
    paths: impl Iterator<Item = (u64, &'n [u8])>,
    empty: impl Fn(&[u8]) -> Result<(), Failure>,
) -> Result<NamedEntries, Failure> {
    let mut directory = None;
    let mut listed = Vec::new();
    for (line, path) in paths {
        let (start, rest) = split(path);
        if rest.is_empty() {
            empty(path)?;
            continue;
        }
        if directory.get_or_insert_with(|| start.clone()) != &start {
            let first = directory.unwrap_or_default();
            return Err(Failure::failed(format!(
                "{input}: line {line}: '{}' starts from {} (expected a path from {}, like the paths before it)",
                OsStr::from_bytes(path).escaped(),
                start.escaped(),
                first.escaped(),
            )));
        }
        listed.push((line, rest));
    }
    let directory = directory.unwrap_or_else(|| PathBuf::from("."));
    let names = Names::existing(&directory, input, listed).map_err(Failure::failed)?;
    Ok(NamedEntries { directory, names })
}

/// Splits a path into the directory that it starts from, and the names below it.
fn split(path: &[u8]) -> (PathBuf, &[u8]) {
    let mut start = PathBuf::from(if path.starts_with(b"/") { "/" } else { "." });
    let mut rest = path;
    loop {
        rest = &rest[rest.iter().take_while(|&&byte| byte == b'/').count()..];
        let end = rest.iter().position(|&byte| byte == b'/').unwrap_or(rest.len());
        match &rest[..end] {
            b"." => {}
            b".." => start.push(".."),
            _ => return (start, rest),
        }
        rest = &rest[end..];
        if rest.is_empty() {
            return (start, rest);
        }
    }
}
