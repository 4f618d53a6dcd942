//! Options of dm-verity trees, which have different names in `pack` and `verity`.

use std::path::Path;
use std::sync::Arc;

use packline::requests::{VerityOptions, VerityPlace, read_signer};
use packline_verity::{Salt, Uuid};

use crate::ui::failure::Failure;

/// The options of a tree on a command line.
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
