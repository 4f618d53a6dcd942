//! Progress: each pass over a file is counted separately. The pass that hashes a file is here too.

use crate::{Error, Side};
use packline_engine::CancelToken;
use packline_runtime::memory::{Demand, MapPlan};
use packline_runtime::{Input, Observer, Pass, Progress, Resources, hex, unless_cancelled};

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

/// Bytes read at a time.
const STEP: u64 = 1 << 20;

/// Hashes a file in a separate pass.
///
/// # Errors
/// [`Error::Input`], [`Error::Work`].
pub(crate) fn hash_of_file(
    side: Side,
    input: &dyn Input,
    cancel: &CancelToken,
    passes: &mut Passes<'_>,
) -> Result<[u8; 32], Error> {
    passes.begin("hashing", input.size());
    let mut hasher = blake3::Hasher::new();
    let mut bytes = Vec::new();
    let mut at = 0;
    while at < input.size() {
        unless_cancelled(cancel)?;
        bytes.resize((input.size() - at).min(STEP) as usize, 0);
        input.read_at(at, &mut bytes).map_err(Error::input(side))?;
        hasher.update(&bytes);
        at += bytes.len() as u64;
        passes.show(at);
    }
    Ok(*hasher.finalize().as_bytes())
}

/// Returns the first bytes of a hash as text.
pub(crate) fn shown_hash(hash: &[u8; 32]) -> String {
    hex(&hash[..8])
}
