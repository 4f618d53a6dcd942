//! Entries that hide other entries.

use std::collections::BTreeSet;

use packline_runtime::escape::Escape;
use packline_tree::{Bytes, Device, Entry, Kind};

use super::xattrs::{self, Meaning};

/// The device that is a whiteout of overlayfs.
pub(super) const WHITEOUT: Device = Device { major: 0, minor: 0 };
/// Prefix of AUFS's whiteouts, and of names that AUFS uses internally.
const PREFIX: &[u8] = b".wh.";
const OWN: &[u8] = b".wh..wh.";
/// The name that hides all entries of lower layers in its directory.
const OPAQUE: &[u8] = b".wh..wh..opq";

/// The meaning of an entry.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Mark {
    /// A plain entry. `opaque` marks a directory that hides its entries in lower layers, in a form of overlayfs.
    Entry { opaque: Option<usize> },
    /// Hides the entry at a path in lower layers.
    Whiteout(Bytes),
    /// Hides the entries of the directory at a path in lower layers.
    Opaque(Bytes),
    /// An internal file of AUFS.
    Internal,
}

/// Whether the last name of a path is the name of a whiteout, as AUFS and the layers of container images write it.
pub fn is_whiteout_name(path: &[u8]) -> bool {
    path.rsplit(|byte| *byte == b'/').next().is_some_and(|name| name.starts_with(PREFIX))
}

/// The fault of an entry, and the expected value.
pub(super) type Wrong = (String, String);

/// The marks of a layer.
#[derive(Default)]
pub(super) struct Marks {
    /// Paths of whiteouts of overlayfs, which may be hard links to one another.
    whiteouts: BTreeSet<Bytes>,
    bytes: usize,
}

impl Marks {
    /// The meaning of the layer's next entry. Removes the attributes of overlayfs from the entry.
    pub fn read(&mut self, entry: &mut Entry) -> Result<Mark, Wrong> {
        if let Some(mark) = aufs(&entry.path)? {
            return Ok(mark);
        }
        let meaning = xattrs::take_meaning(entry).map_err(|name| refers(&name))?;
        let device = entry.kind == Kind::CharDevice(WHITEOUT);
        let linked = matches!(&entry.kind, Kind::HardLink(target) if self.whiteouts.contains(target));
        if device || linked || meaning == Meaning::Whiteout {
            self.bytes += entry.path.len() + 64;
            self.whiteouts.insert(entry.path.clone());
            return Ok(Mark::Whiteout(entry.path.clone()));
        }
        Ok(Mark::Entry { opaque: if let Meaning::Opaque(form) = meaning { Some(form) } else { None } })
    }

    pub fn memory(&self) -> usize {
        self.bytes
    }
}

fn aufs(path: &[u8]) -> Result<Option<Mark>, Wrong> {
    if memchr::memmem::find(path, PREFIX).is_none() {
        return Ok(None);
    }
    let (parent, name) = path
        .iter()
        .rposition(|byte| *byte == b'/')
        .map_or((&path[..0], path), |slash| (&path[..slash], &path[slash + 1..]));
    let mut above = parent.split(|byte| *byte == b'/').filter(|name| name.starts_with(PREFIX));
    match above.next() {
        Some(name) if name.starts_with(OWN) => return Ok(Some(Mark::Internal)),
        Some(name) => return Err(below(name)),
        None => {}
    }
    match name.strip_prefix(PREFIX) {
        None => Ok(None),
        Some(_) if name == OPAQUE => Ok(Some(Mark::Opaque(parent.to_vec()))),
        Some(_) if name.starts_with(OWN) => Ok(Some(Mark::Internal)),
        Some(b"" | b"." | b"..") => Err(unnamed()),
        Some(hidden) if parent.is_empty() => Ok(Some(Mark::Whiteout(hidden.to_vec()))),
        Some(hidden) => Ok(Some(Mark::Whiteout([parent, hidden].join(&b'/')))),
    }
}

fn unnamed() -> Wrong {
    ("a whiteout without a name".into(), ".wh.NAME, or .wh..wh..opq for all of the directory".into())
}

fn below(name: &[u8]) -> Wrong {
    (format!("an entry below the whiteout {}", name.escaped()), "whiteouts with nothing in them".into())
}

fn refers(name: &[u8]) -> Wrong {
    let what = format!("attribute {}: the entry is partly in another directory of the overlay", name.escaped());
    (what, "an upper directory of an overlay that was mounted with redirect_dir=off,metacopy=off".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use packline_tree::{Meta, Xattr};

    fn entry(path: &str, kind: Kind, xattrs: &[(&str, &str)]) -> Entry {
        let meta = Meta::default();
        let xattr = |(name, value): &(&str, &str)| Xattr { name: (*name).into(), value: (*value).into() };
        Entry { path: path.into(), kind, meta, xattrs: xattrs.iter().map(xattr).collect() }
    }

    fn mark(entry: &mut Entry) -> Result<Mark, String> {
        Marks::default().read(entry).map_err(|(what, _)| what)
    }

    const PLAIN: Mark = Mark::Entry { opaque: None };

    #[test]
    fn names_of_aufs() {
        let whiteout = |path: &str| Ok(Mark::Whiteout(path.into()));
        let opaque = |path: &str| Ok(Mark::Opaque(path.into()));
        let unnamed = || Err("a whiteout without a name".to_string());
        for (path, expected) in [
            ("a.wh.b", Ok(PLAIN)),
            (".wha/.w", Ok(PLAIN)),
            (".wh.a", whiteout("a")),
            ("d/e/.wh.a", whiteout("d/e/a")),
            ("d/.wh..a", whiteout("d/.a")),
            ("d/.wh....", whiteout("d/...")),
            ("d/.wh..wh", whiteout("d/.wh")),
            (".wh..wh..opq", opaque("")),
            ("d/.wh..wh..opq", opaque("d")),
            (".wh..wh.plnk", Ok(Mark::Internal)),
            (".wh..wh.plnk/1.2", Ok(Mark::Internal)),
            ("d/.wh..wh..opqx", Ok(Mark::Internal)),
            (".wh.", unnamed()),
            ("d/.wh.", unnamed()),
            ("d/.wh..", unnamed()),
            ("d/.wh...", unnamed()),
            ("d/.wh.a/b", Err("an entry below the whiteout .wh.a".to_string())),
        ] {
            for kind in [Kind::File { size: 0 }, Kind::Dir, Kind::HardLink(b"x".into())] {
                assert_eq!(mark(&mut entry(path, kind, &[])), expected, "{path}");
            }
        }
    }

    #[test]
    fn only_the_last_name_makes_a_whiteout() {
        for (path, expected) in [
            (".wh.a", true),
            ("d/.wh..wh..opq", true),
            ("d/a.wh.b", false),
            (".wh.d/a", false),
            ("d/.wh", false),
            ("", false),
        ] {
            assert_eq!(is_whiteout_name(path.as_bytes()), expected, "{path}");
        }
    }

    #[test]
    fn devices_and_attributes_of_overlayfs() {
        let device = |major, minor| Kind::CharDevice(Device { major, minor });
        let file = |size| Kind::File { size };
        let whiteout = || Mark::Whiteout(b"a".to_vec());
        let opaque = |form| Mark::Entry { opaque: Some(form) };
        for (kind, name, value, expected) in [
            (device(0, 0), "user.x", "", whiteout()),
            (device(0, 1), "user.x", "", PLAIN),
            (Kind::Dir, "trusted.overlay.opaque", "y", opaque(0)),
            (Kind::Dir, "user.overlay.opaque", "y", opaque(1)),
            (Kind::Dir, "trusted.overlay.opaque", "x", PLAIN),
            (Kind::Dir, "trusted.overlay.origin", "..", PLAIN),
            (file(1), "trusted.overlay.opaque", "y", PLAIN),
            (file(0), "trusted.overlay.whiteout", "", whiteout()),
            (file(1), "trusted.overlay.whiteout", "", PLAIN),
        ] {
            let mut entry = entry("a", kind, &[(name, value)]);
            assert_eq!(mark(&mut entry), Ok(expected), "{name} {value}");
            assert_eq!(entry.xattrs.is_empty(), name != "user.x", "{name}");
        }
        let mut escaped =
            entry("a", Kind::Dir, &[("trusted.overlay.overlay.opaque", "y"), ("user.overlay.impure", "y")]);
        assert_eq!(mark(&mut escaped), Ok(PLAIN));
        assert_eq!(escaped.xattrs.len(), 1);
        for name in ["trusted.overlay.redirect", "user.overlay.metacopy"] {
            assert!(
                mark(&mut entry("a", Kind::Dir, &[(name, "")]))
                    .unwrap_err()
                    .starts_with(&format!("attribute {name}: "))
            );
        }
    }

    #[test]
    fn links_to_a_whiteout_are_whiteouts() {
        let mut marks = Marks::default();
        let first = marks.read(&mut entry("a", Kind::CharDevice(Device { major: 0, minor: 0 }), &[]));
        assert_eq!(first, Ok(Mark::Whiteout(b"a".into())));
        assert_eq!(marks.read(&mut entry("b", Kind::HardLink(b"a".into()), &[])), Ok(Mark::Whiteout(b"b".into())));
        assert_eq!(marks.read(&mut entry("c", Kind::HardLink(b"b".into()), &[])), Ok(Mark::Whiteout(b"c".into())));
        assert_eq!(marks.read(&mut entry("d", Kind::HardLink(b"e".into()), &[])), Ok(PLAIN));
    }
}
