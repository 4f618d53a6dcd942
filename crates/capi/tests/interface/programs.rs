//! Programs in C that use the installed library.

use std::fs;
use std::path::Path;
use std::process::Command;

use packline::{Content, Device, Kind, Packer, Tree};
use packline_testkit::Random;
use packline_testkit::c_library::CLibrary;
use packline_testkit::tools::{need, run};

use crate::{archive, capi, compiler, prefix, printed, sanitized};

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

    let alone = top.path().join("alone");
    link_statically(&source, &alone, top.path());
    assert!(!needed(&alone).contains("packline"));
    assert_eq!(printed(&mut Command::new(&alone)), message);
}

/// Links a program with the static library, which the linker takes if the shared one is not in the same directory.
fn link_statically(source: &Path, program: &Path, top: &Path) {
    fs::create_dir(top.join("lib")).unwrap();
    std::os::unix::fs::symlink(prefix().join("lib/libpackline.a"), top.join("lib/libpackline.a")).unwrap();
    let mut linker = compiler(source, program);
    linker.arg("-L").arg(top.join("lib")).args(flags(&["--static", "--cflags", "--libs"]));
    run(linker.arg("-Wl,--gc-sections")).unwrap();
}

/// A program may have functions of the same names as the libraries inside of packline, which packline does not call.
#[test]
fn the_static_library_keeps_the_names_of_other_libraries_to_itself() {
    if !need(&["pkg-config"]) {
        return;
    }
    let top = tempfile::tempdir().unwrap();
    let source = top.path().join("names.c");
    let program = top.path().join("names");
    let own =
        ["ZSTD_compress2", "ZSTD_createCCtx", "lzma_code", "lzma_stream_encoder", "deflate", "LZ4_compress_default"];
    let own: String = own.map(|name| format!("int {name}(void)\n{{\n    abort();\n}}\n")).concat();
    let body = fs::read_to_string(capi().join("tests/c/names.c")).unwrap();
    fs::write(&source, format!("#include <stdlib.h>\n{own}{body}")).unwrap();
    link_statically(&source, &program, top.path());
    assert_eq!(printed(Command::new(&program).current_dir(top.path())), "zstd ok\nxz ok\ngzip ok\nlz4 ok\n");

    let archive = prefix().join("lib/libpackline.a");
    let symbols = printed(Command::new("nm").args(["--extern-only", "--defined-only", "--format=posix"]).arg(&archive));
    let symbols = symbols.lines().filter(|line| line.contains(' ')).map(|line| line.split(' ').next().unwrap());
    let others: Vec<&str> = symbols.filter(|name| !name.starts_with("packline_")).collect();
    assert!(others.is_empty(), "{others:?}");
}

#[test]
fn an_installation_leaves_no_temporary_files() {
    let names = |directory: &str| {
        let files = fs::read_dir(prefix().join(directory)).unwrap();
        let mut names: Vec<_> = files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    };
    let full = concat!("libpackline.so.", env!("CARGO_PKG_VERSION"));
    assert_eq!(names("lib"), ["libpackline.a", "libpackline.so", "libpackline.so.0", full, "pkgconfig"]);
    assert_eq!(names("lib/pkgconfig"), ["packline.pc"]);
    assert_eq!(names("include"), ["packline.h"]);
}

/// The header is missing, which the installation finds after it has linked the libraries.
#[test]
fn a_failed_installation_changes_nothing() {
    let top = tempfile::tempdir().unwrap();
    let sources = top.path().join("sources");
    let prefix = top.path().join("prefix");
    let shared = prefix.join(concat!("lib/libpackline.so.", env!("CARGO_PKG_VERSION")));
    fs::create_dir(&sources).unwrap();
    fs::copy(capi().join("packline.map"), sources.join("packline.map")).unwrap();
    fs::create_dir_all(prefix.join("lib/pkgconfig")).unwrap();
    fs::write(&shared, "earlier").unwrap();
    let library = CLibrary {
        sources: &sources,
        archive: &archive(),
        version: env!("CARGO_PKG_VERSION"),
        prefix: &prefix,
        libraries: "lib",
        root: None,
    };
    let failure = library.install().unwrap_err();
    assert!(failure.contains("sources/include/packline.h"), "{failure}");
    assert_eq!(fs::read_to_string(&shared).unwrap(), "earlier");
    let count = |directory: &str| fs::read_dir(prefix.join(directory)).unwrap().count();
    assert_eq!([count("lib"), count("lib/pkgconfig"), count("include")], [2, 0, 0]);
}
