//! Writes .pln files.
//!
//! The bytes are a function of the content and the options. The caller's thread cuts the content into records. Workers compress and hash the
//! records (`compress.rs`), and `layout.rs` writes them in order.

mod compress;
mod layout;
mod options;

use std::io;
use std::sync::Arc;

use packline_cache::Lookup;
use packline_codec::{Coding, Footprint, Spec};
use packline_engine::OrderedMap;
use packline_runtime::memory::Demand;
use packline_runtime::of_fault;

pub use options::WriteOptions;

use crate::memory::plan;
use crate::record_buffer::{RecordPool, fill};
use crate::{CodecId, Error, Input, Observer, RecordSize, Resources, Sink, Source};
use compress::{CompressTask, Content, Task};
use layout::Layout;

/// Statistics of writing a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// Bytes of content.
    pub logical: u64,
    /// Bytes of the file.
    pub physical: u64,
    /// The number of records.
    pub records: u64,
    /// The number of records that are stored uncompressed, possibly without their trailing zeros.
    pub stored_records: u64,
    /// BLAKE3 of the content.
    pub blake3: [u8; 32],
    /// The number of workers that the memory allowed; 0 if the caller's thread did the work.
    pub workers: usize,
}

/// Compresses a source into a .pln file. The file is written from front to back, so the sink can be a pipe. If the input grows, its bytes up
/// to the size at opening are stored.
///
/// The output is a function of the source's bytes and the options. Resources and the kind of source do not change it. The sink is not
/// flushed.
///
/// # Errors
/// [`Error::Unsupported`] and [`Error::Codec`] for invalid options; [`Error::Memory`] if not even one worker fits; [`Error::Input`],
/// [`Error::Output`], [`Error::Work`]. After an error the output is incomplete.
pub fn compress(
    source: Source<'_>,
    sink: &mut dyn Sink,
    options: &WriteOptions,
    resources: &Resources,
    observer: &mut dyn Observer,
) -> Result<Written, Error> {
    compress_with(&Lookup::default(), source, sink, options, resources, observer)
}

/// Does the same as [`compress`], but first looks up the compressed forms of records.
///
/// # Errors
/// Returns the same errors as [`compress`].
pub fn compress_with(
    lookup: &Lookup,
    source: Source<'_>,
    sink: &mut dyn Sink,
    options: &WriteOptions,
    resources: &Resources,
    observer: &mut dyn Observer,
) -> Result<Written, Error> {
    let plan = plan(demand(options, lookup)?, "compressing records", resources, observer)?;
    let pool = RecordPool::new(options.record_size, plan.window);
    let with_id = |coding: &Coding| Ok((coding.clone(), CodecId::of(&coding.spec)?));
    let codings = options.codings.iter().map(with_id).collect::<Result<_, Error>>()?;
    let work = CompressTask { record_size: options.record_size, codings, lookup: lookup.clone(), pool: pool.clone() };
    let total = if let Source::At(input) = &source { Some(input.size()) } else { None };
    let mut feeding = Feeding {
        map: resources.map(work, plan)?,
        layout: Layout::new(sink, options.record_size, total, observer)?,
        record_size: options.record_size,
        pool,
        next: 0,
    };
    let fed = match source {
        Source::At(input) => feeding.input(&input),
        Source::Stream(stream) => feeding.stream(stream),
    };
    fed.map_err(|error| of_fault(feeding.map.earlier_error(&mut feeding.layout, error)))?;
    feeding.map.drain(&mut feeding.layout).map_err(of_fault)?;
    let workers = feeding.map.workers().min(plan.workers);
    Ok(Written { workers, ..feeding.layout.finish()? })
}

/// The memory for writing.
fn demand(options: &WriteOptions, lookup: &Lookup) -> Result<Demand, Error> {
    let size = options.record_size.bytes();
    options.codings.iter().try_for_each(|coding| coding.validate(size))?;
    let encoder = |spec: &Spec| {
        let Footprint { encoder, decoder } = spec.footprint(size);
        let looks_up = !matches!(spec, Spec::None);
        (encoder + if looks_up { lookup.encoder_memory(decoder, size.into()) } else { 0 }) as u64
    };
    let tool = options.codings.iter().map(|coding| encoder(&coding.spec)).sum::<u64>();
    // Choosing the shortest of several forms takes one more buffer.
    let spare = if options.codings.len() > 1 { RecordPool::bytes(options.record_size) as u64 } else { 0 };
    let record = 2 * RecordPool::bytes(options.record_size) as u64;
    let cache = lookup.shared_memory(size.into()) as u64;
    Ok(Demand { fixed: cache, per_worker: tool + spare, window: record, window_per_worker: record })
}

/// Submits records to the workers.
struct Feeding<'a> {
    map: OrderedMap<CompressTask>,
    layout: Layout<'a>,
    record_size: RecordSize,
    pool: RecordPool,
    /// The number of the next record.
    next: u64,
}

impl Feeding<'_> {
    /// Submits all records of an input. Workers read them.
    fn input(&mut self, input: &Arc<dyn Input>) -> Result<(), Error> {
        let length = input.size();
        let size = self.record_size.bytes();
        for number in 0..length.div_ceil(size as u64) {
            let left = length - (number << self.record_size.log());
            self.feed(|_| Ok(Some((left.min(size as u64) as usize, Content::InFile(Arc::clone(input))))))?;
        }
        Ok(())
    }

    /// Submits all records of a stream.
    fn stream(&mut self, stream: &mut dyn io::Read) -> Result<(), Error> {
        let size = self.record_size.bytes();
        loop {
            let next = |pool: &RecordPool| {
                let mut buffer = pool.take()?;
                let length = fill(stream, buffer.content_mut(size)).map_err(Error::Input)?;
                Ok((length > 0).then_some((length, Content::Loaded(buffer))))
            };
            if !self.feed(next)? {
                return Ok(());
            }
        }
    }

    /// Submits the next record when there is memory for it. Returns false if there are no more records.
    fn feed(
        &mut self,
        next: impl FnOnce(&RecordPool) -> Result<Option<(usize, Content)>, Error>,
    ) -> Result<bool, Error> {
        let bytes = 2 * RecordPool::bytes(self.record_size);
        let permit = self.map.reserve(bytes, &mut self.layout).map_err(of_fault)?;
        let Some((length, content)) = next(&self.pool)? else { return Ok(false) };
        let task = Task { number: self.next, length, content, permit };
        self.next += 1;
        self.map.submit(task, &mut self.layout).map_err(of_fault)?;
        Ok(true)
    }
}
