//! A zip archive as a source.

use std::sync::Arc;

use packline_archives::zip::ZipArchive;
use packline_runtime::Input;
use packline_runtime::memory::Demand;

use super::planned::{OpenSource, Opening, PLAIN, PlannedSource, Share};
use super::tar::{DECOMPRESSOR_LEAST, decompressor};
use crate::error::Error;

/// A zip archive whose end was read.
pub(super) struct ZipPlan {
    name: String,
    input: Arc<dyn Input>,
    archive: ZipArchive,
}

impl ZipPlan {
    /// Reads the end of an archive, which is called `name` in messages.
    ///
    /// # Errors
    /// [`Error::Tree`] if it cannot be read, or is damaged.
    pub(super) fn new(name: String, input: Arc<dyn Input>) -> Result<ZipPlan, Error> {
        let archive = ZipArchive::open(Arc::clone(&input), name.clone())?;
        Ok(ZipPlan { name, input, archive })
    }
}

impl PlannedSource for ZipPlan {
    fn demand(&self, _limit: Option<u64>) -> Demand {
        // The methods are not known yet: a decoder may need a window.
        Demand::fixed((PLAIN + DECOMPRESSOR_LEAST).saturating_add(self.archive.positions()))
    }

    fn memory(&self, share: &Share) -> u64 {
        let (_, memory) = decompressor(true, 1, share.spare);
        memory.saturating_add(self.archive.positions())
    }

    fn open(self: Box<Self>, share: &Share, opening: &Opening<'_>) -> Result<OpenSource, Error> {
        if let Some(inputs) = opening.inputs {
            let input = Arc::clone(&self.input);
            inputs.add(self.name.clone(), move || input.rewritten());
        }
        let (limits, _) = decompressor(true, 1, share.spare);
        Ok(OpenSource::new(self.name, Box::new(self.archive.source(&limits)?)))
    }
}
