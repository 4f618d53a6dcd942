//! Measures codecs in memory: compresses and decompresses blocks on one thread.

use std::ops::Range;

use packline_codec::{Decoder, Encoder, Outcome as Compressed, Spec};

use crate::benchmark::Outcome;
use crate::inputs::content::Content;
use crate::inputs::source::{name_of, size_of};
use crate::programs::program::Program;
use crate::report::{CodecSpeed, Input, Spread, binary_bytes, short_block_size};
use crate::runs::facts::empty_report;
use crate::settings::CodecSettings;
use crate::{Clock, Error, Interruption, Progress, Session, Setting};

/// Bytes of content that are compressed, and then decompressed, between two readings of the clock. They are far more than caches hold.
const GROUP: u64 = 8 << 20;
/// Bytes of content that are measured by default.
const DEFAULT_LIMIT: u64 = 256 << 20;
/// Memory of the process without contents and codecs, in bytes.
const PROCESS: u64 = 24 << 20;

/// # Errors
/// Returns an error if the input cannot be read, or there is too little memory.
pub fn run(settings: &CodecSettings, session: &mut Session<'_>) -> Result<Outcome, Error> {
    let limit = limit(settings, settings.runs.memory.or(session.machine.memory_limit))?;
    let content = Content::read(&settings.input, limit)?;
    let bytes = if settings.input.is_dir() { content.bytes() } else { size_of(&settings.input)? };
    let input = Input { name: name_of(&settings.input), bytes };
    let program = Program::packline(session.machine.program()?);
    let mut report = empty_report(&settings.runs, &session.machine, &[program], input);
    if content.is_cut() {
        report.notes.push(format!("Only the first {} of the contents were measured.", binary_bytes(limit)));
    }
    let (none, codecs): (Vec<&Spec>, Vec<&Spec>) = settings.codecs.iter().partition(|codec| **codec == Spec::None);
    if !none.is_empty() {
        report.notes.push("none takes no part: it does not change a block.".to_owned());
    }
    let planned = codecs.len() * settings.block_sizes.len() * (settings.runs.runs + settings.runs.warmups);
    let names: Vec<String> = codecs.iter().map(|codec| codec.to_string()).collect();
    session.progress.plan(&format!("{planned} runs in memory: {}", names.join(", ")));
    session.progress.start(planned);
    let interruption = session.interruption.clone();
    let clock = session.machine.clock;
    let progress = &mut *session.progress;
    let mut measuring = Measuring { settings, progress, clock, interruption, done: 0 };
    let (failures, ended) = measuring.all(&content, &codecs, &mut report.codecs);
    order(&mut report.codecs, &settings.codecs);
    let interrupted = measuring.interruption.is_requested();
    Ok(Outcome::partial(report, failures, ended, interrupted, measuring.done, planned))
}

/// Sorts the results by codec, in the order of the settings.
fn order(speeds: &mut [CodecSpeed], codecs: &[Spec]) {
    let names: Vec<String> = codecs.iter().map(Spec::to_string).collect();
    speeds.sort_by_key(|speed| names.iter().position(|name| *name == speed.codec));
}

/// Returns the bytes of content that fit in memory. Tail ends are in memory twice, because they are copied to fragment blocks.
fn limit(settings: &CodecSettings, memory: Option<u64>) -> Result<u64, Error> {
    let block_sizes = &settings.block_sizes;
    let codecs = &settings.codecs;
    let footprints = codecs.iter().flat_map(|codec| block_sizes.iter().map(|&size| codec.footprint(size as usize)));
    let codec = footprints.map(|footprint| footprint.encoder + footprint.decoder).max().unwrap_or(0) as u64;
    let fixed = PROCESS + codec + 2 * GROUP;
    let available = memory.map_or(u64::MAX, |memory| memory.saturating_sub(fixed) / 2);
    match settings.limit {
        Some(limit) if limit > available => {
            let shown = binary_bytes(limit);
            let needed = binary_bytes(fixed + 2 * limit);
            let reason = format!("{shown} cannot be measured with this memory limit: it needs {needed}");
            Err(Error::setting(Setting::Limit, reason))
        }
        Some(limit) => Ok(limit),
        None if available < 1 << 20 => {
            let least = binary_bytes(fixed + (2 << 20));
            let reason = format!("not enough memory for these codecs (expected {least} or more)");
            Err(Error::setting(Setting::Memory, reason))
        }
        None => Ok(DEFAULT_LIMIT.min(available)),
    }
}

/// The state that all codecs share.
struct Measuring<'a> {
    settings: &'a CodecSettings,
    progress: &'a mut dyn Progress,
    clock: Clock,
    interruption: Interruption,
    /// The number of successful rounds.
    done: usize,
}

impl Measuring<'_> {
    /// Measures all codecs at all block sizes. Returns the failures, and the error that ended the measurement early.
    fn all(
        &mut self,
        content: &Content,
        codecs: &[&Spec],
        speeds: &mut Vec<CodecSpeed>,
    ) -> (Vec<String>, Result<(), Error>) {
        let mut failures = Vec::new();
        for &block_size in &self.settings.block_sizes {
            let blocks = content.cut(block_size as usize);
            let all_blocks = blocks.all();
            for codec in codecs {
                match self.speed(codec, block_size, &all_blocks) {
                    Ok(speed) => speeds.push(speed),
                    Err(_) if self.interruption.is_requested() => {}
                    Err(error) => failures.push(error.to_string()),
                }
                if self.interruption.is_requested() {
                    return (failures, Err(Error::failed("interrupted")));
                }
            }
        }
        (failures, Ok(()))
    }

    /// Runs a codec on all blocks several times, or fewer times after an interruption.
    fn speed(&mut self, codec: &Spec, block_size: u64, blocks: &[&[u8]]) -> Result<CodecSpeed, Error> {
        let name = format!("codec {codec}, {}", short_block_size(block_size));
        let mut bench = Bench::new(codec, block_size as usize, self.clock)?;
        let mut compress = Vec::new();
        let mut decompress = Vec::new();
        let mut counts = Counts::default();
        let warmups = self.settings.runs.warmups;
        for round in 0..warmups + self.settings.runs.runs {
            self.progress.begin(&name);
            let (times, found) = match bench.round(blocks, &self.interruption) {
                Err(_) if self.interruption.is_requested() && !compress.is_empty() => break,
                outcome => outcome?,
            };
            if round >= warmups {
                compress.push(times.compress);
                decompress.push(times.decompress);
                self.interruption.set_measured();
            }
            counts = found;
            self.done += 1;
            self.progress.step();
        }
        let content_bytes = blocks.iter().map(|block| block.len() as u64).sum();
        let median = Spread::of(compress.iter().copied()).median;
        self.progress.message(&format!("{name}: compressed in {median:.3} s"));
        Ok(CodecSpeed {
            codec: codec.to_string(),
            block_size,
            blocks: blocks.len() as u64,
            not_smaller: counts.not_smaller,
            content_bytes,
            stored_bytes: counts.stored_bytes,
            compress,
            decompress,
            decompressed_bytes: counts.decompressed_bytes,
        })
    }
}

/// The processor seconds of one round.
#[derive(Debug, Clone, Copy, Default)]
struct Times {
    compress: f64,
    decompress: f64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    not_smaller: u64,
    stored_bytes: u64,
    decompressed_bytes: u64,
}

/// A codec with its buffers.
struct Bench {
    name: String,
    clock: Clock,
    encoder: Box<dyn Encoder>,
    decoder: Box<dyn Decoder>,
    /// The compressed blocks, one after another.
    packed: Vec<u8>,
    /// The range of each compressed block in `packed`; `None` for blocks that did not get smaller.
    places: Vec<Option<Range<usize>>>,
    back: Vec<u8>,
}

impl Bench {
    fn new(codec: &Spec, block_size: usize, clock: Clock) -> Result<Bench, Error> {
        let failed = |error| Error::failed(format!("{codec}: {error}"));
        let encoder = codec.encoder(block_size).map_err(failed)?;
        let decoder = codec.decoder(block_size, usize::MAX).map_err(failed)?;
        let packed = vec![0; GROUP as usize + block_size];
        let back = vec![0; GROUP as usize + block_size];
        Ok(Bench { name: codec.to_string(), clock, encoder, decoder, packed, places: Vec::new(), back })
    }

    /// Compresses, decompresses and compares all blocks once.
    fn round(&mut self, blocks: &[&[u8]], interruption: &Interruption) -> Result<(Times, Counts), Error> {
        let mut times = Times::default();
        let mut counts = Counts::default();
        let mut from = 0;
        while from < blocks.len() {
            if interruption.is_requested() {
                return Err(Error::failed("interrupted"));
            }
            let to = from + group_length(&blocks[from..]);
            let group = &blocks[from..to];
            let start = (self.clock.thread)();
            self.compress(group)?;
            let middle = (self.clock.thread)();
            let decompressed = self.decompress(group)?;
            let end = (self.clock.thread)();
            times.compress += (middle - start).as_secs_f64();
            times.decompress += (end - middle).as_secs_f64();
            self.check(group, &mut counts)?;
            counts.decompressed_bytes += decompressed;
            from = to;
        }
        Ok((times, counts))
    }

    fn compress(&mut self, group: &[&[u8]]) -> Result<(), Error> {
        let mut at = 0;
        self.places.clear();
        for block in group {
            let buffer = &mut self.packed[at..at + block.len()];
            let outcome = self.encoder.compress(block, buffer);
            match outcome.map_err(|error| Error::failed(format!("{}: {error}", self.name)))? {
                Compressed::Smaller(size) => {
                    self.places.push(Some(at..at + size));
                    at += size;
                }
                Compressed::NotSmaller => self.places.push(None),
            }
        }
        Ok(())
    }

    /// Decompresses a group. Returns the number of bytes.
    fn decompress(&mut self, group: &[&[u8]]) -> Result<u64, Error> {
        let mut at = 0;
        for (block, place) in group.iter().zip(&self.places) {
            let Some(place) = place else { continue };
            let buffer = &mut self.back[at..at + block.len()];
            let outcome = self.decoder.decompress(&self.packed[place.clone()], buffer);
            let size = outcome.map_err(|error| Error::failed(format!("{}: {error}", self.name)))?;
            if size != block.len() {
                return Err(self.wrong());
            }
            at += size;
        }
        Ok(at as u64)
    }

    fn check(&self, group: &[&[u8]], counts: &mut Counts) -> Result<(), Error> {
        let mut at = 0;
        for (block, place) in group.iter().zip(&self.places) {
            let Some(place) = place else {
                counts.not_smaller += 1;
                counts.stored_bytes += block.len() as u64;
                continue;
            };
            if self.back[at..at + block.len()] != **block {
                return Err(self.wrong());
            }
            counts.stored_bytes += place.len() as u64;
            at += block.len();
        }
        Ok(())
    }

    fn wrong(&self) -> Error {
        Error::failed(format!("{}: a decompressed block differs from the original", self.name))
    }
}

/// Returns the number of blocks between two readings of the clock.
fn group_length(blocks: &[&[u8]]) -> usize {
    let mut bytes = 0;
    let fits = |block: &&&[u8]| {
        bytes += block.len() as u64;
        bytes <= GROUP
    };
    blocks.iter().take_while(fits).count().max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_is_compressed_and_decompressed() {
        let mut text: Vec<u8> = (0..3000u32).flat_map(|number| number.to_string().into_bytes()).collect();
        // Some codecs compress only zeros.
        text.chunks_exact_mut(50).for_each(|part| part[..10].fill(0));
        let mut noise = vec![0; 4096];
        blake3::Hasher::new().finalize_xof().fill(&mut noise);
        for name in Spec::names() {
            let mut bench = Bench::new(&Spec::parse(name).unwrap(), 4096, crate::session::tests::CLOCK).unwrap();
            let blocks = [&text[..4096], &noise, &text[4096..5000]];
            let (times, counts) = bench.round(&blocks, &Interruption::default()).unwrap();
            assert!(times.compress >= 0.0 && times.decompress >= 0.0);
            let expected = if *name == "none" { (3, 0) } else { (1, 5000) };
            assert_eq!((counts.not_smaller, counts.decompressed_bytes), expected, "{name}");
            assert!(counts.stored_bytes <= 9096 && counts.stored_bytes >= 4096, "{name}");
        }
    }

    #[test]
    fn a_group_is_some_megabytes_and_at_least_a_block() {
        let block = vec![0; 1 << 20];
        assert_eq!(group_length(&[block.as_slice(); 20]), 8);
        assert_eq!(group_length(&[vec![0; 9 << 20].as_slice()]), 1);
    }
}
