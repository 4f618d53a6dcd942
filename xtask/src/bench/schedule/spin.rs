//! Pipelines whose tasks are loops of a given duration, for workloads that no real codec produces.

use super::cost::{Cost, timed};
use super::variant::Variant;
use packline_engine::Config;
use packline_microbench::Idle;

const ITEM: usize = 128 << 10;
/// Items that fit into the budget.
const CAPACITY: usize = 128;

#[derive(Debug, Clone, Copy)]
pub struct SpinPipeline {
    pub items: u64,
    /// Duration of each task.
    pub idle: Idle,
    pub workers: usize,
}

impl SpinPipeline {
    pub fn run(&self, variant: &Variant) -> Result<Cost, String> {
        timed(|| self.send(variant), |sum| Ok(blake3::hash(&sum.to_le_bytes())))
    }

    fn send(&self, variant: &Variant) -> Result<u64, String> {
        let config = Config { workers: self.workers, budget: CAPACITY * ITEM, ..variant.config() };
        let mut pipeline = self.idle.pipeline(config).map_err(|cause| cause.to_string())?;
        self.idle.send(&mut pipeline, self.items, ITEM).map_err(|fault| fault.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::super::variant::VARIANTS;
    use super::*;

    #[test]
    fn the_answer_hangs_on_no_way() {
        let idle = Idle { hash: 5, compress: 20, head: 9_000, sink: 3, ..Idle::default() };
        let pipeline = SpinPipeline { items: 300, idle, workers: 3 };
        let hash = |pipeline: SpinPipeline, variant: &Variant| pipeline.run(variant).unwrap().hash;
        let [plain, .., local, help] = VARIANTS;
        assert_eq!(hash(pipeline, &plain), hash(pipeline, &local));
        assert_eq!(hash(pipeline, &plain), hash(SpinPipeline { workers: 1, ..pipeline }, &help));
        assert_ne!(hash(pipeline, &plain), hash(SpinPipeline { items: 299, ..pipeline }, &plain));
    }
}
