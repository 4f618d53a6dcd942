//! Repeated paths, case by case: the table of the namespace module.

use packline_tree::{Content, Device, Entry, Fault, Kind, Meta, NO_XATTR, Namespace, NamespaceError, NodeId, Tree};

const DEFAULTS: Meta = Meta::new(0o755, 7, 8, 9);

fn meta(mode: u16) -> Meta {
    Meta::new(mode, 1, 2, -3)
}

fn entry(path: &str, kind: Kind) -> Entry {
    Entry { path: path.into(), kind, meta: meta(0o644), xattrs: Vec::new() }
}

fn file(path: &str) -> Entry {
    entry(path, Kind::File { size: 1 })
}

fn dir(path: &str) -> Entry {
    entry(path, Kind::Dir)
}

fn symlink(path: &str, target: &str) -> Entry {
    entry(path, Kind::Symlink(target.into()))
}

fn link(path: &str, target: &str) -> Entry {
    entry(path, Kind::HardLink(target.into()))
}

/// Adds all entries. The payload of a file is its index in the list.
fn add(entries: &[Entry]) -> Result<Namespace, NamespaceError> {
    let mut names = Namespace::new(DEFAULTS);
    for (place, entry) in entries.iter().enumerate() {
        names.add(entry, place as u32, NO_XATTR)?;
    }
    Ok(names)
}

fn tree(entries: &[Entry]) -> Tree {
    add(entries).unwrap().finish().unwrap()
}

fn fault(entries: &[Entry]) -> (String, Fault) {
    let error = add(entries).and_then(Namespace::finish).err().expect("an error");
    (String::from_utf8(error.entry).unwrap(), error.fault)
}

/// One line for each name: the path, the type, the number of names.
fn listing(tree: &Tree) -> Vec<String> {
    let mut lines = Vec::new();
    list(tree, tree.root(), &mut lines);
    lines
}

fn list(tree: &Tree, node: NodeId, lines: &mut Vec<String>) {
    for &child in tree.children(node) {
        let inode = tree.inode(child);
        let what = match tree.content(inode) {
            Content::File(payload) => format!("file {payload}"),
            Content::Symlink(target) => format!("-> {}", String::from_utf8_lossy(target)),
            other => format!("{other:?}"),
        };
        lines.push(format!("{} {what} x{}", String::from_utf8_lossy(&tree.path(child)), tree.links(inode)));
        list(tree, child, lines);
    }
}

#[test]
fn an_empty_tree_is_a_root_with_the_defaults() {
    let tree = tree(&[]);
    assert_eq!((tree.node_count(), tree.inode_count()), (1, 1));
    assert_eq!(tree.meta(tree.inode(tree.root())), DEFAULTS);
    assert_eq!((tree.name(tree.root()), tree.path(tree.root())), (&b""[..], vec![]));
    assert_eq!((tree.parent(tree.root()), tree.links(tree.inode(tree.root()))), (tree.root(), 1));
}

#[test]
fn parents_get_the_defaults_until_named() {
    let tree = tree(&[file("a/b/c"), Entry { meta: meta(0o700), ..dir("a") }, Entry { meta: meta(0o711), ..dir("") }]);
    let a = tree.children(tree.root())[0];
    let b = tree.children(a)[0];
    assert_eq!(tree.meta(tree.inode(a)), meta(0o700));
    assert_eq!(tree.meta(tree.inode(b)), DEFAULTS);
    assert_eq!(tree.meta(tree.inode(tree.root())), meta(0o711));
    assert_eq!(listing(&tree), ["a Dir x1", "a/b Dir x1", "a/b/c file 0 x1"]);
}

#[test]
fn attributes_and_payloads_come_back() {
    let device = Device { major: 4_000_000_000, minor: 3 };
    let mut names = Namespace::new(DEFAULTS);
    let odd = Meta::new(0o7777, u32::MAX, 0x8000_0001, i64::MIN + 5);
    names.add(&Entry { meta: odd, ..entry("c", Kind::CharDevice(device)) }, 11, 12).unwrap();
    names.add(&entry("b", Kind::BlockDevice(device)), 0, NO_XATTR).unwrap();
    names.add(&entry("p", Kind::Fifo), 0, 0).unwrap();
    names.add(&entry("s", Kind::Socket), 0, NO_XATTR).unwrap();
    let tree = names.finish().unwrap();
    let inodes: Vec<_> = tree.children(tree.root()).iter().map(|&node| tree.inode(node)).collect();
    let contents: Vec<_> = inodes.iter().map(|&inode| tree.content(inode)).collect();
    assert_eq!(contents, [Content::BlockDevice(device), Content::CharDevice(device), Content::Fifo, Content::Socket]);
    assert_eq!((tree.meta(inodes[1]), tree.xattr(inodes[1])), (odd, 12));
    assert_eq!((tree.xattr(inodes[0]), tree.xattr(inodes[2])), (NO_XATTR, 0));
}

#[test]
fn keeps_the_last_of_two_entries() {
    assert_eq!(listing(&tree(&[file("a"), file("a")])), ["a file 1 x1"]);
    assert_eq!(listing(&tree(&[file("a"), symlink("a", "q")])), ["a -> q x1"]);
    assert_eq!(listing(&tree(&[symlink("a", "u"), file("a"), file("u")])), ["a file 1 x1", "u file 2 x1"]);
    assert_eq!(tree(&[file("a"), file("a"), file("a")]).inode_count(), 2);
}

#[test]
fn directories_merge() {
    let again = Entry { meta: meta(0o711), ..dir("a") };
    let tree = tree(&[dir("a"), file("a/x"), again, file("a/y")]);
    assert_eq!(listing(&tree), ["a Dir x1", "a/x file 1 x1", "a/y file 3 x1"]);
    assert_eq!(tree.meta(tree.inode(tree.children(tree.root())[0])).mode, 0o711);
}

#[test]
fn replaces_only_empty_directories() {
    assert_eq!(listing(&tree(&[dir("a"), file("a")])), ["a file 1 x1"]);
    assert_eq!(listing(&tree(&[dir("a"), symlink("a", "q")])), ["a -> q x1"]);
    for last in [file("a"), symlink("a", "q"), link("a", "z"), entry("a", Kind::Fifo)] {
        let found = fault(&[file("z"), dir("a"), file("a/b"), file("a/c"), last]);
        assert_eq!(found, ("a".into(), Fault::DirectoryNotEmpty));
    }
}

#[test]
fn a_directory_replaces_anything_else() {
    assert_eq!(listing(&tree(&[file("a"), dir("a"), file("a/b")])), ["a Dir x1", "a/b file 2 x1"]);
    let list = listing(&tree(&[dir("u"), symlink("a", "u"), dir("a"), file("a/x")]));
    assert_eq!(list, ["a Dir x1", "a/x file 3 x1", "u Dir x1"]);
    let list = listing(&tree(&[dir("u"), symlink("a", "u"), file("a/x"), dir("a"), file("a/x")]));
    assert_eq!(list, ["a Dir x1", "a/x file 4 x1", "u Dir x1", "u/x file 2 x1"]);
}

#[test]
fn parents_may_be_symbolic_links() {
    let list = listing(&tree(&[dir("usr/lib"), symlink("lib", "usr/lib"), file("lib/x"), file("lib/d/y")]));
    assert_eq!(
        list,
        [
            "lib -> usr/lib x1",
            "usr Dir x1",
            "usr/lib Dir x1",
            "usr/lib/d Dir x1",
            "usr/lib/d/y file 3 x1",
            "usr/lib/x file 2 x1"
        ]
    );
    let list = listing(&tree(&[dir("u"), dir("v/w"), symlink("v/w/a", "/u"), file("v/w/a/x")]));
    assert_eq!(list, ["u Dir x1", "u/x file 3 x1", "v Dir x1", "v/w Dir x1", "v/w/a -> /u x1"]);
    let list = listing(&tree(&[dir("u"), symlink("a", "../../../.././u//"), file("a/x")]));
    assert_eq!(list, ["a -> ../../../.././u// x1", "u Dir x1", "u/x file 2 x1"]);
    let list = listing(&tree(&[dir("u"), symlink("b", "u"), symlink("a", "b"), file("a/x"), dir("a/e/f")]));
    assert_eq!(list[2..], ["u Dir x1", "u/e Dir x1", "u/e/f Dir x1", "u/x file 3 x1"]);
}

#[test]
fn rejects_parents_that_lead_nowhere() {
    let (at, found) = fault(&[symlink("a", "u/v"), dir("u"), file("a/x")]);
    assert_eq!((at.as_str(), found), ("a/x", Fault::ParentMissing(b"u/v".to_vec())));
    let (at, found) = fault(&[file("a"), file("a/x")]);
    assert_eq!((at.as_str(), found), ("a/x", Fault::ParentNotDirectory(b"a".to_vec())));
    let (at, found) = fault(&[symlink("a", "b"), symlink("b", "/a"), file("a/x/y")]);
    assert_eq!((at.as_str(), found), ("a/x/y", Fault::TooManySymlinks));
}

#[test]
fn forty_symbolic_links_are_followed_and_no_more() {
    let chain = |links: usize| {
        let mut entries = vec![dir("l0")];
        entries.extend((1..=links).map(|n| symlink(&format!("l{n}"), &format!("l{}", n - 1))));
        entries.push(file(&format!("l{links}/x")));
        entries
    };
    assert!(listing(&tree(&chain(40))).contains(&"l0/x file 41 x1".to_string()));
    assert_eq!(fault(&chain(41)).1, Fault::TooManySymlinks);
}

#[test]
fn a_symbolic_link_that_changes_leads_elsewhere() {
    let entries = [dir("u"), dir("v"), symlink("a", "u"), file("a/x"), symlink("a", "v"), file("a/x")];
    assert_eq!(listing(&tree(&entries)), ["a -> v x1", "u Dir x1", "u/x file 3 x1", "v Dir x1", "v/x file 5 x1"]);
}

#[test]
fn hard_links_bind_to_existing_inodes() {
    assert_eq!(listing(&tree(&[file("a"), link("b", "a"), file("a")])), ["a file 2 x1", "b file 0 x1"]);
    assert_eq!(listing(&tree(&[file("a"), link("a", "a")])), ["a file 0 x1"]);
    assert_eq!(listing(&tree(&[symlink("a", "u"), link("b", "a")])), ["a -> u x2", "b -> u x2"]);
    let list = listing(&tree(&[dir("u"), file("u/f"), symlink("a", "u"), link("b", "a/f")]));
    assert_eq!(list, ["a -> u x1", "b file 1 x2", "u Dir x1", "u/f file 1 x2"]);
    assert_eq!(listing(&tree(&[file("a"), dir("b"), link("b", "a")])), ["a file 0 x2", "b file 0 x2"]);
}

#[test]
fn hard_links_may_come_first() {
    let list = listing(&tree(&[link("c", "b"), link("b", "a"), link("d", "c"), file("a"), file("a")]));
    assert_eq!(list, ["a file 4 x4", "b file 4 x4", "c file 4 x4", "d file 4 x4"]);
    assert_eq!(listing(&tree(&[link("b", "a"), file("b")])), ["b file 1 x1"]);
    assert_eq!(listing(&tree(&[link("b", "s/a"), dir("t"), symlink("s", "t"), file("t/a")]))[0], "b file 3 x2");
}

#[test]
fn a_pending_hard_link_is_not_a_parent() {
    // `a` will be the symbolic link `s` to the directory `d`, but no path resolves through `a` before the end.
    let entries = [link("a", "s"), link("b", "a/x"), dir("d"), file("d/x"), symlink("s", "d")];
    assert_eq!(fault(&entries), ("b".into(), Fault::LinkToNothing(b"a/x".to_vec())));
    let (at, found) = fault(&[link("a", "s"), file("a/x")]);
    assert_eq!((at.as_str(), found), ("a/x", Fault::ParentNotDirectory(b"a".to_vec())));
}

#[test]
fn rejects_hard_links_that_lead_nowhere() {
    assert_eq!(fault(&[link("b", "x/a")]), ("b".into(), Fault::LinkToNothing(b"x/a".to_vec())));
    assert_eq!(fault(&[link("c", "b"), link("b", "a")]), ("b".into(), Fault::LinkToNothing(b"a".to_vec())));
    assert_eq!(fault(&[link("a", "a")]), ("a".into(), Fault::LinkLoop(b"a".to_vec())));
    assert!(matches!(fault(&[link("a", "b"), link("b", "c"), link("c", "b")]).1, Fault::LinkLoop(_)));
    assert_eq!(fault(&[dir("d"), link("a", "d")]), ("a".into(), Fault::LinkToDirectory(b"d".to_vec())));
    assert_eq!(fault(&[link("a", "d"), dir("d")]), ("a".into(), Fault::LinkToDirectory(b"d".to_vec())));
    assert_eq!(fault(&[link("a", "")]), ("a".into(), Fault::LinkToDirectory(vec![])));
}

#[test]
fn names_and_paths_have_limits() {
    assert_eq!(fault(&[file(&"n".repeat(256))]).1, Fault::NameTooLong(256));
    assert_eq!(listing(&tree(&[file(&"n".repeat(255))])).len(), 1);
    assert_eq!(fault(&[file(&"a/".repeat(32_768))]).1, Fault::PathTooLong(65_536));
    assert_eq!(fault(&[link("a", &"a/".repeat(32_768))]).1, Fault::PathTooLong(65_536));
    assert_eq!(fault(&[symlink("a", &"t".repeat(4096))]).1, Fault::TargetTooLong(4096));
    assert_eq!(fault(&[symlink("a", "")]).1, Fault::EmptyTarget);
    for (path, part) in [("a//b", ""), ("/a", ""), ("a/", ""), ("a/./b", "."), ("..", ".."), ("a\0b", "a\0b")] {
        assert_eq!(fault(&[file(path)]).1, Fault::BadName(part.into()), "{path:?}");
    }
    assert_eq!(fault(&[file("")]), (String::new(), Fault::RootNotDirectory));
}

#[test]
fn errors_have_clear_messages() {
    let error = add(&[dir("a"), file("a/b"), file("a")]).err().unwrap();
    assert_eq!(
        error.to_string(),
        "a: replaces a directory that is not empty (expected an empty directory, or no entry)"
    );
    let error = error.in_input("x.tar").to_string();
    assert_eq!(error, "x.tar: a: replaces a directory that is not empty (expected an empty directory, or no entry)");
    let error = add(&[file("")]).err().unwrap().to_string();
    assert_eq!(error, "the root: not a directory (expected a directory)");
}

#[test]
fn the_deepest_path_needs_no_recursion() {
    let deep = vec![b"a".as_slice(); 32_768].join(&b'/');
    let tree = tree(&[Entry { path: deep.clone(), ..file("") }]);
    assert_eq!(tree.node_count(), 32_769);
    assert_eq!(tree.path(NodeId(32_768)), deep);
}
