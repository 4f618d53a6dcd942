//! Attributes: wrong references, counts and lengths, and names reserved for the system.

use super::Expect::{Attributes, Refused, Rules, Sound, Tree};
use super::Specimen;
use super::bytes::{Put, number, over};
use super::draft::{Draft, FileFields, XATTR_TABLE, get};
use super::sound::with_odd;

/// A file `odd` with the set of attributes that `make` adds.
fn file(make: impl Fn(&mut Draft) -> u32) -> Vec<u8> {
    with_odd(|draft| {
        let xattr = make(draft);
        draft.file_with(&FileFields { xattr, ..FileFields::new(96, 0, Vec::new()) })
    })
}

/// A set of one attribute with any numbers before its name and value.
fn raw(prefix: u16, name_size: u16, name: &[u8], value_size: u32, value: &[u8]) -> Vec<u8> {
    file(|draft| {
        let at = draft.values.len();
        draft.values.u16(prefix).u16(name_size).all(name).u32(value_size).all(value);
        draft.attribute_set(at, 1)
    })
}

/// A set of one attribute `user.n` whose value is stored at this reference.
fn elsewhere(reference: u64) -> Vec<u8> {
    raw(0x100, 1, b"n", 8, &reference.to_le_bytes())
}

/// A sound set with a changed table entry.
fn entry(change: fn(&mut (u64, u32, u32))) -> Vec<u8> {
    file(|draft| {
        let set = draft.attributes(&[(0, b"name", b"value")]);
        change(&mut draft.sets[set as usize]);
        set
    })
}

/// A changed header of the table: `at` is 0 for the values' start, 8 for the number of sets.
fn header(at: usize, length: usize, value: u64) -> Vec<u8> {
    let mut image = file(|draft| draft.attributes(&[(0, b"name", b"value")]));
    let start = get(&image, XATTR_TABLE) as usize;
    assert_ne!(number(&image, start + at, length), value);
    over(&mut image, start + at, length, value);
    image
}

pub(super) fn specimens() -> Vec<Specimen> {
    [sets(), pairs(), table(), names()].concat()
}

fn sets() -> Vec<Specimen> {
    let new = Specimen::new;
    vec![
        new("bad-xattr-set-beyond", Tree, "a set of attributes beyond the table", || {
            file(|draft| draft.attributes(&[(0, b"n", b"v")]) + 5)
        }),
        new("bad-xattr-set-4g", Tree, "set of attributes 2^32-2", || {
            file(|draft| draft.attributes(&[(0, b"n", b"v")]).wrapping_sub(2))
        }),
        new("bad-xattr-without-table", Rules, "a set of attributes and no table", || file(|_| 0)),
        new("bad-xattr-ref-beyond", Attributes, "a set whose attributes are beyond the table", || {
            entry(|set| set.0 = 1 << 40)
        }),
        new("bad-xattr-ref-offset", Attributes, "a set whose attributes are at byte 65,535 of a block", || {
            entry(|set| set.0 = 0xffff)
        }),
        new("bad-xattr-count-4g", Attributes, "a set of 2^32-1 attributes", || entry(|set| set.1 = u32::MAX)),
        new("bad-xattr-count-2", Attributes, "a set of two attributes that has one", || entry(|set| set.1 = 2)),
        new("bad-xattr-size-0", Rules, "a set of one attribute in 0 bytes", || entry(|set| set.2 = 0)),
        new("bad-xattr-size-4g", Rules, "a set of one attribute in 2^32-1 bytes", || entry(|set| set.2 = u32::MAX)),
        new("odd-xattr-empty-set", Sound, "a set of no attributes", || {
            file(|draft| {
                draft.attributes(&[(0, b"n", b"v")]);
                draft.attributes(&[])
            })
        }),
    ]
}

fn pairs() -> Vec<Specimen> {
    let new = Specimen::new;
    vec![
        new("bad-xattr-prefix-3", Attributes, "an attribute of prefix 3", || raw(3, 4, b"name", 1, b"v")),
        new("bad-xattr-prefix-255", Attributes, "an attribute of prefix 255", || raw(255, 4, b"name", 1, b"v")),
        new("bad-xattr-prefix-flags", Attributes, "an attribute with flags that nobody knows", || {
            raw(0x8000, 4, b"name", 1, b"v")
        }),
        new("bad-xattr-name-0", Attributes, "an attribute without a name", || raw(0, 0, b"", 1, b"v")),
        new("bad-xattr-name-beyond", Attributes, "an attribute's name beyond the table", || {
            raw(0, 65_535, b"name", 1, b"v")
        }),
        new("bad-xattr-name-nul", Attributes, "an attribute with a NUL in its name", || raw(0, 4, b"a\0bc", 1, b"v")),
        new("bad-xattr-value-4g", Attributes, "an attribute's value of 2^32-1 bytes", || {
            raw(0, 4, b"name", u32::MAX, b"v")
        }),
        new("bad-xattr-value-beyond", Attributes, "an attribute's value beyond the table", || {
            raw(0, 4, b"name", 1000, b"v")
        }),
        new("bad-xattr-twice", Rules, "two attributes of one name", || {
            file(|draft| draft.attributes(&[(0, b"name", b"one"), (0, b"name", b"two")]))
        }),
        new("bad-xattr-elsewhere-beyond", Attributes, "a value elsewhere, beyond the table", || elsewhere(1 << 50)),
        new("bad-xattr-elsewhere-itself", Attributes, "a value elsewhere, at its own reference", || elsewhere(9)),
        new("bad-xattr-elsewhere-offset", Attributes, "a value elsewhere, at byte 65,535 of a block", || {
            elsewhere(0xffff)
        }),
        new("bad-xattr-elsewhere-7", Attributes, "a value elsewhere, its reference of 7 bytes", || {
            raw(0x100, 1, b"n", 7, &[0; 8])
        }),
        new("bad-xattr-elsewhere-4g", Attributes, "a value elsewhere, of 2^32-1 bytes", || {
            file(|draft| {
                draft.values.u32(u32::MAX).all(b"value");
                let at = draft.values.len();
                draft.values.u16(0x100).u16(1).all(b"n").u32(8).u64(0);
                draft.attribute_set(at, 1)
            })
        }),
    ]
}

fn table() -> Vec<Specimen> {
    let new = Specimen::new;
    vec![
        new("bad-xattr-sets-4g", Refused, "2^32-1 sets of attributes", || header(8, 4, 0xffff_ffff)),
        new("bad-xattr-sets-0", Refused, "a table of no sets of attributes", || header(8, 4, 0)),
        new("bad-xattr-values-beyond", Refused, "the attributes' values start beyond the end", || {
            header(0, 8, 1 << 40)
        }),
        new("bad-xattr-values-0", Refused, "the attributes' values start in the superblock", || header(0, 8, 0)),
        new("bad-xattr-values-after", Refused, "the attributes' values start after their table", || {
            header(0, 8, 16 << 10)
        }),
        // No reader uses this word, and the format does not define it.
        new(
            "odd-xattr-header-unused",
            Sound,
            "the attributes' header has a number where usually there is none",
            || header(12, 4, 1),
        ),
    ]
}

fn names() -> Vec<Specimen> {
    let new = Specimen::new;
    vec![
        new("odd-xattr-privileged", Sound, "attributes of security and trusted that only root may set", || {
            file(|draft| draft.attributes(&[(1, b"packline", b"y"), (2, b"packline", b"label")]))
        }),
        new("odd-xattr-capability", Sound, "a file with every capability", || {
            let every = [1, 0, 0, 2, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0xff, 0x01, 0, 0, 0, 0, 0, 0];
            file(|draft| draft.attributes(&[(2, b"capability", &every)]))
        }),
        new("odd-xattr-terminal", Sound, "an attribute whose name is an escape for terminals", || {
            file(|draft| draft.attributes(&[(0, b"\x1b[2J\n", b"\x1b[2J")]))
        }),
    ]
}
