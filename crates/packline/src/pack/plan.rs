//! The second phase of a pack: the memory and the workers of all parties.
//!
//! The sources are examined here, and the indexes of the bases are read, since both decide what they need. Nothing else is read.

use packline_cache::Lookup;
use packline_runtime::Observer;
use packline_runtime::memory::{Demand, in_mib};

use super::bases::{BaseOpening, Bases};
use super::describe::{Contents, Described, Setup};
use super::memory::{PackLimits, Plan};
use super::outputs::Outputs;
use crate::error::Error;
use crate::sources::directory::leave_out;
use crate::sources::examine::examine;
use crate::sources::filtered::filter_memory;
use crate::sources::image::AppendedImage;
use crate::sources::planned::{PlannedSource, Share};

/// A pack whose parties have shares of the memory.
pub(super) struct Planned {
    pub(super) setup: Setup,
    pub(super) source: Box<dyn PlannedSource>,
    /// The image before the source.
    pub(super) appended: Option<Box<AppendedImage>>,
    /// The share of the source, and of the image before it.
    pub(super) share: Share,
    pub(super) plan: Plan,
    pub(super) bases: Bases,
    pub(super) lookup: Lookup,
}

/// Plans a described pack.
///
/// # Errors
/// [`Error::Memory`] if the limit is too small, and the errors of examining the sources and of opening the bases.
pub(super) fn plan(described: Described, outputs: &Outputs<'_>, observer: &mut dyn Observer) -> Result<Planned, Error> {
    let Described { source, mut setup } = described;
    let mut source = examine(source)?;
    let output_names = outputs.names();
    source.each_directory(&mut |path, options| {
        for name in &output_names {
            leave_out(name, path, options);
        }
    });
    let mut appended = setup.image.append_to.take().map(|image| Box::new(AppendedImage::new(image)));
    let mut lookup = Lookup { known: Vec::new(), cache: setup.image.cache.take() };
    let parties = Parties {
        source: source.as_ref(),
        appended: appended.as_deref(),
        writer: setup.image.options.demand(&lookup, setup.image.verify),
        lookup: lookup.shared_memory(setup.image.options.largest_block()) as u64,
        outputs: outputs.demand(),
        is_filtered: setup.entries.is_filtered,
    };
    let resources = &setup.resources;
    let limits = PackLimits::new(resources, &setup.image.options);
    let spare = limits.spare(|limit| parties.demand(limit))?;
    let needed = parties.demand(resources.memory);
    parties.log(resources.memory);
    let opening = BaseOpening { options: &setup.image.options, resources, spare };
    let mut bases = Bases::open(&setup.image.base, opening, observer)?;
    if setup.contents == Contents::Packed {
        bases.add_sources(source.as_mut(), opening);
        if let Some(appended) = &mut appended {
            bases.add_appended(appended, opening)?;
        }
    }
    lookup.known = bases.known();
    let sources = 1 + u64::from(appended.is_some());
    let spare = spare.saturating_sub(bases.memory()) / sources;
    let share = Share { threads: resources.workers, limit: resources.memory, spare };
    let granted =
        beyond_least(source.as_ref(), &share) + appended.as_deref().map_or(0, |image| beyond_least(image, &share));
    let plan = limits.plan(needed + Demand::fixed(bases.memory()) + Demand::fixed(granted))?;
    Ok(Planned { setup, source, appended, share, plan, bases, lookup })
}

/// The parties that take memory, except the bases.
struct Parties<'a> {
    source: &'a dyn PlannedSource,
    appended: Option<&'a AppendedImage>,
    writer: Demand,
    /// Bytes of the cache of blocks.
    lookup: u64,
    outputs: Demand,
    is_filtered: bool,
}

impl Parties<'_> {
    /// The sum of the demands if `limit` bytes are allowed.
    fn demand(&self, limit: Option<u64>) -> Demand {
        self.each(limit).into_iter().map(|(_, demand)| demand).sum()
    }

    /// Returns the demand of each party, with the name of the party for log messages.
    fn each(&self, limit: Option<u64>) -> [(&'static str, Demand); 6] {
        let filter = if self.is_filtered { filter_memory(limit) } else { 0 };
        let appended = self.appended.map_or(Demand::default(), |image| image.demand(limit));
        [
            ("the sources", self.source.demand(limit)),
            ("the image that is appended to", appended),
            ("compression", self.writer),
            ("the block cache", Demand::fixed(self.lookup)),
            ("the outputs", self.outputs),
            ("the filter of entries", Demand::fixed(filter)),
        ]
    }

    /// Logs which party asked for how much.
    fn log(&self, limit: Option<u64>) {
        if !log::log_enabled!(log::Level::Debug) {
            return;
        }
        for (party, demand) in self.each(limit).into_iter().filter(|(_, demand)| *demand != Demand::default()) {
            log::debug!(
                "memory: {party} asked for {} and for {} for each worker",
                in_mib(demand.fixed.saturating_add(demand.window)),
                in_mib(demand.per_worker.saturating_add(demand.window_per_worker)),
            );
        }
    }
}

/// Bytes that a source gets beyond what it needs.
pub(super) fn beyond_least(source: &dyn PlannedSource, share: &Share) -> u64 {
    source.memory(share).saturating_sub(source.demand(share.limit).fixed)
}
