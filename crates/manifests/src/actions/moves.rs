//! The action `move`: changes the directory of entries, their name, or both, as mv(1) does.
//!
//! All expressions are evaluated before the first move, so that no move depends on another.

use packline_runtime::escape::Escape;
use packline_tree::{Bytes, Error};

use super::ActionReport;
use super::action::{Action, Stage};
use super::run::Run;
use super::tree::{NodeId, ROOT, Tree, names};

/// The destination of a moved entry. A missing directory or name stays the same.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Target {
    directory: Option<NodeId>,
    name: Option<Bytes>,
}

impl Run<'_> {
    pub fn apply_moves(&mut self) -> Result<(), Error> {
        if !self.has(Stage::Move) {
            return Ok(());
        }
        let mut moves = Vec::new();
        for node in self.tree.top_down() {
            let target = self.target(node)?;
            if target != Target::default() && self.is_possible(node, &target) {
                moves.push((node, target));
            }
        }
        // In reverse order, as squashfs-tools do: the order decides which of two entries gets a name.
        for (node, target) in moves.into_iter().rev() {
            if self.is_possible(node, &target) {
                let (directory, name) = target.resolve(&self.tree, node);
                self.tree.rename(node, directory, name);
            }
        }
        Ok(())
    }

    /// Merges the targets of all actions that apply to an entry.
    fn target(&mut self, node: NodeId) -> Result<Target, Error> {
        let mut target = Target::default();
        for rule in self.rules(Stage::Move) {
            let Action::Move(path) = &rule.action else { continue };
            if !self.holds(rule, node)? {
                continue;
            }
            let merged = destination(&self.tree, node, path).and_then(|more| target.merge(more));
            merged.unwrap_or_else(|why| self.warn(node, path, &why));
        }
        Ok(target)
    }

    /// Whether the target is free and not inside the entry itself.
    fn is_possible(&mut self, node: NodeId, target: &Target) -> bool {
        let (directory, name) = target.resolve(&self.tree, node);
        let why = if self.tree.node(directory).children.contains_key(&name) {
            "an entry with this name exists (expected a free name)"
        } else if self.tree.is_within(directory, node) {
            "the target is inside the directory itself (expected another directory)"
        } else {
            return true;
        };
        let parent = self.tree.path(directory);
        let path = [if directory == ROOT { &b""[..] } else { &parent }, b"/", &name].concat();
        self.warn(node, &path, why);
        false
    }

    fn warn(&mut self, node: NodeId, to: &[u8], why: &str) {
        let from = self.tree.path(node).escaped();
        let to = to.escaped();
        (self.report)(ActionReport::Warning(format!("move: '{from}' is not moved to '{to}': {why}")));
    }
}

impl Target {
    fn merge(&mut self, more: Target) -> Result<(), String> {
        let conflict = |_| "another action moves it elsewhere (expected one place)".to_string();
        agree(&mut self.name, more.name).map_err(conflict)?;
        agree(&mut self.directory, more.directory).map_err(conflict)
    }

    fn resolve(&self, tree: &Tree, node: NodeId) -> (NodeId, Bytes) {
        let directory = self.directory.or(tree.node(node).parent).unwrap_or(ROOT);
        (directory, self.name.clone().unwrap_or_else(|| tree.node(node).name.clone()))
    }
}

fn agree<T: PartialEq>(known: &mut Option<T>, more: Option<T>) -> Result<(), ()> {
    match (&known, more) {
        (_, None) => Ok(()),
        (None, more) => {
            *known = more;
            Ok(())
        }
        (Some(known), Some(more)) => {
            if *known == more {
                Ok(())
            } else {
                Err(())
            }
        }
    }
}

/// Walks the path from the root or from the entry's directory. The path leads to an existing directory, or to a new name in one.
fn destination(tree: &Tree, node: NodeId, path: &[u8]) -> Result<Target, String> {
    let source = tree.node(node).parent.unwrap_or(ROOT);
    let mut directory = if path.starts_with(b"/") { ROOT } else { source };
    let mut rest = names(path);
    let mut name = None;
    for step in rest.by_ref() {
        match step {
            b"." => {}
            b".." => directory = tree.node(directory).parent.unwrap_or(ROOT),
            step => match tree.node(directory).children.get(step) {
                Some(child) if tree.is_directory(*child) => directory = *child,
                _ => {
                    name = Some(step);
                    break;
                }
            },
        }
    }
    if let (Some(name), true) = (name, rest.next().is_some()) {
        return Err(format!("'{}' is not a directory (expected a directory that exists)", name.escaped()));
    }
    Ok(Target { directory: (directory != source).then_some(directory), name: name.map(<[u8]>::to_vec) })
}
