//! Resolves the hard links of a pack file, which may lead to other hard links.

use packline_tree::text::quote;
use packline_tree::{Bytes, Error, Kind};

use super::Listing;
use super::nodes::{Node, Nodes};

impl Listing {
    /// Replaces the target of each hard link with the path of an entry that is not a hard link.
    ///
    /// All links of a chain are redirected to its end at the same time, so that each link is followed at most a few times, however long the
    /// chains are.
    pub(super) fn resolve_links(&mut self) -> Result<(), Error> {
        let is_link =
            |(path, node): (Bytes, &Node)| matches!(node.kind, Kind::HardLink(_)).then_some((path, node.line));
        let links: Vec<(Bytes, u64)> = self.nodes.iter().filter_map(is_link).collect();
        let limit = links.len();
        for (path, line) in links {
            let wrong = |(what, expected)| self.place(line).error(format!("{} {what}", quote(&path)), expected);
            let chain = follow(&self.nodes, &path, limit).map_err(wrong)?;
            self.redirect(chain);
        }
        Ok(())
    }

    /// Redirects all links of a chain to its end.
    fn redirect(&mut self, mut chain: Vec<Bytes>) {
        let Some(end) = chain.pop() else { return };
        for path in chain {
            if let Some(node) = self.nodes.get_mut(&path) {
                node.kind = Kind::HardLink(end.clone());
            }
        }
    }
}

/// The paths from a link to an entry that is not a hard link, including both. More than `limit` links are a cycle.
fn follow(nodes: &Nodes, path: &[u8], limit: usize) -> Result<Vec<Bytes>, (String, &'static str)> {
    let mut chain = vec![path.to_vec()];
    while let Some(at) = chain.last().filter(|_| chain.len() <= limit + 1) {
        match nodes.get(at).map(|node| &node.kind) {
            Some(Kind::HardLink(target)) => chain.push(target.clone()),
            Some(Kind::Dir) => {
                return Err((format!("is a hard link to the directory {}", quote(at)), "anything but a directory"));
            }
            Some(_) => return Ok(chain),
            None => {
                return Err((format!("is a hard link to {}, which does not exist", quote(at)), "the path of an entry"));
            }
        }
    }
    Err(("is a hard link that leads back to itself".to_owned(), "the path of an entry"))
}
