//! Trees of layers, compared with a slow model of extracting the layers in order, and rule by rule.

use std::collections::BTreeMap;

use packline_tree::{Entry, Kind, Left, NO_XATTR, Namespace};
use proptest::prelude::*;

use super::namespace_model::{META, Model, Thing, check, entry, listing, path, split, target};

#[derive(Debug, Clone)]
enum Step {
    Add(String, Thing),
    Hide(String),
    HideBelow(String),
    EndLayer,
}

/// A file system that records for each path the last layer that touched it.
struct Layered {
    model: Model,
    ages: BTreeMap<Vec<String>, u16>,
    now: u16,
}

impl Layered {
    fn new() -> Layered {
        Layered { model: Model::new(), ages: BTreeMap::new(), now: 0 }
    }

    fn touch(&mut self, path: &[String]) {
        self.ages.extend((0..=path.len()).map(|end| (path[..end].to_vec(), self.now)));
    }

    /// Implied directories belong to this layer.
    fn resolve(&mut self, names: &[String], make: bool) -> Result<Vec<String>, ()> {
        let found = self.model.resolve(names, make);
        let made: Vec<_> = self.model.paths.keys().filter(|path| !self.ages.contains_key(*path)).cloned().collect();
        made.iter().for_each(|path| self.touch(path));
        found
    }

    fn remove(&mut self, path: &[String]) {
        self.model.paths.retain(|other, _| !other.starts_with(path));
        self.ages.retain(|other, _| !other.starts_with(path));
    }

    fn add(&mut self, path: &str, thing: Thing) -> Result<(), ()> {
        let mut names = split(path);
        let last = names.pop().unwrap();
        let mut path = self.resolve(&names, true)?;
        path.push(last);
        if (self.model.thing(&path), &thing) == (Some(&Thing::Dir), &Thing::Dir) {
            self.touch(&path);
            return Ok(());
        }
        let inode = match &thing {
            Thing::Pending(target) => match self.model.find(target) {
                Some(inode) if self.model.inodes[inode] == Thing::Dir => return Err(()),
                inode => inode,
            },
            _ => None,
        };
        if inode.is_none() || inode != self.model.paths.get(&path).copied() {
            self.remove(&path);
        }
        match inode {
            Some(inode) => drop(self.model.paths.insert(path.clone(), inode)),
            None => self.model.set(&path, thing),
        }
        self.touch(&path);
        Ok(())
    }

    fn hide(&mut self, path: &str) {
        let mut names = split(path);
        let last = names.pop().unwrap();
        if let Ok(mut path) = self.resolve(&names, false) {
            path.push(last);
            self.purge(&path);
        }
    }

    fn hide_below(&mut self, path: &str) {
        let Ok(top) = self.resolve(&split(path), false) else { return };
        let below = |path: &&Vec<String>| path.len() == top.len() + 1 && path.starts_with(&top);
        let below: Vec<_> = self.model.paths.keys().filter(below).cloned().collect();
        below.iter().for_each(|path| self.purge(path));
    }

    /// Removes the entries below a path that no entry of this layer touched, as umoci does.
    fn purge(&mut self, path: &[String]) {
        let old = |other: &Vec<String>| other.starts_with(path) && self.ages[other] < self.now;
        let old: Vec<_> = self.model.paths.keys().filter(|other| old(other)).cloned().collect();
        old.iter().for_each(|path| self.remove(path));
    }
}

fn step() -> impl Strategy<Value = Step> {
    let thing = prop_oneof![
        3 => Just(Thing::File(0)),
        4 => Just(Thing::Dir),
        1 => target().prop_map(Thing::Symlink),
        2 => path().prop_map(Thing::Pending),
    ];
    prop_oneof![
        8 => (path(), thing).prop_map(|(path, thing)| Step::Add(path, thing)),
        3 => path().prop_map(Step::Hide),
        2 => path().prop_map(Step::HideBelow),
        2 => Just(Step::EndLayer),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, ..ProptestConfig::default() })]

    #[test]
    fn equal_the_model(history in prop::collection::vec(step(), 0..40)) {
        let mut names = Namespace::new(META).layered();
        let mut model = Layered::new();
        for (place, step) in history.into_iter().enumerate() {
            match step {
                // Links to missing targets are errors only at the end of the layer.
                Step::Add(_, Thing::Pending(target)) if model.model.find(&target).is_none() => {}
                Step::Add(path, thing) => {
                    let thing = if matches!(thing, Thing::File(_)) { Thing::File(place as u32) } else { thing };
                    let ours = names.add(&entry(&path, &thing), place as u32, NO_XATTR);
                    let theirs = model.add(&path, thing);
                    prop_assert_eq!(ours.is_ok(), theirs.is_ok(), "{} {:?}", path, ours);
                }
                Step::Hide(path) => {
                    let _ = names.hide(&path.clone().into_bytes());
                    model.hide(&path);
                }
                Step::HideBelow(path) => {
                    let _ = names.hide_below(path.as_bytes(), false);
                    model.hide_below(&path);
                }
                Step::EndLayer => {
                    names.end_layer().unwrap();
                    model.now += 1;
                }
            }
        }
        let tree = names.finish().unwrap();
        prop_assert_eq!(listing(&tree), model.model.listing());
        check(&tree);
    }
}

fn names_of(names: Namespace) -> Vec<String> {
    listing(&names.finish().unwrap()).into_iter().map(|(path, ..)| path).collect()
}

fn file(path: &str) -> Entry {
    entry(path, &Thing::File(0))
}

fn dir(path: &str) -> Entry {
    entry(path, &Thing::Dir)
}

/// Adds layers of entries. The last layer is not ended.
fn layers(layers: &[&[Entry]]) -> Namespace {
    let mut names = Namespace::new(META).layered();
    for (place, entries) in layers.iter().enumerate() {
        if place > 0 {
            names.end_layer().unwrap();
        }
        entries.iter().for_each(|entry| names.add(entry, 0, NO_XATTR).unwrap());
    }
    names
}

#[test]
fn hide_returns_what_remains() {
    let mut names = layers(&[&[file("a"), file("d/old"), file("e/old"), file("f")], &[file("d/new"), file("f")]]);
    assert_eq!(names.hide(b"a"), Ok(Left::Nothing));
    assert_eq!(names.hide(b"a"), Ok(Left::Nothing));
    assert_eq!(names.hide(b"none/x"), Ok(Left::Nothing));
    assert_eq!(names.hide(b"d"), Ok(Left::Entry));
    assert_eq!(names.hide(b"e"), Ok(Left::Nothing));
    assert_eq!(names.hide(b"f"), Ok(Left::Entry));
    assert_eq!(names.hide(b"f/x"), Ok(Left::NoDirectory));
    assert_eq!(names_of(names), ["", "d", "d/new", "f"]);
}

#[test]
fn a_hidden_name_can_be_added_again() {
    let mut names = layers(&[&[file("d/x"), file("d/y")], &[]]);
    names.hide(b"d").unwrap();
    names.add(&file("d/z"), 0, NO_XATTR).unwrap();
    names.end_layer().unwrap();
    names.add(&file("d/x"), 0, NO_XATTR).unwrap();
    assert_eq!(names_of(names), ["", "d", "d/x", "d/z"]);
}

#[test]
fn a_directory_with_entries_of_any_layer_is_replaced() {
    let names = layers(&[&[file("d/x/y"), file("d/z"), file("d"), dir("d")], &[file("e/x"), file("e"), dir("e")]]);
    assert_eq!(names_of(names), ["", "d", "e"]);
}

#[test]
fn hard_links_keep_the_inode_of_a_name_that_is_hidden_or_replaced() {
    let link = |path: &str, target: &str| entry(path, &Thing::Pending(target.into()));
    let mut names = layers(&[&[file("a"), file("b")], &[link("c", "a"), link("d", "b")], &[file("b")]]);
    names.hide(b"a").unwrap();
    let tree = names.finish().unwrap();
    let links: Vec<_> = listing(&tree).into_iter().map(|(path, _, same)| (path, same.len())).collect();
    assert_eq!(links[1..], [("b".into(), 1), ("c".into(), 1), ("d".into(), 1)]);
    assert_eq!(tree.inode_count(), 4);
}

#[test]
fn a_link_without_a_target_is_an_error_of_its_layer() {
    let mut names = layers(&[&[file("a")], &[entry("b", &Thing::Pending("c".into()))]]);
    assert!(names.end_layer().unwrap_err().to_string().starts_with("b: hard link to c, which is missing"));
    let mut names = layers(&[&[file("a")], &[]]);
    names.hide(b"a").unwrap();
    names.add(&entry("b", &Thing::Pending("a".into())), 0, NO_XATTR).unwrap();
    assert!(names.end_layer().is_err());
}

#[test]
fn knows_directories_that_hide_entries_below_all_layers() {
    let mut names = layers(&[&[dir("kept"), file("x"), dir("cut/in")], &[dir("x"), dir("kept")]]);
    names.hide_below(b"cut", false).unwrap();
    names.hide_below(b"made", true).unwrap();
    names.hide_below(b"none", false).unwrap();
    let tree = names.finish().unwrap();
    let opaque = tree.nodes().filter(|node| tree.is_opaque(*node)).map(|node| tree.path(node));
    let mut opaque: Vec<_> = opaque.map(|path| String::from_utf8(path).unwrap()).collect();
    opaque.sort();
    assert_eq!(opaque, ["cut", "made", "x"]);
}

/// Each of a million names is hidden, under a directory that hides all of it, in a hundred layers.
#[test]
fn hiding_takes_constant_time() {
    let mut names = Namespace::new(META).layered();
    for layer in 0..100 {
        for n in 0..10_000 {
            let kind = Kind::File { size: 0 };
            let entry = Entry { path: format!("top/{layer}/{n}").into(), kind, meta: META, xattrs: Vec::new() };
            names.add(&entry, 0, NO_XATTR).unwrap();
        }
        names.end_layer().unwrap();
        names.hide_below(b"top", false).unwrap();
    }
    let largest = names.memory();
    assert!(largest < 110 << 20, "{largest}");
    assert_eq!(names.finish().unwrap().node_count(), 2);
}
