//! Contents of files of a tar, or of the tar in a .lrz file.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use packline_archives::tar::TarOptions;
use packline_runtime::escape::Escape;
use packline_runtime::{MemoryFault, Resources};
use packline_tree::{Bytes, Content, Extent, LINK_HOPS_MAX, NO_XATTR, Namespace, Tree};

use crate::container::archive::Archive;
use crate::error::Error;
use crate::sources::planned::DEFAULT_META;

/// Bytes of content that are read at once.
const PIECE: usize = 64 << 10;

/// Writes the contents of the files at `paths`, in that order, holes as zeros. The last of several entries at one path applies, and links are
/// followed inside the tar, as if it were unpacked. `display_path` is the name of `out` in messages.
///
/// The tar is read once for its entries and once for the contents, and again each time that a path comes before the previous one in
/// the tar. Returns the warnings of the tar.
///
/// # Errors
/// [`Error::Request`] before anything is written for a path that does not lead to a regular file; [`Error::Memory`] for too many entries;
/// [`Error::Output`]; as [`Archive::read_tar`].
pub fn tar_cat(
    archive: &mut Archive,
    paths: &[Vec<u8>],
    resources: &Resources,
    out: &mut dyn Write,
    display_path: &str,
) -> Result<Vec<String>, Error> {
    let half = resources.clone().memory_limit(resources.memory.map(|limit| limit / 2));
    let (wanted, warnings) = find(archive, paths, &half).map_err(|error| match error {
        Error::Memory(MemoryFault { allowed, needed, what }) => {
            Error::Memory(MemoryFault { allowed: 2 * allowed, needed: 2 * needed, what })
        }
        other => other,
    })?;
    let refused = |cause| Error::Output { path: PathBuf::from(display_path), action: "cannot write", cause };
    for ascending in wanted.chunk_by(|one, next| one < next) {
        archive.read_tar(TarOptions::default(), resources, &mut |source| {
            let mut wanted = ascending.iter();
            let mut next = wanted.next();
            for index in 0.. {
                if next.is_none() || source.next_entry()?.is_none() {
                    break;
                }
                if next == Some(&index) {
                    copy(source, out, refused)?;
                    next = wanted.next();
                }
            }
            Ok(())
        })?;
    }
    out.flush().map_err(refused)?;
    Ok(warnings)
}

/// The indices of the entries with the contents of these files. Names take as much memory as `resources` leave to the reader.
fn find(archive: &mut Archive, paths: &[Vec<u8>], resources: &Resources) -> Result<(Vec<u32>, Vec<String>), Error> {
    let name = archive.display_path();
    let (tree, warnings) = tree(archive, &name, resources)?;
    let refused = |path: &[u8], what| Error::Request {
        what: format!("{}: {}: {what}", name.escaped(), path.escaped()),
        expected: "the path of a regular file in the archive".to_string(),
    };
    let wanted = paths.iter().map(|path| regular_file(&tree, path).map_err(|what| refused(path, what)));
    Ok((wanted.collect::<Result<_, _>>()?, warnings))
}

fn copy(
    source: &mut dyn packline_tree::Source,
    out: &mut dyn Write,
    refused: impl Fn(io::Error) -> Error,
) -> Result<(), Error> {
    let mut piece = vec![0; PIECE];
    loop {
        match source.read(&mut piece)? {
            Extent::Data(length) => out.write_all(&piece[..length]).map_err(&refused)?,
            Extent::Hole(length) => {
                io::copy(&mut io::Read::take(io::repeat(0), length), out).map_err(&refused)?;
            }
            Extent::End => return Ok(()),
        }
    }
}

/// Builds the tree of the entries. The payload of a file is the index of its entry.
fn tree(archive: &mut Archive, name: &Path, resources: &Resources) -> Result<(Tree, Vec<String>), Error> {
    let mut names = Namespace::new(DEFAULT_META);
    let input = name.escaped();
    let warnings = archive.read_tar(TarOptions::default(), resources, &mut |source| {
        for index in 0.. {
            let Some(entry) = source.next_entry()? else { break };
            names.add(&entry, index, NO_XATTR).map_err(|fault| fault.in_input(&input))?;
            let taken = names.memory() as u64;
            if let Some(allowed) = resources.memory.filter(|&allowed| taken > allowed) {
                let what = format!("the names of the entries of {input}");
                return Err(Error::Memory(MemoryFault { allowed, needed: taken, what }));
            }
        }
        Ok(())
    })?;
    Ok((names.finish().map_err(|fault| fault.in_input(&input))?, warnings))
}

/// The payload of the regular file at a path, through symbolic links, as if the tree were the whole file system.
fn regular_file(tree: &Tree, path: &[u8]) -> Result<u32, &'static str> {
    let mut at = tree.root();
    let mut links = 0;
    let mut rest = VecDeque::new();
    prepend(&mut rest, path);
    while let Some(name) = rest.pop_front() {
        if name == b".." {
            at = tree.parent(at);
            continue;
        }
        let children = tree.children(at);
        let found = children.binary_search_by(|&child| tree.name(child).cmp(&name));
        let child = children[found.map_err(|_| "there is no such entry")?];
        match tree.content(tree.inode(child)) {
            Content::Symlink(target) => {
                links += 1;
                if links > LINK_HOPS_MAX {
                    return Err("too many symbolic links on the way");
                }
                at = if target.starts_with(b"/") { tree.root() } else { at };
                prepend(&mut rest, target);
            }
            _ => at = child,
        }
    }
    match tree.content(tree.inode(at)) {
        Content::File(index) => Ok(index),
        Content::Dir => Err("is a directory"),
        _ => Err("is not a regular file"),
    }
}

/// Inserts the components of a path before the others.
fn prepend(rest: &mut VecDeque<Bytes>, path: &[u8]) {
    for name in path.split(|&byte| byte == b'/').rev().filter(|name| !matches!(*name, b"" | b".")) {
        rest.push_front(name.to_vec());
    }
}
