//! Registries that misbehave: the result is right, or there is one clear error.

use std::fs;

use super::{Published, layers};
use crate::stack::support::tar;

impl Published {
    /// The blobs of the layout that begin with these bytes.
    pub(super) fn blob(&self, head: &[u8]) -> std::path::PathBuf {
        let names = self.sandbox.names_in("oci/blobs/sha256").into_iter();
        let mut paths = names.map(|name| self.sandbox.at("oci/blobs/sha256").join(name));
        paths.find(|path| fs::read(path).unwrap().starts_with(head)).unwrap()
    }
}

const GZIP: &[u8] = &[0x1f, 0x8b];

#[test]
fn a_cut_layer_is_continued() {
    let published = Published::new(&layers());
    let sandbox = &published.sandbox;
    sandbox.good(&["pack", "-q", "oci:oci", "layout.sqfs"]);
    for ignores_ranges in [false, true] {
        if ignores_ranges {
            published.registry.ignore_ranges();
        }
        for workers in ["0", "2"] {
            published.registry.take_asked();
            published.registry.set_cut(100_000, 3);
            published.good(&["pack", "-q", "-f", "-j", workers, "@", "x.sqfs"]);
            assert!(sandbox.read("x.sqfs") == sandbox.read("layout.sqfs"), "{workers} workers");
            let ranges = published.blobs_asked().iter().filter(|asked| asked.range.is_some()).count();
            assert!(ranges > 0, "{ranges}");
        }
    }
}

#[test]
fn wrong_content_is_an_error() {
    let published = Published::new(&layers());
    let path = published.blob(GZIP);
    let whole = fs::read(&path).unwrap();
    let digest = format!("sha256:{}", path.file_name().unwrap().to_str().unwrap());
    for at in [20, whole.len() / 2, whole.len() - 1] {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x55;
        fs::write(&path, damaged).unwrap();
        let line = published.refused();
        let expected = format!("(expected {digest}, as the manifest says)");
        assert!(line.contains("layer 1 (") && line.contains("its content has the digest sha256:"), "{at}: {line}");
        assert!(line.ends_with(&expected), "{at}: {line}");
    }
    fs::write(&path, &whole[..whole.len() - 1]).unwrap();
    let line = published.refused();
    let expected =
        format!("the server sends {} bytes (expected {}, as the manifest says)", whole.len() - 1, whole.len());
    assert!(line.ends_with(&expected), "{line}");
    fs::remove_file(&path).unwrap();
    assert!(published.refused().ends_with("cannot read: the server answers 404 Not Found"), "{}", published.refused());
    fs::write(&path, &whole).unwrap();
    // The document of a digest is checked too.
    let manifest = published.sandbox.at("oci/blobs/sha256").join(published.digest.trim_start_matches("sha256:"));
    fs::write(&manifest, [&fs::read(&manifest).unwrap()[..], b" "].concat()).unwrap();
    let image = published.image(&format!("@{}", published.digest));
    let line = published.sandbox.refusal(&mut published.command(&["list", &image]));
    assert!(
        line.contains("has the digest sha256:") && line.ends_with(&format!("(expected {})", published.digest)),
        "{line}"
    );
    fs::write(&manifest, vec![b' '; (4 << 20) + 1]).unwrap();
    let line = published.sandbox.refusal(&mut published.command(&["list", &image]));
    assert!(line.contains("the server sent more than 4194304 bytes"), "{line}");
}

#[test]
fn an_unknown_tag_is_refused_with_the_known_ones() {
    let published = Published::new(&[(tar(&[("a", "1")]), "")]);
    published.registry.tag("team/app", "2", &published.digest);
    let refused = |tag: &str| {
        let image = published.image(tag);
        let line = published.sandbox.refusal(&mut published.command(&["list", &image]));
        line.replace(&image, "IMAGE")
    };
    let expected = "packline: IMAGE: cannot open: the registry has no image with '3' (expected 1, 2)";
    assert_eq!(refused(":3"), expected);
    let digest = format!("sha256:{}", "0".repeat(64));
    let what = "cannot open: the registry has no image with";
    assert_eq!(
        refused(&format!("@{digest}")),
        format!("packline: IMAGE: {what} '{digest}'; check the name and the tag")
    );
    assert!(refused("/none:1").ends_with(&format!("{what} '1'; check the name and the tag")));
    (3..20).for_each(|tag| published.registry.tag("team/app", &format!("v{tag:02}"), &published.digest));
    assert!(
        refused(":4").ends_with("(expected a tag of the image, such as 1, 2, v03, v04, v05, v06, v07, v08, v09, v10)")
    );
}

#[test]
fn a_registry_may_ask_to_wait() {
    let published = Published::new(&[(tar(&[("a", "1")]), "")]);
    published.registry.set_statuses(&[(429, "Retry-After: 0\r\n"), (503, "Retry-After: 1\r\n")]);
    assert_eq!(published.good(&["list", "@"]).text(), ".\na\n");
    published.registry.set_statuses(&[(429, "Retry-After: 3600\r\n")]);
    let busy = "the server answers 429 Too Many Requests and asks to wait 3600 s; try again later";
    assert_eq!(published.refused(), format!("IMAGE: cannot open: {busy}"));
    published.registry.set_statuses(&[(401, "WWW-Authenticate: Digest realm=\"x\"\r\n")]);
    let expected = "the registry asks for authentication by 'digest' (expected Basic or Bearer)";
    assert_eq!(published.refused(), format!("IMAGE: cannot open: {expected}"));
    published.registry.set_statuses(&[(302, "Location: ftp://x/\r\n")]);
    assert!(published.refused().contains("ftp://x/ is of an unknown kind"));
}
