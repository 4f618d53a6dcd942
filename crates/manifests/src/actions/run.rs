//! Applies actions to a tree, stage by stage.

use std::fs;

use packline_tree::{Error, Kind, Xattr};

use super::action::{Action, Emptied, Rule, Stage};
use super::evaluate::Evaluation;
use super::subject::Subject;
use super::tree::{ActionEntry, FileStorage, NodeId, ROOT, Tree};
use super::{ActionHost, ActionLog, ActionReport, ActionSettings};

pub(super) struct Run<'r> {
    rules: &'r [Rule],
    pub tree: Tree,
    pub settings: &'r ActionSettings<'r>,
    host: &'r mut dyn ActionHost,
    pub report: &'r mut dyn FnMut(ActionReport),
}

impl<'r> Run<'r> {
    pub fn new(
        rules: &'r [Rule],
        entries: Vec<ActionEntry>,
        settings: &'r ActionSettings<'r>,
        host: &'r mut dyn ActionHost,
        report: &'r mut dyn FnMut(ActionReport),
    ) -> Result<Run<'r>, Error> {
        Ok(Run { rules, tree: Tree::new(entries)?, settings, host, report })
    }

    pub fn finish(mut self) -> Result<Vec<(ActionEntry, FileStorage)>, Error> {
        self.exclude()?;
        self.dereference()?;
        for node in self.tree.top_down() {
            self.change(node)?;
        }
        self.apply_moves()?;
        self.prune(true)?;
        self.prune(false)?;
        self.empty()?;
        self.change(ROOT)?;
        self.fragment_sets()?;
        self.xattrs()?;
        Ok(self.tree.into_entries())
    }

    pub fn rules(&self, stage: Stage) -> impl Iterator<Item = &'r Rule> + use<'r> {
        self.rules.iter().filter(move |rule| rule.action.stage() == stage)
    }

    pub fn has(&self, stage: Stage) -> bool {
        self.rules(stage).next().is_some()
    }

    /// Evaluates the expression of an action for an entry, and logs it if the action asks for that.
    pub fn holds(&mut self, rule: &Rule, node: NodeId) -> Result<bool, Error> {
        let trace =
            (rule.log != ActionLog::Never).then(|| [&self.tree.path(node), &b"="[..], &rule.text, b"@"].concat());
        let mut evaluation = Evaluation { host: &mut *self.host, block_size: self.settings.block_size, trace };
        let result = evaluation.expression(&rule.condition, Subject::new(&self.tree, node))?;
        let wanted = match rule.log {
            ActionLog::Never => false,
            ActionLog::Always => true,
            ActionLog::True => result,
            ActionLog::False => !result,
        };
        if let (true, Some(trace)) = (wanted, evaluation.trace) {
            (self.report)(ActionReport::Log(trace));
        }
        Ok(result)
    }

    /// Whether the expression of any action of a stage is true for an entry. Later expressions are not evaluated.
    fn any_holds(&mut self, stage: Stage, node: NodeId) -> Result<bool, Error> {
        for rule in self.rules(stage) {
            if self.holds(rule, node)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn exclude(&mut self) -> Result<(), Error> {
        if !self.has(Stage::Exclude) {
            return Ok(());
        }
        for node in self.tree.top_down() {
            if !self.tree.node(node).removed && self.any_holds(Stage::Exclude, node)? {
                self.tree.remove(node);
            }
        }
        Ok(())
    }

    fn change(&mut self, node: NodeId) -> Result<(), Error> {
        for rule in self.rules(Stage::Change) {
            if rule.action.is_for(&self.tree.inode(node).kind) && self.holds(rule, node)? {
                let inode = self.tree.inode_mut(node);
                let storage = &mut inode.storage;
                match &rule.action {
                    Action::Owner { uid, gid } => {
                        inode.meta.uid = uid.unwrap_or(inode.meta.uid);
                        inode.meta.gid = gid.unwrap_or(inode.meta.gid);
                    }
                    Action::Mode(change) => inode.meta.mode = change.apply(inode.meta.mode, inode.kind == Kind::Dir),
                    Action::Fragments(used) => storage.fragments = Some(*used),
                    Action::TailEnds(packed) => storage.tail_ends = Some(*packed),
                    Action::Align(bytes) => storage.alignment = Some(*bytes),
                    Action::Compress(compressed) => storage.compressed = Some(*compressed),
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// Prunes symbolic links if `symlinks`, otherwise all other entries. Links come first, while their targets still exist.
    fn prune(&mut self, symlinks: bool) -> Result<(), Error> {
        if !self.has(Stage::Prune) {
            return Ok(());
        }
        for node in self.tree.bottom_up() {
            let symlink = matches!(self.tree.inode(node).kind, Kind::Symlink(_));
            if symlink == symlinks && self.any_holds(Stage::Prune, node)? {
                self.tree.remove(node);
            }
        }
        Ok(())
    }

    fn empty(&mut self) -> Result<(), Error> {
        if !self.has(Stage::Empty) {
            return Ok(());
        }
        for node in self.tree.bottom_up() {
            if self.tree.is_directory(node) && self.tree.node(node).children.is_empty() && self.empty_holds(node)? {
                self.tree.remove(node);
            }
        }
        Ok(())
    }

    fn empty_holds(&mut self, node: NodeId) -> Result<bool, Error> {
        let place = self.tree.inode(node).place.as_ref();
        let excluded = self.tree.node(node).lost_entries
            || place.is_some_and(|place| fs::read_dir(place).is_ok_and(|mut entries| entries.next().is_some()));
        for rule in self.rules(Stage::Empty) {
            let applies = match rule.action {
                Action::Empty(Emptied::InSource) => !excluded,
                Action::Empty(Emptied::ByExclusion) => excluded,
                _ => true,
            };
            if applies && self.holds(rule, node)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Each action creates its own set, whatever its name. A file belongs to the set of the first action that applies to it.
    fn fragment_sets(&mut self) -> Result<(), Error> {
        if !self.has(Stage::Fragment) {
            return Ok(());
        }
        for (node, first) in self.tree.names() {
            if !first || !matches!(self.tree.inode(node).kind, Kind::File { .. }) {
                continue;
            }
            for (set, rule) in (1..=u16::MAX).zip(self.rules(Stage::Fragment)) {
                if self.holds(rule, node)? {
                    self.tree.inode_mut(node).storage.fragment_set = set;
                    break;
                }
            }
        }
        Ok(())
    }

    fn xattrs(&mut self) -> Result<(), Error> {
        if !self.has(Stage::Xattrs) {
            return Ok(());
        }
        for (node, first) in self.tree.names() {
            if first {
                self.change_xattrs(node)?;
            }
        }
        Ok(())
    }

    fn change_xattrs(&mut self, node: NodeId) -> Result<(), Error> {
        let mut excluded = Vec::new();
        let mut included = Vec::new();
        let mut added = Vec::new();
        for rule in self.rules(Stage::Xattrs) {
            if self.holds(rule, node)? {
                match &rule.action {
                    Action::XattrsExclude(names) => excluded.push(names),
                    Action::XattrsInclude(names) => included.push(names),
                    Action::XattrsAdd(xattr) => added.push(xattr),
                    _ => {}
                }
            }
        }
        let inode = self.tree.inode_mut(node);
        // Linux allows attributes in the namespace `user` only on files and directories.
        let user = matches!(inode.kind, Kind::File { .. } | Kind::Dir);
        let kept = |xattr: &Xattr| {
            !excluded.iter().any(|names| names(&xattr.name))
                && (included.is_empty() || included.iter().any(|names| names(&xattr.name)))
        };
        inode.xattrs.retain(kept);
        for xattr in added.into_iter().filter(|xattr| user || !xattr.name.starts_with(b"user.")) {
            inode.xattrs.retain(|known| known.name != xattr.name);
            inode.xattrs.push(xattr.clone());
        }
        Ok(())
    }
}
