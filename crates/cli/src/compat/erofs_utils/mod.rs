//! Drop-ins for the programs of erofs-utils 1.9.3, and the texts, numbers and images that they share.

pub mod dump;
pub mod fsck;
pub mod mkfs;

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use packline::requests::{ErofsImage, ImagePlace, SuperblockChecksum};
use packline_image::metadata_cache;
use packline_tree::path::{PathFault, canonical};
use packline_volume::{NodeId, ReadError, Walk};

use crate::args::image::place;
use crate::args::value::{Value, text};
use crate::ui::escape::Escape;
use crate::ui::failure::Failure;
use crate::ui::io::Io;

/// The options that locate an image.
#[derive(Debug, clap::Args)]
pub struct ImageOptions {
    /// The image: a file, a block device or a pipe; - for standard input
    #[arg(value_name = "IMAGE", value_hint = clap::ValueHint::AnyPath)]
    image: PathBuf,
    /// A file with the content of a device of the image, in the order of the device table
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    device: Vec<PathBuf>,
    /// Read the image at this byte of the file
    #[arg(long, value_name = "BYTES", default_value = "0", value_parser = c_number())]
    offset: u64,
    /// The inode with this number instead of the root
    #[arg(long, value_name = "NUMBER", value_parser = c_number())]
    nid: Option<u64>,
    /// The inode at this path of the image; it overrides --nid
    #[arg(long, value_name = "PATH")]
    path: Option<OsString>,
}

/// An inode that an option names.
pub struct ChosenInode {
    pub node: NodeId,
    /// Its path in the image, if an option or a search gave it.
    pub path: Option<Vec<u8>>,
}

impl ImageOptions {
    /// Returns whether an option names an inode.
    pub fn chooses(&self) -> bool {
        self.path.is_some() || self.nid.is_some()
    }

    /// Lets the number 0 stand for the root.
    pub fn with_zero_for_root(mut self) -> ImageOptions {
        self.nid = self.nid.filter(|number| *number != 0);
        self
    }

    /// Returns the location of the image. A stream is stored.
    pub fn place(&self, io: &mut Io) -> Result<ImagePlace, Failure> {
        Ok(place(&self.image, Some(self.offset), io)?.with_devices(self.device.clone()))
    }

    pub fn open(&self, checksum: SuperblockChecksum, io: &mut Io) -> Result<ErofsImage, Failure> {
        Ok(self.place(io)?.open_erofs(checksum, metadata_cache(None))?)
    }

    /// Returns the inode that --path or --nid names, if any.
    pub fn chosen(&self, image: &ErofsImage) -> Result<Option<ChosenInode>, Failure> {
        if let Some(path) = &self.path {
            let path = image_path(path)?;
            let found = image.volume.resolve(&path).map_err(|cause| image.fault_at(&path, cause))?;
            let missing = || Failure::failed(format!("{}: failed to lookup {}", shown(image), path.escaped()));
            return Ok(Some(ChosenInode { node: found.ok_or_else(missing)?.at, path: Some(path) }));
        }
        let Some(number) = self.nid else { return Ok(None) };
        let node = image.image.inode_of_number(number).map_err(|cause| image.fault(cause))?;
        Ok(Some(ChosenInode { node, path: (node == image.volume.root()).then(Vec::new) }))
    }
}

/// Returns the name of an image for messages.
pub fn shown(image: &ErofsImage) -> String {
    image.display_path.escaped()
}

/// Returns a path of the image; the path of the root is empty.
fn image_path(raw: &OsStr) -> Result<Vec<u8>, Failure> {
    match canonical(raw.as_encoded_bytes()) {
        Err(PathFault::Empty) => Ok(Vec::new()),
        Err(fault) => Err(Failure::usage(format!("--path: '{}': {fault}", raw.escaped()))),
        Ok(path) => Ok(path),
    }
}

/// Returns the first path of an inode; `None` if no name leads to it. Faults on the way hide what is after them.
pub fn path_of(image: &ErofsImage, node: NodeId) -> Option<Vec<u8>> {
    let mut visits = Walk::new(&image.volume, image.volume.root(), Vec::new()).filter_map(Result::ok);
    visits.find(|visit| visit.inode.at == node).map(|visit| visit.path)
}

/// Parses a number as strtoull(3) does with base 0: decimal, octal after `0`, hexadecimal after `0x`.
pub fn c_number() -> Value<u64> {
    text(parse_c_number)
}

fn parse_c_number(text: &str) -> Result<u64, String> {
    let (digits, radix) = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => (digits, 16),
        None if text.len() > 1 && text.starts_with('0') => (&text[1..], 8),
        None => (text, 10),
    };
    // from_str_radix also accepts a sign.
    let is_number = digits.starts_with(|first: char| first.is_digit(radix));
    let parsed = u64::from_str_radix(digits, radix).ok().filter(|_| is_number);
    parsed.ok_or_else(|| format!("'{text}' is not a number (expected 0 to 2^64-1)"))
}

/// Returns a fault of the image that ends a part of the output.
pub fn fault(image: &ErofsImage, cause: ReadError) -> Failure {
    image.fault(cause).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_numbers_as_c_does() {
        for (text, number) in [("0", 0), ("10", 10), ("010", 8), ("0x1F", 31), ("18446744073709551615", u64::MAX)] {
            assert_eq!(parse_c_number(text), Ok(number));
        }
        for wrong in ["", "-1", "+1", "1k", "0x", "08", "0x-1", "18446744073709551616"] {
            assert!(parse_c_number(wrong).is_err(), "{wrong}");
        }
    }
}
