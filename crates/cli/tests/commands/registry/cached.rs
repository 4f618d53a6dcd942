//! Layers that are kept between runs.

use std::fs;
use std::path::{Path, PathBuf};

use packline_testkit::{Ran, tools};

use super::{Published, layers};

#[test]
fn layers_are_fetched_once_for_all_runs() {
    if !tools::need(&["zstd", "gzip"]) {
        return;
    }
    let published = Published::new(&layers());
    let sandbox = &published.sandbox;
    sandbox.good(&["pack", "-q", "oci:oci", "layout.sqfs"]);
    published.good(&["pack", "-q", "@", "a.sqfs", "--cache", "cache"]);
    published.registry.take_asked();
    for workers in ["0", "2"] {
        published.good(&["pack", "-q", "-f", "-j", workers, "@", "a.sqfs", "--cache", "cache"]);
        assert!(sandbox.read("a.sqfs") == sandbox.read("layout.sqfs"));
    }
    assert_eq!(published.good(&["cat", "@", "d/z", "b", "--cache", "cache"]).text(), "45");
    assert_eq!(published.good(&["du", "--json", "@", "--cache", "cache"]).status, 0);
    published.good(&["diff", "@", "layout.sqfs", "--cache", "cache"]);
    assert!(published.good(&["info", "@", "--cache", "cache"]).text().contains("Layer 3"));
    let asked = published.registry.take_asked();
    assert!(asked.len() == 6 && asked.iter().all(|asked| asked.path.contains("/manifests/")), "{asked:?}");
    published.good(&["list", "@", "--no-cache"]);
    assert_eq!(published.blobs_asked().len(), 4);
}

#[test]
fn wrong_content_is_not_kept() {
    if !tools::need(&["zstd", "gzip"]) {
        return;
    }
    let published = Published::new(&layers());
    let sandbox = &published.sandbox;
    let path = published.blob(&[0x1f, 0x8b]);
    let whole = fs::read(&path).unwrap();
    let mut wrong = whole.clone();
    *wrong.last_mut().unwrap() ^= 1;
    let list = |status| {
        let image = published.image(":1");
        let ran = Ran::of(&mut published.command(&["list", &image, "--cache", "cache"]));
        assert_eq!(ran.status, status, "{ran:?}");
    };
    fs::write(&path, &wrong).unwrap();
    list(1);
    fs::write(&path, &whole).unwrap();
    list(0);
    // A part of a layer that was compared before is requested again, and is wrong now.
    for cached in walk(&sandbox.at("cache")) {
        if cached.metadata().unwrap().len() > 50_000 {
            fs::remove_file(cached).unwrap();
        }
    }
    fs::write(&path, &wrong).unwrap();
    list(1);
    fs::write(&path, &whole).unwrap();
    list(0);
    published.registry.take_asked();
    list(0);
    assert!(published.blobs_asked().is_empty());
}

fn walk(path: &Path) -> Vec<PathBuf> {
    if path.is_file() {
        return vec![path.to_path_buf()];
    }
    fs::read_dir(path).unwrap().flat_map(|entry| walk(&entry.unwrap().path())).collect()
}
