//! A set of recovery data: its intact packets.

pub(crate) mod scan;
pub(crate) mod strip;

use std::sync::Arc;

use packline_runtime::{Input, Resources};

use crate::format::packet::{Kind, Params};
use crate::format::table::{Entry, table};
use crate::readable::Damaged;
use crate::set::scan::{Packets, scan};
use crate::set::strip::{Prefix, footer};
use crate::{Error, FOOTER_BYTES, PacketLocation, Shape};

/// The recovery data of a file, found in the file or in a separate file.
pub struct RecoverySet {
    pub(crate) params: Params,
    pub(crate) table: Vec<Entry>,
    packets: Packets,
    /// The input that holds the packets.
    pub(crate) input: Arc<dyn Input>,
    location: PacketLocation,
    whole: bool,
}

impl RecoverySet {
    /// Finds recovery data in a separate file.
    ///
    /// # Errors
    /// [`Error::NoData`], [`Error::TableLost`], [`Error::Packets`], [`Error::Work`].
    pub fn sidecar(input: Arc<dyn Input>, resources: &Resources) -> Result<RecoverySet, Error> {
        let packets = scan(&*input, 0, &resources.cancel)?.ok_or(Error::NoData)?;
        RecoverySet::new(packets, input, PacketLocation::Sidecar)
    }

    /// Finds recovery data after the bytes that it protects.
    ///
    /// # Errors
    /// Returns the same errors as [`RecoverySet::sidecar`].
    pub fn appended(input: Arc<dyn Input>, resources: &Resources) -> Result<RecoverySet, Error> {
        // If the footer is intact and all packets are where it says, the rest of the file is not searched.
        if let Some(length) = footer(&*input).ok().flatten()
            && let Some(packets) = scan(&*input, length, &resources.cancel)?
            && is_whole(&packets, &*input, PacketLocation::Appended)
        {
            return RecoverySet::new(packets, input, PacketLocation::Appended);
        }
        let packets = scan(&*input, 0, &resources.cancel)?.ok_or(Error::NoData)?;
        RecoverySet::new(packets, input, PacketLocation::Appended)
    }

    fn new(packets: Packets, input: Arc<dyn Input>, location: PacketLocation) -> Result<RecoverySet, Error> {
        let params = packets.params;
        let mut pieces = vec![None; params.shape.pieces()];
        for (index, at) in packets.of_kind(Kind::Piece) {
            let mut piece = vec![0; params.shape.piece_bytes() as usize];
            input.read_at(at, &mut piece).map_err(Error::Packets)?;
            pieces[index] = Some(piece);
        }
        let table = table(&params.shape, &pieces)?;
        let whole = is_whole(&packets, &*input, location);
        Ok(RecoverySet { params, table, packets, input, location, whole })
    }

    /// How the file is cut into shards.
    pub fn shape(&self) -> Shape {
        self.params.shape
    }

    /// BLAKE3 of the protected bytes.
    pub fn blake3(&self) -> [u8; 32] {
        self.params.root
    }

    /// Returns the location of the recovery data.
    pub fn location(&self) -> PacketLocation {
        self.location
    }

    /// Whether all packets and the footer are intact and at their own offsets.
    pub fn is_whole(&self) -> bool {
        self.whole
    }

    /// The number of intact recovery shards. As many lost shards can be repaired.
    pub fn repairable(&self) -> usize {
        self.packets.of_kind(Kind::Parity).count()
    }

    /// Returns the protected bytes, which may be damaged. `file` is the protected file if the packets are in a separate file; otherwise the
    /// bytes before the first packet are returned.
    pub(crate) fn protected(&self, file: &Arc<dyn Input>) -> Arc<dyn Input> {
        let file: Arc<dyn Input> = Arc::new(Damaged(Arc::clone(file)));
        match self.location {
            PacketLocation::Sidecar => file,
            PacketLocation::Appended => Arc::new(Prefix { input: file, size: self.packets.first }),
        }
    }

    /// Returns the intact recovery shards with their offsets.
    pub(crate) fn parity(&self) -> impl Iterator<Item = (usize, u64)> {
        self.packets.of_kind(Kind::Parity)
    }
}

/// Whether a file has all packets of a set at their own offsets, and nothing else.
fn is_whole(packets: &Packets, input: &dyn Input, location: PacketLocation) -> bool {
    let shape = packets.params.shape;
    let (start, footer_bytes) = match location {
        PacketLocation::Sidecar => (0, 0),
        PacketLocation::Appended => (shape.length, FOOTER_BYTES as u64),
    };
    let all = packets.found.len() == shape.pieces() + shape.recovery();
    let footed = location == PacketLocation::Sidecar || footer(input).is_ok_and(|length| length == Some(shape.length));
    let end = start + shape.packet_bytes();
    // The number of packets and the byte range show that there are no gaps. The file must end after the packets.
    all && footed && (packets.first, packets.end, input.size()) == (start, end, end + footer_bytes)
}
