//! Sealed files for tests.

use std::io::Read;
use std::sync::Arc;

use age::secrecy::SecretString;
use packline_runtime::{Input, Resources, Sink};

use crate::format::Head;
use crate::{ChunkSize, Error, Identities, PlainInput, Recipients, SealedHead, Sealing, SealingSink};

/// A chunk size that gives small files many chunks.
pub(super) const SMALL: u8 = 12;

pub(super) fn chunk(log: u8) -> ChunkSize {
    ChunkSize::from_log(log).unwrap()
}

/// A key pair of age.
pub(super) struct Pair {
    pub(super) public: String,
    pub(super) secret: String,
}

pub(super) fn pair() -> Pair {
    use age::secrecy::ExposeSecret;
    let identity = age::x25519::Identity::generate();
    Pair { public: identity.to_public().to_string(), secret: identity.to_string().expose_secret().to_owned() }
}

impl Pair {
    pub(super) fn recipients(&self) -> Recipients {
        let mut recipients = Recipients::default();
        recipients.add_key(&self.public).unwrap();
        recipients
    }

    pub(super) fn identities(&self) -> Identities {
        let mut identities = Identities::default();
        identities.add_file(self.secret.as_bytes(), "key").unwrap();
        identities
    }
}

pub(super) fn passphrase(text: &str) -> SecretString {
    SecretString::from(text.to_owned())
}

pub(super) fn content(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at * 7 + at / 251) as u8).collect()
}

/// Seals the content, appended in parts of different sizes.
pub(super) fn sealed_by(sealing: Sealing, content: &[u8], workers: usize) -> Vec<u8> {
    let mut file = Vec::new();
    let mut sink = SealingSink::new(sealing, &mut file, &Resources::new(workers)).unwrap();
    let mut at = 0;
    let mut step = 1;
    while at < content.len() {
        let end = (at + step).min(content.len());
        sink.append(&content[at..end]).unwrap();
        at = end;
        step = step * 3 % 70_001;
    }
    let written = sink.finish().unwrap();
    assert_eq!(written, file.len() as u64);
    file
}

pub(super) fn sealed(recipients: &Recipients, content: &[u8], log: u8) -> Vec<u8> {
    sealed_by(Sealing::new(recipients, chunk(log), None).unwrap(), content, 2)
}

pub(super) fn head_of(file: &[u8]) -> Head {
    Head::read(&mut &file[..]).unwrap()
}

/// Opens a file for reading at any offset.
pub(super) fn input(file: &[u8], identities: &Identities) -> Result<PlainInput, Error> {
    let file: Arc<dyn Input> = Arc::new(file.to_vec());
    SealedHead::of(&file)?.open(identities, None)?.input(file)
}

/// Reads the content at offsets. Returns the error of opening or reading.
pub(super) fn at_offsets(file: &[u8], identities: &Identities) -> Result<Vec<u8>, Error> {
    let input = input(file, identities)?;
    let mut content = vec![0; input.size() as usize];
    input.read_at(0, &mut content).map_err(|cause| Error::from_io(cause).unwrap())?;
    Ok(content)
}

/// Returns the content that a stream returns, and the error after it.
pub(super) fn streamed(file: &[u8], identities: &Identities, workers: usize) -> (Vec<u8>, Option<Error>) {
    let mut file = file;
    let mut content = Vec::new();
    let read = SealedHead::read(&mut file)
        .and_then(|head| head.open(identities, None))
        .and_then(|head| head.stream(file, &Resources::new(workers), None))
        .and_then(|mut stream| stream.read_to_end(&mut content).map_err(|cause| Error::from_io(cause).unwrap()));
    (content, read.err())
}
