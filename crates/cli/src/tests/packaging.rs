//! Tests the files that packages contain: all manual pages, and the links for drop-ins.

use std::path::{Path, PathBuf};

use super::harness::{host, run, run_on};
use crate::dispatch::table::COMMANDS;
use crate::host::Host;

fn drop_ins() -> impl Iterator<Item = &'static str> {
    COMMANDS.iter().filter(|command| command.compat.is_drop_in()).map(|command| command.name)
}

#[test]
fn writes_every_page_as_printed() {
    let directory = tempfile::tempdir().unwrap();
    let ran = run(&["man", "--all", directory.path().to_str().unwrap()]);
    assert!(ran.status == 0 && ran.out.is_empty() && ran.err.is_empty(), "{ran:?}");
    let page = |name: &str| std::fs::read_to_string(directory.path().join(format!("{name}.1"))).unwrap();
    assert_eq!(page("packline"), run(&["man"]).out);
    assert_eq!(page("packline-pack"), run(&["man", "pack"]).out);
    drop_ins().for_each(|name| assert_eq!(page(name), run(&["man", name]).out));
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), COMMANDS.len() + 1);
    let missing = run(&["man", "--all", "/nonexistent"]);
    assert!(missing.status == 1 && missing.err.contains("/nonexistent/packline.1: cannot write"), "{missing:?}");
}

#[test]
fn each_drop_in_gets_a_link_to_the_program() {
    let directory = tempfile::tempdir().unwrap();
    let text = directory.path().to_str().unwrap();
    let here = || Host { program: Some(PathBuf::from("/opt/packline")), ..host() };
    let targets = |target: &str| {
        drop_ins().all(|name| directory.path().join(name).read_link().is_ok_and(|link| link == Path::new(target)))
    };
    let ran = run_on(&["links", text], b"", here());
    assert!(ran.status == 0 && ran.out.lines().count() == drop_ins().count() && targets("/opt/packline"), "{ran:?}");
    let again = run_on(&["links", "-q", text], b"", here());
    assert!(again.status == 0 && again.out.is_empty(), "{again:?}");

    let other = run(&["links", text, "--target", "../packline"]);
    assert!(other.status == 1 && other.err.contains("already exists; --force replaces it"), "{other:?}");
    assert!(targets("/opt/packline"));
    assert_eq!(run(&["links", text, "--target", "../packline", "--force"]).status, 0);
    assert!(targets("../packline"));
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), drop_ins().count());
}

#[test]
fn keeps_existing_file_and_creates_no_link() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("lrzip"), "x").unwrap();
    let ran = run(&["links", directory.path().to_str().unwrap(), "--target", "p"]);
    assert!(ran.status == 1 && ran.err.contains("lrzip: already exists"), "{ran:?}");
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
    assert!(run(&["links", "/nonexistent"]).err.contains("the path of this program is not known"));
}
