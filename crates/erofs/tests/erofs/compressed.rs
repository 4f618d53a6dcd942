//! Compressed images of mkfs.erofs 1.9.3, of a directory with the files of [`files`]. The first part of a name is the algorithm.
//!
//! | fixture | options |
//! |---|---|
//! | 4k, 64k, 1m | `-C4096`, `-C65536`, `-C1048576` |
//! | small | `-b512 -C4096` |
//! | legacy, legacy4k | `-b512 -C4096 -Elegacy-compress`, `-C4096 -Elegacy-compress` |
//! | ztail | `-b1024 -C4096 -Eztailpacking` |
//! | fragments, allfragments | `-b512 -C2048 -Efragments`, `-b512 -C4096 -Eall-fragments` |
//! | dedupe, fragdedupe | `-b512 -C4096 -Ededupe`, `-b512 -C4096 -Efragments,dedupe` |
//! | wide, widefragments, widededupe | `-b512 -C4096 -E48bit`, with `fragments`, with `dedupe` |
//! | wideall | `-b512 -C8192 -E48bit,all-fragments,dedupe` |
//! | max | `-b512 -C4096 -E48bit --max-extent-bytes 3000` |

use std::collections::BTreeMap;

use packline_testkit::Random;
use packline_volume::{Visit, Volume, Walk};

use super::support::{contents, fixture, open};

/// Returns phrases of a small vocabulary.
fn phrases(seed: u64, length: usize) -> Vec<u8> {
    let mut random = Random::new(seed);
    let mut phrase = || {
        let length = 40 + random.below(400) as usize;
        random.prose(length)
    };
    let phrases: Vec<Vec<u8>> = (0..30).map(|_| phrase()).collect();
    let mut bytes = Vec::new();
    while bytes.len() < length {
        bytes.extend_from_slice(&phrases[random.below(30) as usize]);
    }
    bytes.truncate(length);
    bytes
}

/// Returns the content of each file.
fn files() -> BTreeMap<&'static str, Vec<u8>> {
    let text = phrases(1, 36_000);
    let noise = |seed, length| Random::new(seed).noise(length);
    BTreeMap::from([
        ("copy", [&text[5345..25_765], &Random::new(2).prose(1000)].concat()),
        ("empty", Vec::new()),
        ("mixed", [&text[..5000], &noise(4, 2500), &text[9000..15_000], &noise(6, 700), b"end"].concat()),
        ("noise", noise(3, 3000)),
        ("small", Random::new(9).prose(100)),
        ("tail", Random::new(10).prose(4096 + 77)),
        ("zeros", [&text[..3000], &[0; 200_000], &text[9000..11_000]].concat()),
        ("text", text),
    ])
}

fn names() -> Vec<String> {
    let directory = format!("{}/tests/images/compressed", env!("CARGO_MANIFEST_DIR"));
    let entries = std::fs::read_dir(directory).unwrap();
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn check(name: &str, files: &BTreeMap<&'static str, Vec<u8>>) {
    let image = open(fixture(&format!("compressed/{name}"))).unwrap();
    let visits: Vec<Visit> = Walk::new(&image, image.root(), Vec::new()).map(|visit| visit.unwrap()).collect();
    let found = contents(&image, &visits);
    assert_eq!(found.len(), files.len(), "{name}");
    for (path, content) in files {
        assert!(found[path.as_bytes()] == *content, "{name}: {path}");
    }
    let algorithm = name.split('-').next().map(|name| if name == "lz4hc" { "lz4" } else { name });
    assert_eq!(Some(image.facts().codec.as_str()), algorithm, "{name}");
}

#[test]
fn reads_all_algorithms_and_indexes() {
    let names = names();
    assert_eq!(names.len(), 41);
    let files = files();
    for name in names {
        check(&name, &files);
    }
}
