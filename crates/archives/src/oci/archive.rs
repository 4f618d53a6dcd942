//! Finds the files in a tar by their paths, without extracting them.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek};
use std::path::Path;

use packline_runtime::store_stream;
use packline_tree::{Bookmark, Bytes, Error, Kind, Source, path};

use super::{OciOptions, unreadable, wrong};
use crate::Part;
use crate::decompress::{self, Format};
use crate::tar::{TarBookmark, TarOptions, TarSource};

/// Maximum number of entries of an archive, and maximum bytes of their names. An image has a few short names for each layer.
const ENTRIES_MOST: usize = 1 << 16;
const NAMES_MOST: usize = 16 << 20;
/// Maximum number of chained links.
const HOPS_MOST: usize = 8;

pub(super) struct Archive {
    entries: BTreeMap<Bytes, Entry>,
}

enum Entry {
    Part(Part),
    /// A link to another path.
    Link(Bytes),
}

impl Entry {
    fn name_bytes(&self) -> usize {
        if let Entry::Link(target) = self { target.len() } else { 0 }
    }
}

impl Archive {
    /// Opens an archive in a file. Stores a compressed archive, or one from a pipe, in a temporary file first.
    pub fn open(mut file: File, name: &str, options: &OciOptions) -> Result<Archive, Error> {
        let failed = |cause| unreadable(name.as_ref(), cause);
        if !file.metadata().map_err(failed)?.is_file() {
            return Archive::store(Box::new(file), name, options);
        }
        let head = decompress::read_head(&mut file).map_err(failed)?;
        file.rewind().map_err(failed)?;
        match decompress::detect(&head) {
            Format::Plain => Archive::index(file, name),
            _ => Archive::store(Box::new(file), name, options),
        }
    }

    /// Stores an archive in a temporary file, decompressed.
    pub fn store(stream: Box<dyn Read + Send>, name: &str, options: &OciOptions) -> Result<Archive, Error> {
        let nowhere =
            || wrong(name, "the archive must first be stored in a temporary file", "a directory for temporary files");
        let directory = options.scratch.as_deref().ok_or_else(nowhere)?;
        let failed = |cause| unreadable(name.as_ref(), cause);
        let mut plain = decompress::open(stream, &options.limits).map_err(failed)?;
        let mut file = store_stream(&mut plain, directory).map_err(failed)?;
        file.rewind().map_err(failed)?;
        Archive::index(file, name)
    }

    fn index(file: File, name: &str) -> Result<Archive, Error> {
        let whole = Part::whole(file).map_err(|cause| unreadable(Path::new(name), cause))?;
        let mut tar = TarSource::seekable(whole.clone(), TarOptions::named(name))?;
        let mut entries = BTreeMap::new();
        let mut names = 0;
        while let Some(found) = tar.next_entry()? {
            let entry = match found.kind {
                Kind::File { .. } => {
                    let place = tar.bookmark().and_then(|bookmark| plain(&bookmark));
                    let Some((start, size)) = place else { continue };
                    Entry::Part(whole.part(start, size))
                }
                Kind::HardLink(target) => Entry::Link(target),
                Kind::Symlink(target) => match beside(&found.path, &target) {
                    Some(target) => Entry::Link(target),
                    None => continue,
                },
                _ => continue,
            };
            names += found.path.len() + entry.name_bytes();
            entries.insert(found.path, entry);
            if entries.len() > ENTRIES_MOST || names > NAMES_MOST {
                let expected = format!("at most {ENTRIES_MOST}, and {NAMES_MOST} bytes of names");
                return Err(wrong(name, "the archive has too many entries", expected));
            }
        }
        Ok(Archive { entries })
    }

    pub fn find(&self, path: &[u8]) -> Option<Part> {
        let mut at = path::canonical(path).ok()?;
        for _ in 0..=HOPS_MOST {
            match self.entries.get(&at)? {
                Entry::Part(part) => return Some(part.clone()),
                Entry::Link(target) => at.clone_from(target),
            }
        }
        None
    }
}

/// The position of the content of a file without holes.
fn plain(bookmark: &Bookmark) -> Option<(u64, u64)> {
    bookmark.value::<TarBookmark>()?.plain()
}

/// The target of a symbolic link, relative to the link's directory.
fn beside(link: &[u8], target: &[u8]) -> Option<Bytes> {
    let mut names: Vec<&[u8]> = link.split(|byte| *byte == b'/').collect();
    names.pop();
    for name in target.split(|byte| *byte == b'/') {
        match name {
            b"" | b"." => {}
            b".." => drop(names.pop()?),
            name => names.push(name),
        }
    }
    path::canonical(&names.join(&b'/')).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_from_their_directory() {
        let beside = |link: &str, target: &str| beside(link.as_bytes(), target.as_bytes());
        assert_eq!(beside("a/layer.tar", "../b.tar"), Some(b"b.tar".to_vec()));
        assert_eq!(beside("a/layer.tar", "./b/c"), Some(b"a/b/c".to_vec()));
        assert_eq!(beside("a", "../b"), None);
        assert_eq!(beside("a", "."), None);
    }
}
