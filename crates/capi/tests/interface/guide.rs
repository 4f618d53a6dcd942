//! The programs of the guide compile, and print what the guide says.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use crate::{capi, printed, sanitized};

/// A block of the guide.
struct Block {
    language: String,
    text: String,
}

fn blocks() -> Vec<Block> {
    let page = fs::read_to_string(capi().join("../../docs/guide/src/library-c.md")).unwrap();
    let mut blocks = Vec::new();
    let mut parts = page.split("\n```");
    parts.next();
    while let Some(block) = parts.next() {
        let (language, text) = block.split_once('\n').unwrap();
        blocks.push(Block { language: language.to_owned(), text: format!("{text}\n") });
        parts.next();
    }
    blocks
}

#[test]
fn programs_of_the_guide_print_what_the_guide_shows() {
    let top = tempfile::tempdir().unwrap();
    fs::create_dir_all(top.path().join("rootfs/etc")).unwrap();
    fs::create_dir_all(top.path().join("rootfs/tmp")).unwrap();
    fs::write(top.path().join("rootfs/etc/hostname"), "box\n").unwrap();
    fs::write(top.path().join("rootfs/etc/motd"), "Welcome\n").unwrap();
    fs::write(top.path().join("rootfs/tmp/scratch"), "x").unwrap();
    symlink("etc/motd", top.path().join("rootfs/motd")).unwrap();
    let blocks = blocks();
    let mut programs = 0;
    for (at, block) in blocks.iter().enumerate().filter(|(_, block)| block.language == "c") {
        let source = top.path().join(format!("program{at}.c"));
        fs::write(&source, &block.text).unwrap();
        let program = sanitized(&source, top.path());
        let output = printed(Command::new(program).current_dir(top.path()));
        let shown = blocks.get(at + 1).filter(|next| next.language == "text output");
        assert_eq!(Some(output.as_str()), shown.map(|shown| shown.text.as_str()), "{}", block.text);
        programs += 1;
    }
    assert!(programs >= 3);
}
