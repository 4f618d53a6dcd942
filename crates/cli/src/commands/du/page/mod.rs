//! A page with a map of an image, in which each entry has an area as large as its stored bytes. The page is one file and needs no network.
//!
//! `page.html` has the layout, the style and the program. The data is JSON in a script element that is not run; names are text, never markup.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use packline_image::{UsageEntry, Use};
use packline_volume::NodeType;
use serde_json::{Value, json};

use super::rows::below;
use super::source::Measured;
use crate::ui::escape::{Escape, escaped};
use crate::ui::size::count;

const TEMPLATE: &str = include_str!("page.html");

/// Maximum number of entries in the page, about 2 MB. The smallest ones are added up for each directory.
const ENTRIES: usize = 20_000;

/// A number of the page's list of nodes.
type PageNode = usize;

/// The nodes of the page: a parent precedes its children.
#[derive(Debug, Default)]
struct Nodes(Vec<Value>);

impl Nodes {
    fn add(&mut self, parent: PageNode, name: &str, kind: &str, (bytes, area): (&Use, u64)) -> PageNode {
        self.0.push(json!([parent, name, kind, area, bytes.size, bytes.saved, bytes.shared, bytes.files]));
        self.0.len() - 1
    }
}

/// Returns the page for the entries at `roots` and below them.
pub fn page(measured: &Measured, roots: &[usize]) -> String {
    let title = measured.path.escaped();
    let data = json!({ "image": title, "stored": measured.has_stored, "nodes": nodes(measured, roots) });
    // Nothing in the data ends the script element or begins a comment.
    let data = data.to_string().replace('<', "\\u003c");
    let title = markup(&title);
    let mut page = String::new();
    for (index, part) in TEMPLATE.split("{{").enumerate() {
        let (name, rest) = if index == 0 { ("", part) } else { part.split_once("}}").unwrap_or(("", part)) };
        page.push_str(match name {
            "TITLE" => &title,
            "DATA" => &data,
            _ => "",
        });
        page.push_str(rest);
    }
    page
}

/// Returns text for a page.
fn markup(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn area(measured: &Measured, bytes: &Use) -> u64 {
    if measured.has_stored { bytes.stored() } else { bytes.size }
}

fn nodes(measured: &Measured, roots: &[usize]) -> Value {
    let usage = &measured.usage;
    let entries = || roots.iter().filter_map(|root| usage.entry(*root));
    let is_all = roots == [0];
    let mut all = entries().fold(Use::default(), |sum, entry| sum.plus(&entry.bytes));
    let structures = if is_all { usage.metadata() } else { &[] };
    let outside = structures.iter().fold(Use::default(), |sum, part| sum.plus(&Use::of_structure(part.bytes)));
    let mut nodes = Nodes::default();
    let files = all;
    all = all.plus(&outside);
    let top = nodes.add(0, &measured.path.escaped(), "directory", (&all, area(measured, &files) + outside.own));
    let mut pages: BTreeMap<usize, PageNode> = BTreeMap::new();
    if is_all {
        pages.insert(0, top);
    }
    let kept = kept(measured, roots);
    let mut left: BTreeMap<PageNode, (u64, Use)> = BTreeMap::new();
    for root in entries() {
        for entry in (root.number..root.end).filter_map(|number| usage.entry(number)) {
            if is_all && entry.number == 0 {
                continue;
            }
            let is_root = entry.number == root.number;
            let parent = if is_root { Some(top) } else { pages.get(&entry.parent).copied() };
            let Some(parent) = parent else { continue };
            if kept.binary_search(&entry.number).is_ok() {
                let name = if is_root { usage.path(entry.number) } else { entry.name.to_vec() };
                let node =
                    nodes.add(parent, &escaped(&name), kind(&entry), (&entry.bytes, area(measured, &entry.bytes)));
                if entry.end > entry.number + 1 {
                    pages.insert(entry.number, node);
                }
            } else {
                let (number, sum) = left.entry(parent).or_default();
                *number += 1;
                *sum = sum.plus(&entry.bytes);
            }
        }
    }
    for (parent, (number, bytes)) in left {
        let name = format!("({})", count(number, "smaller entry"));
        nodes.add(parent, &name, "rest", (&bytes, area(measured, &bytes)));
    }
    if !structures.is_empty() {
        let metadata = nodes.add(top, "(metadata and padding)", "metadata", (&outside, outside.own));
        for part in structures {
            let bytes = Use::of_structure(part.bytes);
            nodes.add(metadata, part.name, "metadata", (&bytes, part.bytes));
        }
    }
    nodes.0.into()
}

/// Returns the numbers of the entries with most bytes, sorted. The directory of an entry has as many bytes, and precedes it.
fn kept(measured: &Measured, roots: &[usize]) -> Vec<usize> {
    let mut order: Vec<(Reverse<u64>, usize)> = below(&measured.usage, roots)
        .map(|entry| (Reverse(area(measured, &entry.bytes)), entry.number))
        .filter(|(Reverse(area), _)| *area > 0)
        .collect();
    if order.len() > ENTRIES {
        order.select_nth_unstable(ENTRIES);
        order.truncate(ENTRIES);
    }
    let mut numbers: Vec<usize> = order.into_iter().map(|(_, number)| number).collect();
    numbers.sort_unstable();
    numbers
}

fn kind(entry: &UsageEntry<'_>) -> &'static str {
    if entry.kind == NodeType::Directory { "directory" } else { "file" }
}
