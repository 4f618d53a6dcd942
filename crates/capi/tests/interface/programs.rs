//! Programs in C that use the installed library.

use std::fs;
use std::path::Path;
use std::process::Command;

use packline::{Content, Device, Kind, Packer, Tree};
use packline_testkit::Random;
use packline_testkit::tools::{need, run};

use crate::{capi, compiler, prefix, printed, sanitized};

#[test]
fn a_program_packs_reads_and_unpacks() {
    let top = tempfile::tempdir().unwrap();
    let program = sanitized(&capi().join("tests/c/program.c"), top.path());
    assert_eq!(printed(Command::new(&program).current_dir(top.path())), "ok\n");
}

/// A tree with an entry of each type, whose files have blocks, tail ends, holes and equal content.
fn tree() -> Tree {
    let mut random = Random::new(7);
    let mut tree = Tree::new();
    for number in 0..12 {
        tree.file(format!("text/{number}"), random.prose(number * 1700)).unwrap().xattr("user.n", [number as u8; 40]);
    }
    tree.file("noise", random.noise(9000)).unwrap().mode(0o4755).owner(1000, 100);
    tree.file("holes", [vec![0; 70_000], random.prose(9000), vec![0; 20_000]].concat()).unwrap();
    tree.file("again", Content::from(random.prose(0))).unwrap();
    tree.hard_link("text/linked", "noise").unwrap();
    tree.symlink("link", "text/3").unwrap();
    tree.symlink("text/up", "../link").unwrap();
    tree.special("null", Kind::CharDevice(Device { major: 1, minor: 3 })).unwrap();
    tree.special("pipe", Kind::Fifo).unwrap();
    tree.directory("a/deep/directory/below").unwrap().xattr("trusted.x", "1");
    tree
}

/// Every mutant is opened, walked and read, and some are unpacked, with the sanitizers: an error or another tree, but no fault of memory. All take
/// about 2 s of processor time.
#[test]
fn damaged_images_are_errors_in_c() {
    let top = tempfile::tempdir().unwrap();
    let program = sanitized(&capi().join("tests/c/hostile.c"), top.path());
    let mut images = Vec::new();
    for (container, codec) in [("squashfs", "zstd"), ("squashfs", "none"), ("erofs", "zstd"), ("erofs", "none")] {
        let image = top.path().join(format!("{container}-{codec}"));
        let packer = Packer::new(tree()).set("container", container).unwrap().set("codec", codec).unwrap();
        packer.set("block-size", "16K").unwrap().write_to(&image).unwrap();
        images.push(image);
    }
    let outcome = printed(Command::new(&program).args(&images).current_dir(top.path()));
    let counts: Vec<u32> = outcome.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let [mutants, opened, errors] = counts.try_into().unwrap_or_else(|_| panic!("{outcome}"));
    assert!(mutants == 1200 && opened > mutants / 4 && errors > mutants / 4, "{outcome}");
}

/// The flags that pkg-config prints for the installed library.
fn flags(arguments: &[&str]) -> Vec<String> {
    let mut config = Command::new("pkg-config");
    config.env("PKG_CONFIG_PATH", prefix().join("lib/pkgconfig"));
    printed(config.args(arguments).arg("packline")).split_whitespace().map(str::to_owned).collect()
}

/// The libraries that a program needs when it is started.
fn needed(program: &Path) -> String {
    let dynamic = printed(Command::new("readelf").args(["--dynamic", "--wide"]).arg(program));
    dynamic.lines().filter(|line| line.contains("(NEEDED)")).collect()
}

#[test]
fn pkg_config_finds_the_shared_and_the_static_library() {
    if !need(&["pkg-config"]) {
        return;
    }
    assert_eq!(flags(&["--modversion"]), [env!("CARGO_PKG_VERSION")]);
    let top = tempfile::tempdir().unwrap();
    let source = top.path().join("version.c");
    fs::write(
        &source,
        "#include <packline.h>\n#include <stdio.h>\n\nint main(void)\n{\n    packline_error *error = NULL;\n    \
         packline_open(\"none\", &error);\n    puts(packline_error_message(error));\n    packline_error_free(error);\n    return 0;\n}\n",
    )
    .unwrap();
    let message = "none: cannot open: No such file or directory (os error 2)\n";

    let shared = top.path().join("shared");
    run(compiler(&source, &shared).args(flags(&["--cflags", "--libs"]))).unwrap();
    assert!(needed(&shared).contains("[libpackline.so.0]"));
    let libraries = prefix().join("lib");
    assert_eq!(printed(Command::new(&shared).env("LD_LIBRARY_PATH", &libraries)), message);

    // The linker takes the static library if the shared one is not in the same directory.
    fs::create_dir(top.path().join("lib")).unwrap();
    std::os::unix::fs::symlink(libraries.join("libpackline.a"), top.path().join("lib/libpackline.a")).unwrap();
    let alone = top.path().join("alone");
    let mut linker = compiler(&source, &alone);
    linker.arg("-L").arg(top.path().join("lib")).args(flags(&["--static", "--cflags", "--libs"]));
    run(linker.arg("-Wl,--gc-sections")).unwrap();
    assert!(!needed(&alone).contains("packline"));
    assert_eq!(printed(&mut Command::new(&alone)), message);
}
