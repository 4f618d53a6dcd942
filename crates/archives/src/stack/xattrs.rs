//! Extended attributes of layers: those that overlayfs uses itself, and the sets of the others, each stored once, because most entries share
//! a few sets.

use packline_tree::{Entry, Kind, NO_XATTR, Xattr};
use std::collections::BTreeMap;
use std::rc::Rc;

/// The two forms of names. The second is for mounts with `userxattr`.
pub(super) const PREFIXES: [&[u8]; 2] = [b"trusted.overlay.", b"user.overlay."];

/// The meaning of an entry's attributes, and their form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    Nothing,
    /// A directory that hides its entries in lower layers.
    Opaque(usize),
    /// A file that is a whiteout.
    Whiteout,
}

/// Removes the attributes of overlayfs from an entry. Keeps the attributes of an overlay within a layer, whose names overlayfs
/// escapes.
///
/// # Errors
/// Returns the name of an attribute that refers to another path.
pub(super) fn take_meaning(entry: &mut Entry) -> Result<Meaning, Vec<u8>> {
    let mut meaning = Meaning::Nothing;
    if !entry.xattrs.iter().any(|xattr| own(&xattr.name).is_some()) {
        return Ok(meaning);
    }
    for xattr in &entry.xattrs {
        let Some((form, name)) = own(&xattr.name) else { continue };
        match (name, &entry.kind) {
            (b"redirect" | b"metacopy", _) => return Err(xattr.name.clone()),
            // The other value, `x`, means that there are files with the attribute `whiteout`.
            (b"opaque", Kind::Dir) if xattr.value == b"y" => meaning = Meaning::Opaque(form),
            (b"whiteout", Kind::File { size: 0 }) => meaning = Meaning::Whiteout,
            _ => {}
        }
    }
    entry.xattrs.retain(|xattr| own(&xattr.name).is_none());
    Ok(meaning)
}

/// The attribute of a directory that hides its entries in lower layers, in one of the forms.
pub(super) fn opaque(form: usize) -> Xattr {
    Xattr { name: [PREFIXES[form], b"opaque"].concat(), value: b"y".to_vec() }
}

/// The attribute of a directory that may have whiteouts, in one of the forms. Without a value, it refers to no other directory.
pub(super) fn origin(form: usize) -> Xattr {
    Xattr { name: [PREFIXES[form], b"origin"].concat(), value: Vec::new() }
}

/// The form and the name of an attribute of overlayfs that is not escaped.
fn own(name: &[u8]) -> Option<(usize, &[u8])> {
    let found = PREFIXES.iter().enumerate().find_map(|(form, prefix)| Some((form, name.strip_prefix(*prefix)?)));
    found.filter(|(_, name)| !name.starts_with(b"overlay."))
}

/// Memory of a set or an attribute in addition to its bytes, including its share of the map.
const ITEM_BYTES: usize = 64;

#[derive(Default)]
pub(super) struct XattrSets {
    sets: Vec<Rc<[Xattr]>>,
    numbers: BTreeMap<Rc<[Xattr]>, u32>,
    bytes: usize,
}

impl XattrSets {
    /// The number of a set, independent of its order.
    pub fn add(&mut self, mut xattrs: Vec<Xattr>) -> u32 {
        if xattrs.is_empty() {
            return NO_XATTR;
        }
        xattrs.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        if let Some(number) = self.numbers.get(xattrs.as_slice()) {
            return *number;
        }
        let number = self.sets.len() as u32;
        let set = Rc::<[Xattr]>::from(xattrs);
        self.bytes +=
            set.iter().map(|xattr| xattr.name.len() + xattr.value.len() + ITEM_BYTES).sum::<usize>() + ITEM_BYTES;
        self.sets.push(Rc::clone(&set));
        self.numbers.insert(set, number);
        number
    }

    pub fn get(&self, number: u32) -> &[Xattr] {
        self.sets.get(number as usize).map_or(&[], |set| set)
    }

    pub fn memory(&self) -> usize {
        self.bytes
    }
}
