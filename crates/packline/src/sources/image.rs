//! An image as a source.

use packline_image::{ImageSource, SourceDemand, SourcePlan};
use packline_runtime::escape::Escape;

use super::{Listener, OpenSource, Opening, PLAIN, PlannedSource, Share};
use crate::{Error, OpenedImage};
use packline_runtime::memory::Demand;

pub(super) struct ImagePlan {
    pub(super) image: OpenedImage,
    pub(super) listener: Listener,
}

impl ImagePlan {
    fn granted(&self, share: &Share) -> SourcePlan {
        SourceDemand::new(&self.image, share.limit).plan(share.threads, share.spare / 4)
    }
}

impl PlannedSource for ImagePlan {
    fn demand(&self, limit: Option<u64>) -> Demand {
        let demand = SourceDemand::new(&self.image, limit);
        Demand { fixed: PLAIN + demand.least(), per_worker: demand.tool(), ..Demand::default() }
    }

    fn memory(&self, share: &Share) -> u64 {
        PLAIN + SourceDemand::new(&self.image, share.limit).memory(&self.granted(share))
    }

    fn shares_workers(&self) -> bool {
        true
    }

    fn each_image(&mut self, work: &mut dyn FnMut(&mut OpenedImage, &mut Listener)) {
        work(&mut self.image, &mut self.listener);
    }

    fn open(self: Box<Self>, share: &Share, opening: &Opening<'_>) -> Result<OpenSource, Error> {
        let plan = self.granted(share);
        let name = self.image.display_path.escaped();
        let mut source = ImageSource::new(self.image, &plan, opening.resources, opening.rule.clone());
        if let Some(listener) = self.listener {
            source = source.reporting_to(listener);
        }
        Ok(OpenSource::new(name, Box::new(source)))
    }
}
