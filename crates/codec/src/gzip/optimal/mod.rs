//! Our own encoder of DEFLATE: the cheapest path through all matches, at the real prices of symbols.
//!
//! A block is processed in sections. The nearest match of each length is found at each position. Then the path and the borders of DEFLATE's
//! blocks are improved by turns: a path is found at the prices of the blocks of the path before, by entropy, and at last by the lengths of
//! codes. The first path weighs all matches, and remembers the steps that are nearly the best. The next paths weigh only these steps.

mod block;
mod code;
mod matches;
mod parts;
mod path;
mod statistics;
mod symbols;
#[cfg(test)]
mod tests;
mod writer;

use super::libdeflate::adler32;
use crate::CodecError;
use crate::traits::Compressor;
pub(super) use block::{COPY, MANY_ZEROS, ORDER, ZEROS};
pub(super) use code::{Code, Codes, LONGEST as LONGEST_CODE};
use matches::Matches;
use parts::Part;
use path::Path;
use statistics::{Prices, Statistics};
pub(super) use symbols::{END, distance_extra, length_bits};
use symbols::{FARTHEST, Step};
use writer::Writer;

/// Largest section with its window, bytes.
const SECTION: usize = FARTHEST + (1 << 17);
/// In a section of at most this many bytes, the first prices come from a quick path.
const SMALL: usize = 1 << 16;
/// Number of paths that are found. More save hardly anything.
const PASSES: u32 = 4;
/// The zlib header (RFC 1950): DEFLATE, a window of 32 KiB, the slowest algorithm.
const HEAD: [u8; 2] = [0x78, 0xda];
/// Bytes of the checksum at the end.
const CHECKSUM: usize = 4;
/// Memory for statistics, parts and codes.
const SMALL_PARTS: usize = 256 << 10;

#[derive(Default)]
pub(super) struct Optimal {
    matches: Matches,
    path: Path,
    /// The steps of the last path.
    steps: Vec<Step>,
}

impl Optimal {
    /// Memory for blocks of up to `size` bytes.
    pub(super) fn memory(size: usize) -> usize {
        let size = size.min(SECTION);
        Matches::memory(size) + Path::memory(size) + size * size_of::<Step>() + SMALL_PARTS
    }

    /// Chooses the steps of a section, and splits the steps into blocks.
    fn choose(&mut self, src: &[u8]) -> Vec<Part> {
        self.steps.clear();
        self.steps.reserve_exact(src.len());
        let first = if src.len() <= SMALL {
            self.matches.quick_path(src, &mut self.steps);
            Statistics::of(&self.steps).with_guessed_lengths()
        } else {
            Statistics::guessed(src)
        };
        let mut parts = vec![Part { steps: 0, end: src.len(), statistics: first }];
        for pass in 0..PASSES {
            self.path.begin(src.len(), pass == 0);
            for index in (0..parts.len()).rev() {
                let start = index.checked_sub(1).map_or(0, |before| parts[before].end);
                let part = &parts[index];
                let range = start..part.end;
                let Part { statistics, .. } = part;
                match pass {
                    0 => self.path.find(src, &self.matches, range, &Prices::of_entropy(statistics)),
                    1 => self.path.find_again(src, range, &Prices::of_entropy(statistics)),
                    _ => self.path.find_again(src, range, &Prices::of_codes(statistics)),
                }
            }
            self.path.follow(&mut self.steps);
            parts = match pass {
                0 => parts::split(&self.steps),
                1 => parts::move_borders(&self.steps, &parts),
                _ => parts::keep_borders(&self.steps, &parts),
            };
        }
        parts
    }

    /// Writes a block. `None` if it does not fit.
    fn write(&mut self, src: &[u8], out: &mut Writer) -> Result<Option<()>, CodecError> {
        let mut at = 0;
        while at < src.len() {
            let window = at.min(FARTHEST);
            let end = src.len().min(at - window + SECTION);
            self.matches.find(&src[at - window..end], window)?;
            let section = &src[at..end];
            let mut steps = 0;
            let mut start = 0;
            for part in self.choose(section) {
                let is_last = end == src.len() && part.end == section.len();
                let bytes = &section[start..part.end];
                let block = block::Block { steps: &self.steps[steps..part.steps], bytes, is_last };
                let Some(()) = block.put(&part.statistics, out) else { return Ok(None) };
                steps = part.steps;
                start = part.end;
            }
            at = end;
        }
        Ok(Some(()))
    }
}

impl Compressor for Optimal {
    fn try_compress(&mut self, src: &[u8], out: &mut [u8]) -> Result<Option<usize>, CodecError> {
        let Some(most) = out.len().checked_sub(HEAD.len() + CHECKSUM) else { return Ok(None) };
        out[..HEAD.len()].copy_from_slice(&HEAD);
        let mut writer = Writer::new(&mut out[HEAD.len()..][..most]);
        let written = self.write(src, &mut writer)?;
        let Some(size) = written.and_then(|()| writer.finish()) else { return Ok(None) };
        let end = HEAD.len() + size;
        out[end..end + CHECKSUM].copy_from_slice(&adler32(src).to_be_bytes());
        Ok(Some(end + CHECKSUM))
    }
}
