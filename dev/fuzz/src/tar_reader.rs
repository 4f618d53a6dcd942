//! Any bytes as a tar: no panic, no hang, the extents of a file add up, and seeking finds what a stream finds.

use std::io::Cursor;

use packline_archives::tar::{TarOptions, TarSource};
use packline_tree::{Entry, Extent, Kind, Source};

/// Bytes of data after which reading ends.
pub(crate) const MOST: u64 = 16 << 20;

/// Entries, bytes of data, bytes of holes, and the message of the error at the end, if any.
pub(crate) type Found = (Vec<Entry>, u64, u64, Option<String>);

/// Reads a source to its end. Bombs are tested elsewhere.
pub(crate) fn read(mut source: impl Source) -> Found {
    let mut entries = Vec::new();
    let mut data = 0u64;
    let mut holes = 0u64;
    let mut buffer = vec![0; 8192];
    let outcome = (|| {
        while let Some(entry) = source.next_entry()?.filter(|_| data < MOST) {
            check(&entry);
            let mut left = if let Kind::File { size } = entry.kind { Some(size) } else { None };
            entries.push(entry);
            while let Some(size) = left.filter(|_| data < MOST) {
                match source.read(&mut buffer)? {
                    Extent::Data(count) => {
                        assert!(count > 0 && count <= buffer.len());
                        data += count as u64;
                        left = Some(size.checked_sub(count as u64).expect("more data than the file has"));
                    }
                    Extent::Hole(count) => {
                        assert!(count > 0);
                        holes = holes.wrapping_add(count);
                        left = Some(size.checked_sub(count).expect("a longer hole than the file"));
                    }
                    Extent::End => {
                        assert_eq!(size, 0, "less than the file's size");
                        left = None;
                    }
                }
            }
        }
        Ok::<(), packline_tree::Error>(())
    })();
    (entries, data, holes, outcome.err().map(|error| error.to_string()))
}

fn check(entry: &Entry) {
    let path = &entry.path;
    assert!(path.is_empty() || path.split(|&byte| byte == b'/').all(|part| !matches!(part, b"" | b"." | b"..")));
    assert!(!path.contains(&0) && entry.meta.mode <= 0o7777);
    assert!(entry.xattrs.windows(2).all(|pair| pair[0].name < pair[1].name));
}

pub fn tar_reader(bytes: &[u8]) {
    // Checksums would stop a fuzzer at the first header. Wrong checksums are corrected, so that the fuzzer reaches the data after them.
    let mut archive = bytes.to_vec();
    for block in archive.chunks_exact_mut(512).filter(|block| block[148..156] == *b"fixed!! ") {
        let sum: u32 = block.iter().map(|&byte| u32::from(byte)).sum();
        let sum = sum - b"fixed!! ".iter().map(|&byte| u32::from(byte)).sum::<u32>() + 8 * 32;
        block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    }
    let stream = read(TarSource::new(&archive[..], TarOptions::named("fuzz")));
    let seeking = TarSource::seekable(Cursor::new(&archive), TarOptions::named("fuzz")).expect("a cursor seeks");
    assert_eq!(stream, read(seeking));
}
