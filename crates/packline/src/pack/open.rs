//! The third phase of a pack: opens the sources, and wraps them in sources that change the entries.

use std::cell::RefCell;

use packline_archives::RestOrder;
use packline_manifests::PseudoSource;
use packline_runtime::{Observer, Pass, Progress};
use packline_tree::{Patterns, Replaced};

use super::describe::Setup;
use super::image::ImageJob;
use super::outputs::Outputs;
use super::plan::Planned;
use crate::error::Error;
use crate::sources::filtered::Filtered;
use crate::sources::observed::ObservedSource;
use crate::sources::planned::{OpenSource, Opening, PlannedSource, Share, TreeMemory};

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
    let opened = open_source(source, &share, &setup, observer)?;
    if let Some(TreeMemory { granted, taken }) = opened.tree {
        plan.exchange(granted, taken);
    }
    let appended = match appended {
        None => None,
        Some(image) => Some(image.open(&share, &setup.opening(&|_, _| {}, &|_| {}))?.source),
    };
    let input = opened.name.clone();
    let replaced = opened.replaced;
    let mut observed = changed(opened.source, &input, &mut setup, outputs, observer);
    if let Some(appended) = appended {
        observed = observed.after(appended);
    }
    observed.warn_of_fewer(plan.workers, &setup.resources);
    let Setup { display_path, image, excludes, resources, inputs, .. } = setup;
    let root = image.root.unwrap_or(image.defaults);
    let job = ImageJob {
        display_path,
        input,
        options: image.options,
        root,
        defaults: image.defaults,
        hints: image.hints,
        resources,
        plan,
        verify: image.verify,
        lookup,
        bases,
        inputs,
        device: None,
    };
    Ok(OpenPack { observed, job, excludes, replaced })
}

impl Setup {
    /// How the source is opened.
    fn opening<'a>(&'a self, compared: &'a dyn Fn(u64, u64), warned: &'a dyn Fn(&str)) -> Opening<'a> {
        Opening {
            tar: self.image.tar.clone(),
            resources: &self.resources,
            rule: self.rule.clone(),
            root: self.image.root.unwrap_or(self.image.defaults),
            defaults: self.image.defaults,
            order: self.image.order.clone().unwrap_or_default(),
            block_size: Some(self.image.options.block_size()),
            compared,
            warned,
            inputs: Some(&self.inputs),
        }
    }

    /// Whether contents are compared before they are packed, and so are read twice.
    fn reads_twice(&self) -> bool {
        self.image.order.as_ref().is_some_and(|order| order.rest == RestOrder::Similar)
    }
}

/// Opens the source. The observer sees how far the comparison of contents is.
fn open_source(
    source: Box<dyn PlannedSource>,
    share: &Share,
    setup: &Setup,
    observer: &mut dyn Observer,
) -> Result<OpenSource, Error> {
    let observer = RefCell::new(observer);
    let compared = |done, total| {
        let pass = Pass { name: "comparing", part: 1, done, total: Some(total) };
        observer.borrow_mut().advance(&Progress { pass: Some(pass), ..Progress::default() });
    };
    let warned = |message: &str| observer.borrow_mut().warning(message);
    source.open(share, &setup.opening(&compared, &warned))
}

/// Wraps a source in the filter, the pseudo file, the changes and the observer.
fn changed<'o>(
    mut source: Box<dyn packline_tree::Source>,
    name: &str,
    setup: &mut Setup,
    outputs: &Outputs<'_>,
    observer: &'o mut dyn Observer,
) -> ObservedSource<'o> {
    let changes = std::mem::take(&mut setup.image.changes);
    if setup.is_filtered {
        let scratch = setup.resources.scratch.clone();
        let rule = changes.clone();
        let keeps = Box::new(move |path: &[u8], is_directory: bool| rule.keeps(path, is_directory));
        let filtered = Filtered::new(source, keeps, name.to_string(), setup.resources.memory, scratch);
        source = Box::new(filtered);
    }
    if let Some(pseudo) = setup.image.pseudo.take() {
        source = Box::new(PseudoSource::over(source, pseudo));
    }
    let observed = ObservedSource::new(source, changes, setup.image.options.limits(), outputs.size_counter(), observer);
    if setup.reads_twice() { observed.in_pass("packing") } else { observed }
}
