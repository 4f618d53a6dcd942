//! The examples in the help of commands, run as they are written.

use packline_testkit::tools;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Runs a line in a directory in which `packline` is this program.
fn shell(directory: &Path, line: &str) -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_packline")).parent().unwrap();
    let script = format!("PATH=$0:$PATH; {line}");
    let mut command = Command::new("sh");
    let ran = tools::run(command.args(["-c", &script]).arg(program).current_dir(directory)).unwrap();
    assert!(ran.status.success(), "{line}: {}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8(ran.stdout).unwrap()
}

/// The examples of a command, in order.
fn examples(directory: &Path, command: &str) -> Vec<String> {
    let help = shell(directory, &format!("packline {command} --help"));
    let lines = help.lines().map(|line| line.trim().trim_start_matches("Examples: "));
    lines.filter(|line| line.starts_with(&format!("packline {command} "))).map(str::to_string).collect()
}

fn names(directory: &Path) -> String {
    shell(directory, "find . -type f | sort | tr '\\n' ' '")
}

#[test]
fn unpack_and_list_do_what_their_examples_say() {
    let place = tempfile::tempdir().unwrap();
    let at = place.path();
    let files =
        "etc/a etc/a.bak etc/b/c.bak usr/bin/ls usr/lib/libx usr/lib/other usr/bin/xz var/cache/x/y var/log/z var/www";
    for file in files.split(' ') {
        fs::create_dir_all(at.join("root").join(file).parent().unwrap()).unwrap();
        fs::write(at.join("root").join(file), vec![b'x'; 2_000]).unwrap();
    }
    shell(at, "packline pack -q root root.sqfs && mv root source");
    let lines = examples(at, "unpack");
    assert_eq!(lines.len(), 4, "{lines:?}");
    lines.iter().for_each(|line| drop(shell(at, line)));
    assert_eq!(names(&at.join("root")), names(&at.join("source")));
    assert_eq!(names(&at.join("etc")), "./a ");
    assert_eq!(names(&at.join("sysroot")), "./usr/bin/ls ./usr/bin/xz ./usr/lib/libx ");
    assert!(
        shell(at, "packline pack -q root.tar.zst again.sqfs && packline list again.sqfs /var")
            == "var\nvar/cache\nvar/log\nvar/www\n"
    );
    let lines = examples(at, "list");
    assert_eq!(lines.len(), 3, "{lines:?}");
    assert_eq!(shell(at, &lines[1]).lines().count(), 6);
    let json = lines[2].split(" | ").next().unwrap();
    assert_eq!(shell(at, json).lines().count(), shell(at, &lines[0]).lines().count());
    let packing = examples(at, "pack").into_iter().find(|line| line.contains(" -x ")).unwrap();
    shell(at, &format!("mv root rootfs && touch rootfs/usr/x.pyc && {packing}"));
    let found = shell(at, "packline list rootfs.sqfs");
    assert!(found.contains("var/log\n") && !found.contains("var/log/z") && !found.contains("pyc"), "{found}");
}
