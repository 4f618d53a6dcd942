//! Progress: each pass over a file is counted separately.

use packline_runtime::memory::{Demand, MapPlan};
use packline_runtime::{Observer, Pass, Progress, Resources};

use crate::Error;

/// Reports the current pass.
pub(crate) struct Passes<'o> {
    pub(crate) observer: &'o mut dyn Observer,
    name: &'static str,
    total: u64,
}

impl<'o> Passes<'o> {
    pub(crate) fn new(observer: &'o mut dyn Observer) -> Passes<'o> {
        Passes { observer, name: "", total: 0 }
    }

    /// Plans as many workers as fit, with `window` bytes in flight for each worker, or fewer if the limit is lower.
    ///
    /// # Errors
    /// [`Error::Memory`] if not even one worker fits.
    pub(crate) fn plan(
        &mut self,
        demand: Demand,
        window: u64,
        what: &str,
        resources: &Resources,
    ) -> Result<MapPlan, Error> {
        Ok(resources.plan(demand, |workers| window.saturating_mul(workers.max(1)), what, self.observer)?)
    }

    /// Begins a pass over `total` bytes.
    pub(crate) fn begin(&mut self, name: &'static str, total: u64) {
        self.name = name;
        self.total = total;
        self.show(0);
    }

    /// Reports that `done` bytes of the pass are done.
    pub(crate) fn show(&mut self, done: u64) {
        let pass = Some(Pass { name: self.name, part: 1, done, total: Some(self.total) });
        self.observer.advance(&Progress { pass, ..Progress::of_source(done, Some(self.total)) });
    }
}
