//! The encoders that are compared: ours by [`Spec`], the libraries' as squashfs-tools call them.

use liblzma::stream::{Action, Check, Filters, LzmaOptions, Status, Stream};
use packline_codec::{Outcome, Spec};

/// Compresses a block into a buffer of the encoder and returns the stored size.
pub type Compress = Box<dyn FnMut(&[u8], &mut Vec<u8>) -> Result<usize, String>>;

pub struct Candidate {
    pub codec: String,
    /// Whether the encoder is our default for the codec. Other candidates are the libraries that other packers call.
    pub ours: bool,
    pub level: String,
    pub compress: Compress,
}

/// All levels of codecs, ours and the libraries', and our other codecs that were requested.
pub fn candidates(codecs: &[String], also: &[Spec], size: usize) -> Result<Vec<Candidate>, String> {
    let mut all = Vec::new();
    for codec in codecs {
        match codec.as_str() {
            "gzip" => {
                levels(&mut all, true, "gzip:level=", 1..=12, size)?;
                levels(&mut all, false, "gzip:engine=zlib,level=", 1..=9, size)?;
            }
            "lzo" => levels(&mut all, true, "lzo:level=", 1..=9, size)?,
            // Ours is the library itself.
            "lz4" => {
                all.push(own(true, "fast", &Spec::parse("lz4").map_err(text)?, size)?);
                levels(&mut all, true, "lz4:hc,level=", 3..=12, size)?;
            }
            "zstd" => {
                levels(&mut all, true, "zstd:level=", 1..=22, size)?;
                all.extend((1..=22).map(zstd));
            }
            // The levels above 6 have larger dictionaries alone.
            "xz" => {
                levels(&mut all, true, "xz:level=", 0..=6, size)?;
                all.extend((0..=6).map(|level| xz(level, size)));
            }
            _ => return Err(format!("--codecs {codec}: no curve (expected gzip, lzo, lz4, zstd, xz)")),
        }
    }
    for spec in also {
        let shown = spec.to_string();
        all.push(own(true, shown.split_once(':').map_or("default", |(_, level)| level), spec, size)?);
    }
    Ok(all)
}

fn levels(
    all: &mut Vec<Candidate>,
    ours: bool,
    prefix: &str,
    levels: std::ops::RangeInclusive<u32>,
    size: usize,
) -> Result<(), String> {
    for level in levels {
        let spec = Spec::parse(&format!("{prefix}{level}")).map_err(text)?;
        all.push(own(ours, &level.to_string(), &spec, size)?);
    }
    Ok(())
}

fn own(ours: bool, level: &str, spec: &Spec, size: usize) -> Result<Candidate, String> {
    let mut encoder = spec.encoder(size).map_err(text)?;
    let compress = move |block: &[u8], product: &mut Vec<u8>| {
        product.resize(block.len(), 0);
        match encoder.compress(block, product).map_err(text)? {
            Outcome::Smaller(size) => Ok(size),
            Outcome::NotSmaller => Ok(block.len()),
        }
    };
    Ok(Candidate { codec: spec.name().to_owned(), ours, level: level.to_owned(), compress: Box::new(compress) })
}

/// libzstd with one context for all blocks.
fn zstd(level: i32) -> Candidate {
    let mut context = zstd_safe::CCtx::create();
    let compress = move |block: &[u8], product: &mut Vec<u8>| {
        product.resize(zstd_safe::compress_bound(block.len()), 0);
        let size = context.compress(product.as_mut_slice(), block, level);
        size.map(|size| size.min(block.len())).map_err(|code| zstd_safe::get_error_name(code).to_owned())
    };
    Candidate { codec: "zstd".into(), ours: false, level: level.to_string(), compress: Box::new(compress) }
}

/// liblzma with a dictionary of the block's size and an encoder for each block.
fn xz(level: u32, size: usize) -> Candidate {
    let compress = move |block: &[u8], product: &mut Vec<u8>| {
        let mut options = LzmaOptions::new_preset(level).map_err(text)?;
        options.dict_size(size as u32);
        let mut stream = Stream::new_stream_encoder(Filters::new().lzma2(&options), Check::Crc32).map_err(text)?;
        product.resize(block.len() + block.len() / 8 + 4096, 0);
        match stream.process(block, product, Action::Finish).map_err(text)? {
            Status::StreamEnd => Ok(block.len().min(stream.total_out() as usize)),
            status => Err(format!("liblzma ended with {status:?}")),
        }
    };
    Candidate { codec: "xz".into(), ours: false, level: level.to_string(), compress: Box::new(compress) }
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}
