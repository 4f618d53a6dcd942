//! The binary interface is that of `abi.txt`. `UPDATE_ABI=1` rewrites the file: a change of a line breaks programs, and needs another name of the
//! shared library and an entry in CHANGELOG.md; a new line needs an entry alone.

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;

use packline_testkit::tools::run;

use crate::declarations::{Declaration, field_name};
use crate::{capi, compiler, header, prefix, printed};

/// Prints sizes, offsets and values, as a C compiler sees them.
fn layout_program(declarations: &[Declaration]) -> String {
    let mut lines = String::new();
    for declaration in declarations {
        match declaration {
            Declaration::Constants(constants) => {
                for name in constants.iter().map(|constant| constant.split(' ').next().unwrap()) {
                    writeln!(lines, "    printf(\"constant {name} = %d\\n\", {name});").unwrap();
                }
            }
            Declaration::Struct { name, fields } => {
                writeln!(lines, "    printf(\"struct {name}: %zu bytes\\n\", sizeof({name}));").unwrap();
                for field in fields {
                    let member = field_name(field);
                    writeln!(
                        lines,
                        "    printf(\"    %zu: {field}, %zu bytes\\n\", offsetof({name}, {member}), sizeof((({name} *)0)->{member}));"
                    )
                    .unwrap();
                }
            }
            _ => {}
        }
    }
    format!("#include <packline.h>\n#include <stdio.h>\n\nint main(void)\n{{\n{lines}    return 0;\n}}\n")
}

/// The exported symbols with their versions.
fn exported(library: &Path) -> Vec<String> {
    let mut nm = Command::new("nm");
    let text = printed(nm.args(["--dynamic", "--defined-only", "--format=posix"]).arg(library));
    let symbols = text.lines().map(|line| line.split(' ').next().unwrap().to_owned());
    // The node of the version is a symbol itself.
    let mut symbols: Vec<String> =
        symbols.filter(|name| name.contains('@') && !name.starts_with("PACKLINE_")).collect();
    symbols.sort();
    symbols
}

fn interface() -> String {
    let declarations = header();
    let library = prefix().join("lib/libpackline.so");
    let top = tempfile::tempdir().unwrap();
    let source = top.path().join("layout.c");
    let program = top.path().join("layout");
    fs::write(&source, layout_program(&declarations)).unwrap();
    run(compiler(&source, &program).arg("-I").arg(prefix().join("include"))).unwrap();
    let mut text = printed(&mut Command::new(&program));
    for declaration in &declarations {
        match declaration {
            Declaration::Handle(name) => writeln!(text, "handle {name}").unwrap(),
            Declaration::Callback { text: callback, .. } => writeln!(text, "callback {callback}").unwrap(),
            Declaration::Function { text: function, .. } => writeln!(text, "function {function}").unwrap(),
            _ => {}
        }
    }
    exported(&library).iter().for_each(|symbol| writeln!(text, "symbol {symbol}").unwrap());
    text
}

#[test]
#[cfg(target_pointer_width = "64")]
#[allow(clippy::disallowed_methods, reason = "the variable asks for another file, not for another result")]
fn the_binary_interface_is_the_recorded_one() {
    let record = capi().join("abi.txt");
    let found = interface();
    if std::env::var_os("UPDATE_ABI").is_some() {
        fs::write(&record, &found).unwrap();
    }
    let kept = fs::read_to_string(&record).unwrap();
    assert!(found == kept, "UPDATE_ABI=1 rewrites abi.txt:\n{}", difference(&kept, &found));
}

fn difference(kept: &str, found: &str) -> String {
    let lost = kept.lines().filter(|line| !found.lines().any(|other| other == *line)).map(|line| format!("-{line}\n"));
    let new = found.lines().filter(|line| !kept.lines().any(|other| other == *line)).map(|line| format!("+{line}\n"));
    lost.chain(new).collect()
}

#[test]
fn the_shared_library_exports_only_the_interface_and_has_a_stable_name() {
    let symbols = exported(&prefix().join("lib/libpackline.so"));
    assert!(
        symbols.iter().all(|symbol| symbol.starts_with("packline_") && symbol.contains("@@PACKLINE_0.1")),
        "{symbols:?}"
    );
    let mut readelf = Command::new("readelf");
    let dynamic = printed(readelf.args(["--dynamic", "--wide"]).arg(prefix().join("lib/libpackline.so")));
    assert!(dynamic.contains("Library soname: [libpackline.so.0]"), "{dynamic}");
    let mut nm = Command::new("nm");
    let all =
        printed(nm.args(["--dynamic", "--defined-only", "--format=posix"]).arg(prefix().join("lib/libpackline.so")));
    let others: Vec<&str> =
        all.lines().filter(|line| !line.starts_with("packline_") && !line.starts_with("PACKLINE_")).collect();
    assert!(others.is_empty(), "{others:?}");
}
