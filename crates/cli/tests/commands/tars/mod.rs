//! Tests of tars: unpacked to directories, and packed from any source.

mod determinism;
mod differences;
mod packed;
mod safety;
mod selection;
mod unpacked;

use packline_testkit::model::{Node, NodeKind};
use packline_testkit::snapshot::{Except, assert_same};
use packline_testkit::{Sandbox, generate, tools};

use crate::sandbox;

/// Runs a shell script that must succeed, in which `$P` is packline; its standard output.
#[track_caller]
fn shell(sandbox: &Sandbox, script: &str) -> String {
    let ran = sandbox.shell(&format!("set -e\n{script}"));
    assert_eq!(ran.status, 0, "{script}: {ran:?}");
    ran.text()
}

/// A sandbox with a tree without sockets as `source`: every kind of entry and attribute that a tar can hold, a file with holes and a time with
/// nanoseconds. `None` if the test must be skipped.
fn with_tree(seed: u64) -> Option<Sandbox> {
    if !tools::root() || !tools::need(&["tar", "bsdtar", "find"]) {
        return None;
    }
    let sandbox = sandbox();
    let mut nodes = generate::small_tree(seed, 4096);
    nodes.retain(|node| !matches!(node.kind, NodeKind::Socket));
    nodes.push(Node::file("precise", "time"));
    sandbox.write_tar("planted.tar", &nodes);
    let script = "mkdir source; tar -x -p --xattrs --xattrs-include='*' -f planted.tar -C source; rm planted.tar
        truncate -s 3M source/sparse-file; printf x | dd of=source/sparse-file bs=1 seek=1000000 conv=notrunc 2>&1; printf end >> source/sparse-file
        touch -d '1999-12-31 23:59:59.123456789 UTC' source/precise";
    shell(&sandbox, script);
    Some(sandbox)
}

/// Two directories have the same entries, with the same attributes, times to the nanosecond and contents.
#[track_caller]
fn assert_equal(sandbox: &Sandbox, what: &str, expected: &str, found: &str) {
    let trees = [expected, found].map(|name| sandbox.snapshot(name));
    assert_same(what, &trees[0], &trees[1], Except::default());
    let listings = [expected, found].map(|name| {
        let list = "find . -printf '%P %y %m %U %G %T@ %n %l\\n' | LC_ALL=C sort | sha256sum";
        let lines = "find . -printf '%P %T@\\n' | LC_ALL=C sort | cat -v";
        (shell(sandbox, &format!("cd {name}; {list}")), shell(sandbox, &format!("cd {name}; {lines}")))
    });
    if listings[0].0 != listings[1].0 {
        let lines = listings[0].1.lines().zip(listings[1].1.lines());
        let other: Vec<_> = lines.filter(|(one, other)| one != other).take(5).collect();
        panic!("{what}: {other:?}");
    }
}
