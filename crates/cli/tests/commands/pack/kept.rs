//! What each format keeps, as the guide shows it.

use std::os::unix::net::UnixListener;

use packline_testkit::{Sandbox, tools};

use crate::sandbox;
use crate::stack::support::shell;

const PAGE: &str = include_str!("../../../../../docs/guide/src/concepts/formats.md");

/// The outputs, in the order of the columns of the page.
const OUTPUTS: [&str; 4] = ["x.sqfs", "x.erofs", "x.tar", "x.lrz"];

/// The start of a row of the page, and a command that prints what the row is about.
const ROWS: [(&str, &str); 14] = [
    ("names", "readlink symlink"),
    ("hard links", "stat -c %h hard"),
    ("permissions", "stat -c %a mode"),
    ("owners and groups", "stat -c %u:%g owner"),
    ("modification times before 1970", "stat -c %Y old"),
    ("modification times after 2106", "stat -c %Y late"),
    ("fractions of a second", "stat -c %y fraction"),
    ("access and change times", "stat -c %X accessed"),
    ("extended attributes", "getfattr --only-values -n trusted.name xattr"),
    ("POSIX ACLs", "getfacl -c acl"),
    ("holes", "test $(stat -c %b hole) -lt 100 && echo holes"),
    ("devices", "stat -c %F:%t:%T device"),
    ("named pipes", "stat -c %F pipe"),
    ("sockets", "stat -c %F socket"),
];

/// A tree with something of each row.
fn planted() -> Sandbox {
    let sandbox = sandbox();
    shell(
        &sandbox,
        "mkdir t && cd t && ln -s to symlink && echo a >hard && ln hard again && echo b >mode && chmod 6755 mode && \
         echo c >owner && chown 1234:70000 owner && touch -d @-5 old && touch -d @4294967301 late && \
         touch -d @1000000000.123456789 fraction && touch -d @1000000000 accessed && touch -a -d @5 accessed && echo d >xattr && \
         setfattr -n trusted.name -v value xattr && echo e >acl && setfacl -m u:5:rwx acl && truncate -s 1M hole && \
         mknod device c 1 3 && mkfifo pipe",
    );
    UnixListener::bind(sandbox.at("t/socket")).unwrap();
    sandbox
}

/// The cells of the row that begins so.
fn cells(row: &str) -> Vec<&'static str> {
    let start = format!("| {row}");
    let line = PAGE.lines().find(|line| line.starts_with(&start)).unwrap_or_else(|| panic!("no row {row}"));
    line.trim_matches('|').split('|').skip(1).map(str::trim).collect()
}

#[test]
fn each_format_keeps_what_the_guide_says() {
    if !tools::root() || !tools::need(&["setfacl", "setfattr"]) {
        return;
    }
    let sandbox = planted();
    for (column, output) in OUTPUTS.iter().enumerate() {
        let unpacked = format!("{output}.out");
        sandbox.good(&["pack", "-q", "t", output]);
        sandbox.good(&["unpack", "-q", output, &unpacked]);
        for (row, command) in ROWS {
            let [before, after] =
                ["t", &*unpacked].map(|directory| sandbox.shell(&format!("cd {directory} && {command}")));
            assert_eq!(before.status, 0, "{command}: {before:?}");
            let found = if after.stdout == before.stdout { "yes" } else { "no" };
            let cell = cells(row)[column];
            assert!(cell.starts_with(found), "{output}: {row}: the page has '{cell}', found {found}: {after:?}");
        }
    }
}
