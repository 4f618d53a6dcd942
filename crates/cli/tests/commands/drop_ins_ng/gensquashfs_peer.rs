//! Compares `gensquashfs` with the program of squashfs-tools-ng: the same arguments and files must give the same tree.

use packline_testkit::model::Node;
use packline_testkit::snapshot::{Except, assert_same};
use packline_testkit::{Ran, Sandbox, generate, mount, reader, tools, views};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::sandbox;

const BLOCK: usize = 16_384;

fn with_source(nodes: &[Node]) -> Sandbox {
    let sandbox = sandbox();
    sandbox.plant("source", nodes);
    sandbox
}

fn pack(sandbox: &Sandbox, mut command: Command, arguments: &[&str], image: &str) -> reader::Report {
    Ran::good(command.args(arguments).args(["-q", "-f", "-c", "zstd", image]));
    reader::inspect(&sandbox.at(image)).map_err(|cause| format!("{arguments:?}: {cause}")).unwrap()
}

fn ours(sandbox: &Sandbox, arguments: &[&str]) -> reader::Report {
    let report = pack(sandbox, sandbox.command(&["gensquashfs"]), arguments, "ours.sqfs");
    assert_eq!(report.problems, Vec::<String>::new(), "{arguments:?}");
    report
}

fn peers(sandbox: &Sandbox, arguments: &[&str]) -> reader::Report {
    pack(sandbox, sandbox.program("gensquashfs", &[""; 0]), arguments, "peers.sqfs")
}

/// Packs with both and compares the trees except hard links: gensquashfs 1.2 finds none in a directory.
fn compare(sandbox: &Sandbox, arguments: &[&str]) -> reader::Report {
    let ours = ours(sandbox, arguments);
    let peers = peers(sandbox, arguments);
    assert_same(&format!("{arguments:?}"), &peers.tree, &ours.tree, Except { links: true, ..Except::default() });
    assert_eq!(ours.superblock.flags & 0x80, peers.superblock.flags & 0x80, "{arguments:?}: export table");
    assert_eq!(ours.superblock.block_size, peers.superblock.block_size, "{arguments:?}");
    let [ours_listed, peers_listed] = ["ours.sqfs", "peers.sqfs"].map(|image| listing(&sandbox.at(image)));
    let differ: Vec<_> = ours_listed.symmetric_difference(&peers_listed).collect();
    assert!(differ.is_empty(), "{arguments:?}: {differ:#?}");
    ours
}

/// A directory's size depends on how its entries are grouped under headers, which differs between programs.
fn without_directory_size(line: &str) -> String {
    let words = line.split_whitespace().enumerate();
    words.filter(|(at, _)| *at != 2 || !line.starts_with('d')).map(|(_, word)| format!("{word} ")).collect()
}

/// The listing of `unsquashfs`, a third program.
fn listing(image: &Path) -> BTreeSet<String> {
    let output = tools::run(Command::new("unsquashfs").arg("-lln").arg(image)).unwrap();
    String::from_utf8_lossy(&output.stdout).lines().map(without_directory_size).collect()
}

fn ready() -> bool {
    tools::need(&["gensquashfs", "unsquashfs"]) && tools::root()
}

/// A tree of everything that the peer keeps: it leaves out attributes with empty values, and stores times before 1970 as times
/// in the year 2106.
fn tree() -> Vec<Node> {
    let mut nodes = generate::small_tree(11, BLOCK);
    for node in &mut nodes {
        node.mtime = node.mtime.max(0);
        node.xattrs.retain(|(_, value)| !value.is_empty());
    }
    nodes
}

#[test]
fn a_directory_with_every_option() {
    if !ready() {
        return;
    }
    let sandbox = with_source(&tree());
    for arguments in [
        &["-D", "source"][..],
        &["--pack-dir", "source", "--keep-time", "--keep-xattr"],
        &["-D", "source", "-u", "1000", "-g", "7"],
        &["-D", "source", "--all-root", "-o"],
        &["-D", "source", "-d", "uid=3,gid=4,mode=0700,mtime=77"],
        &["-D", "source", "-k", "-b", "16K", "-T", "-e", "-B", "8K", "-j", "3", "-Q", "5"],
        &["-D", "source", "-X", "level=3"],
    ] {
        compare(&sandbox, arguments);
    }
}

#[test]
fn without_hard_links_each_name_is_a_file() {
    if !ready() {
        return;
    }
    let sandbox = with_source(&tree());
    let expected = peers(&sandbox, &["-D", "source", "-x"]).tree;
    assert_same("-H", &expected, &ours(&sandbox, &["-D", "source", "-x", "-H"]).tree, Except::default());
    let linked = ours(&sandbox, &["-D", "source", "-x"]);
    assert!(linked.tree.values().any(|attributes| attributes.links > 1), "without it they are found");
}

/// A mounted file system. Unmounted when dropped.
struct Mount(PathBuf);

impl Mount {
    fn tmpfs(at: PathBuf) -> Mount {
        tools::run(Command::new("mount").args(["-t", "tmpfs", "none"]).arg(&at)).unwrap();
        Mount(at)
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

#[test]
fn mount_points_are_left_out_if_asked() {
    if !ready() || !mount::allowed() {
        return;
    }
    let sandbox = with_source(&[Node::dir("mounted"), Node::dir("own"), Node::file("own/a", "1")]);
    let _mount = Mount::tmpfs(sandbox.at("source/mounted"));
    sandbox.write("source/mounted/b", "2");
    let paths = |report: reader::Report| {
        report.tree.keys().map(|path| String::from_utf8_lossy(path).into_owned()).collect::<Vec<_>>()
    };
    assert_eq!(paths(compare(&sandbox, &["-D", "source"])), ["", "mounted", "mounted/b", "own", "own/a"]);
    assert_eq!(paths(compare(&sandbox, &["-D", "source", "-o"])), ["", "own", "own/a"]);
    for option in ["-xdev", "-mount"] {
        sandbox.write("list", format!("glob / * * * {option} source"));
        assert_eq!(paths(ours(&sandbox, &["-F", "list"])), ["", "own", "own/a"], "{option}");
    }
}

#[test]
fn every_reader_sees_the_tree() {
    if !ready() || !views::available() {
        return;
    }
    let sandbox = with_source(&tree());
    let report = ours(&sandbox, &["-D", "source", "-x", "-k"]);
    views::assert_programs_agree("gensquashfs -x -k", &sandbox.at("ours.sqfs"), &report.tree, sandbox.path());
}

const PACK_FILE: &str = "\
# everything a list can say
dir /dev 0755 1 2
nod /dev/console 0600 0 0 c 5 1
nod /dev/sda 0660 0 6 b 8 300
\tfile /implied/by/name 0644 3 4 one
file \"/with blank\" 04755 3 4 two
file /one 0600 65534 65535
link /implied/link 0 0 0 /implied/by/name
slink /link 0777 5 6 ../somewhere
pipe /pipe 0644 10 11
sock /sock 0666 12 13
dir /implied 0711 9 9
dir / 0750 21 22
";

#[test]
fn a_pack_file() {
    if !ready() {
        return;
    }
    let nodes = [Node::file("one", "first"), Node::file("two", vec![b'x'; 3 * BLOCK])];
    let sandbox = with_source(&nodes);
    sandbox.write("source/list", PACK_FILE);
    let found = compare(&sandbox, &["-F", "source/list", "-d", "uid=40,gid=41,mode=0700,mtime=123456"]);
    assert_eq!(found.tree[&b"implied/by".to_vec()].uid, 40);
    sandbox.write("elsewhere", PACK_FILE);
    compare(&sandbox, &["-F", "elsewhere", "-D", "source"]);
    let forced = ours(&sandbox, &["-F", "elsewhere", "-D", "source", "-u", "77", "--set-gid", "88"]);
    assert!(forced.tree.values().all(|attributes| (attributes.uid, attributes.gid) == (77, 88)));
}

#[test]
fn globs_of_a_pack_file() {
    if !ready() {
        return;
    }
    let nodes: Vec<Node> = tree()
        .into_iter()
        .filter(|node| !matches!(node.kind, packline_testkit::model::NodeKind::HardLink(_)))
        .collect();
    let sandbox = with_source(&nodes);
    for lines in [
        "glob / * * * .",
        "glob / 0640 7 * -keeptime -type d -type f -type s -type c .",
        "glob / * * * -nonrecursive -xdev .",
        "glob / * * * -type d .\nglob / 0600 1 2 -type f -name \"*[0-9a]*\" .",
        "glob / * * * -type d -type l -type p .",
        "glob / * 5 6 -type f .",
    ] {
        sandbox.write("source/.list", lines);
        compare(&sandbox, &["-F", "source/.list"]);
    }
}

#[test]
fn attributes_from_a_file() {
    if !ready() {
        return;
    }
    let sandbox =
        with_source(&[Node::file("a", "1").xattr("user.own", "kept"), Node::dir("d"), Node::file("d/b", "2")]);
    let text = "# file: a\nuser.text=\"q\\\"\\\\\\101\"\nuser.hex=0xCAFE00\nuser.own=0sb3RoZXI=\n\n\
                # file: d/\nsecurity.selinux=\"system_u:object_r:device_t:s0\"\ntrusted.x=\"1\"\n# file: d/b\nuser.k=\"v\"\n";
    sandbox.write("attrs", text);
    let found = compare(&sandbox, &["-D", "source", "-A", "attrs"]);
    assert_eq!(found.tree[&b"a".to_vec()].xattrs[&b"user.text".to_vec()], b"q\"\\A");
    assert_eq!(found.tree[&b"a".to_vec()].xattrs[&b"user.own".to_vec()], b"other");
    compare(&sandbox, &["-D", "source", "--keep-xattr", "--xattr-file", "attrs"]);
    sandbox.write("list", "file /a 0644 0 0\ndir /d 0755 0 0\nfile /d/b 0644 0 0\n");
    let listed = ours(&sandbox, &["-F", "list", "-D", "source", "-A", "attrs"]);
    assert_eq!(listed.tree[&b"d/b".to_vec()].xattrs, found.tree[&b"d/b".to_vec()].xattrs);
}

#[test]
fn what_getfattr_dumps_comes_back() {
    if !tools::need(&["getfattr"]) || !tools::root() {
        return;
    }
    let mut nodes = tree();
    for node in &mut nodes {
        // getfattr leaves out a NUL byte at the end of text.
        node.xattrs.retain(|(_, value)| !value.ends_with(b"\0"));
    }
    let sandbox = with_source(&nodes);
    let mut command = sandbox.program("getfattr", &["--dump", "-m", "-", "-h", "-R", "."]);
    let dumped = Ran::of(command.current_dir(sandbox.at("source")));
    sandbox.write("attrs", dumped.stdout);
    let kept = ours(&sandbox, &["-D", "source", "-x"]).tree;
    let dumped = ours(&sandbox, &["-D", "source", "-A", "attrs"]).tree;
    assert!(kept.values().any(|attributes| !attributes.xattrs.is_empty()));
    assert_same("getfattr --dump", &kept, &dumped, Except::default());
}

#[test]
fn labels_of_a_policy() {
    if !ready() {
        return;
    }
    let nodes = [
        Node::dir("usr"),
        Node::dir("usr/bin"),
        Node::file("usr/bin/su", "s").xattr("security.selinux", "old_u:object_r:old_t:s0"),
        Node::file("usr/bin/ls-1.0", "l"),
        Node::file("usr/libx.so.6", "x"),
        Node::dir("tmp"),
        Node::file("tmp/x", "t"),
        Node::dir("home"),
        Node::dir("home/me"),
    ];
    let sandbox = with_source(&nodes);
    let policy = "/.* system_u:object_r:default_t:s0\n/ -d system_u:object_r:root_t:s0\n\
                  /usr(/.*)? system_u:object_r:usr_t:s0\n/usr/bin/.* -- system_u:object_r:bin_t:s0\n\
                  /usr/bin/su -- system_u:object_r:su_t:s0\n/usr/bin/ls\\-1\\.0 system_u:object_r:ls_t:s0\n\
                  /usr/lib[^/]*\\.so(\\.[0-9]+)* -- system_u:object_r:lib_t:s0\n/tmp/.* <<none>>\n\
                  /home/[^/]+ -d system_u:object_r:home_t:s0\n";
    sandbox.write("policy", policy);
    let found = match Command::new("gensquashfs").arg("--selinux").arg("x").output() {
        Ok(output) if String::from_utf8_lossy(&output.stderr).contains("unrecognized option") => {
            ours(&sandbox, &["-D", "source", "-s", "policy"])
        }
        _ => {
            compare(&sandbox, &["-D", "source", "-x", "-s", "policy"]);
            compare(&sandbox, &["-D", "source", "-s", "policy"])
        }
    };
    for (path, label) in [
        ("", "root"),
        ("usr", "usr"),
        ("usr/bin", "usr"),
        ("usr/bin/su", "su"),
        ("usr/bin/ls-1.0", "ls"),
        ("usr/libx.so.6", "lib"),
        ("tmp/x", "unlabeled"),
        ("tmp", "default"),
        ("home/me", "home"),
    ] {
        let expected = format!("system_u:object_r:{label}_t:s0");
        let xattrs = &found.tree[&path.as_bytes().to_vec()].xattrs;
        assert_eq!(xattrs[&b"security.selinux".to_vec()], expected.as_bytes(), "{path}");
    }
}
