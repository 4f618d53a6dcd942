//! Runs the examples in the help of commands as they are written.

use packline_testkit::Sandbox;
use std::path::Path;

use crate::{PACKLINE, sandbox};

/// Runs a line in a directory in which `packline` is this program, and returns its standard output.
fn shell(sandbox: &Sandbox, line: &str) -> String {
    let program = Path::new(PACKLINE).parent().unwrap().to_str().unwrap();
    sandbox.peer("sh", &["-c", &format!("PATH=$0:$PATH; {line}"), program]).text()
}

/// The examples of a command, in order.
fn examples(sandbox: &Sandbox, command: &str) -> Vec<String> {
    let help = shell(sandbox, &format!("packline {command} --help"));
    let lines = help.lines().map(|line| line.trim().trim_start_matches("Examples: "));
    lines.filter(|line| line.starts_with(&format!("packline {command} "))).map(str::to_string).collect()
}

/// Files below a directory.
fn files(sandbox: &Sandbox, directory: &str) -> String {
    shell(sandbox, &format!("cd {directory} && find . -type f | sort | tr '\\n' ' '"))
}

#[test]
fn examples_have_the_effect_that_help_describes() {
    let sandbox = sandbox();
    let paths =
        "etc/a etc/a.bak etc/b/c.bak usr/bin/ls usr/lib/libx usr/lib/other usr/bin/xz var/cache/x/y var/log/z var/www";
    for file in paths.split(' ') {
        sandbox.write(format!("root/{file}"), vec![b'x'; 2_000]);
    }
    shell(&sandbox, "packline pack -q root root.sqfs && mv root source");
    sandbox.write("backup/home/me/notes", "notes");
    sandbox.write("backup/home/you/notes", "other notes");
    shell(&sandbox, "packline pack -q backup backup.tar.zst");
    let lines = examples(&sandbox, "unpack");
    assert_eq!(lines.len(), 5, "{lines:?}");
    lines.iter().for_each(|line| drop(shell(&sandbox, line)));
    assert_eq!(files(&sandbox, "root"), files(&sandbox, "source"));
    assert_eq!(files(&sandbox, "etc"), "./a ");
    assert_eq!(files(&sandbox, "sysroot"), "./usr/bin/ls ./usr/bin/xz ./usr/lib/libx ");
    assert_eq!(files(&sandbox, "restored"), "./home/me/notes ");
    assert!(
        shell(&sandbox, "packline pack -q root.tar.zst again.sqfs && packline list again.sqfs /var")
            == "var\nvar/cache\nvar/log\nvar/www\n"
    );
    let lines = examples(&sandbox, "list");
    assert_eq!(lines.len(), 3, "{lines:?}");
    assert_eq!(shell(&sandbox, &lines[1]).lines().count(), 6);
    let json = lines[2].split(" | ").next().unwrap();
    assert_eq!(shell(&sandbox, json).lines().count(), shell(&sandbox, &lines[0]).lines().count());
    let packing = examples(&sandbox, "pack").into_iter().find(|line| line.contains(" -x ")).unwrap();
    shell(&sandbox, &format!("mv root rootfs && touch rootfs/usr/x.pyc && {packing}"));
    let found = shell(&sandbox, "packline list rootfs.sqfs");
    assert!(found.contains("var/log\n") && !found.contains("var/log/z") && !found.contains("pyc"), "{found}");
}
