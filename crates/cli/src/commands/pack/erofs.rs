//! `packline pack` to an EROFS image: the options that only EROFS has, and those that it does not have.

use packline_codec::Spec;
use packline_erofs::{Fragments, Kernel, Options, Uuid};

use crate::args::value::text;
use crate::args::{Invocation, wrong};
use crate::ui::failure::Failure;
use crate::ui::io::Io;

/// Longest label in bytes. Linux before 7.0 needs a byte of zero after it.
const LABEL_MOST: usize = 15;

/// The end of `--codec help`.
pub const CODECS_HELP: &str = "An EROFS image has zstd, lzma, lz4, gzip (deflate) or none.\n";

const ONLY_EROFS: &str = "is only for EROFS images; --format erofs, or a name that ends in .erofs, writes one";

/// The options of a SquashFS image that an EROFS image does not have, and why.
const REFUSED: [(&str, &str); 5] = [
    ("no-compress", "an EROFS image compresses only contents; -c none stores them uncompressed"),
    ("layout", "packline has no other layout for EROFS images"),
    ("exportable", "only a SquashFS image has an export table"),
    ("no-pad", "an EROFS image always ends at a multiple of 4K"),
    ("base-any", "an EROFS image takes only blocks that its own encoder would make"),
];

/// What an EROFS image has and a SquashFS image does not.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "EROFS images")]
pub struct ErofsOptions {
    /// Choose the oldest Linux version that must mount the image; before 6.1, equal contents are stored again each time [default: 6.10]
    #[arg(long, value_name = "VERSION", value_parser = text(str::parse::<Kernel>))]
    kernel: Option<Kernel>,
    /// Compress directories too, for a smaller image whose names are looked up more slowly; needs Linux 6.1
    #[arg(long, conflicts_with = "no_fragments")]
    compress_directories: bool,
    /// Set the volume label, at most 15 bytes
    #[arg(long, value_name = "LABEL", value_parser = text(label))]
    label: Option<String>,
    /// Set the UUID of the file system [default: derived from the content of the image]
    #[arg(long, value_name = "UUID", value_parser = text(str::parse::<packline_verity::Uuid>))]
    uuid: Option<packline_verity::Uuid>,
}

fn label(text: &str) -> Result<String, String> {
    match text.len() {
        0..=LABEL_MOST => Ok(text.to_string()),
        bytes => Err(format!("'{text}' has {bytes} bytes (expected at most {LABEL_MOST})")),
    }
}

impl ErofsOptions {
    /// Sets the options that the command line names. Warns if the kernel lacks what makes images small.
    ///
    /// # Errors
    /// [`Failure::Usage`] for a codec or an option that needs a later kernel.
    pub fn apply(&self, options: &mut Options, invocation: &Invocation, io: &mut Io) -> Result<(), Failure> {
        if let Some(kernel) = self.kernel {
            options.kernel = kernel;
        }
        options.compress_directories = self.compress_directories;
        let fragments = options.fragments;
        let needed = options.without_unknown_sharing();
        if needed.is_some() && invocation.has("fragments") {
            // The check below then rejects the option.
            options.fragments = fragments;
        }
        if let Some(label) = &self.label {
            options.label = label.clone().into_bytes();
        }
        if let Some(uuid) = self.uuid {
            options.uuid = Uuid::Given(uuid.0);
        }
        let valid = options.validate();
        valid.map_err(|error| match self.kernel {
            Some(kernel) => wrong("kernel", format!("{error}{}", codec_hint(kernel, options))),
            None if invocation.has("block-size") => wrong("block-size", error),
            None => wrong("codec", error),
        })?;
        if let Some(needed) = needed {
            io.warn(&format!(
                "--kernel {}: equal contents and blocks of zeros are stored in full; an image for Linux {needed} or later is smaller",
                options.kernel
            ));
        }
        Ok(())
    }
}

/// Returns a hint that names the codecs of a kernel. Returns an empty text if the kernel has the codec of the image, or has no EROFS.
fn codec_hint(kernel: Kernel, options: &Options) -> String {
    let has = |codec: Spec| {
        let alone =
            Options { kernel, deduplicate: false, sparse: false, fragments: Fragments::Never, ..Options::new(codec) };
        alone.validate().is_ok()
    };
    let is_known = |name: &&str| Spec::parse(name).is_ok_and(has);
    let names: Vec<&str> = ["zstd", "gzip", "lzma", "lz4", "none"].into_iter().filter(is_known).collect();
    if names.is_empty() || has(options.codec.clone()) {
        return String::new();
    }
    let names: Vec<String> = names.iter().map(|name| format!("-c {name}")).collect();
    format!("; Linux {kernel} has {}", names.join(", "))
}

/// Rejects `--cache` for an image that is not compressed: nothing is looked up.
pub fn refuse_cache(options: &Options, invocation: &Invocation) -> Result<(), Failure> {
    if invocation.has("cache") && !options.looks_up() {
        return Err(wrong("cache", "has no effect on an EROFS image with -c none, which compresses nothing"));
    }
    Ok(())
}

/// Rejects the options of a SquashFS image.
pub fn refuse_options(invocation: &Invocation) -> Result<(), Failure> {
    match REFUSED.iter().find(|(long, _)| invocation.has(long)) {
        Some((long, why)) => Err(wrong(long, why)),
        None => Ok(()),
    }
}

/// Rejects [`ErofsOptions`] for a SquashFS image.
pub fn refuse_own_options(invocation: &Invocation) -> Result<(), Failure> {
    match ["kernel", "compress-directories", "label", "uuid"].into_iter().find(|long| invocation.has(long)) {
        Some(long) => Err(wrong(long, ONLY_EROFS)),
        None => Ok(()),
    }
}
