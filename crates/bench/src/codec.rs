//! `bench codec`: blocks in memory, compressed and decompressed on one thread.

use std::ops::Range;

use packline::bench::{CodecSpeed, Input};
use packline::codec::{Decoder, Encoder, Outcome, Spec};

use super::content::Content;
use super::input::{name_of, size_of};
use super::interruption::Interruption;
use super::outcome;
use super::progress::Doing;
use super::report::{blank, ours};
use super::settings::Settings;
use crate::clock::thread_time;
use crate::failure::Failure;
use crate::io::Io;
use crate::size::show_bytes;

/// Bytes of content that are compressed, and then decompressed, in one go: far more than caches hold, and few enough that
/// what they compress to need not be counted.
const GO: u64 = 8 << 20;
/// Bytes of content that are measured if nobody says how many.
const USUAL: u64 = 256 << 20;
/// Bytes that the process takes besides contents and codecs.
const PROCESS: u64 = 24 << 20;

/// Measures, and fills the report.
///
/// # Errors
/// The input cannot be read, or memory is too short.
pub fn run(settings: &Settings, io: &mut Io, interruption: &Interruption) -> Result<outcome::Outcome, Failure> {
    let limit = limit(settings, settings.memory.or(io.host.memory_limit))?;
    let content = Content::read(&settings.input, limit)?;
    let bytes = if settings.input.is_dir() { content.bytes() } else { size_of(&settings.input)? };
    let input = Input { name: name_of(&settings.input), bytes };
    let mut report = blank(settings, io, &[ours(io)?], input);
    if content.is_cut() {
        let note = format!("Only the first {} of the contents were measured (--limit).", show_bytes(limit));
        report.notes.push(note);
    }
    let (nothing, codecs): (Vec<&Spec>, Vec<&Spec>) = settings.codecs.iter().partition(|codec| **codec == Spec::None);
    if !nothing.is_empty() {
        report.notes.push("none takes no part: it does nothing to a block.".to_owned());
    }
    let planned = codecs.len() * settings.block_sizes.len() * (settings.runs + settings.warmups);
    let names: Vec<String> = codecs.iter().map(|codec| codec.to_string()).collect();
    settings.print_plan(&format!("{planned} runs in memory: {}", names.join(", ")), io);
    let doing = Doing::new(io, planned, settings.bar, settings.quiet);
    let mut measuring = Measuring { settings, doing, interruption, done: 0 };
    let (mut failures, mut ended) = (Vec::new(), Ok(()));
    'sizes: for &block_size in &settings.block_sizes {
        let blocks = content.cut(block_size as usize);
        let blocks = blocks.all();
        for codec in &codecs {
            match measuring.speed(codec, block_size, &blocks) {
                Ok(speed) => report.codecs.push(speed),
                Err(Failure::Failed(what)) if !interruption.is_asked() => failures.push(what),
                Err(failure) => ended = Err(failure),
            }
            if interruption.is_asked() {
                ended = Err(Failure::failed("interrupted"));
                break 'sizes;
            }
        }
    }
    order(&mut report.codecs, &settings.codecs);
    let counts = (measuring.done, planned);
    drop(measuring);
    Ok(outcome::Outcome::partial(report, failures, ended, interruption.is_asked(), counts))
}

/// Codec by codec, as packing is reported.
fn order(speeds: &mut [CodecSpeed], codecs: &[Spec]) {
    let names: Vec<String> = codecs.iter().map(Spec::to_string).collect();
    speeds.sort_by_key(|speed| names.iter().position(|name| *name == speed.codec));
}

/// Bytes of content that may be held. Tail ends are held a second time, as fragment blocks.
fn limit(settings: &Settings, memory: Option<u64>) -> Result<u64, Failure> {
    let (block_sizes, codecs) = (&settings.block_sizes, &settings.codecs);
    let footprints = codecs.iter().flat_map(|codec| block_sizes.iter().map(|&size| codec.footprint(size as usize)));
    let codec = footprints.map(|footprint| footprint.encoder + footprint.decoder).max().unwrap_or(0) as u64;
    let fixed = PROCESS + codec + 2 * GO;
    let room = memory.map_or(u64::MAX, |memory| memory.saturating_sub(fixed) / 2);
    match settings.limit {
        Some(limit) if limit > room => {
            let needed = fixed + 2 * limit;
            let what =
                format!("{} cannot be measured within this memory: it takes {}", show_bytes(limit), show_bytes(needed));
            Err(Failure::Usage(format!("--limit: {what}")))
        }
        Some(limit) => Ok(limit),
        None if room < 1 << 20 => {
            let what =
                format!("memory is too short for these codecs (expected {} or more)", show_bytes(fixed + (2 << 20)));
            Err(Failure::Usage(format!("--mem: {what}")))
        }
        None => Ok(USUAL.min(room)),
    }
}

/// What all codecs share.
struct Measuring<'a> {
    settings: &'a Settings,
    doing: Doing<'a>,
    interruption: &'a Interruption,
    /// Rounds that went well.
    done: usize,
}

impl Measuring<'_> {
    /// A codec on all blocks, several times; fewer times if it is interrupted.
    fn speed(&mut self, codec: &Spec, block_size: u64, blocks: &[&[u8]]) -> Result<CodecSpeed, Failure> {
        let name = format!("codec {codec}, {}", crate::size::show_size(block_size));
        let mut bench = Bench::new(codec, block_size as usize)?;
        let (mut compress, mut decompress, mut counts) = (Vec::new(), Vec::new(), Counts::default());
        let warmups = self.settings.warmups;
        for round in 0..warmups + self.settings.runs {
            self.doing.begin(&name);
            let (times, found) = match bench.round(blocks, self.interruption) {
                Err(_) if self.interruption.is_asked() && !compress.is_empty() => break,
                outcome => outcome?,
            };
            if round >= warmups {
                compress.push(times.compress);
                decompress.push(times.decompress);
                self.interruption.note_measured();
            }
            counts = found;
            self.done += 1;
            self.doing.step();
        }
        let content_bytes = blocks.iter().map(|block| block.len() as u64).sum();
        let median = packline::bench::Spread::of(compress.iter().copied()).median;
        self.doing.say(&format!("{name}: compressed in {median:.3} s"));
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

/// Processor seconds of one round.
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

/// One codec with its room.
struct Bench {
    name: String,
    encoder: Box<dyn Encoder>,
    decoder: Box<dyn Decoder>,
    /// Where blocks are compressed to, one after the other, and where each lies.
    packed: Vec<u8>,
    places: Vec<Option<Range<usize>>>,
    /// Where blocks are decompressed to.
    back: Vec<u8>,
}

impl Bench {
    fn new(codec: &Spec, block_size: usize) -> Result<Bench, Failure> {
        let failed = |error| Failure::failed(format!("{codec}: {error}"));
        let encoder = codec.encoder(block_size).map_err(failed)?;
        let decoder = codec.decoder(block_size, usize::MAX).map_err(failed)?;
        let (packed, back) = (vec![0; GO as usize + block_size], vec![0; GO as usize + block_size]);
        Ok(Bench { name: codec.to_string(), encoder, decoder, packed, places: Vec::new(), back })
    }

    /// All blocks once. The clock is read before and after several megabytes, not for each block.
    fn round(&mut self, blocks: &[&[u8]], interruption: &Interruption) -> Result<(Times, Counts), Failure> {
        let (mut times, mut counts, mut from) = (Times::default(), Counts::default(), 0);
        while from < blocks.len() {
            if interruption.is_asked() {
                return Err(Failure::failed("interrupted"));
            }
            let to = from + goes_at_once(&blocks[from..]);
            let group = &blocks[from..to];
            let start = thread_time();
            self.compress(group)?;
            let middle = thread_time();
            let decompressed = self.decompress(group)?;
            let end = thread_time();
            times.compress += (middle - start).as_secs_f64();
            times.decompress += (end - middle).as_secs_f64();
            self.check(group, &mut counts)?;
            counts.decompressed_bytes += decompressed;
            from = to;
        }
        Ok((times, counts))
    }

    fn compress(&mut self, group: &[&[u8]]) -> Result<(), Failure> {
        let mut at = 0;
        self.places.clear();
        for block in group {
            let room = &mut self.packed[at..at + block.len()];
            let outcome = self.encoder.compress(block, room);
            match outcome.map_err(|error| Failure::failed(format!("{}: {error}", self.name)))? {
                Outcome::Smaller(size) => {
                    self.places.push(Some(at..at + size));
                    at += size;
                }
                Outcome::NotSmaller => self.places.push(None),
            }
        }
        Ok(())
    }

    /// Bytes that were decompressed.
    fn decompress(&mut self, group: &[&[u8]]) -> Result<u64, Failure> {
        let mut at = 0;
        for (block, place) in group.iter().zip(&self.places) {
            let Some(place) = place else { continue };
            let room = &mut self.back[at..at + block.len()];
            let outcome = self.decoder.decompress(&self.packed[place.clone()], room);
            let size = outcome.map_err(|error| Failure::failed(format!("{}: {error}", self.name)))?;
            if size != block.len() {
                return Err(self.wrong());
            }
            at += size;
        }
        Ok(at as u64)
    }

    fn check(&self, group: &[&[u8]], counts: &mut Counts) -> Result<(), Failure> {
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

    fn wrong(&self) -> Failure {
        Failure::failed(format!("{}: a block did not come back as it was", self.name))
    }
}

/// How many blocks are done in one go.
fn goes_at_once(blocks: &[&[u8]]) -> usize {
    let mut bytes = 0;
    let fits = |block: &&&[u8]| {
        bytes += block.len() as u64;
        bytes <= GO
    };
    blocks.iter().take_while(fits).count().max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_is_compressed_and_comes_back() {
        let mut text: Vec<u8> = (0..3000u32).flat_map(|number| number.to_string().into_bytes()).collect();
        // For codecs that know of nothing else.
        text.chunks_exact_mut(50).for_each(|part| part[..10].fill(0));
        let mut noise = vec![0; 4096];
        blake3::Hasher::new().finalize_xof().fill(&mut noise);
        for name in Spec::names() {
            let mut bench = Bench::new(&Spec::parse(name).unwrap(), 4096).unwrap();
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
        assert_eq!(goes_at_once(&[block.as_slice(); 20]), 8);
        assert_eq!(goes_at_once(&[vec![0; 9 << 20].as_slice()]), 1);
    }
}
