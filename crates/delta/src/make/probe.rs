//! Finds the codec that encodes the blocks of an image to the same bytes.

use std::sync::Arc;

use packline_codec::{Encoder, GzipParams, Outcome, Spec, ZstdParams};
use packline_engine::CancelToken;
use packline_runtime::{Input, unless_cancelled};
use packline_squashfs::{BlockSize, encode_metadata};

use crate::plain::{Block, BlockDecoder, FoundImage};
use crate::{Error, Side};

/// The number of data blocks that are tried.
const DATA_BLOCKS: usize = 4;
/// The number of metadata blocks that are tried.
const METADATA_BLOCKS: usize = 2;

/// Compares the candidates on a few blocks. Returns the candidate that reproduces the most blocks (the first of equal candidates), or `None`
/// if no candidate reproduces a block.
///
/// # Errors
/// [`Error::Input`], [`Error::Work`], [`Error::Codec`] if there is not enough memory.
pub(super) fn codec(
    input: &Arc<dyn Input>,
    image: &FoundImage,
    candidates: &[Spec],
    cancel: &CancelToken,
) -> Result<Option<Spec>, Error> {
    let samples = Samples::read(input.as_ref(), image)?;
    let mut best: Option<(usize, &Spec)> = None;
    for candidate in candidates {
        unless_cancelled(cancel)?;
        let count = samples.reproduced(candidate, image.block_size)?;
        if count > best.map_or(0, |(most, _)| most) {
            best = Some((count, candidate));
        }
        if count == samples.0.len() {
            break;
        }
    }
    Ok(best.map(|(_, codec)| codec.clone()))
}

/// Returns the codecs that may have encoded an image with these options, the likeliest first. The options do not state the level of xz and
/// lzma, nor levels of gzip above 9 and of zstd below 1 and above 22.
pub(super) fn candidates(stated: &Spec) -> Vec<Spec> {
    let text = stated.to_string();
    let mut texts = vec![text.clone()];
    let joined = |list: String| if text.contains(':') { format!("{text},{list}") } else { format!("{text}:{list}") };
    match stated {
        Spec::Gzip(params) => {
            if params.level == GzipParams::MAX_ZLIB_LEVEL {
                texts.extend((10..=GzipParams::MAX_LEVEL).map(|level| joined(format!("level={level}"))));
                // Earlier versions used libdeflate at the highest level.
                texts.push(joined(format!("level={},engine=libdeflate", GzipParams::MAX_LEVEL)));
            }
            texts.push(joined("engine=zlib".into()));
        }
        Spec::Zstd(ZstdParams { level: 1 }) => texts.extend((1..=5).map(|level| format!("zstd:level=-{level}"))),
        Spec::Zstd(ZstdParams { level: ZstdParams::MAX_LEVEL }) => texts.push("zstd:level=max".into()),
        Spec::Xz(_) | Spec::Lzma(_) => {
            texts.push(joined("auto".into()));
            texts.push(joined("level=max".into()));
            texts.push(joined("extreme".into()));
            texts.extend((0..=9).rev().map(|level| joined(format!("level={level}"))));
            texts.push(joined("level=9,extreme".into()));
        }
        Spec::Lz4(params) if params.hc => texts.extend((1..=12).rev().map(|level| joined(format!("level={level}")))),
        _ => {}
    }
    let mut specs: Vec<Spec> = Vec::new();
    for spec in texts.iter().filter_map(|text| Spec::parse(text).ok()) {
        if !specs.contains(&spec) {
            specs.push(spec);
        }
    }
    specs
}

/// Blocks with their stored and plain bytes.
struct Samples(Vec<(Block, Vec<u8>, Vec<u8>)>);

impl Samples {
    /// Reads and decodes blocks at equal distances.
    fn read(input: &dyn Input, image: &FoundImage) -> Result<Samples, Error> {
        let mut decoder = BlockDecoder::new(&image.codec, image.block_size)?;
        let kind = |is_metadata| image.blocks.iter().filter(move |block| block.is_metadata() == is_metadata);
        let mut samples = Vec::new();
        for (is_metadata, most) in [(false, DATA_BLOCKS), (true, METADATA_BLOCKS)] {
            let step = kind(is_metadata).count().div_ceil(most).max(1);
            for block in kind(is_metadata).step_by(step) {
                let mut stored = vec![0; block.stored as usize];
                let mut plain = Vec::new();
                input.read_at(block.at, &mut stored).map_err(Error::input(Side::New))?;
                if decoder.decode(block, &stored, &mut plain).is_some() {
                    samples.push((*block, stored, plain));
                }
            }
        }
        Ok(Samples(samples))
    }

    /// Returns how many blocks a codec reproduces.
    fn reproduced(&self, codec: &Spec, block_size: BlockSize) -> Result<usize, Error> {
        let mut data = codec.encoder(block_size.bytes())?;
        let mut metadata = codec.metadata_encoder()?;
        let mut count = 0;
        for (block, stored, plain) in &self.0 {
            let encoded = if block.is_metadata() {
                encode_metadata(metadata.as_mut(), plain)?
            } else {
                encode(data.as_mut(), plain)?
            };
            count += usize::from(encoded == *stored);
        }
        Ok(count)
    }
}

fn encode(encoder: &mut dyn Encoder, plain: &[u8]) -> Result<Vec<u8>, Error> {
    let mut out = vec![0; plain.len()];
    match encoder.compress(plain, &mut out)? {
        Outcome::Smaller(size) => out.truncate(size),
        Outcome::NotSmaller => out.clear(),
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(stated: &str) -> Vec<String> {
        candidates(&stated.parse().unwrap()).iter().map(Spec::to_string).collect()
    }

    #[test]
    fn candidates_cover_the_parameters_that_options_omit() {
        let levels = ["gzip:level=10", "gzip:level=11", "gzip:level=12", "gzip:level=12,engine=libdeflate"];
        assert_eq!(texts("gzip")[1..5], levels);
        assert_eq!(texts("gzip")[5..], ["gzip:engine=zlib"]);
        assert_eq!(texts("gzip:level=6"), ["gzip:level=6", "gzip:level=6,engine=zlib"]);
        assert_eq!(texts("zstd:level=19"), ["zstd:level=19"]);
        assert_eq!(texts("zstd:level=22"), ["zstd:level=22", "zstd:level=max"]);
        assert_eq!(texts("zstd:level=1")[1], "zstd:level=-1");
        assert_eq!(texts("xz:dictsize=64K,x86")[1..3], ["xz:dictsize=64K,auto", "xz:level=max,dictsize=64K,x86"]);
        assert_eq!(texts("xz:dictsize=64K,x86").len(), 14);
        assert_eq!(texts("lzo"), ["lzo"]);
        assert_eq!(texts("lz4hc").len(), 12);
        assert_eq!(texts("lz4"), ["lz4"]);
    }
}
