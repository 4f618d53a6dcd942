//! Arranges the files of a merged tree in the requested order of contents.

use packline_tree::{Content, Error, NodeId};

use super::{MergedEntries, StackSource};
use crate::{FileList, RestOrder};

impl StackSource {
    /// Moves files after all other entries, in the requested order, unless this is the order of paths.
    ///
    /// # Errors
    /// The layers return an error while contents are compared, or the memory is too small for comparing.
    pub(super) fn arrange(&mut self, compared: &mut dyn FnMut(u64, u64)) -> Result<(), Error> {
        let Some(listed) = self.merged.as_mut().filter(|_| !self.options.order.is_by_path()) else { return Ok(()) };
        let first = std::mem::take(&mut listed.first);
        let files = listed.order.take_files(&listed.merged.tree);
        let mut is_first = vec![false; listed.merged.tree.node_count()];
        first.iter().for_each(|node| is_first[node.index()] = true);
        let rest: Vec<NodeId> = files.into_iter().filter(|node| !is_first[node.index()]).collect();
        let rest = match self.options.order.rest {
            RestOrder::Path => rest,
            RestOrder::Similar => self.by_similarity(rest, compared)?,
        };
        if let Some(listed) = &mut self.merged {
            listed.order.append(&first);
            listed.order.append(&rest);
        }
        Ok(())
    }

    /// Files whose parts are not compressed together with others, then the files whose order matters.
    fn by_similarity(&mut self, files: Vec<NodeId>, compared: &mut dyn FnMut(u64, u64)) -> Result<Vec<NodeId>, Error> {
        let Some(listed) = &self.merged else { return Ok(files) };
        let size = |node: &NodeId| listed.file(*node).map_or(0, |(_, size)| size);
        let is_small = |node: &NodeId| (1..u64::from(self.options.block_size)).contains(&size(node));
        let (small, mut arranged): (Vec<NodeId>, Vec<NodeId>) = files.into_iter().partition(is_small);
        arranged.extend(self.similar(small, compared)?);
        Ok(arranged)
    }
}

impl MergedEntries {
    /// The number and the size of a file.
    pub(super) fn file(&self, node: NodeId) -> Option<(u32, u64)> {
        match self.merged.tree.content(self.merged.tree.inode(node)) {
            Content::File(number) => Some((number, self.merged.files.size(number))),
            _ => None,
        }
    }

    /// Records the first names of the files of a list, each once. A directory stands for the files below it, by path. Returns a warning about
    /// paths of other entries, or of none.
    pub(super) fn find_first(&mut self, list: &FileList) -> Option<String> {
        if list.is_empty() {
            return None;
        }
        let mut found = Vec::new();
        let mut absent = Vec::new();
        let mut is_found = vec![false; self.merged.tree.node_count()];
        for (line, path) in list.paths() {
            let Some(listed) = self.lookup(path) else {
                absent.push((line, path));
                continue;
            };
            let mut waiting = vec![listed];
            while let Some(node) = waiting.pop() {
                let file = self.first_name(node);
                if !std::mem::replace(&mut is_found[file.unwrap_or(node).index()], true) {
                    found.extend(file);
                    waiting.extend(self.merged.tree.children(node).iter().rev());
                }
            }
        }
        self.first = found;
        let (line, path) = absent.first()?;
        let path = packline_runtime::escape::line(&String::from_utf8_lossy(path)).to_string();
        let input = list.input();
        Some(match absent.len() {
            1 => format!("{input}: line {line}: '{path}' is not a file of the source"),
            several => {
                format!("{input}: {several} lines do not name a file of the source, such as '{path}' (line {line})")
            }
        })
    }

    /// The file or the directory at a path.
    fn lookup(&self, path: &[u8]) -> Option<NodeId> {
        let tree = &self.merged.tree;
        let step = |directory: NodeId, name: &[u8]| {
            let children = tree.children(directory);
            children.binary_search_by(|child| tree.name(*child).cmp(name)).ok().map(|at| children[at])
        };
        let mut components = path.split(|byte| *byte == b'/');
        let node = components.try_fold(tree.root(), step)?;
        let is_directory = matches!(tree.content(tree.inode(node)), Content::Dir);
        (is_directory || self.first_name(node).is_some()).then_some(node)
    }

    /// The first name of a file; `None` for a file that is not kept, and for any other entry.
    fn first_name(&self, node: NodeId) -> Option<NodeId> {
        let tree = &self.merged.tree;
        let first = self.order.first(tree, node);
        // The root replaces the first name of a file that is not kept.
        (first != tree.root() && self.file(first).is_some()).then_some(first)
    }
}
