//! The part of a pack that no container decides: how its sources are opened, and wrapped in sources that change the entries.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use packline_archives::RestOrder;
use packline_manifests::PseudoSource;
use packline_runtime::{Observer, Pass, Progress, Resources};
use packline_tree::{KeepRule, Meta, Patterns, keep_all};

use super::request::EntryRequest;
use crate::error::Error;
use crate::sources::changes::Changes;
use crate::sources::changes::limits::EntryLimits;
use crate::sources::filtered::Filtered;
use crate::sources::inputs::ReadInputs;
use crate::sources::observed::ObservedSource;
use crate::sources::planned::{OpenSource, Opening, PlannedSource, Share};
use crate::sources::source::Source;

/// How the entries of a described pack are read and changed.
pub(super) struct EntrySetup {
    /// The request. Its changes do not include `rule`.
    request: EntryRequest,
    /// The attributes that the container stores.
    limits: EntryLimits,
    /// Contents smaller than this number of bytes may be ordered by similarity.
    block_size: u32,
    /// Which entries of an image or a stack are kept.
    rule: KeepRule,
    /// Whether hard links may refer to entries that are left out.
    pub(super) is_filtered: bool,
    /// All patterns that exclude entries. Patterns without a match cause a warning.
    pub(super) excludes: Vec<Patterns>,
    /// The tars and images that are read.
    pub(super) inputs: ReadInputs,
}

impl EntrySetup {
    /// Returns the source that is opened for `source`, and how its entries are changed.
    pub(super) fn new(
        source: Source,
        mut request: EntryRequest,
        limits: EntryLimits,
        block_size: u32,
    ) -> (Source, EntrySetup) {
        let mut source = within_root(source, &request.changes);
        let excludes = vec![excluded_by(&source), request.changes.exclude.clone()];
        if let Some(order) = &request.order {
            source = source.in_order(order);
        }
        let leaves_out = matches!(source, Source::Image(_)) || source.is_stack();
        let rule = if leaves_out { request.changes.take_rule() } else { keep_all() };
        let is_filtered = !leaves_out && is_filtered(&source, &request.changes);
        let inputs = ReadInputs::default();
        (source, EntrySetup { request, limits, block_size, rule, is_filtered, excludes, inputs })
    }

    /// Attributes of a root that the source does not describe.
    pub(super) fn root(&self) -> Meta {
        self.request.root.unwrap_or(self.request.defaults)
    }

    /// Attributes of directories that the source does not describe.
    pub(super) fn defaults(&self) -> Meta {
        self.request.defaults
    }

    /// How the source is opened.
    pub(super) fn opening<'a>(
        &'a self,
        resources: &'a Resources,
        compared: &'a dyn Fn(u64, u64),
        warned: &'a dyn Fn(&str),
    ) -> Opening<'a> {
        Opening {
            tar: self.request.tar.clone(),
            resources,
            rule: self.rule.clone(),
            root: self.root(),
            defaults: self.request.defaults,
            order: self.request.order.clone().unwrap_or_default(),
            block_size: Some(self.block_size),
            compared,
            warned,
            inputs: Some(&self.inputs),
        }
    }

    /// Opens the source. The observer sees how far the comparison of contents is.
    pub(super) fn open_source(
        &self,
        source: Box<dyn PlannedSource>,
        share: &Share,
        resources: &Resources,
        observer: &mut dyn Observer,
    ) -> Result<OpenSource, Error> {
        let observer = RefCell::new(observer);
        let compared = |done, total| {
            let pass = Pass { name: "comparing", part: 1, done, total: Some(total) };
            observer.borrow_mut().advance(&Progress { pass: Some(pass), ..Progress::default() });
        };
        let warned = |message: &str| observer.borrow_mut().warning(message);
        source.open(share, &self.opening(resources, &compared, &warned))
    }

    /// Wraps a source called `name` in the filter, the pseudo file, the changes and the observer. `written` counts the bytes of the output.
    pub(super) fn observe<'o>(
        &mut self,
        mut source: Box<dyn packline_tree::Source>,
        name: &str,
        resources: &Resources,
        written: Arc<AtomicU64>,
        observer: &'o mut dyn Observer,
    ) -> ObservedSource<'o> {
        let changes = std::mem::take(&mut self.request.changes);
        if self.is_filtered {
            let rule = changes.clone();
            let keeps = Box::new(move |path: &[u8], is_directory: bool| rule.keeps(path, is_directory));
            let scratch = resources.scratch.clone();
            source = Box::new(Filtered::new(source, keeps, name.to_string(), resources.memory, scratch));
        }
        if let Some(pseudo) = self.request.pseudo.take() {
            source = Box::new(PseudoSource::over(source, pseudo));
        }
        let observed = ObservedSource::new(source, changes, self.limits.clone(), written, observer);
        if self.reads_twice() { observed.in_pass("packing") } else { observed }
    }

    /// Whether files come in another order than that of the source, after all other entries.
    pub(super) fn has_order(&self) -> bool {
        self.request.order.is_some()
    }

    /// Whether contents are compared before they are packed, and so are read twice.
    fn reads_twice(&self) -> bool {
        self.request.order.as_ref().is_some_and(|order| order.rest == RestOrder::Similar)
    }
}

/// Patterns that the source itself applies.
fn excluded_by(source: &Source) -> Patterns {
    match source {
        Source::Directory { options, .. } => options.excludes.clone(),
        Source::Directories { parts, .. } => {
            parts.first().map_or_else(Patterns::new, |part| part.options.excludes.clone())
        }
        Source::Stack(stack) => stack.remove.clone(),
        _ => Patterns::new(),
    }
}

/// Makes a directory source read nothing outside the new root. The first name of a hard-linked file that it finds becomes the file.
fn within_root(mut source: Source, changes: &Changes) -> Source {
    if let Source::Directory { options, .. } = &mut source {
        options.without.extend_from_slice(&changes.without);
        options.below = changes.root.as_ref().map(|root| root.path.clone()).unwrap_or_default();
    }
    source
}

fn is_filtered(source: &Source, changes: &Changes) -> bool {
    let left_out = !changes.exclude.is_empty() || !changes.drop.is_empty() || changes.filter.is_some();
    // A directory applies the rest itself.
    let is_directory = matches!(source, Source::Directory { .. });
    left_out || !is_directory && (changes.root.is_some() || !changes.without.is_empty())
}
