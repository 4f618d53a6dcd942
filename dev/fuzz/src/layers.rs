//! Reads any bytes as entries of layers: no panic, no hang, and a sorted tree with the targets of its hard links, or an error.

use std::collections::BTreeMap;

use packline_archives::{Layer, StackOptions, StackSource, Whiteouts};
use packline_tree::{Bookmark, Device, Entry, Error, Extent, Kind, Meta, Source, Xattr};

const META: Meta = Meta::new(0o644, 1, 2, 3);
const NAMES: [&str; 8] = ["a", "b", ".wh.a", ".wh..wh..opq", ".wh.", ".wh..wh.x", "..", "c"];
const XATTRS: [&str; 4] =
    ["trusted.overlay.opaque", "user.overlay.whiteout", "trusted.overlay.redirect", "user.overlay.opaque"];

/// Entries of a layer; the content of a file is its number, once for each byte of its size.
struct Made {
    entries: std::vec::IntoIter<Entry>,
    forward: bool,
    number: u64,
    left: u64,
}

impl Source for Made {
    fn next_entry(&mut self) -> Result<Option<Entry>, Error> {
        let entry = self.entries.next();
        self.number += 1;
        self.left = if let Some(Entry { kind: Kind::File { size }, .. }) = entry { size } else { 0 };
        Ok(entry)
    }

    fn read(&mut self, buffer: &mut [u8]) -> Result<Extent, Error> {
        let count = self.left.min(buffer.len() as u64);
        self.left -= count;
        buffer[..count as usize].fill(self.number as u8);
        Ok(if count == 0 { Extent::End } else { Extent::Data(count as usize) })
    }

    fn bookmark(&mut self) -> Option<Bookmark> {
        (!self.forward).then_some(Bookmark::Number(self.number << 8 | self.left))
    }

    fn recall(&mut self, bookmark: &Bookmark, path: &[u8]) -> Result<(), Error> {
        let Bookmark::Number(at) = bookmark else { return Err(Bookmark::foreign("made", path)) };
        self.number = at >> 8;
        self.left = at & 0xff;
        Ok(())
    }

    fn progress(&self) -> (u64, Option<u64>) {
        (0, None)
    }
}

/// Returns a path of at most three names for a number.
fn path(bits: u8) -> String {
    let names = [bits & 7, bits >> 3 & 7, bits >> 6];
    let names = names.iter().take(1 + usize::from(bits >> 6)).map(|name| NAMES[usize::from(*name)]);
    names.filter(|name| *name != "..").collect::<Vec<_>>().join("/")
}

fn entry(&[kind, own, other]: &[u8; 3]) -> Entry {
    let target = || NAMES[usize::from(other & 7)].to_string() + if other & 8 > 0 { "/b" } else { "" };
    let made = match kind & 7 {
        0 | 1 => Kind::File { size: u64::from(other & 3) },
        2 | 3 => Kind::Dir,
        4 => Kind::Symlink(target().into()),
        5 => Kind::HardLink(path(other).into()),
        6 => Kind::CharDevice(Device { major: 0, minor: u32::from(other & 1) }),
        _ => Kind::Fifo,
    };
    let xattr = |name: &str| Xattr { name: name.into(), value: b"y".to_vec() };
    let xattrs = if kind & 0x40 > 0 { vec![xattr(XATTRS[usize::from(kind >> 4 & 3)])] } else { Vec::new() };
    Entry { path: path(own).into(), kind: made, meta: META, xattrs }
}

fn parsed(bytes: &[u8]) -> Vec<Layer> {
    let layer = |(number, bytes): (usize, &[u8])| {
        let entries: Vec<Entry> = bytes.as_chunks().0.iter().take(64).map(entry).collect();
        let source = Made { entries: entries.into_iter(), forward: number % 2 > 0, number: 0, left: 0 };
        Layer { name: format!("layer {number}"), source: Box::new(source) }
    };
    bytes.split(|byte| *byte == 0xff).take(8).enumerate().map(layer).collect()
}

fn check(mut source: StackSource, whiteouts: Whiteouts) -> Result<(), Error> {
    let mut seen = BTreeMap::new();
    let mut last = Vec::new();
    let mut buffer = [0; 8];
    while let Some(entry) = source.next_entry()? {
        let names: Vec<Vec<u8>> = entry.path.split(|byte| *byte == b'/').map(<[u8]>::to_vec).collect();
        assert!(entry.path.is_empty() && last.is_empty() || names > last, "{entry:?} after {last:?}");
        let parent = entry.path.iter().rposition(|byte| *byte == b'/').map_or(&b""[..], |slash| &entry.path[..slash]);
        assert!(entry.path.is_empty() || seen.get(parent) == Some(&Kind::Dir), "{entry:?} is in no directory");
        if let Kind::HardLink(target) = &entry.kind {
            assert!(seen.get(target).is_some_and(|kind| !matches!(kind, Kind::Dir | Kind::HardLink(_))), "{entry:?}");
        }
        if let Kind::File { size } = entry.kind {
            let mut left = size;
            while let Extent::Data(count) = source.read(&mut buffer)? {
                left = left.checked_sub(count as u64).expect("more content than the file has");
            }
            assert_eq!(left, 0, "less content than the file has");
        }
        if whiteouts != Whiteouts::Ignore {
            assert!(!names.last().is_some_and(|name| name.starts_with(b".wh.")), "{entry:?} is a whiteout");
        }
        if whiteouts == Whiteouts::Apply {
            assert!(entry.kind != Kind::CharDevice(Device { major: 0, minor: 0 }), "{entry:?} is a whiteout");
        }
        last = names;
        seen.insert(entry.path, entry.kind);
    }
    Ok(())
}

pub fn layers(bytes: &[u8]) {
    for whiteouts in [Whiteouts::Apply, Whiteouts::Keep, Whiteouts::Ignore] {
        let mut options = StackOptions::new(META);
        options.whiteouts = whiteouts;
        if let Err(error) = check(StackSource::new(parsed(bytes), options), whiteouts) {
            assert!(!error.to_string().contains('\n'), "{error}");
        }
    }
}
