//! `pack --verbose` prints names as they are packed, and `--dry-run` what would be packed.

use packline_testkit::{Ran, Sandbox};

use crate::sandbox;

fn tree() -> Sandbox {
    let sandbox = sandbox();
    for name in ["b/f", "b/odd\nname", "a"] {
        sandbox.write(format!("tree/{name}"), "content");
    }
    std::fs::hard_link(sandbox.at("tree/a"), sandbox.at("tree/link")).unwrap();
    sandbox
}

#[test]
fn names_are_those_of_the_image() {
    let sandbox = tree();
    let ran = sandbox.good(&["pack", "-qv", "tree", "i.sqfs"]);
    let listed = sandbox.good(&["list", "i.sqfs"]).text();
    assert_eq!((ran.text(), ran.stderr.as_str()), (listed.clone(), ""));
    let ran = sandbox.good(&["pack", "-fv", "tree", "i.sqfs", "--json"]);
    assert_eq!(ran.stderr, listed);
    assert_eq!(ran.text().lines().count(), 1);
    sandbox.good(&["unpack", "-q", "i.sqfs", "x.tar"]);
    let ran = sandbox.good(&["pack", "-qv", "x.tar", "tar.sqfs", "-xodd*"]);
    assert_eq!(ran.text(), sandbox.good(&["list", "tar.sqfs"]).text());
}

#[test]
fn completes_image_if_reader_of_names_is_gone() {
    let sandbox = tree();
    let ran = sandbox.shell("$P pack -qv tree i.sqfs | head -c 1");
    assert_eq!((ran.status, ran.text().as_str(), ran.stderr.as_str()), (0, ".", ""));
    sandbox.good(&["verify", "-q", "i.sqfs"]);
    let ran = sandbox.shell("$P pack -qfv tree i.sqfs > /dev/full");
    assert_eq!(ran.status, 0);
    assert!(ran.stderr.starts_with("packline: warning: cannot write to standard output: No space"), "{}", ran.stderr);
    sandbox.good(&["verify", "-q", "i.sqfs"]);
}

#[test]
fn a_dry_run_counts_what_a_pack_does_and_writes_nothing() {
    let sandbox = tree();
    sandbox.good(&["pack", "-q", "tree", "x.sqfs"]);
    sandbox.good(&["unpack", "-q", "x.sqfs", "x.tar.gz"]);
    let before = sandbox.names();
    for (source, options) in
        [("tree", &[][..]), ("tree", &["-xb"]), ("x.tar.gz", &["-xa"]), ("tree", &["--root-becomes=b"])]
    {
        let words = [&["pack", source, "i.sqfs"], options].concat();
        let dry = sandbox.good(&[&words[..], &["--dry-run", "-v"]].concat());
        assert_eq!(sandbox.names(), before);
        let packed = sandbox.good(&[&words[..], &["-v"]].concat());
        let first = |ran: &Ran| ran.stderr.lines().next().unwrap().split_once(": ").unwrap().1.trim().to_string();
        assert_eq!((dry.text(), first(&dry)), (packed.text(), first(&packed)));
        sandbox.remove("i.sqfs");
    }
    let ran = sandbox.good(&["pack", "tree", "i.sqfs", "--dry-run", "--json"]);
    assert!(ran.text().contains("\"content_bytes\":21,") && ran.text().contains("\"hard_links\":1"), "{}", ran.text());
}

#[test]
fn a_dry_run_checks_what_a_pack_does() {
    let sandbox = tree();
    sandbox.write("k.lrz", "LRZI");
    for (words, message) in [
        (&["tree", "tree"][..], "tree: is a directory"),
        (&["none", "j.sqfs"], "none: cannot open"),
        (&["tree", "none/j.sqfs"], "none/j.sqfs: cannot create"),
        (&["tree", "j.sqfs", "--mem=1K"], "1K of memory is too little for "),
        (&["k.lrz", "j.sqfs"], "k.lrz: is a .lrz file"),
        (&["tree", "j.sqfs", "--root-becomes=none"], "is not in the source"),
    ] {
        let line = sandbox.refused(&[&["pack", "--dry-run"], words].concat());
        assert!(line.contains(message), "{line}");
    }
    let error = sandbox.bad(2, &["pack", "--dry-run", "tree", "j.lrz"]);
    assert!(error.contains("--dry-run: not supported for .lrz output"), "{error}");
}

#[test]
fn a_dry_run_only_warns_about_an_existing_image() {
    let sandbox = tree();
    sandbox.write("i.sqfs", "old");
    let ran = sandbox.good(&["pack", "--dry-run", "-q", "tree", "i.sqfs"]);
    assert_eq!(ran.stderr, "packline: warning: i.sqfs: already exists; a pack needs --force to replace it\n");
    assert_eq!(sandbox.good(&["pack", "--dry-run", "-q", "-f", "tree", "i.sqfs"]).stderr, "");
    assert_eq!(
        (sandbox.names(), sandbox.read_text("i.sqfs")),
        (vec!["i.sqfs".to_string(), "tree".to_string()], "old".to_string())
    );
}
