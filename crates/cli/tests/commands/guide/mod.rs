//! Runs the commands of the guide. `docs/guide/README.md` describes how blocks of a page are marked.

mod page;

use std::path::{Path, PathBuf};

use packline_testkit::{mount, tools};
use page::{Kind, Part};

use crate::transcripts::{session, settle, shell::Shell};

/// Makes the inputs of each page.
const PREPARE: &str = include_str!("../../../../../docs/guide/inputs.sh");

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

fn parts(name: &str) -> (String, Vec<Part>) {
    let text = std::fs::read_to_string(docs().join(name)).unwrap();
    let parts = page::parse(&text).unwrap_or_else(|cause| panic!("{name}: {cause}"));
    (text, parts)
}

/// A test for each page, so that pages run side by side.
macro_rules! pages {
    ($($name:ident $file:literal),* $(,)?) => {
        const PAGES: &[&str] = &[$($file),*];
        $(
            #[test]
            fn $name() {
                commands_do_what_the_page_shows($file);
            }
        )*
    };
}

pages! {
    readme "../README.md",
    introduction "guide/src/README.md",
    getting_started "guide/src/getting-started.md",
    coming_from "guide/src/coming-from/README.md",
    coming_from_mksquashfs "guide/src/coming-from/mksquashfs.md",
    coming_from_tar2sqfs "guide/src/coming-from/tar2sqfs.md",
    coming_from_mkfs_erofs "guide/src/coming-from/mkfs-erofs.md",
    coming_from_lrzip "guide/src/coming-from/lrzip.md",
    coming_from_tar_zstd "guide/src/coming-from/tar-zstd.md",
    coming_from_par2 "guide/src/coming-from/par2.md",
    coming_from_age "guide/src/coming-from/age.md",
    coming_from_xdelta3 "guide/src/coming-from/xdelta3.md",
    live_image "guide/src/recipes/live-image.md",
    ci "guide/src/recipes/ci.md",
    appimage "guide/src/recipes/appimage.md",
    snap "guide/src/recipes/snap.md",
    containers "guide/src/recipes/containers.md",
    firmware "guide/src/recipes/firmware.md",
    updates "guide/src/recipes/updates.md",
    backup "guide/src/recipes/backup.md",
    machine_learning "guide/src/recipes/machine-learning.md",
    boot_order "guide/src/recipes/boot-order.md",
    servers "guide/src/recipes/servers.md",
    space "guide/src/recipes/space.md",
    library "guide/src/library.md",
    library_c "guide/src/library-c.md",
    library_python "guide/src/library-python.md",
    concepts_images "guide/src/concepts/images.md",
    concepts_formats "guide/src/concepts/formats.md",
    concepts_codecs "guide/src/concepts/codecs.md",
    concepts_determinism "guide/src/concepts/determinism.md",
    concepts_memory "guide/src/concepts/memory.md",
    troubleshooting "guide/src/troubleshooting.md",
    messages "guide/src/messages.md",
    faq "guide/src/faq.md",
    comparison "guide/src/comparison.md",
    building_the_guide "guide/README.md",
    encryption "encryption.md",
    verity "verity.md",
    fakeroot "fakeroot.md",
}

fn commands_do_what_the_page_shows(name: &str) {
    let (text, parts) = parts(name);
    if parts.iter().all(|part| !matches!(part.kind, Kind::Script | Kind::Session)) {
        return;
    }
    if !["tar", "openssl"].into_iter().chain(page::needs(&text)).all(is_available) {
        return;
    }
    let shell = Shell::new(PREPARE);
    let whole: String = parts.iter().map(|part| outcome(&shell, name, part)).collect();
    let difference = settle(&docs().join(name), &text, &whole);
    assert!(difference.is_none(), "{}", difference.unwrap_or_default());
}

fn is_available(need: &str) -> bool {
    match need {
        "fuse" => mount::fuse_available(),
        "loop" => mount::loop_devices(),
        "root" => tools::root(),
        program => tools::need(&[program]),
    }
}

/// Runs the commands of a part. Returns the text that the part should have.
fn outcome(shell: &Shell, name: &str, part: &Part) -> String {
    match part.kind {
        Kind::Session => return session::rewritten(&part.text, |command| shell.lines(command)),
        Kind::Script => {
            let (output, status) = shell.script(&part.text);
            assert_eq!(status, 0, "{name}, line {}:\n{output}", part.line);
        }
        Kind::Text | Kind::NotRun(_) => {}
    }
    part.text.clone()
}

#[test]
fn each_page_with_commands_has_a_test() {
    let summary = std::fs::read_to_string(docs().join("SUMMARY.md")).unwrap();
    let linked = summary.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let has_commands = |name: &&str| {
        let text = std::fs::read_to_string(docs().join(name)).unwrap();
        text.contains("\n```sh") || text.contains("\n```console")
    };
    let untested: Vec<&str> = linked.filter(|name| !PAGES.contains(name)).filter(has_commands).collect();
    assert_eq!(untested, [""; 0]);
}

#[test]
fn commands_that_cannot_run_are_listed_with_the_reason() {
    let mut count = 0;
    for name in PAGES {
        for Part { kind, line, .. } in parts(name).1 {
            if let Kind::NotRun(reason) = kind {
                count += 1;
                println!("{name}:{line}: not run: {reason}");
            }
        }
    }
    println!("{count} blocks are not run");
}
