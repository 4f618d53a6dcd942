//! Writes .pln files.
//!
//! The bytes are a function of the content and the options. The caller's thread cuts content into records, which workers compress
//! and hash (`compress.rs`) and which go into the file in their order (`layout.rs`).

mod compress;
mod layout;
mod options;
mod written;

use std::io;
use std::sync::Arc;

use packline_cache::Lookup;
use packline_codec::Spec;
use packline_engine::OrderedMap;
use packline_runtime::memory::Demand;
use packline_runtime::of_fault;

pub use options::WriteOptions;
pub use written::Written;

use crate::fill::fill;
use crate::memory::plan;
use crate::record_buffer::RecordPool;
use crate::{CodecId, Error, Input, Observer, RecordSize, Resources, Sink, Source};
use compress::{CompressTask, Content, Task};
use layout::Layout;

/// Compresses a source into a .pln file, from front to back: the sink may be a pipe. A file that grows is stored up to the size that it had when it
/// was opened.
///
/// The output is a function of the source's bytes and the options; neither resources nor the kind of source change it.
/// The sink is not flushed.
///
/// # Errors
/// [`Error::Unsupported`] and [`Error::Codec`] for invalid options; [`Error::Input`] and [`Error::Output`];
/// [`Error::Memory`] if not even one worker fits; [`Error::Work`]. The output is then not a whole file.
pub fn compress(
    source: Source<'_>,
    sink: &mut dyn Sink,
    options: &WriteOptions,
    resources: &Resources,
    observer: &mut dyn Observer,
) -> Result<Written, Error> {
    compress_with(&Lookup::default(), source, sink, options, resources, observer)
}

/// As [`compress`]; the compressed forms of records are looked up first.
///
/// # Errors
/// As [`compress`].
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
    let codings = options.codings.iter().map(|coding| Ok((coding.clone(), CodecId::of(&coding.spec)?)));
    let codings = codings.collect::<Result<_, Error>>()?;
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
    let encoder = |spec: &Spec| (spec.footprint(size).encoder + lookup.encoder_memory(spec, size)) as u64;
    let tool = options.codings.iter().map(|coding| encoder(&coding.spec)).sum::<u64>();
    // To tell of several which is shortest takes one form more.
    let spare = if options.codings.len() > 1 { RecordPool::bytes(options.record_size) as u64 } else { 0 };
    let record = 2 * RecordPool::bytes(options.record_size) as u64;
    let cache = lookup.shared_memory(size) as u64;
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
    /// Submits all records of random access input, which workers read.
    fn input(&mut self, input: &Arc<dyn Input>) -> Result<(), Error> {
        let length = input.size();
        let size = self.record_size.bytes();
        for number in 0..length.div_ceil(size as u64) {
            let left = length - (number << self.record_size.log());
            self.feed(|_| Ok(Some((left.min(size as u64) as usize, Content::There(Arc::clone(input))))))?;
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
                Ok((length > 0).then_some((length, Content::Here(buffer))))
            };
            if !self.feed(next)? {
                return Ok(());
            }
        }
    }

    /// Submits the next record, once there is memory for it; false if there is none.
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
