//! A set of recovery data, as far as it is whole.

use std::sync::Arc;

use packline_runtime::{Input, Resources};

use crate::packet::{Kind, Params};
use crate::readable::Damaged;
use crate::scan::{Packets, scan};
use crate::strip::{Prefix, footer};
use crate::table::{Entry, table};
use crate::{Error, FOOTER_BYTES, Place, Shape};

/// Recovery data that was found.
pub struct RecoverySet {
    pub(crate) params: Params,
    pub(crate) table: Vec<Entry>,
    packets: Packets,
    /// What the packets are in.
    pub(crate) input: Arc<dyn Input>,
    place: Place,
    whole: bool,
}

impl RecoverySet {
    /// Finds recovery data in a file of its own.
    ///
    /// # Errors
    /// [`Error::NoData`], [`Error::TableLost`], [`Error::Packets`], [`Error::Work`].
    pub fn sidecar(input: Arc<dyn Input>, resources: &Resources) -> Result<RecoverySet, Error> {
        let packets = scan(&*input, 0, &resources.cancel)?.ok_or(Error::NoData)?;
        RecoverySet::new(packets, input, Place::Sidecar)
    }

    /// Finds recovery data behind the bytes that it protects.
    ///
    /// # Errors
    /// As [`RecoverySet::sidecar`].
    pub fn behind(input: Arc<dyn Input>, resources: &Resources) -> Result<RecoverySet, Error> {
        // Where the footer says so, nothing else need be searched if all is found there.
        if let Some(length) = footer(&*input).ok().flatten()
            && let Some(packets) = scan(&*input, length, &resources.cancel)?
            && is_whole(&packets, &*input, Place::Behind)
        {
            return RecoverySet::new(packets, input, Place::Behind);
        }
        let packets = scan(&*input, 0, &resources.cancel)?.ok_or(Error::NoData)?;
        RecoverySet::new(packets, input, Place::Behind)
    }

    fn new(packets: Packets, input: Arc<dyn Input>, place: Place) -> Result<RecoverySet, Error> {
        let (params, mut pieces) = (packets.params, vec![None; packets.params.shape.pieces()]);
        for (index, at) in packets.of_kind(Kind::Piece) {
            let mut piece = vec![0; params.shape.piece_bytes() as usize];
            input.read_at(at, &mut piece).map_err(Error::Packets)?;
            pieces[index] = Some(piece);
        }
        let table = table(&params.shape, &pieces)?;
        let whole = is_whole(&packets, &*input, place);
        Ok(RecoverySet { params, table, packets, input, place, whole })
    }

    /// How the file is cut into shards.
    pub fn shape(&self) -> Shape {
        self.params.shape
    }

    /// BLAKE3 of the protected bytes.
    pub fn blake3(&self) -> [u8; 32] {
        self.params.root
    }

    /// Where the recovery data is.
    pub fn place(&self) -> Place {
        self.place
    }

    /// Whether all of it is whole and at its place.
    pub fn is_whole(&self) -> bool {
        self.whole
    }

    /// Recovery shards that are whole: as many lost shards can be repaired.
    pub fn repairable(&self) -> usize {
        self.packets.of_kind(Kind::Parity).count()
    }

    /// The bytes that are protected, or what has become of them: those before the first packet. `file` is the protected file where the
    /// packets are in one of their own.
    pub(crate) fn protected(&self, file: &Arc<dyn Input>) -> Arc<dyn Input> {
        let file: Arc<dyn Input> = Arc::new(Damaged(Arc::clone(file)));
        match self.place {
            Place::Sidecar => file,
            Place::Behind => Arc::new(Prefix { input: file, size: self.packets.first }),
        }
    }

    /// Where the recovery shards are that are whole.
    pub(crate) fn parity(&self) -> impl Iterator<Item = (usize, u64)> {
        self.packets.of_kind(Kind::Parity)
    }
}

/// Whether a file has all packets of a set at their places, and nothing else.
fn is_whole(packets: &Packets, input: &dyn Input, place: Place) -> bool {
    let shape = packets.params.shape;
    let (start, behind) = match place {
        Place::Sidecar => (0, 0),
        Place::Behind => (shape.length, FOOTER_BYTES as u64),
    };
    let all = packets.found.len() == shape.pieces() + shape.recovery();
    let footed = place == Place::Sidecar || footer(input).is_ok_and(|length| length == Some(shape.length));
    let end = start + shape.packet_bytes();
    // As many packets in as many bytes follow each other; the file ends where they do.
    all && footed && (packets.first, packets.end, input.size()) == (start, end, end + behind)
}
