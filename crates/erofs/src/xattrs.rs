//! The extended attributes of entries, before they are written.

use packline_blocks::{Error, XattrSets};
use packline_runtime::escape::Escape;
use packline_tree::{Content, Device, NO_XATTR, Tree, Xattr};

use crate::format::xattr::{HEADER_BYTES, SET_MOST, entry_bytes, key_of};

/// The device that is a whiteout of overlayfs.
const WHITEOUT: Content<'_> = Content::CharDevice(Device { major: 0, minor: 0 });
/// The attribute of a directory with whiteouts. An empty value refers to no other directory.
const ORIGIN: &[u8] = b"trusted.overlay.origin";

/// Longest value in bytes.
const VALUE_MOST: usize = u16::MAX as usize;

/// The distinct sets of extended attributes of an image.
#[derive(Default)]
pub struct XattrTable {
    /// The key of a name: the number of its prefix, and the rest of the name.
    pub(crate) sets: XattrSets,
}

impl XattrTable {
    /// Adds a set if it is new, and returns its index; `u32::MAX` for the empty set. `entry` is the path of the entry, for messages.
    ///
    /// # Errors
    /// [`Error::Limit`] if the format cannot store a name (see [`XattrTable::is_supported`]), if a value has more than 65,535 bytes, if the set
    /// takes more than 262,148 bytes, or if there are 2^32 - 1 sets already.
    pub fn add(&mut self, xattrs: &[Xattr], entry: &[u8]) -> Result<u32, Error> {
        let mut bytes = HEADER_BYTES;
        for xattr in xattrs {
            let key = key_of(&xattr.name).ok_or_else(|| unsupported(&xattr.name, entry))?;
            if xattr.value.len() > VALUE_MOST {
                let what = format!(
                    "{}: extended attribute \"{}\" of {} bytes",
                    entry.escaped(),
                    xattr.name.escaped(),
                    xattr.value.len()
                );
                return Err(Error::Limit { what, expected: format!("at most {VALUE_MOST} bytes") });
            }
            bytes += entry_bytes(&key, &xattr.value);
        }
        check_bytes(bytes, entry)?;
        self.sets.add(xattrs, entry, |name| key_of(name).ok_or_else(|| unsupported(name, entry)))
    }

    /// Adds the attribute `trusted.overlay.origin` to each directory with whiteouts that does not have it.
    ///
    /// # Errors
    /// [`Error::Limit`], as in [`XattrTable::add`].
    pub(crate) fn mark_whiteouts(&mut self, tree: &mut Tree) -> Result<(), Error> {
        let key = key_of(ORIGIN).ok_or_else(|| unsupported(ORIGIN, b""))?;
        for node in tree.nodes() {
            if !tree.children(node).iter().any(|child| tree.content(tree.inode(*child)) == WHITEOUT) {
                continue;
            }
            let inode = tree.inode(node);
            let path = tree.path(node);
            let set = tree.xattr(inode);
            let has_origin = set != NO_XATTR && self.sets.pairs(set).any(|(index, _)| self.sets.key(index) == key);
            if !has_origin {
                let before = if set == NO_XATTR { HEADER_BYTES } else { self.most_bytes(set) };
                check_bytes(before + entry_bytes(&key, b""), &path)?;
                tree.set_xattr(inode, self.sets.add_to(set, &key, b"", &path)?);
            }
        }
        Ok(())
    }

    /// Whether the format can store an attribute of this name: a prefix, then 1 to 255 bytes, or an access list.
    pub fn is_supported(name: &[u8]) -> bool {
        key_of(name).is_some()
    }

    /// Returns the most bytes that a set takes after an inode; 0 for the empty set.
    pub(crate) fn most_bytes(&self, set: u32) -> u64 {
        if set == NO_XATTR {
            return 0;
        }
        let entry = |(key, value)| entry_bytes(self.sets.key(key), self.sets.value(value));
        HEADER_BYTES + self.sets.pairs(set).map(entry).sum::<u64>()
    }

    pub fn memory(&self) -> usize {
        self.sets.memory()
    }
}

/// Checks the bytes of a set after an inode.
fn check_bytes(bytes: u64, entry: &[u8]) -> Result<(), Error> {
    if bytes <= SET_MOST {
        return Ok(());
    }
    let what = format!("{}: {bytes} bytes of extended attributes", entry.escaped());
    Err(Error::Limit { what, expected: format!("at most {SET_MOST}") })
}

fn unsupported(name: &[u8], entry: &[u8]) -> Error {
    Error::Limit {
        what: format!("{}: extended attribute \"{}\"", entry.escaped(), name.escaped()),
        expected: "user., trusted., security. or lustre., followed by a name of 1 to 255 bytes, or an access list"
            .into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(name: &str, value: usize, count: usize) -> String {
        let xattr = |number| Xattr { name: format!("{name}{number}").into(), value: vec![0; value] };
        let xattrs: Vec<Xattr> = (0..count).map(xattr).collect();
        XattrTable::default().add(&xattrs, b"a/b").map_or_else(|error| error.to_string(), |_| "valid".into())
    }

    #[test]
    fn sets_that_cannot_be_stored_are_named() {
        assert_eq!(fault("user.a", 65_535, 3), "valid");
        assert!(fault("user.a", 65_536, 1).contains("a/b: extended attribute \"user.a0\" of 65536 bytes"));
        assert!(fault("user.a", 65_535, 4).contains("a/b: 262188 bytes of extended attributes"));
        assert!(fault("system.x", 0, 1).contains("\"system.x0\" (expected user."));
    }
}
