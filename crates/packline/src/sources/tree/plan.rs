//! A tree that a program built, as a planned source.

use packline_archives::{Layer, RestOrder};
use packline_runtime::memory::Demand;

use super::content::Origin;
use super::source::{Reads, TreeSource};
use super::{NodeKind, Tree};
use crate::error::Error;
use crate::sources::planned::{OpenSource, Opening, PLAIN, PlannedSource, Share};

/// The name of the source in messages.
pub(in crate::sources) const NAME: &str = "tree";
/// Maximum bytes of copied contents in memory.
const COPIES_MOST: u64 = 16 << 20;

pub(in crate::sources) struct TreePlan(pub(in crate::sources) Tree);

impl TreePlan {
    /// Bytes of contents of unknown size that may be copied into memory.
    fn copies(&self, limit: Option<u64>) -> u64 {
        let unknown = |kind: &NodeKind| matches!(kind, NodeKind::File(content) if matches!(content.0, Origin::Reader { size: None, .. }));
        if self.0.nodes.values().any(|node| unknown(&node.kind)) {
            limit.map_or(COPIES_MOST, |limit| COPIES_MOST.min(limit / 32))
        } else {
            0
        }
    }

    fn source(self, share: &Share, opening: &Opening<'_>, reads: Reads) -> TreeSource {
        let copies = self.copies(share.limit);
        TreeSource::new(self.0, reads, copies, opening.resources)
    }
}

impl PlannedSource for TreePlan {
    fn demand(&self, limit: Option<u64>) -> Demand {
        Demand::fixed(PLAIN + self.copies(limit))
    }

    fn open(self: Box<Self>, share: &Share, opening: &Opening<'_>) -> Result<OpenSource, Error> {
        let source = self.source(share, opening, Reads::WithEntries);
        Ok(OpenSource::new(NAME.to_string(), Box::new(source)))
    }

    /// Contents are read after all entries are listed.
    fn open_layer(self: Box<Self>, share: &Share, opening: &Opening<'_>) -> Result<Layer, Error> {
        let twice = opening.order.rest == RestOrder::Similar;
        let source = self.source(share, opening, Reads::Later { twice });
        Ok(Layer { name: NAME.to_string(), source: Box::new(source) })
    }
}
