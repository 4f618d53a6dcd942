//! Sets of extended attributes, each stored once, because most entries share a few sets.

use std::collections::BTreeMap;
use std::rc::Rc;

use packline_tree::{NO_XATTR, Xattr};

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
