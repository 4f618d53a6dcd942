//! A C program that uses each function, compiled with all warnings and with the sanitizers, and a comparison of the header with the library.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use packline_testkit::tools::{need, run};

/// The folder with the built library, which is that of the test.
fn target() -> PathBuf {
    std::env::current_exe().unwrap().parent().unwrap().to_path_buf()
}

fn header() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("include/packline.h")
}

#[test]
fn a_c_program_packs_reads_and_unpacks() {
    if !need(&["cc"]) {
        return;
    }
    let top = tempfile::tempdir().unwrap();
    let program = top.path().join("program");
    let library = target();
    let mut compiler = Command::new("cc");
    compiler.args(["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-g", "-fsanitize=address,undefined"]);
    compiler.arg("-I").arg(header().parent().unwrap());
    compiler.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c/program.c")).arg("-o").arg(&program);
    compiler.arg("-L").arg(&library).args(["-lpackline_capi", "-lpthread"]);
    compiler.arg(format!("-Wl,-rpath,{}", library.display()));
    run(&mut compiler).unwrap();
    let output = run(Command::new(&program).current_dir(top.path())).unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "ok\n");
}

/// Names that follow a prefix and are followed by a parenthesis.
fn functions(text: &str) -> BTreeSet<String> {
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let calls = text.match_indices("packline_").filter(|(at, _)| !text[..*at].ends_with(is_name));
    let names = calls.map(|(at, _)| text[at..].chars().take_while(|letter| is_name(*letter)).collect::<String>());
    names.filter(|name| text.contains(&format!("{name}("))).collect()
}

#[test]
fn the_header_declares_each_function_of_the_library() {
    let header = fs::read_to_string(header()).unwrap();
    let declarations = header.lines().filter(|line| !line.trim_start().starts_with(['*', '/'])).collect::<String>();
    let sources = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("src")).unwrap();
    let text: String = sources.map(|file| fs::read_to_string(file.unwrap().path()).unwrap()).collect();
    let defined: BTreeSet<String> = text
        .match_indices("extern \"C\" fn packline_")
        .map(|(at, _)| text[at + 14..].chars().take_while(|letter| *letter != '(').collect())
        .collect();
    assert!(defined.len() > 30);
    assert_eq!(functions(&declarations), defined);
}
