//! Hard links of a pack file: each is led to the name of an inode, over others if need be.

use super::Listing;
use super::nodes::Nodes;
use crate::pack_file::lines::quote;
use crate::{Bytes, Error, Kind};

impl Listing {
    /// Replaces the target of each hard link by the path of what is no hard link itself.
    ///
    /// Time: a link that leads to links follows each of them; those are remembered by being replaced in their turn, so a chain
    /// in the order of paths costs one step a link.
    pub(super) fn resolve_links(&mut self) -> Result<(), Error> {
        let links: Vec<(Bytes, u64)> = self
            .nodes
            .iter()
            .filter_map(|(path, node)| matches!(node.kind, Kind::HardLink(_)).then_some((path, node.line)))
            .collect();
        let limit = links.len();
        for (path, line) in links {
            let found = follow(&self.nodes, &path, limit);
            let target = found
                .map_err(|(what, expected)| self.place(line).error(format!("{} {what}", quote(&path)), expected))?;
            if let Some(node) = self.nodes.get_mut(&path) {
                node.kind = Kind::HardLink(target);
            }
        }
        Ok(())
    }
}

/// Where a link leads in at most `limit` steps: in more, it goes round in a circle.
fn follow(nodes: &Nodes, path: &[u8], limit: usize) -> Result<Bytes, (String, &'static str)> {
    let mut at = path.to_vec();
    for _ in 0..=limit {
        match nodes.get(&at).map(|node| &node.kind) {
            Some(Kind::HardLink(target)) => at = target.clone(),
            Some(Kind::Dir) => {
                return Err((format!("is a hard link to the directory {}", quote(&at)), "anything but a directory"));
            }
            Some(_) => return Ok(at),
            None => {
                return Err((format!("is a hard link to {}, which is not there", quote(&at)), "the path of an entry"));
            }
        }
    }
    Err(("is a hard link that leads back to itself".to_owned(), "the path of an entry"))
}
