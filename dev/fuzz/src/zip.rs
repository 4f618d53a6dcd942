//! Any bytes as a zip archive: no panic, no hang, the extents of a file add up, and contents in reverse order are those in order.

use std::sync::Arc;

use packline_archives::decompress::Limits;
use packline_archives::zip::ZipArchive;
use packline_tree::{Bookmark, Bytes, Extent, Kind, Source};

use crate::no_bug;
use crate::tar_reader::{MOST, read};

const LIMITS: Limits = Limits { threads: 1, window: 8 << 20, buffers: 4 << 20 };

pub fn zip(bytes: &[u8]) {
    let input = Arc::new(bytes.to_vec());
    let opened = || no_bug(no_bug(ZipArchive::open(input.clone(), "fuzz".to_string()))?.source(&LIMITS));
    let (Some(first), Some(mut second)) = (opened(), opened()) else { return };
    let (_, data, _, error) = read(first);
    if error.is_some() || data >= MOST {
        return;
    }
    let mut files: Vec<(Bytes, Bookmark)> = Vec::new();
    while let Some(entry) = second.next_entry().expect("it was read before") {
        if let Kind::File { .. } = entry.kind {
            files.push((entry.path, second.bookmark().expect("a zip archive has bookmarks")));
        }
    }
    let mut buffer = vec![0; 5000];
    let mut again = 0;
    for (path, bookmark) in files.iter().rev() {
        second.recall(bookmark, path).expect("it was read before");
        while let Extent::Data(count) = second.read(&mut buffer).expect("it was read before") {
            again += count as u64;
        }
    }
    assert_eq!(data, again);
}
