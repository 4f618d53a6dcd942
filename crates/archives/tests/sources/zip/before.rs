//! Zip archives after other bytes.

use super::*;

/// As a program that unpacks itself. Info-ZIP reads both forms of offsets.
#[test]
fn other_bytes_may_come_before_an_archive() {
    let drafts = [
        Draft::file("a", &bytes(1, 3000)),
        Draft { follows: true, ..Draft::file("b", b"content") },
        Draft::file("link", b"a").kind(0o120_777),
    ];
    let whole = archive(&drafts);
    let plain = read(&whole).unwrap();
    for length in [1, 30, 4096, 100_000] {
        let before = b"#!program".repeat(length)[..length].to_vec();
        let moved = [&before[..], &whole].concat();
        assert!(is_after_other_bytes(&moved) && !is_after_other_bytes(&whole), "{length}");
        let found = read(&moved).unwrap();
        let shown =
            |all: &[Read]| -> Vec<_> { all.iter().map(|read| (read.entry.clone(), read.content.clone())).collect() };
        assert!(shown(&found) == shown(&plain), "{length}");
        // Offsets from the start of the file, as `zip -A` writes them.
        let mut adjusted = moved.clone();
        let end = adjusted.len() - 22;
        let add = |bytes: &mut [u8], at: usize| {
            let number = u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) + length as u32;
            bytes[at..at + 4].copy_from_slice(&number.to_le_bytes());
            number as usize
        };
        let mut at = add(&mut adjusted, end + 16);
        while at < end {
            add(&mut adjusted, at + 42);
            at += 46 + usize::from(adjusted[at + 28]) + usize::from(adjusted[at + 30]);
        }
        assert!(is_after_other_bytes(&adjusted));
        assert!(shown(&read(&adjusted).unwrap()) == shown(&plain), "{length}");
        let wide = [&before[..], &wide(&Draft::file("f", b"content"), 1)].concat();
        assert_eq!(read(&wide).unwrap()[0].content, b"content");
        assert!(is_after_other_bytes(&wide));
        // Offsets in messages are those of the file.
        let mut damaged = moved;
        damaged[length] ^= 1;
        assert!(refusal(&damaged).contains(&format!("at byte {length}")), "{}", refusal(&damaged));
    }
    // A file that begins as an archive is one from there on, and bytes within it are a fault.
    for inserted in [0, whole.len() - 22, whole.len() - 100] {
        let moved = [&whole[..inserted], &whole[..600], &whole[inserted..]].concat();
        assert!(refusal(&moved).contains("a central directory of 3 entries"), "{inserted}: {}", refusal(&moved));
        let program = [&b"#!program"[..], &moved].concat();
        assert!(inserted == 0 || refusal(&program).contains("a central directory of 3 entries"), "{inserted}");
    }
    let text = [b"text ".repeat(20_000), end(0, 0, 0)].concat();
    assert!(!is_after_other_bytes(&text) && refusal(&text).contains("a central directory of 0 entries"));
}

fn is_after_other_bytes(bytes: &[u8]) -> bool {
    ZipArchive::is_after_other_bytes(&(Arc::new(bytes.to_vec()) as Arc<dyn packline_runtime::Input>))
}
