//! The tree that the callers pack, and the files that their lines name.

use packline_testkit::model::{Content, Node, NodeKind};
use packline_testkit::{Random, Sandbox, generate};

/// A file system with every kind of entry, and what the lines leave out, sort or redefine.
pub fn root() -> Vec<Node> {
    let mut nodes = generate::small_tree(17, 4096);
    // Before 1970 is a time that each program stores in its own way.
    nodes.retain(|node| node.mtime >= 0 && !is_many(&node.path));
    let mut random = Random::new(18);
    let capability = [&[1, 0, 0, 2, 0, 32][..], &[0; 14]].concat();
    let tool = random.noise(40_000);
    let library = random.prose(300_001);
    for path in ["boot", "ch", "ch/git", "dev", "etc", "nix", "proc", "squash", "usr", "usr/bin", "usr/lib", "var"] {
        nodes.push(Node::dir(path).time(1_400_000_000));
    }
    nodes.extend([
        Node::file("boot/vmlinuz", random.prose(9000)).mode(0o600),
        Node::file("ch/git/HEAD", "ref"),
        Node::new("dev/null", NodeKind::CharDevice(1, 3)).mode(0o666),
        Node::file("etc/machine-id", ""),
        Node::file("etc/update.conf", "GROUP=stable\n").owner(500, 500),
        Node::file("nix/main.c", "int main(void) { return 0; }\n"),
        Node::file("usr/bin/tool", tool.clone()).mode(0o4755).time(1_400_000_001),
        Node::file("usr/bin/ping", tool).mode(0o755).xattr("security.capability", capability),
        Node::file("usr/lib/library.so", library).mode(0o755),
        Node::file("usr/lib/zeros", vec![0; 200_000]),
        Node::new("usr/lib/sparse", NodeKind::File(Content::sparse(700_000, vec![(300_000, b"data".to_vec())]))),
        Node::new("usr/lib/hard", NodeKind::HardLink(b"usr/lib/library.so".to_vec())),
        Node::new("var/run", NodeKind::Symlink(b"../run".to_vec())),
    ]);
    nodes
}

/// Most of the directory with 700 empty files.
fn is_many(path: &[u8]) -> bool {
    path.starts_with(b"wide/") && path.len() > b"wide/entry-with-a-rather-long-name-12".len()
}

/// Files outside the tree that lines name.
pub fn files(sandbox: &Sandbox) {
    for (name, text) in [
        ("excludes", "*.snap\nch/git\n... *.c\n"),
        ("paths", "boot\nusr/lib/zeros\nnone/such\n"),
        ("pseudo", "run d 755 root root\nmnt D 5 700 1 2\nmnt/tty C 6 620 0 5 5 1\netc/update.conf m 600 7 7\n"),
        ("labels", "/usr/bin/tool x security.selinux=0sc3lzdGVtX3U6Ym9vdA==\n/var x security.selinux=0sdmFy\n"),
        ("priorities", "usr/lib 100\nsource/boot/vmlinuz -5\nusr/bin/tool 32767\n"),
        ("AppRun", "#!/bin/sh\n"),
        (
            "definitions",
            "usr d 755 0 0\nusr/bin d 755 0 0\nAppRun f 755 0 0 cat AppRun\nusr/bin/app f 755 0 0 cat \
             source/usr/bin/tool\nlink s 777 0 0 AppRun\n",
        ),
    ] {
        sandbox.write(name, text);
    }
    sandbox.create_dir("empty");
}
