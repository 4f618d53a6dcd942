//! Holds every encoder to the contract of [`Encoder`], so that each codec has only the interesting part to do.

use crate::names::MAX_BLOCK_SIZE;
use crate::{CodecError, Encoder, Outcome};

/// The part of an encoder that differs between codecs.
pub(crate) trait Press: Send {
    /// Compresses `src` (2 bytes or more) into `room`, which is one byte shorter than `src`. `None` if it does not fit.
    fn press(&mut self, src: &[u8], room: &mut [u8]) -> Result<Option<usize>, CodecError>;
}

impl<P: Press + ?Sized> Press for Box<P> {
    fn press(&mut self, src: &[u8], room: &mut [u8]) -> Result<Option<usize>, CodecError> {
        (**self).press(src, room)
    }
}

/// An encoder for blocks up to a size.
pub(crate) struct Bounded<P> {
    inner: P,
    limit: usize,
}

impl<P> Bounded<P> {
    /// An encoder for blocks of up to `limit` bytes.
    pub(crate) fn new(inner: P, limit: usize) -> Self {
        Bounded { inner, limit }
    }
}

impl<P: Press + 'static> Bounded<P> {
    /// An encoder for blocks of up to `limit` bytes.
    pub(crate) fn boxed(inner: P, limit: usize) -> Box<dyn Encoder> {
        Box::new(Bounded::new(inner, limit))
    }
}

impl<P: Press> Encoder for Bounded<P> {
    fn compress(&mut self, src: &[u8], dst: &mut [u8]) -> Result<Outcome, CodecError> {
        let room = room(src, dst, self.limit)?;
        if src.len() < 2 {
            return Ok(Outcome::NotSmaller);
        }
        Ok(self.inner.press(src, room)?.map_or(Outcome::NotSmaller, Outcome::Smaller))
    }
}

/// The part of the destination that a result may fill and still be smaller than the source.
fn room<'a>(src: &[u8], dst: &'a mut [u8], limit: usize) -> Result<&'a mut [u8], CodecError> {
    if src.len() > limit {
        return Err(CodecError::BlockTooLarge { found: src.len(), limit });
    }
    let found = dst.len();
    let too_small = CodecError::DestinationTooSmall { found, expected: src.len() };
    let usable = dst.get_mut(..src.len()).ok_or(too_small)?;
    let end = usable.len().saturating_sub(1);
    Ok(&mut usable[..end])
}

/// Refuses sizes that no library here counts with.
pub(crate) fn check_block_size(codec: &'static str, size: usize) -> Result<(), CodecError> {
    if (1..=MAX_BLOCK_SIZE).contains(&size) {
        return Ok(());
    }
    Err(CodecError::BlockSize { codec, found: size, limit: MAX_BLOCK_SIZE })
}

/// Tries one more way of compressing. Without a result so far it goes into `room`; else into `spare`, of which only so
/// much is given as makes a smaller result, and is copied if it fits. The first of two equals stays.
pub(crate) fn keep_smaller(
    best: Option<usize>,
    room: &mut [u8],
    spare: &mut [u8],
    mut press: impl FnMut(&mut [u8]) -> Result<Option<usize>, CodecError>,
) -> Result<Option<usize>, CodecError> {
    let Some(size) = best else {
        return press(room);
    };
    let smaller = press(&mut spare[..size.saturating_sub(1)])?;
    if let Some(size) = smaller {
        room[..size].copy_from_slice(&spare[..size]);
    }
    Ok(smaller.or(best))
}
