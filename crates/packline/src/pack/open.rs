//! The third phase of a pack: opens the sources.

use packline_runtime::Observer;
use packline_tree::{Patterns, Replaced};

use super::describe::Setup;
use super::image::ImageJob;
use super::outputs::Outputs;
use super::plan::Planned;
use crate::error::Error;
use crate::sources::observed::ObservedSource;
use crate::sources::planned::{PlannedSource as _, TreeMemory};

/// A pack whose sources are open. Nothing is written yet.
pub(super) struct OpenPack<'o> {
    pub(super) observed: ObservedSource<'o>,
    pub(super) job: ImageJob,
    /// All patterns that exclude entries. Patterns without a match cause a warning.
    pub(super) excludes: Vec<Patterns>,
    /// Entries of layers that later layers replaced.
    pub(super) replaced: Replaced,
}

/// Opens the sources of a planned pack.
///
/// # Errors
/// Returns the errors of opening the sources.
pub(super) fn open<'o>(
    planned: Planned,
    outputs: &Outputs<'_>,
    observer: &'o mut dyn Observer,
) -> Result<OpenPack<'o>, Error> {
    let Planned { mut setup, source, appended, share, mut plan, bases, lookup } = planned;
    if source.shares_workers() || appended.is_some() {
        // One pool for reading and writing, so that no more threads run than were requested.
        let pool = setup.resources.pool(plan.workers).map_err(|fault| Error::workers(&setup.display_path, fault))?;
        setup.resources.engine.pool = Some(pool);
    }
    let opened = setup.entries.open_source(source, &share, &setup.resources, observer)?;
    if let Some(TreeMemory { granted, taken }) = opened.tree {
        plan.exchange(granted, taken);
    }
    let appended = match appended {
        None => None,
        Some(image) => {
            let opening = setup.entries.opening(&setup.resources, &|_, _| {}, &|_| {});
            Some(image.open(&share, &opening)?.source)
        }
    };
    let input = opened.name.clone();
    let replaced = opened.replaced;
    let written = outputs.size_counter();
    let mut observed = setup.entries.observe(opened.source, &input, &setup.resources, written, observer);
    if let Some(appended) = appended {
        observed = observed.after(appended);
    }
    observed.warn_of_fewer(plan.workers, &setup.resources);
    let Setup { display_path, image, entries, resources, .. } = setup;
    let job = ImageJob {
        display_path,
        input,
        options: image.options,
        root: entries.root(),
        defaults: entries.defaults(),
        hints: image.hints,
        resources,
        plan,
        verify: image.verify,
        lookup,
        bases,
        inputs: entries.inputs,
        device: None,
    };
    Ok(OpenPack { observed, job, excludes: entries.excludes, replaced })
}
