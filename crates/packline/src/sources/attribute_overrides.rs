//! Attributes that override those of the source: extended attributes and SELinux labels from files, and attributes of the root.

use packline_manifests::XattrFile;
#[cfg(feature = "selinux")]
use packline_manifests::{FileContexts, SELINUX_XATTR, UNLABELED};
use packline_tree::{Entry, Kind, Meta, Xattr};

/// Attributes that replace those of the source. The default replaces nothing.
#[derive(Debug, Default)]
pub struct AttributeOverrides {
    /// Attributes of the root.
    pub root: Option<Meta>,
    /// Extended attributes by path. Each replaces the attribute of the same name.
    pub xattrs: Option<XattrFile>,
    /// SELinux contexts, which replace all others; [`UNLABELED`] for entries without a context.
    #[cfg(feature = "selinux")]
    pub contexts: Option<FileContexts>,
}

impl AttributeOverrides {
    /// Replaces the attributes of an entry. A hard link has no attributes of its own: those of its target are used.
    pub fn apply(&mut self, entry: &mut Entry) {
        match (&entry.kind, &mut self.xattrs) {
            (Kind::HardLink(target), Some(file)) if file.lists(target) => {
                file.use_path(&entry.path);
            }
            (Kind::HardLink(_), _) => {}
            _ => self.put_on_inode(entry),
        }
    }

    fn put_on_inode(&mut self, entry: &mut Entry) {
        if let (Some(root), true) = (self.root, entry.path.is_empty()) {
            entry.meta = root;
        }
        if let Some(file) = &mut self.xattrs {
            file.use_path(&entry.path).iter().for_each(|xattr| set(entry, xattr.clone()));
        }
        #[cfg(feature = "selinux")]
        if let Some(contexts) = &self.contexts {
            let context = contexts.lookup(&entry.path, &entry.kind).unwrap_or(UNLABELED);
            set(entry, Xattr { name: SELINUX_XATTR.into(), value: context.into() });
        }
    }

    /// A warning for each unused path of the xattr file, after the last entry.
    pub fn unused(&self) -> Vec<String> {
        let left = self.xattrs.iter().flat_map(XattrFile::unused);
        left.map(|place| format!("{place} is not in the image, or is only another name of a file that is not listed"))
            .collect()
    }
}

/// Sets an attribute, replacing one of the same name.
fn set(entry: &mut Entry, xattr: Xattr) {
    entry.xattrs.retain(|known| known.name != xattr.name);
    entry.xattrs.push(xattr);
}

#[cfg(test)]
mod tests {
    use super::*;

    const META: Meta = Meta::new(0o644, 1, 2, 3);

    fn entry(path: &str, kind: Kind) -> Entry {
        let xattrs = vec![Xattr { name: b"user.k".into(), value: b"own".into() }];
        Entry { path: path.into(), kind, meta: META, xattrs }
    }

    fn dressed(overrides: &mut AttributeOverrides, path: &str, kind: Kind) -> Vec<String> {
        let mut entry = entry(path, kind);
        overrides.apply(&mut entry);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        entry.xattrs.iter().map(|xattr| format!("{}={}", text(&xattr.name), text(&xattr.value))).collect()
    }

    fn overrides(xattrs: &str, contexts: &str) -> AttributeOverrides {
        let mut policy = FileContexts::default();
        policy.add("policy", contexts.as_bytes()).unwrap();
        let xattrs = XattrFile::parse("attrs", xattrs.as_bytes()).unwrap();
        AttributeOverrides { root: None, xattrs: Some(xattrs), contexts: Some(policy) }
    }

    #[test]
    fn files_override_attributes_of_the_source() {
        let mut overrides = overrides("# file: f\nuser.k=\"new\"\nsecurity.selinux=\"old\"\n", "/f -- label\n");
        assert_eq!(dressed(&mut overrides, "f", Kind::File { size: 0 }), ["user.k=new", "security.selinux=label"]);
        let unlabeled = format!("security.selinux={UNLABELED}");
        assert_eq!(dressed(&mut overrides, "", Kind::Dir), ["user.k=own", &unlabeled]);
        assert_eq!(dressed(&mut AttributeOverrides::default(), "f", Kind::Fifo), ["user.k=own"]);
    }

    #[test]
    fn unused_paths_are_reported() {
        let mut overrides = overrides("# file: a\n# file: b\n# file: link1\n# file: link2\n", "");
        dressed(&mut overrides, "a", Kind::Dir);
        dressed(&mut overrides, "link1", Kind::HardLink(b"a".into()));
        dressed(&mut overrides, "link2", Kind::HardLink(b"none".into()));
        let unused = overrides.unused();
        assert_eq!(unused.len(), 2);
        assert!(unused[0].starts_with("attrs: line 2: 'b' is not in the image"), "{unused:?}");
        assert!(unused[1].starts_with("attrs: line 4: 'link2'"), "{unused:?}");
    }

    #[test]
    fn the_root_can_be_set() {
        let root = Meta::new(0o755, 9, 9, 9);
        let mut overrides = AttributeOverrides { root: Some(root), ..AttributeOverrides::default() };
        let mut top = entry("", Kind::Dir);
        let mut other = entry("a", Kind::Dir);
        overrides.apply(&mut top);
        overrides.apply(&mut other);
        assert_eq!((top.meta, other.meta), (root, META));
    }
}
