//! Compares the namespace with a slow model, and checks its memory with many names.

use std::collections::BTreeMap;

use packline_tree::{Content, Entry, Fault, Kind, Meta, NO_XATTR, Namespace, NamespaceError, NodeId, Tree};
use proptest::prelude::*;

pub(super) const META: Meta = Meta::new(0o755, 0, 0, 0);

/// Paths as lists of names, mapped to indexes into `inodes`.
pub(super) struct Model {
    pub(super) paths: BTreeMap<Vec<String>, usize>,
    pub(super) inodes: Vec<Thing>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Thing {
    File(u32),
    Dir,
    Symlink(String),
    Pending(String),
}

type Refused = ();

impl Model {
    pub(super) fn new() -> Self {
        Self { paths: BTreeMap::from([(vec![], 0)]), inodes: vec![Thing::Dir] }
    }

    pub(super) fn thing(&self, path: &[String]) -> Option<&Thing> {
        self.paths.get(path).map(|&inode| &self.inodes[inode])
    }

    /// The real directory of a path; the last `own` names may be created.
    pub(super) fn resolve(&mut self, names: &[String], make: bool) -> Result<Vec<String>, Refused> {
        let mut at: Vec<String> = Vec::new();
        let mut rest: Vec<(String, bool)> = names.iter().map(|name| (name.clone(), make)).collect();
        let mut hops = 0;
        while !rest.is_empty() {
            let (name, may_make) = rest.remove(0);
            match name.as_str() {
                "" | "." => continue,
                ".." => {
                    at.pop();
                    continue;
                }
                _ => at.push(name),
            }
            match self.thing(&at).cloned() {
                Some(Thing::Dir) => {}
                Some(Thing::Symlink(target)) => {
                    hops += 1;
                    if hops > 40 {
                        return Err(());
                    }
                    at.pop();
                    if target.starts_with('/') {
                        at.clear();
                    }
                    rest.splice(0..0, target.split('/').map(|name| (name.to_string(), false)));
                }
                Some(_) => return Err(()),
                None if may_make => self.set(&at, Thing::Dir),
                None => return Err(()),
            }
        }
        Ok(at)
    }

    pub(super) fn set(&mut self, path: &[String], thing: Thing) {
        self.inodes.push(thing);
        self.paths.insert(path.to_vec(), self.inodes.len() - 1);
    }

    fn add(&mut self, path: &str, thing: Thing) -> Result<(), Refused> {
        let mut names = split(path);
        let last = names.pop().unwrap();
        let mut path = self.resolve(&names, true)?;
        path.push(last);
        let children = self.paths.keys().any(|other| other.len() > path.len() && other.starts_with(&path));
        match (self.thing(&path), &thing) {
            (Some(Thing::Dir), Thing::Dir) => return Ok(()),
            (Some(Thing::Dir), _) if children => return Err(()),
            _ => {}
        }
        if let Thing::Pending(target) = &thing
            && let Some(inode) = self.find(target)
        {
            match self.inodes[inode] {
                Thing::Dir => return Err(()),
                Thing::Pending(_) => {}
                _ => {
                    self.paths.insert(path, inode);
                    return Ok(());
                }
            }
        }
        self.set(&path, thing);
        Ok(())
    }

    pub(super) fn find(&mut self, target: &str) -> Option<usize> {
        let mut names = split(target);
        let last = names.pop()?;
        let mut path = self.resolve(&names, false).ok()?;
        path.push(last);
        self.paths.get(&path).copied()
    }

    fn finish(&mut self) -> Result<(), Refused> {
        let mut bound = self.paths.clone();
        for path in self.paths.keys().cloned().collect::<Vec<_>>() {
            let mut inode = self.paths[&path];
            for _ in 0..=self.paths.len() {
                let Thing::Pending(target) = self.inodes[inode].clone() else { break };
                inode = self.find(&target).ok_or(())?;
            }
            if matches!(self.inodes[inode], Thing::Pending(_)) {
                return Err(());
            }
            if self.inodes[inode] == Thing::Dir && inode != self.paths[&path] {
                return Err(());
            }
            bound.insert(path, inode);
        }
        self.paths = bound;
        Ok(())
    }

    /// Each path with its type and the other paths of the same inode.
    pub(super) fn listing(&self) -> Vec<(String, Thing, Vec<String>)> {
        let same =
            |inode: usize| self.paths.iter().filter(move |(_, other)| **other == inode).map(|(path, _)| path.join("/"));
        self.paths
            .iter()
            .map(|(path, &inode)| (path.join("/"), self.inodes[inode].clone(), same(inode).collect()))
            .collect()
    }
}

pub(super) fn split(path: &str) -> Vec<String> {
    path.split('/').map(str::to_string).collect()
}

pub(super) fn listing(tree: &Tree) -> Vec<(String, Thing, Vec<String>)> {
    let path = |node: NodeId| String::from_utf8(tree.path(node)).unwrap();
    let paths = |inode| {
        let mut same: Vec<_> = tree.nodes().filter(|&node| tree.inode(node) == inode).map(path).collect();
        same.sort_by_key(|path| split(path));
        assert_eq!(same.len(), tree.links(inode) as usize);
        same
    };
    let thing = |node: NodeId| match tree.content(tree.inode(node)) {
        Content::File(payload) => Thing::File(payload),
        Content::Dir => Thing::Dir,
        Content::Symlink(target) => Thing::Symlink(String::from_utf8(target.to_vec()).unwrap()),
        other => panic!("{other:?}"),
    };
    let mut all: Vec<_> = tree.nodes().map(|node| (path(node), thing(node), paths(tree.inode(node)))).collect();
    all.sort_by_key(|(path, ..)| if path.is_empty() { vec![] } else { split(path) });
    all
}

fn name() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["a", "b", "c"]).prop_map(str::to_string)
}

pub(super) fn path() -> impl Strategy<Value = String> {
    prop::collection::vec(name(), 1..4).prop_map(|names| names.join("/"))
}

pub(super) fn target() -> impl Strategy<Value = String> {
    let part = prop::sample::select(vec!["a", "b", "c", "..", ".", ""]);
    prop::collection::vec(part, 1..4)
        .prop_map(|parts| parts.join("/"))
        .prop_filter("empty", |target| !target.is_empty())
}

fn thing() -> impl Strategy<Value = Thing> {
    prop_oneof![
        3 => Just(Thing::File(0)),
        2 => Just(Thing::Dir),
        2 => target().prop_map(Thing::Symlink),
        3 => path().prop_map(Thing::Pending),
    ]
}

pub(super) fn entry(path: &str, thing: &Thing) -> Entry {
    let kind = match thing {
        Thing::File(_) => Kind::File { size: 0 },
        Thing::Dir => Kind::Dir,
        Thing::Symlink(target) => Kind::Symlink(target.clone().into()),
        Thing::Pending(target) => Kind::HardLink(target.clone().into()),
    };
    Entry { path: path.into(), kind, meta: META, xattrs: Vec::new() }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, ..ProptestConfig::default() })]

    /// Rejected entries are left out of both, so that long sequences are tested.
    #[test]
    fn equals_the_model(
        mut history in prop::collection::vec((path(), thing()), 0..24),
        sorted in 0_usize..24,
    ) {
        // Names that come in order are added without a look-up.
        let sorted = sorted.min(history.len());
        history[..sorted].sort_by_key(|(path, _)| split(path));
        let mut names = Namespace::new(META);
        let mut model = Model::new();
        for (place, (path, thing)) in history.into_iter().enumerate() {
            let thing = if matches!(thing, Thing::File(_)) { Thing::File(place as u32) } else { thing };
            let entry = entry(&path, &thing);
            let ours = names.add(&entry, place as u32, NO_XATTR);
            let theirs = model.add(&path, thing);
            prop_assert_eq!(ours.is_ok(), theirs.is_ok(), "{:?} {:?}", entry, ours);
        }
        match (names.finish(), model.finish()) {
            (Ok(tree), Ok(())) => {
                prop_assert_eq!(listing(&tree), model.listing());
                check(&tree);
            }
            (Err(_), Err(())) => {}
            (ours, theirs) => prop_assert!(false, "{:?} {:?}", ours.err(), theirs),
        }
    }

    #[test]
    fn any_path_is_taken_or_refused(paths in prop::collection::vec("[ab./\0]{0,6}", 0..8)) {
        let mut names = Namespace::new(META);
        for path in paths {
            let refused = names.add(&entry(&path, &Thing::Dir), 0, NO_XATTR);
            let canonical = path.is_empty() || path.split('/').all(|name| !["", ".", ".."].contains(&name)) && !path.contains('\0');
            prop_assert_eq!(refused.is_ok(), canonical, "{:?}", path);
        }
        check(&names.finish().unwrap());
    }
}

/// Checks that names are sorted and connected, and refer to existing inodes.
pub(super) fn check(tree: &Tree) {
    let mut seen = 1;
    for node in tree.nodes() {
        let children = tree.children(node);
        assert!(children.windows(2).all(|pair| tree.name(pair[0]) < tree.name(pair[1])));
        assert!(children.iter().all(|&child| tree.parent(child) == node));
        assert!(tree.inode(node).index() < tree.inode_count());
        seen += children.len();
    }
    assert_eq!(seen, tree.node_count());
}

fn file(path: String) -> Entry {
    entry(&path, &Thing::File(0))
}

/// A fixed permutation of 0..count, for unsorted names.
fn shuffled(count: u64) -> impl Iterator<Item = u64> {
    (0..count).map(move |n| n * 7_654_321 % count)
}

#[test]
fn a_million_names_fit_in_150_megabytes() {
    let mut names = Namespace::new(META);
    for n in shuffled(1_000_000) {
        names.add(&file(format!("directory-{:03}/file-number-{n:07}", n % 1000)), n as u32, NO_XATTR).unwrap();
    }
    assert!(names.memory() < 125_000_000, "{} bytes", names.memory());
    let tree = names.finish().unwrap();
    assert!(tree.memory() < 100_000_000, "{} bytes", tree.memory());
    assert_eq!(tree.node_count(), 1_001_001);
}

#[test]
fn one_flat_directory_comes_out_sorted() {
    let mut names = Namespace::new(META);
    shuffled(200_000).for_each(|n| names.add(&file(format!("{n:06}")), n as u32, NO_XATTR).unwrap());
    let tree = names.finish().unwrap();
    for (place, &child) in tree.children(tree.root()).iter().enumerate() {
        assert_eq!(tree.content(tree.inode(child)), Content::File(place as u32));
    }
}

#[test]
fn many_links_before_their_target_share_one_inode() {
    let mut names = Namespace::new(META);
    for n in (1..=100_000).rev() {
        names.add(&entry(&format!("{n}"), &Thing::Pending(format!("{}", n - 1))), 0, NO_XATTR).unwrap();
    }
    names.add(&file("0".into()), 5, NO_XATTR).unwrap();
    let tree = names.finish().unwrap();
    assert_eq!((tree.node_count(), tree.inode_count()), (100_002, 2));
    assert_eq!(tree.links(tree.inode(NodeId(1))), 100_001);
    assert_eq!(tree.content(tree.inode(NodeId(1))), Content::File(5));
}

#[test]
fn a_long_loop_of_links_is_found() {
    let mut names = Namespace::new(META);
    for n in 0..100_000 {
        names.add(&entry(&format!("{n}"), &Thing::Pending(format!("{}", (n + 1) % 100_000))), 0, NO_XATTR).unwrap();
    }
    let NamespaceError { fault, .. } = names.finish().err().unwrap();
    assert!(matches!(fault, Fault::LinkLoop(_)), "{fault:?}");
}
