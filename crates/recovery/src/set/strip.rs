//! Separates a file from the recovery data at its end.
//!
//! [`strip`] is called before a container is opened. It needs one or two reads at the end of the file, and containers need not know the
//! format of recovery data.

use std::io;
use std::sync::Arc;

use memchr::memmem::FinderRev;
use packline_runtime::{Input, InputChange};

use crate::format::footer::Footer;
use crate::format::packet::{HEAD_BYTES, Head, Kind};
use crate::{FOOTER_BYTES, MAGIC, Shape};

/// Bytes at the end of a file that are searched for a packet if the footer is damaged.
const SEARCHED: u64 = 1 << 20;

/// A file without its recovery data.
pub struct Stripped {
    /// The bytes before the recovery data, or the complete file if it has no recovery data.
    pub input: Arc<dyn Input>,
    /// The recovery data at the end of the file, if there is any.
    pub recovery: Option<Summary>,
}

/// A description of the recovery data at the end of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Summary {
    /// How the file is cut into shards; `None` if the first packet is damaged.
    pub shape: Option<Shape>,
    /// The size of the recovery data in bytes.
    pub bytes: u64,
}

/// Separates a file from the recovery data at its end, if there is any. The rest of the file is not examined.
///
/// The footer says where the protected bytes end. If the footer is damaged, a packet near the end of the file says it, provided that the
/// packet is at its own offset.
///
/// # Errors
/// Returns the error of the read that failed.
pub fn strip(input: Arc<dyn Input>) -> io::Result<Stripped> {
    let end = match footer(&*input)? {
        Some(length) => Some((length, first_packet(&*input, length)?)),
        None => last_packet(&*input)?.map(|shape| (shape.length, Some(shape))),
    };
    let Some((length, shape)) = end else { return Ok(Stripped { input, recovery: None }) };
    let recovery = Some(Summary { shape, bytes: input.size() - length });
    Ok(Stripped { input: Arc::new(Prefix { input, size: length }), recovery })
}

/// Returns the length of the protected bytes from the footer.
pub(crate) fn footer(input: &dyn Input) -> io::Result<Option<u64>> {
    let size = input.size();
    let mut bytes = [0; FOOTER_BYTES];
    let Some(at) = size.checked_sub(FOOTER_BYTES as u64) else { return Ok(None) };
    input.read_at(at, &mut bytes)?;
    Ok(Footer::parse(&bytes, size).map(|footer| footer.length))
}

/// Returns the shape in the first packet's head.
fn first_packet(input: &dyn Input, length: u64) -> io::Result<Option<Shape>> {
    let mut bytes = [0; HEAD_BYTES];
    if input.size() - length < HEAD_BYTES as u64 {
        return Ok(None);
    }
    input.read_at(length, &mut bytes)?;
    Ok(Head::parse(&bytes).map(|head| head.params.shape).filter(|shape| shape.length == length))
}

/// Returns the shape in the last packet near the end that is at its own offset.
fn last_packet(input: &dyn Input) -> io::Result<Option<Shape>> {
    let size = input.size();
    let mut end = vec![0; size.min(SEARCHED) as usize];
    let start = size - end.len() as u64;
    input.read_at(start, &mut end)?;
    let found = FinderRev::new(&MAGIC).rfind_iter(&end).find_map(|at| {
        let head = Head::parse(end.get(at..)?.first_chunk()?)?;
        is_at_its_offset(&head, start + at as u64).then_some(head.params.shape)
    });
    Ok(found)
}

/// Whether a packet is at the offset that its head implies for appended recovery data. A packet in the content of a file is not.
fn is_at_its_offset(head: &Head, at: u64) -> bool {
    let shape = head.params.shape;
    let offset = match head.kind {
        Kind::Piece => shape.piece_at(head.index),
        Kind::Parity => shape.parity_at(head.index),
    };
    shape.length.checked_add(offset) == Some(at)
}

/// The first bytes of an input.
pub(crate) struct Prefix {
    pub(crate) input: Arc<dyn Input>,
    /// At most the size of the input.
    pub(crate) size: u64,
}

impl Input for Prefix {
    fn size(&self) -> u64 {
        self.size
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        if offset.checked_add(buffer.len() as u64).is_none_or(|end| end > self.size) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.input.read_at(offset, buffer)
    }

    fn change(&self) -> io::Result<InputChange> {
        self.input.change()
    }
}
