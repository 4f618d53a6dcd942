//! Options of dm-verity trees, which have different names in `pack` and `verity`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use packline::requests::{VerityOptions, VerityPlace, read_signer};
use packline_verity::{Salt, Uuid};

use super::value::{one_of, text};
use crate::ui::failure::Failure;

/// The options of a tree on a command line of `pack` or `verity`.
pub struct TreeOptions<'a> {
    pub place: VerityPlace,
    pub salt: Option<&'a Salt>,
    pub uuid: Option<Uuid>,
    pub key: Option<&'a Path>,
    pub certificate: Option<&'a Path>,
}

impl TreeOptions<'_> {
    /// Reads the key and the certificate.
    pub fn options(self) -> Result<VerityOptions, Failure> {
        let mut options = VerityOptions::default();
        options.place = self.place;
        options.salt = self.salt.cloned().unwrap_or_default();
        options.uuid = self.uuid;
        if let (Some(key), Some(certificate)) = (self.key, self.certificate) {
            options.signer = Some(Arc::new(read_signer(key, certificate)?));
        }
        Ok(options)
    }
}

/// `--verity` and its further options.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "dm-verity")]
pub struct PackVerity {
    /// Write the dm-verity hash tree to IMAGE.verity or append it to the image, and write the root hash to IMAGE.roothash
    #[arg(long, value_name = "WHERE", num_args = 0..=1, require_equals = true, default_missing_value = "files")]
    #[arg(value_parser = one_of([("files", VerityPlace::Files), ("append", VerityPlace::Append)]))]
    #[arg(conflicts_with = "dry_run")]
    verity: Option<VerityPlace>,
    /// Set the salt of the hash tree, in hexadecimal; - for none [default: derived from the image]
    #[arg(long, value_name = "HEX", value_parser = text(str::parse::<Salt>))]
    verity_salt: Option<Salt>,
    /// Set the UUID of the hash tree [default: derived from the root hash]
    #[arg(long, value_name = "UUID", value_parser = text(str::parse::<Uuid>))]
    verity_uuid: Option<Uuid>,
    /// Sign the root hash with this key (PEM; RSA, P-256 or P-384), and write IMAGE.roothash.p7s
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    verity_key: Option<PathBuf>,
    /// Read the certificate of the key from FILE (PEM)
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    verity_cert: Option<PathBuf>,
}

impl PackVerity {
    /// The options that need another one, and the other one.
    pub const NEED: [(&'static str, &'static str); 5] = [
        ("verity-salt", "verity"),
        ("verity-uuid", "verity"),
        ("verity-key", "verity"),
        ("verity-key", "verity-cert"),
        ("verity-cert", "verity-key"),
    ];

    pub fn is_given(&self) -> bool {
        self.verity.is_some()
    }

    /// Returns the options of the hash tree, if the command writes one.
    pub fn options(&self) -> Result<Option<VerityOptions>, Failure> {
        let Some(place) = self.verity else { return Ok(None) };
        let tree = TreeOptions {
            place,
            salt: self.verity_salt.as_ref(),
            uuid: self.verity_uuid,
            key: self.verity_key.as_deref(),
            certificate: self.verity_cert.as_deref(),
        };
        tree.options().map(Some)
    }
}
