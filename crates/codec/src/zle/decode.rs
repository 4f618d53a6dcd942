//! Puts runs of zeros back, as many bytes at a time as there is room for.

use super::{MOST_ZEROS, N};
use crate::names::ZLE;
use crate::{CodecError, Decoder};

/// Decompresses blocks.
pub(crate) struct ZleDecoder;

impl Decoder for ZleDecoder {
    fn decompress(&mut self, src: &[u8], dst: &mut [u8]) -> Result<usize, CodecError> {
        let room = dst.len();
        decode(src, dst).map_err(|fault| match fault {
            Fault::Cut => CodecError::Malformed { codec: ZLE, size: src.len(), reason: "ends within a run of bytes" },
            Fault::Room => CodecError::TooLong { codec: ZLE, size: src.len(), room },
        })
    }
}

/// What can be wrong with a block.
enum Fault {
    /// Fewer bytes follow a token than it says.
    Cut,
    /// It says more bytes than there is room for.
    Room,
}

fn decode(src: &[u8], dst: &mut [u8]) -> Result<usize, Fault> {
    let (mut rest, mut at) = (src, 0);
    while let Some((&token, after)) = rest.split_first() {
        let (token, room) = (usize::from(token), &mut dst[at..]);
        rest = after;
        if token < N {
            put_bytes(rest, token + 1, room)?;
            (rest, at) = (&rest[token + 1..], at + token + 1);
        } else {
            put_zeros(token - N + 1, room)?;
            at += token - N + 1;
        }
    }
    Ok(at)
}

/// Copies the first `length` bytes, at most [`N`]; may write up to that many.
#[inline]
fn put_bytes(src: &[u8], length: usize, room: &mut [u8]) -> Result<(), Fault> {
    if let (Some(from), Some(to)) = (src.first_chunk::<N>(), room.first_chunk_mut::<N>()) {
        *to = *from;
        return Ok(());
    }
    let from = src.get(..length).ok_or(Fault::Cut)?;
    room.get_mut(..length).ok_or(Fault::Room)?.copy_from_slice(from);
    Ok(())
}

/// Writes `length` zeros, at most [`MOST_ZEROS`]; may write up to that many.
#[inline]
fn put_zeros(length: usize, room: &mut [u8]) -> Result<(), Fault> {
    let Some((first, more)) = room.first_chunk_mut::<MOST_ZEROS>().and_then(|room| room.split_first_chunk_mut::<N>())
    else {
        room.get_mut(..length).ok_or(Fault::Room)?.fill(0);
        return Ok(());
    };
    *first = [0; N];
    if length > N {
        more.fill(0);
    }
    Ok(())
}
