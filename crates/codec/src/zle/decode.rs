//! Expands runs of zeros with wide writes where the destination has space.

use super::{MOST_ZEROS, N, NAME};
use crate::{CodecError, Decoder};

pub(crate) struct ZleDecoder;

impl Decoder for ZleDecoder {
    fn decompress(&mut self, src: &[u8], dst: &mut [u8]) -> Result<usize, CodecError> {
        let capacity = dst.len();
        decode(src, dst).map_err(|fault| match fault {
            Fault::Cut => CodecError::Malformed { codec: NAME, size: src.len(), reason: "ends within a run of bytes" },
            Fault::TooLong => CodecError::TooLong { codec: NAME, size: src.len(), capacity },
        })
    }
}

enum Fault {
    /// Fewer bytes follow a token than it announces.
    Cut,
    /// The content exceeds the destination.
    TooLong,
}

fn decode(src: &[u8], dst: &mut [u8]) -> Result<usize, Fault> {
    let mut rest = src;
    let mut at = 0;
    while let Some((&token, after)) = rest.split_first() {
        let token = usize::from(token);
        let out = &mut dst[at..];
        rest = after;
        if token < N {
            put_bytes(rest, token + 1, out)?;
            rest = &rest[token + 1..];
            at = at + token + 1;
        } else {
            put_zeros(token - N + 1, out)?;
            at += token - N + 1;
        }
    }
    Ok(at)
}

/// Copies the first `length` bytes, at most [`N`]; may write up to [`N`].
#[inline]
fn put_bytes(src: &[u8], length: usize, out: &mut [u8]) -> Result<(), Fault> {
    if let (Some(from), Some(to)) = (src.first_chunk::<N>(), out.first_chunk_mut::<N>()) {
        *to = *from;
        return Ok(());
    }
    let from = src.get(..length).ok_or(Fault::Cut)?;
    out.get_mut(..length).ok_or(Fault::TooLong)?.copy_from_slice(from);
    Ok(())
}

/// Writes `length` zeros, at most [`MOST_ZEROS`]; may write up to [`MOST_ZEROS`].
#[inline]
fn put_zeros(length: usize, out: &mut [u8]) -> Result<(), Fault> {
    let Some((first, more)) = out.first_chunk_mut::<MOST_ZEROS>().and_then(|out| out.split_first_chunk_mut::<N>())
    else {
        out.get_mut(..length).ok_or(Fault::TooLong)?.fill(0);
        return Ok(());
    };
    *first = [0; N];
    if length > N {
        more.fill(0);
    }
    Ok(())
}
