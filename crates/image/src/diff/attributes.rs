//! Compares two entries of one path, except their contents.

use packline_tree::{Bytes, Xattr};
use packline_volume::Inode;

use super::side::Node;
use super::{Compared, What};

/// Returns the differences, in the order of reporting. Extended attributes, links and sizes are not compared. Without `nanoseconds`, whole
/// seconds of times are compared.
pub(super) fn differences(old: &Node, new: &Node, compared: &Compared, nanoseconds: bool) -> Vec<What> {
    if old.kind != new.kind {
        return vec![What::Type(old.kind, new.kind)];
    }
    let forms = (old.inode.as_ref().zip(new.inode.as_ref())).filter(|_| compared.forms || compared.numbers);
    let mut found = Vec::new();
    let mut note = |differs: bool, what: What| {
        if differs {
            found.push(what);
        }
    };
    if let Some((old, new)) = forms.filter(|_| compared.forms) {
        note(old.extended != new.extended, What::Form { extended: new.extended });
    }
    let owner = |node: &Node| (node.meta.uid, node.meta.gid);
    note(compared.permissions && old.meta.mode != new.meta.mode, What::Mode(old.meta.mode, new.meta.mode));
    note(compared.owners && owner(old) != owner(new), What::Owner(owner(old), owner(new)));
    let time = |node: &Node| if nanoseconds { node.meta.mtime } else { node.meta.mtime.floor() };
    note(compared.times && time(old) != time(new), What::Time(time(old), time(new)));
    if let Some((old, new)) = forms.filter(|_| compared.numbers) {
        let number = |inode: &Inode| inode.number;
        note(number(old) != number(new), What::Number(number(old), number(new)));
    }
    if let (Some(old), Some(new)) = (old.device, new.device) {
        note(old != new, What::Device(old, new));
    }
    note(old.target != new.target, What::Target(old.target.clone(), new.target.clone()));
    found
}

/// Returns the names of attributes that differ; both lists are sorted by name.
pub(super) fn differing_xattrs(old: &[Xattr], new: &[Xattr]) -> Vec<Bytes> {
    let lacks = |list: &[Xattr], xattr: &Xattr| list.binary_search(xattr).is_err();
    let gone = old.iter().filter(|xattr| lacks(new, xattr));
    let come = new.iter().filter(|xattr| lacks(old, xattr));
    let mut names: Vec<Bytes> = gone.chain(come).map(|xattr| xattr.name.clone()).collect();
    names.sort();
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_that_one_side_lacks_or_that_differ_are_named() {
        let xattr = |name: &str, value: &str| Xattr { name: name.into(), value: value.into() };
        let old = [xattr("user.a", "1"), xattr("user.b", "2"), xattr("user.c", "3")];
        let new = [xattr("user.b", "2"), xattr("user.c", "x"), xattr("user.d", "4")];
        assert_eq!(differing_xattrs(&old, &new), [b"user.a".to_vec(), b"user.c".to_vec(), b"user.d".to_vec()]);
        assert!(differing_xattrs(&old, &old).is_empty());
    }
}
