//! The account of the bytes of images, compared with brute force.

use std::path::PathBuf;
use std::sync::Arc;

use packline_testkit::hostile::{self, Expect};
use packline_testkit::{Random, hostile_erofs};
use packline_volume::{NodeId, NodeType, Origin};

use super::fixed::Fixed;
use super::sweep::{Extent, Party, Swept, Used, covered, join, sweep};
use super::tree::{NewEntry, Tree};
use super::{SizesOfEntries, Usage};
use crate::OpenedImage;

fn file(number: u32, start: u64, end: u64) -> Extent {
    Extent { start, end, party: Party::File(number) }
}

fn swept(extents: &mut [Extent], end: u64, structures: usize) -> (Swept, Vec<Used>) {
    extents.sort_unstable();
    let mut all = Vec::new();
    let swept = sweep(extents, 0..end, structures, &mut |used| all.push(used));
    (swept, all)
}

/// Returns a tree of files in the root.
fn files(count: u32) -> Tree {
    let mut tree = Tree::default();
    let entry = |name, kind| NewEntry { parent: 0, name, id: NodeId(0), kind, size: 10, is_link: false };
    tree.add(entry(b"", NodeType::Directory)).unwrap();
    for _ in 0..count {
        tree.add(entry(b"x", NodeType::File)).unwrap();
    }
    tree
}

#[test]
fn divides_shared_bytes_equally() {
    let mut extents = [file(1, 0, 30), file(2, 10, 30), file(3, 20, 40)];
    let (swept, used) = swept(&mut extents, 50, 0);
    assert_eq!((swept.used, swept.unused), (40, 10));
    let third = Fixed::whole(10).divided(3);
    let five = Fixed::whole(5);
    let expected = [
        Used { party: Party::File(1), own: 10, shared: 20, share: five.plus(third), parties: 3 },
        Used { party: Party::File(2), own: 0, shared: 20, share: five.plus(third), parties: 3 },
        Used { party: Party::File(3), own: 10, shared: 10, share: third, parties: 3 },
    ];
    assert_eq!(used, expected);
}

#[test]
fn metadata_is_not_shared_with_files() {
    let metadata = |number, start, end| Extent { start, end, party: Party::Metadata(number) };
    let mut extents = [file(1, 0, 20), metadata(1, 5, 15), metadata(0, 10, 12), file(2, 5, 15), file(3, 90, 200)];
    let (swept, used) = swept(&mut extents, 100, 2);
    assert_eq!((swept.metadata, swept.used, swept.unused), (vec![2, 8], 20, 70));
    let own: Vec<(Party, u64, u32)> = used.iter().map(|used| (used.party, used.own, used.parties)).collect();
    assert_eq!(own, [(Party::File(2), 0, 0), (Party::File(1), 10, 1), (Party::File(3), 10, 1)]);
}

#[test]
fn agrees_with_a_count_of_each_byte() {
    let mut random = Random::new(46);
    for round in 0..300 {
        let mut extents: Vec<Extent> = Vec::new();
        for number in 0..1 + random.below(12) as u32 {
            let mut ranges = Vec::new();
            for _ in 0..1 + random.below(3) {
                let start = random.below(60);
                ranges.push(start..start + 1 + random.below(30));
            }
            join(&mut ranges);
            let party = if random.below(6) == 0 { Party::Metadata(0) } else { Party::File(number) };
            extents.extend(ranges.into_iter().map(|range| Extent { start: range.start, end: range.end, party }));
        }
        let (swept, used) = swept(&mut extents, 80, 1);
        let users = |at: u64| extents.iter().filter(move |extent| (extent.start..extent.end).contains(&at));
        let is_metadata = |at: u64| users(at).any(|extent| extent.party == Party::Metadata(0));
        let metadata = (0..80).filter(|at| is_metadata(*at)).count() as u64;
        let unused = (0..80).filter(|at| users(*at).count() == 0).count() as u64;
        assert_eq!(swept, Swept { metadata: vec![metadata], used: 80 - metadata - unused, unused }, "{round}");
        let mut found: Vec<(Party, u64, u64, u32)> = Vec::new();
        found.extend(used.iter().map(|used| (used.party, used.own, used.shared, used.parties)));
        let mut expected = Vec::new();
        for extent in extents.iter().filter(|extent| extent.party != Party::Metadata(0)) {
            let counts = (extent.start..extent.end.min(80)).filter(|at| !is_metadata(*at)).map(|at| users(at).count());
            let counts: Vec<usize> = counts.collect();
            let own = counts.iter().filter(|count| **count == 1).count() as u64;
            let most = counts.iter().copied().max().unwrap_or(0) as u32;
            expected.push((extent.party, own, counts.len() as u64 - own, most));
        }
        found.sort_unstable();
        expected.sort_unstable();
        assert_eq!(found, expected, "{round}");
    }
}

#[test]
fn shares_add_up_to_the_byte() {
    let mut random = Random::new(7);
    for _ in 0..100 {
        let count = 1 + random.below(40) as u32;
        let mut extents: Vec<Extent> = (1..=count)
            .map(|number| {
                let start = random.below(1000);
                file(number, start, start + 1 + random.below(5000))
            })
            .collect();
        let (swept, used) = swept(&mut extents, 4000, 0);
        let mut tree = files(count);
        for used in used {
            let Party::File(number) = used.party else { unreachable!() };
            tree.charge(number, (Fixed::whole(used.own), used.share), used.shared, used.parties);
        }
        tree.finish(swept.used);
        let root = tree.entry(0).unwrap().bytes;
        assert_eq!((root.stored(), root.files), (swept.used, u64::from(count)));
        let stored: u64 = (1..=count as usize).map(|number| tree.entry(number).unwrap().bytes.stored()).sum();
        assert_eq!(stored, swept.used);
        let all: u64 = extents.iter().map(|extent| extent.end.min(4000) - extent.start).sum();
        assert_eq!(root.saved, all - swept.used);
    }
}

#[test]
fn a_million_nested_extents_take_no_longer_than_a_million() {
    let count = 1_000_000;
    let mut extents: Vec<Extent> = (0..count)
        .map(|number| file(number, number.into(), 1 << 40))
        .chain((0..count).map(|n| file(n, 7, 9)))
        .collect();
    let (swept, used) = swept(&mut extents, 1 << 41, 0);
    assert_eq!((swept.used, used.len()), (1 << 40, 2 * count as usize));
}

#[test]
fn a_unit_is_divided_by_content() {
    let stored = Fixed::whole(1000);
    assert_eq!(stored.portion(Fixed::whole(3), 4), Fixed::whole(750));
    assert_eq!(stored.portion(Fixed::whole(0), 0), Fixed::default());
    assert_eq!(
        Fixed::whole(u32::MAX.into()).portion(Fixed::whole(u32::MAX.into()), u32::MAX.into()).floor(),
        u64::from(u32::MAX)
    );
    assert_eq!(covered(&[file(0, 2, 5), file(1, 3, 4), file(2, 4, 9), file(3, 20, 21)]), 8);
}

#[test]
fn sizes_of_a_tar_form_a_tree() {
    let mut sizes = SizesOfEntries::default();
    sizes.add(b"b/c/x", Some(NodeType::File), 5);
    sizes.add(b"b!", Some(NodeType::File), 7);
    sizes.add(b"b", Some(NodeType::Directory), 0);
    sizes.add(b"b/y", None, 0);
    sizes.add(b"b/c/x", Some(NodeType::File), 9);
    let usage = sizes.finish();
    let paths: Vec<Vec<u8>> = usage.entries().map(|entry| usage.path(entry.number)).collect();
    assert_eq!(paths, [&b""[..], b"b", b"b/c", b"b/c/x", b"b/y", b"b!"]);
    let bytes: Vec<u64> = usage.entries().map(|entry| entry.bytes.stored()).collect();
    assert_eq!((bytes, usage.total()), (vec![16, 9, 9, 9, 0, 7], 16));
    assert_eq!(usage.children(0).map(|child| child.number).collect::<Vec<_>>(), [1, 5]);
    assert_eq!((usage.find(b"b/c/x"), usage.find(b"b/c/z"), usage.find(b"")), (Some(3), None, Some(0)));
}

/// Checks that the bytes of an image add up, if it can be opened.
#[track_caller]
fn check_sum(name: &str, bytes: Vec<u8>) {
    let size = bytes.len() as u64;
    let input: Arc<dyn packline_runtime::Input> = Arc::new(bytes);
    let Ok(image) = OpenedImage::new(PathBuf::from("bad"), input, &[], Origin::At(0), 1 << 20) else { return };
    let Ok(usage) = Usage::of(&image, Some(1 << 30)) else { return };
    let files: u64 =
        usage.entries().map(|entry| if entry.end == entry.number + 1 { entry.bytes.stored() } else { 0 }).sum();
    let root = usage.entry(0).map_or(0, |root| root.bytes.stored());
    let structures: u64 = usage.metadata().iter().map(|structure| structure.bytes).sum();
    assert_eq!((root + structures, usage.total()), (size, size), "{name}");
    assert!(files <= root, "{name}");
    assert!(usage.same_content().iter().all(|group| group.len() > 1), "{name}");
}

#[test]
fn bytes_of_hostile_images_add_up() {
    let squashfs = hostile::all().into_iter().filter(|specimen| specimen.expect != Expect::Huge);
    squashfs.for_each(|specimen| check_sum(specimen.name, specimen.bytes()));
    hostile_erofs::all().into_iter().for_each(|specimen| check_sum(specimen.name, specimen.bytes()));
}

#[test]
fn bytes_of_changed_images_add_up() {
    let mut random = Random::new(99);
    let sound = hostile::all().into_iter().filter(|specimen| specimen.expect == Expect::Sound);
    let sound = sound.map(|specimen| (specimen.name, specimen.bytes()));
    let erofs = hostile_erofs::all().into_iter().filter(|specimen| specimen.is_sound());
    let erofs = erofs.map(|specimen| (specimen.name, specimen.bytes()));
    for (name, bytes) in sound.chain(erofs).filter(|(_, bytes)| bytes.len() < 1 << 20) {
        for _ in 0..30 {
            let mut bytes = bytes.clone();
            for _ in 0..1 + random.below(4) {
                let at = random.below(bytes.len() as u64) as usize;
                bytes[at] = random.below(256) as u8;
            }
            // The checksum of the superblock is ignored.
            if bytes.len() > 1152 && bytes[1024..1028] == packline_erofs::read::MAGIC_BYTES {
                bytes[1032] &= !1;
            }
            check_sum(name, bytes);
        }
    }
}
