//! Encrypted .pln files: a sealed stream (`packline_encryption`) around a .pln file.

use std::io;
use std::path::Path;
#[cfg(feature = "encryption")]
use std::sync::Arc;

#[cfg(feature = "encryption")]
use packline_encryption::{ChunkSize, Damage, PlainInput, SealedHead, Sealing, SealingSink, memory};
use packline_pln::{Error as PlnError, Verified, Written};
#[cfg(feature = "encryption")]
use packline_runtime::InputStream;
#[cfg(feature = "encryption")]
use packline_runtime::escape::Escape;
use packline_runtime::{MemoryFault, Observer, Resources, Sink};

#[cfg(feature = "encryption")]
pub(crate) use packline_encryption::OpenedHead;
#[cfg(feature = "encryption")]
pub use packline_encryption::{Identities, Recipients};

#[cfg(feature = "encryption")]
use super::opened_input::Bytes;
use super::opened_input::OpenedInput;
use super::pln::PlnFinding;
#[cfg(feature = "encryption")]
use super::pln::fault;
use crate::error::Error;

/// A build without encryption has no values of this type.
#[cfg(not(feature = "encryption"))]
#[derive(Debug)]
pub enum Identities {}
/// A build without encryption has no values of this type.
#[cfg(not(feature = "encryption"))]
#[derive(Debug)]
pub enum Recipients {}

/// A build without encryption has no values of this type.
#[cfg(not(feature = "encryption"))]
pub(crate) enum OpenedHead {}

/// Facts in the head of an encrypted file that are readable without a key.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Encryption {
    /// Kinds of keys that open it (`X25519`, `ssh-ed25519`, `ssh-rsa` or others of age), with their numbers.
    pub keys: Vec<(String, u64)>,
    /// Number of passphrases that open it.
    pub passphrases: u64,
    /// Bytes of content of an encrypted chunk.
    pub chunk_size: u64,
    /// Whether padding hides the size of the content.
    pub padded: bool,
    /// Bytes of the file; 0 for a stream that was not read.
    pub physical: u64,
}

/// Memory of encryption, bytes: with the current limit, and without a limit.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Share {
    now: u64,
    most: u64,
}

impl Share {
    #[cfg(feature = "encryption")]
    fn new(resources: &Resources, chunk: ChunkSize) -> Share {
        Share { now: memory(resources, chunk), most: memory(&resources.clone().memory_limit(None), chunk) }
    }

    /// Does work with the rest of the memory. A memory error names the complete limit.
    pub(crate) fn with_rest<T>(
        self,
        resources: &Resources,
        work: impl FnOnce(&Resources) -> Result<T, PlnError>,
    ) -> Result<T, PlnError> {
        work(&resources.with_less_memory(self.now)).map_err(|error| match error {
            PlnError::Memory(MemoryFault { allowed, needed, what }) => {
                PlnError::Memory(MemoryFault { allowed: allowed + self.now, needed: needed + self.most, what })
            }
            error => error,
        })
    }
}

/// Opens an encrypted file: its content replaces its bytes. A truncated file is read from front to back, up to its end.
///
/// # Errors
/// [`Error::Stream`] if no key opens it, and for a damaged head; [`Error::Memory`] if a passphrase needs too much memory.
#[cfg(feature = "encryption")]
pub(crate) fn opened(
    opened: OpenedInput,
    identities: Option<&Identities>,
    resources: &Resources,
) -> Result<OpenedInput, Error> {
    opened_with(opened, identities, resources, &|head| head)
}

/// As [`opened`], with a head that `prepare` has changed.
#[cfg(feature = "encryption")]
fn opened_with(
    opened: OpenedInput,
    identities: Option<&Identities>,
    resources: &Resources,
    prepare: &dyn Fn(OpenedHead) -> OpenedHead,
) -> Result<OpenedInput, Error> {
    let none = Identities::default();
    let identities = identities.unwrap_or(&none);
    let limit = resources.memory;
    let OpenedInput { display_path, bytes, about, protected, .. } = opened;
    let wrong = |cause: packline_encryption::Error| refused(&display_path, cause);
    let mut plain = None;
    let (bytes, share) = match bytes {
        Bytes::At(file) => {
            let (bytes, share, input) = at_offsets(file, identities, resources, prepare).map_err(wrong)?;
            plain = input;
            (bytes, share)
        }
        Bytes::Stream(mut stream) => {
            let head = SealedHead::read(&mut stream).map_err(wrong)?;
            let share = Share::new(resources, head.chunk_size());
            let head = prepare(head.open(identities, limit).map_err(wrong)?);
            (Bytes::Stream(Box::new(head.stream(stream, resources, MAY_FOLLOW).map_err(wrong)?)), share)
        }
    };
    Ok(OpenedInput { display_path, bytes, about, protected, share, plain })
}

/// As [`opened`]; damaged chunks are zeros.
#[cfg(feature = "encryption")]
pub(crate) fn salvaged(
    opened: OpenedInput,
    identities: Option<&Identities>,
    resources: &Resources,
) -> Result<OpenedInput, Error> {
    opened_with(opened, identities, resources, &|head| head.with_damage(&Arc::default()))
}

/// Returns an error: this build does not include encryption.
///
/// # Errors
/// [`Error::Container`].
#[cfg(not(feature = "encryption"))]
pub(crate) fn salvaged(
    opened: OpenedInput,
    _identities: Option<&Identities>,
    _resources: &Resources,
) -> Result<OpenedInput, Error> {
    Err(crate::container::by_magic::ContentKind::Encrypted.instead_of(&opened.display_path, "a .pln file"))
}

/// As [`packline_pln::verify`], for an encrypted file. Damaged chunks are skipped, and reported after the faults of the content.
///
/// # Errors
/// As [`opened`] and [`packline_pln::verify`].
#[cfg(feature = "encryption")]
pub(crate) fn verify(
    opened: OpenedInput,
    identities: Option<&Identities>,
    resources: &Resources,
    found: &mut dyn FnMut(PlnFinding<'_>),
    observer: &mut dyn Observer,
) -> Result<Verified, Error> {
    let damage = Arc::new(Damage::default());
    let mut opened = opened_with(opened, identities, resources, &|head| head.with_damage(&damage))?;
    let share = opened.share;
    let read = share.with_rest(resources, |rest| {
        packline_pln::verify(opened.source(), &mut |error| found(error.into()), rest, observer)
    });
    let rest = read_rest(&mut opened).map_err(PlnError::Input);
    let damage = damage.take();
    let count = damage.len() as u64;
    damage.iter().for_each(|error| found(PlnFinding::Frame(error)));
    let read = read.and_then(|verified| rest.map(|()| Verified { findings: verified.findings + count, ..verified }));
    read.map_err(|cause| fault(&opened.display_path, &opened.display_path, cause))
}

/// Returns an error: this build does not include encryption.
///
/// # Errors
/// [`Error::Container`].
#[cfg(not(feature = "encryption"))]
pub(crate) fn verify(
    opened: OpenedInput,
    _identities: Option<&Identities>,
    _resources: &Resources,
    _found: &mut dyn FnMut(PlnFinding<'_>),
    _observer: &mut dyn Observer,
) -> Result<Verified, Error> {
    Err(crate::container::by_magic::ContentKind::Encrypted.instead_of(&opened.display_path, "a .pln file"))
}

/// Reads the rest of a file whose damage is noted.
#[cfg(feature = "encryption")]
fn read_rest(opened: &mut OpenedInput) -> io::Result<()> {
    match (&opened.plain, &mut opened.bytes) {
        (Some(plain), _) => plain.note_damage().map_err(packline_encryption::Error::into_io),
        (None, Bytes::Stream(stream)) => io::copy(stream, &mut io::sink()).map(drop),
        (None, Bytes::At(_)) => Ok(()),
    }
}

/// Checks the padding of a file after its complete content was read at offsets.
///
/// # Errors
/// [`PlnError::Input`].
pub(crate) fn check_padding(opened: &OpenedInput) -> Result<(), PlnError> {
    #[cfg(feature = "encryption")]
    if let Some(plain) = &opened.plain {
        plain.check_padding().map_err(|cause| PlnError::Input(cause.into_io()))?;
    }
    #[cfg(not(feature = "encryption"))]
    let _ = opened;
    Ok(())
}

/// Recovery data that a stream may still have at its end.
#[cfg(feature = "encryption")]
const MAY_FOLLOW: Option<[u8; 8]> = Some(packline_recovery::MAGIC);

/// The content of a file. A damaged file is read up to the damage, which is a read error: recovery data may repair it.
#[cfg(feature = "encryption")]
fn at_offsets(
    file: Arc<dyn packline_runtime::Input>,
    identities: &Identities,
    resources: &Resources,
    prepare: &dyn Fn(OpenedHead) -> OpenedHead,
) -> Result<(Bytes, Share, Option<Arc<PlainInput>>), packline_encryption::Error> {
    let damaged = |cause: packline_encryption::Error| {
        if cause.is_of_file() {
            Ok((Bytes::Stream(Box::new(Damaged(Some(cause.into_io())))), Share::default(), None))
        } else {
            Err(cause)
        }
    };
    let head = match SealedHead::of(&file) {
        Ok(head) => head,
        Err(cause) => return damaged(cause),
    };
    let share = Share::new(resources, head.chunk_size());
    let start = head.length();
    let head = match head.open(identities, resources.memory) {
        Ok(head) => prepare(head),
        Err(cause) => return damaged(cause),
    };
    Ok(match head.clone().input(Arc::clone(&file)) {
        Ok(input) => {
            let input = Arc::new(input);
            (Bytes::At(input.clone()), share, Some(input))
        }
        Err(cause) if cause.is_of_file() => {
            (Bytes::Stream(Box::new(head.stream(InputStream::new(file, start), resources, None)?)), share, None)
        }
        Err(cause) => return Err(cause),
    })
}

/// A stream that ends in an error at once.
#[cfg(feature = "encryption")]
struct Damaged(Option<io::Error>);

#[cfg(feature = "encryption")]
impl io::Read for Damaged {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Err(self.0.take().unwrap_or_else(|| io::ErrorKind::InvalidData.into()))
    }
}

/// Whether the cause is damage to the file.
#[cfg(feature = "encryption")]
pub(crate) fn is_damage(error: &PlnError) -> bool {
    error.is_of_file() || frame_error(error).is_some_and(packline_encryption::Error::is_of_file)
}

/// Returns the error of the frame around the content. The reader of the content gets that error from its input.
#[cfg(feature = "encryption")]
pub(crate) fn frame_error(error: &PlnError) -> Option<&packline_encryption::Error> {
    let PlnError::Input(cause) = error else { return None };
    packline_encryption::Error::in_io(cause)
}

/// Whether the cause is damage to the file.
#[cfg(not(feature = "encryption"))]
pub(crate) fn is_damage(error: &PlnError) -> bool {
    error.is_of_file()
}

/// Returns an error: this build does not include encryption.
///
/// # Errors
/// [`Error::Container`].
#[cfg(not(feature = "encryption"))]
pub(crate) fn opened(
    opened: OpenedInput,
    _identities: Option<&Identities>,
    _resources: &Resources,
) -> Result<OpenedInput, Error> {
    Err(crate::container::by_magic::ContentKind::Encrypted.instead_of(&opened.display_path, "a .pln file"))
}

/// Reads the facts in the head of an encrypted file.
///
/// # Errors
/// [`Error::Stream`] for a damaged head.
#[cfg(feature = "encryption")]
pub(crate) fn described(path: &Path, file: &Arc<dyn packline_runtime::Input>) -> Result<Encryption, Error> {
    let wrong = |cause| refused(path, cause);
    let head = SealedHead::of(file).map_err(wrong)?;
    let made_for = head.made_for().map_err(wrong)?;
    let chunk_size = head.chunk_size().bytes() as u64;
    let padded = head.is_padded();
    let physical = file.size();
    Ok(Encryption { keys: made_for.keys, passphrases: made_for.passphrases, chunk_size, padded, physical })
}

/// Seals the bytes that `write` appends to a sink. Also returns an opener to read them back.
///
/// # Errors
/// Returns the errors of `write`, and errors of sealing as [`PlnError::Output`].
#[cfg(feature = "encryption")]
pub(crate) fn sealed(
    recipients: &Recipients,
    sink: &mut dyn Sink,
    resources: &Resources,
    write: impl FnOnce(&mut dyn Sink, &Resources) -> Result<Written, PlnError>,
) -> Result<(Written, OpenedHead), PlnError> {
    let failed = |cause: packline_encryption::Error| PlnError::Output(cause.into_io());
    let chunk = ChunkSize::USUAL;
    let sealing = Sealing::new(recipients, chunk, resources.memory).map_err(failed)?;
    let head = sealing.opened();
    let mut sealing = SealingSink::new(sealing, sink, resources).map_err(failed)?;
    let written = Share::new(resources, chunk).with_rest(resources, |rest| write(&mut sealing, rest))?;
    Ok((Written { physical: sealing.finish().map_err(failed)?, ..written }, head))
}

/// The content of a file that was just sealed.
///
/// # Errors
/// [`PlnError::Input`] if it does not open.
#[cfg(feature = "encryption")]
pub(crate) fn unsealed(
    file: Arc<dyn packline_runtime::Input>,
    head: OpenedHead,
) -> Result<Arc<dyn packline_runtime::Input>, PlnError> {
    let plain = head.input(file).and_then(|plain| plain.check_padding().map(|()| plain));
    Ok(Arc::new(plain.map_err(|cause| PlnError::Input(cause.into_io()))?))
}

/// There is no key.
///
/// # Errors
/// None.
#[cfg(not(feature = "encryption"))]
pub(crate) fn unsealed(
    _file: std::sync::Arc<dyn packline_runtime::Input>,
    head: OpenedHead,
) -> Result<std::sync::Arc<dyn packline_runtime::Input>, PlnError> {
    match head {}
}

/// There are no recipients.
///
/// # Errors
/// None.
#[cfg(not(feature = "encryption"))]
pub(crate) fn sealed(
    recipients: &Recipients,
    _sink: &mut dyn Sink,
    _resources: &Resources,
    _write: impl FnOnce(&mut dyn Sink, &Resources) -> Result<Written, PlnError>,
) -> Result<(Written, OpenedHead), PlnError> {
    match *recipients {}
}

#[cfg(feature = "encryption")]
fn refused(path: &Path, cause: packline_encryption::Error) -> Error {
    match cause {
        packline_encryption::Error::Memory(MemoryFault { allowed, needed, what }) => {
            Error::Memory(MemoryFault { allowed, needed, what: format!("{what}, in {}", path.escaped()) })
        }
        packline_encryption::Error::Input(cause) => {
            Error::Source { path: path.to_path_buf(), action: "cannot read", cause }
        }
        cause => Error::stream(path, cause),
    }
}

/// Extracts an error of encryption from an error of a reader or a writer of `path`.
///
/// # Errors
/// Returns `cause` if it holds no error of encryption.
#[cfg(feature = "encryption")]
pub(crate) fn error_in(path: &Path, cause: io::Error) -> Result<Error, io::Error> {
    packline_encryption::Error::from_io(cause).map(|cause| refused(path, cause))
}

/// Returns `cause`, because this build has no encryption.
///
/// # Errors
/// `cause`.
#[cfg(not(feature = "encryption"))]
pub(crate) fn error_in(_path: &Path, cause: io::Error) -> Result<Error, io::Error> {
    Err(cause)
}
