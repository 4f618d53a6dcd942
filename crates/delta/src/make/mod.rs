//! Writes a delta.
//!
//! Both files are hashed. The images in them are decoded (`sides.rs`), into temporary files if there is a directory for them. `matches.rs`
//! finds matches between the plain forms, and `groups.rs` builds groups from the matches. The workers compress groups (`write.rs`) while
//! the search continues. `write.rs` writes the parts in order.

mod groups;
mod matches;
mod probe;
mod sides;
mod window;
mod write;

use std::sync::Arc;

use packline_codec::{ReferenceLzma, Spec};
use packline_longrange::WINDOW_MOST;
use packline_runtime::memory::Demand;
use packline_runtime::{Input, Observer, Resources, Sink, of_fault};

use self::groups::PlannedGroup;
use self::matches::Search;
pub use self::sides::BlockCounts;
use self::sides::{NewSide, OldSide, new_side, old_side};
use self::write::{GroupTask, Writer};
use crate::format::part::PartKind;
use crate::passes::Passes;
use crate::plain::Plain;
use crate::{Error, FileSum, Head, Side, encoders, passes};

/// The options for a delta. The bytes of a delta depend on both files and on these options.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeltaOptions {
    /// The effort, 1 to 9. Default: 7.
    pub level: u32,
    /// The codecs that may have encoded the blocks of a new image. If empty, the image's compressor options suggest them.
    pub codecs: Vec<Spec>,
}

impl Default for DeltaOptions {
    fn default() -> DeltaOptions {
        DeltaOptions { level: DeltaOptions::DEFAULT_LEVEL, codecs: Vec::new() }
    }
}

impl DeltaOptions {
    /// The default effort.
    pub const DEFAULT_LEVEL: u32 = 7;
    /// All efforts.
    pub const LEVELS: std::ops::RangeInclusive<u32> = 1..=9;
}

/// A delta that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Made {
    /// The head of the delta.
    pub head: Head,
    /// Length of the delta in bytes.
    pub size: u64,
    /// The bytes of the new file's plain form that are not copied from the old file's plain form.
    pub literals: u64,
    /// The blocks of a new image.
    pub blocks: BlockCounts,
    /// The codec that reproduces blocks, if blocks are encoded.
    pub codec: Option<Spec>,
}

/// Writes a delta, which [`crate::patch`] needs to build `new` from `old`.
///
/// The bytes depend only on the two files and on `options`. The plain forms of images go to temporary files if `resources` have a directory
/// for them. Otherwise blocks are decoded each time they are needed.
///
/// # Errors
/// Returns an [`Error`] if a file cannot be read or changes, or if there is too little memory.
pub fn delta(
    old: &Arc<dyn Input>,
    new: &Arc<dyn Input>,
    sink: &mut dyn Sink,
    options: &DeltaOptions,
    resources: &Resources,
    observer: &mut dyn Observer,
) -> Result<Made, Error> {
    let mut passes = Passes::new(observer);
    let cancel = &resources.cancel;
    let old_hash = passes::hash_of_file(Side::Old, old.as_ref(), cancel, &mut passes)?;
    let new_hash = passes::hash_of_file(Side::New, new.as_ref(), cancel, &mut passes)?;
    let old_side = old_side(old, resources, &mut passes)?;
    let new_side = new_side(new, &old_side, &options.codecs, resources, &mut passes)?;
    let head = head((old.as_ref(), old_hash), (new.as_ref(), new_hash), &old_side, &new_side);
    let made = write(head, old_side, new_side, sink, options, resources, &mut passes)?;
    for (side, input) in [(Side::Old, old), (Side::New, new)] {
        if input.changed().map_err(Error::input(side))? {
            return Err(Error::Changed(side));
        }
    }
    Ok(made)
}

fn head(old: (&dyn Input, [u8; 32]), new: (&dyn Input, [u8; 32]), old_side: &OldSide, new_side: &NewSide) -> Head {
    let sum =
        |(input, hash): (&dyn Input, _), plain: &Plain| FileSum { size: input.size(), plain: plain.input.size(), hash };
    let codec = new_side.codec.as_ref();
    Head {
        old: sum(old, &old_side.plain),
        new: sum(new, &new_side.plain),
        old_is_image: old_side.is_image,
        block_size: codec.map_or(0, |(_, block_size)| (*block_size).into()),
        old_form: if old_side.is_image { old_side.plain.form.digest() } else { 0 },
        encoders: codec.map_or(0, |(codec, block_size)| encoders(codec, *block_size)),
    }
}

/// Finds the matches, and writes the delta.
fn write(
    head: Head,
    old: OldSide,
    new: NewSide,
    sink: &mut dyn Sink,
    options: &DeltaOptions,
    resources: &Resources,
    passes: &mut Passes<'_>,
) -> Result<Made, Error> {
    let lzma = ReferenceLzma::new(options.level);
    let granted = passes.plan(
        demand(&head, &old.plain, &new, options.level, lzma),
        2 * GroupTask::GROUP_MEMORY as u64,
        "finding matches and compressing with one worker",
        resources,
    )?;
    let pool = resources.pool(granted.workers)?;
    [&old.plain, &new.plain].iter().for_each(|plain| plain.set_workers(pool.workers()));
    let old_plain = Arc::clone(&old.plain.input);
    let new_plain = Arc::clone(&new.plain.input);
    let task = GroupTask { old: Arc::clone(&old_plain), new: Arc::clone(&new_plain), lzma };
    let mut map = resources.map_on(&pool, task, granted.window);
    let mut writer = Writer::new(sink, lzma, new.steps, head.block_size, &old.plain.form);
    writer.append(&head.encode())?;
    if let Some((codec, _)) = &new.codec {
        writer.codec(codec)?;
    }
    if !old.lengths.is_empty() {
        writer.part(PartKind::Lengths, &old.lengths)?;
    }
    let cancel = &resources.cancel;
    let workers = granted.workers;
    let search = Search { old: old_plain, new: new_plain, level: options.level, window: WINDOW_MOST, workers, cancel };
    passes.begin("compressing", head.new.plain);
    let mut submit = |planned: PlannedGroup| {
        passes.show(planned.start);
        let permit = map.reserve(GroupTask::GROUP_MEMORY, &mut writer).map_err(of_fault)?;
        map.submit((planned, permit), &mut writer).map_err(of_fault)
    };
    let searched = search.run(&mut submit);
    searched.map_err(|error| of_fault(map.earlier_error(&mut writer, error)))?;
    map.drain(&mut writer).map_err(of_fault)?;
    writer.finish()?;
    let codec = new.codec.map(|(codec, _)| codec);
    Ok(Made { head, size: writer.bytes, literals: writer.literals, blocks: new.counts, codec })
}

/// The memory of the search and of the groups, which run at the same time.
fn demand(head: &Head, old: &Plain, new: &NewSide, level: u32, lzma: ReferenceLzma) -> Demand {
    let group = GroupTask::GROUP_MEMORY as u64;
    let search = |workers| Search::memory(level, head.old.plain, head.new.plain, WINDOW_MOST, workers);
    let one = search(1);
    let two = search(2);
    let reading = old.worker_memory() + new.plain.worker_memory();
    Demand {
        fixed: old.memory() + new.memory() + one.saturating_sub(two - one),
        per_worker: two - one + GroupTask::memory(lzma) + 2 * reading,
        window: group,
        window_per_worker: group,
    }
}
