//! Keys and certificates from files.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use packline_verity::Signer;

use super::{fault, refused};
use crate::error::Error;
use zeroize::Zeroizing;

/// Maximum bytes of a key or a certificate.
const PEM_MOST: u64 = 1 << 20;

/// A key and its certificate from PEM files.
///
/// # Errors
/// [`Error::Source`] if a file cannot be read, [`Error::Target`] with the name of an unusable file.
pub fn read_signer(key: &Path, certificate: &Path) -> Result<Signer, Error> {
    let key_text = read_pem(key)?;
    let certificate_text = read_pem(certificate)?;
    let signer = Signer::from_pem(&key_text, &certificate_text);
    signer.map_err(|cause| match cause {
        packline_verity::Error::Certificate { what, expected } => refused(certificate, &what, expected),
        packline_verity::Error::Key { what, expected } => refused(key, &what, expected),
        cause => fault(key, cause),
    })
}

/// The text of a file, wiped when it is dropped.
fn read_pem(path: &Path) -> Result<Zeroizing<String>, Error> {
    // Large enough for any file, so that growing leaves no copy in memory.
    let mut text = Zeroizing::new(String::with_capacity(PEM_MOST as usize));
    let read = File::open(path).and_then(|file| file.take(PEM_MOST).read_to_string(&mut text));
    read.map_err(|cause| Error::Source { path: path.to_path_buf(), action: "cannot read", cause })?;
    Ok(text)
}
