//! LZMA in other wrappings than the .lzma format: firmware images have blocks without the size of the content, without any header, or with
//! bytes before the stream.

use liblzma_sys as sys;

use crate::lzma::NAME;
use crate::xz::{CodeResult, MIN_DICT, Stream, decoder_options};
use crate::{CodecError, Decoder};

/// Bytes of contexts and dictionary at the start of a block.
const PACKED_HEADER: usize = 5;
/// Bytes of pb, lc, lp and another byte at the start of a block.
const LISTED_HEADER: usize = 4;
/// lc, lp and pb that are tried first.
const USUAL: [[u32; 3]; 2] = [[3, 0, 2], [0, 0, 2]];
/// The largest lc, lp and pb that are tried; the library decodes lc and lp of 4 together.
const LARGEST: u32 = 4;
/// Most bytes before a stream without a header.
const MOST_SKIPPED: u8 = 10;

/// How blocks wrap an LZMA stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WrappedLzma {
    /// Number of bytes that are ignored before the header or the stream.
    skipped: u8,
    contexts: Contexts,
}

/// The position of lc, lp and pb.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Contexts {
    /// Each block begins with the contexts byte and the dictionary, as the first five bytes of a .lzma file. It may have no end mark.
    Packed,
    /// Each block begins with pb, lc and lp in a byte each, and another byte.
    Listed,
    /// All blocks have the same, and no header.
    Fixed([u32; 3]),
}

impl WrappedLzma {
    /// Returns the first known form in which `block` decodes to a content of at most `most` bytes that `is_sound` accepts.
    pub fn of_block(block: &[u8], most: usize, is_sound: impl Fn(&[u8]) -> bool) -> Option<WrappedLzma> {
        let mut content = vec![0; 2 * most];
        let mut stream = Stream::new(NAME);
        WrappedLzma::forms().find(|form| {
            // Wrong contexts seldom lead to an end mark, but may fill any space.
            let space = if form.contexts == Contexts::Packed { most } else { 2 * most };
            let decoded = form.decode(&mut stream, block, &mut content[..space]);
            decoded.is_ok_and(|length| length <= most && is_sound(&content[..length]))
        })
    }

    fn forms() -> impl Iterator<Item = WrappedLzma> {
        let with_header = [(0, Contexts::Packed), (0, Contexts::Listed), (4, Contexts::Packed)];
        let with_header = with_header.map(|(skipped, contexts)| WrappedLzma { skipped, contexts });
        let usual = USUAL.into_iter().flat_map(|contexts| bare(contexts, 0..=MOST_SKIPPED));
        let all = (0..=LARGEST)
            .flat_map(|lc| (0..=LARGEST - lc).flat_map(move |lp| (0..=LARGEST).map(move |pb| [lc, lp, pb])));
        with_header.into_iter().chain(usual).chain(all.flat_map(|contexts| bare(contexts, 0..=MOST_SKIPPED)))
    }

    /// A decoder of such blocks.
    pub fn decoder(self) -> Box<dyn Decoder> {
        Box::new(WrappedDecoder { stream: Stream::new(NAME), form: self })
    }

    fn decode(self, stream: &mut Stream, src: &[u8], dst: &mut [u8]) -> Result<usize, CodecError> {
        let bad = |reason| CodecError::Malformed { codec: NAME, size: src.len(), reason };
        let block = src.get(usize::from(self.skipped)..).unwrap_or_default();
        let header = match self.contexts {
            Contexts::Packed => PACKED_HEADER,
            Contexts::Listed => LISTED_HEADER,
            Contexts::Fixed(_) => 0,
        };
        let (header, data) = block.split_at_checked(header).ok_or_else(|| bad("ends in its header"))?;
        let contexts = match (self.contexts, header) {
            (Contexts::Fixed(contexts), _) => contexts,
            (Contexts::Listed, &[pb, lc, lp, _]) => [lc, lp, pb].map(u32::from),
            (_, header) => unpacked(header.first().copied().unwrap_or(u8::MAX)),
        };
        let [lc, lp, pb] = contexts;
        // The library decodes no others.
        if lc + lp > LARGEST || pb > LARGEST {
            return Err(bad("invalid literal contexts"));
        }
        // The first byte of the range coder is always 0.
        if data.first() != Some(&0) {
            return Err(bad("not a stream of this format"));
        }
        // Matches reach back to the start of the content at most.
        let dictionary = dst.len().max(MIN_DICT) as u32;
        match stream.decode_bare(&decoder_options(dictionary, contexts, u64::MAX), data, dst)? {
            CodeResult::Ended { read, written } if read == data.len() => Ok(written),
            CodeResult::Ended { .. } => Err(bad("bytes follow the end of the stream")),
            // The content may end where the destination does, without an end mark or before it.
            CodeResult::Full => Ok(dst.len()),
            CodeResult::Short { written } if self.contexts == Contexts::Packed && written > 0 => Ok(written),
            CodeResult::Short { .. } => Err(bad("ends too early")),
            CodeResult::Rejected(sys::lzma_ret_LZMA_MEM_ERROR) => Err(CodecError::OutOfMemory { codec: NAME }),
            CodeResult::Rejected(_) => Err(bad("damaged")),
        }
    }
}

fn bare(contexts: [u32; 3], skipped: std::ops::RangeInclusive<u8>) -> impl Iterator<Item = WrappedLzma> {
    skipped.map(move |skipped| WrappedLzma { skipped, contexts: Contexts::Fixed(contexts) })
}

/// Splits a contexts byte into lc, lp and pb.
fn unpacked(byte: u8) -> [u32; 3] {
    [byte % 9, byte / 9 % 5, byte / 45].map(u32::from)
}

struct WrappedDecoder {
    stream: Stream,
    form: WrappedLzma,
}

impl Decoder for WrappedDecoder {
    fn decompress(&mut self, src: &[u8], dst: &mut [u8]) -> Result<usize, CodecError> {
        self.form.decode(&mut self.stream, src, dst)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Outcome, Spec};

    fn plain() -> Vec<u8> {
        (0..8000u32).map(|n| (n / 7 % 251) as u8).collect()
    }

    /// A .lzma file of `plain`, with a header of 13 bytes and an end mark.
    fn alone(parameters: &str) -> Vec<u8> {
        let plain = plain();
        let mut out = vec![0; plain.len()];
        let mut encoder = Spec::parse(&format!("lzma:{parameters}")).unwrap().encoder(plain.len()).unwrap();
        let Outcome::Smaller(size) = encoder.compress(&plain, &mut out).unwrap() else { panic!("not smaller") };
        out.truncate(size);
        out
    }

    #[test]
    fn finds_each_form_and_decodes_it() {
        let plain = plain();
        let contexts = [("", [3, 0, 2]), ("lc=0", [0, 0, 2]), ("lc=1,lp=2", [1, 2, 2]), ("lc=2,lp=1,pb=0", [2, 1, 0])];
        for (parameters, contexts) in contexts {
            let file = alone(parameters);
            let stream = &file[13..];
            let [lc, lp, pb] = contexts.map(|number| number as u8);
            let forms = [
                (file[..5].to_vec(), 0, Contexts::Packed),
                ([b"size", &file[..5]].concat(), 4, Contexts::Packed),
                (vec![pb, lc, lp, 0xff], 0, Contexts::Listed),
                (vec![], 0, Contexts::Fixed(contexts)),
                (b"7zip".to_vec(), 4, Contexts::Fixed(contexts)),
            ];
            for (head, skipped, contexts) in forms {
                let form = WrappedLzma { skipped, contexts };
                let block = [&head[..], stream].concat();
                // Other contexts can give the same content.
                let found = WrappedLzma::of_block(&block, 8192, |content| content == plain).unwrap();
                assert_eq!(found.skipped, skipped, "{parameters}");
                for form in [form, found] {
                    let mut out = vec![0; plain.len()];
                    assert_eq!(form.decoder().decompress(&block, &mut out), Ok(plain.len()), "{parameters}");
                    assert_eq!(out, plain);
                }
            }
        }
    }

    #[test]
    fn a_block_without_an_end_mark_needs_a_header() {
        let plain = plain();
        let raw = crate::RawLzma::new(5).unwrap();
        let mut stream = vec![0; plain.len()];
        let Outcome::Smaller(size) = raw.encoder(plain.len()).unwrap().compress(&plain, &mut stream).unwrap() else {
            panic!()
        };
        stream.truncate(size);
        let block = [&[raw.contexts(), 0, 0, 1, 0][..], &stream].concat();
        let mut out = vec![0; plain.len()];
        let with_header = WrappedLzma { skipped: 0, contexts: Contexts::Packed };
        assert_eq!(with_header.decoder().decompress(&block, &mut out), Ok(plain.len()));
        assert_eq!(out, plain);
        let mut longer = vec![0; 8192];
        let length = with_header.decoder().decompress(&block, &mut longer).unwrap();
        assert!(length >= plain.len() && longer.starts_with(&plain));
        let bare = WrappedLzma { skipped: 0, contexts: Contexts::Fixed([3, 0, 2]) };
        assert!(bare.decoder().decompress(&stream, &mut longer).is_err());
    }

    #[test]
    fn damaged_blocks_are_errors_or_other_contents() {
        let file = alone("");
        let block = [&file[..5], &file[13..]].concat();
        let form = WrappedLzma { skipped: 0, contexts: Contexts::Packed };
        let mut out = vec![0; 8192];
        for at in 0..block.len() {
            let mut damaged = block.clone();
            damaged[at] ^= 0x55;
            let _ = form.decoder().decompress(&damaged, &mut out);
            let _ = form.decoder().decompress(&block[..at], &mut out);
        }
        assert!(form.decoder().decompress(b"", &mut out).is_err());
        assert!(form.decoder().decompress(&[225; 20], &mut out).is_err());
    }
}
