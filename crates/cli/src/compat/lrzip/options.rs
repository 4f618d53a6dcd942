//! The options that all five commands share.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::ArgAction;
use clap::builder::{OsStringValueParser, TypedValueParser};
use packline_lrz::BackEnd;

use crate::args::value::{number, text};

/// The options of lrzip and lrztar, before they are combined with `lrzip.conf`.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Decompress instead of compressing
    #[arg(short, long)]
    pub decompress: bool,
    /// Encrypt, or decrypt, with this password; without PASSWORD, read it from the terminal
    #[arg(short, long, value_name = "PASSWORD", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub encrypt: Option<OsString>,
    /// Show the MD5 of the content
    #[arg(short = 'H', long)]
    pub hash: bool,
    /// Suppress the progress bar
    #[arg(short, long)]
    pub quiet: bool,
    /// Print only errors
    #[arg(short = 'Q', long)]
    pub very_quiet: bool,
    /// Print more; if repeated, even more
    #[arg(short, long, action = ArgAction::Count)]
    pub verbose: u8,
    #[command(flatten)]
    pub output: OutputOptions,
    #[command(flatten)]
    pub back_end: BackEndOptions,
    #[command(flatten)]
    pub tuning: TuningOptions,
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Output")]
pub struct OutputOptions {
    /// Replace existing files
    #[arg(short, long)]
    pub force: bool,
    /// Write the output to this file; - is standard output
    #[arg(short, long, value_name = "FILE", conflicts_with = "outdir")]
    pub outfile: Option<PathBuf>,
    /// Write the outputs to this directory, unless --outfile is given
    #[arg(short = 'O', long, value_name = "DIR", value_parser = OsStringValueParser::new().map(PathBuf::from))]
    pub outdir: Option<PathBuf>,
    /// Set the suffix of compressed files
    #[arg(short = 'S', long, value_name = "SUFFIX", default_value = ".lrz", value_parser = text(suffix))]
    pub suffix: String,
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Compression")]
#[group(multiple = false)]
pub struct BackEndOptions {
    /// Compress with LZMA (default)
    #[arg(long)]
    lzma: bool,
    /// Compress with bzip2
    #[arg(short, long)]
    bzip2: bool,
    /// Compress with zlib's deflate
    #[arg(short, long)]
    gzip: bool,
    /// Compress with LZO, the fastest
    #[arg(short, long)]
    lzo: bool,
    /// Only find repeats, for another program to compress
    #[arg(short, long)]
    no_compress: bool,
    /// Compress with zpaq, the smallest and slowest
    #[arg(short, long)]
    zpaq: bool,
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Tuning")]
pub struct TuningOptions {
    /// Set the effort of compression [default: 7]
    #[arg(short = 'L', long, value_name = "LEVEL", value_parser = number::<u32>(1..=9))]
    pub level: Option<u32>,
    /// Set the priority of the process [default: inherited]
    #[arg(short = 'N', long, value_name = "VALUE", value_parser = number::<i32>(-20..=19))]
    pub nice_level: Option<i32>,
    /// Run N worker threads; the output does not depend on N [default: number of CPUs]
    #[arg(short = 'p', long, value_name = "COUNT", value_parser = number::<usize>(1..=1024))]
    pub threads: Option<usize>,
    /// Limit memory, in units of 100 MiB; the output is the same [default: a third of the memory]
    #[arg(short, long, value_name = "SIZE", value_parser = number::<u64>(1..=1 << 40))]
    pub maxram: Option<u64>,
    /// Also try to compress what a quick test finds incompressible
    #[arg(short = 'T', long)]
    pub threshold: bool,
    /// Search the complete input for repeats, up to 64 GiB
    #[arg(short = 'U', long, conflicts_with = "window")]
    pub unlimited: bool,
    /// Find repeats within this distance, in units of 100 MiB [default: 4 GiB]
    #[arg(short, long, value_name = "SIZE", value_parser = number::<u64>(1..=1 << 40))]
    pub window: Option<u64>,
}

impl BackEndOptions {
    pub fn chosen(&self) -> Option<BackEnd> {
        let flags = [
            (self.lzma, BackEnd::Lzma),
            (self.bzip2, BackEnd::Bzip2),
            (self.gzip, BackEnd::Gzip),
            (self.lzo, BackEnd::Lzo),
            (self.no_compress, BackEnd::None),
            (self.zpaq, BackEnd::Zpaq),
        ];
        flags.into_iter().find_map(|(given, back_end)| given.then_some(back_end))
    }
}

fn suffix(text: &str) -> Result<String, String> {
    if text.is_empty() || text.contains('/') {
        Err(format!("'{text}' (expected something without a slash)"))
    } else {
        Ok(text.to_string())
    }
}
