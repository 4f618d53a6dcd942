//! What workers do with a record: read it, hash it, compress it.

use std::sync::Arc;

use packline_codec::{Coding, Encoder, Outcome};
use packline_engine::Permit;

use crate::format::{Digest, Piece, Stored, sum};
use crate::room::{Room, Rooms};
use crate::{CodecId, Error, Input, RecordSize};

/// A record on its way to a worker.
pub(super) struct Task {
    pub(super) number: u64,
    /// Bytes of its content.
    pub(super) length: usize,
    pub(super) content: Content,
    /// Memory for it, twice.
    pub(super) permit: Permit,
}

/// The content of a record.
pub(super) enum Content {
    /// It has been read.
    Here(Room),
    /// It is to be read, from where its number says.
    There(Arc<dyn Input>),
}

/// A record as it stands in the file.
pub(super) struct Pressed {
    /// Bytes of its content.
    pub(super) length: usize,
    pub(super) stored: Stored,
    pub(super) digest: Digest,
    room: Room,
    _permit: Permit,
}

impl Pressed {
    /// Its head, and what is stored.
    pub(super) fn bytes(&self) -> &[u8] {
        self.room.record(self.stored.size as usize)
    }
}

/// The workers' part of writing.
pub(super) struct CompressTask {
    pub(super) record_size: RecordSize,
    pub(super) codings: Vec<(Coding, CodecId)>,
    pub(super) rooms: Rooms,
}

/// The encoders of a worker, one for each coding that has been used.
pub(super) struct Bench(Vec<Option<Box<dyn Encoder>>>);

/// The shortest form of a record so far.
struct Best {
    stored: Stored,
    /// Where it is; none if it is the front of the content.
    room: Option<Room>,
}

impl CompressTask {
    /// The shortest form of a record. Of several that are alike the first stays, and what is stored as it is comes before all.
    fn shortest(&self, bench: &mut Bench, content: &[u8]) -> Result<Best, Error> {
        let plain = Stored { codec: CodecId::None, slack: false, size: content.len() as u32 };
        let mut best = Best { stored: plain, room: None };
        let mut spare = None;
        for ((coding, codec), encoder) in self.codings.iter().zip(&mut bench.0) {
            let view = coding.view(content);
            let slack = view.len() < content.len();
            if view.len() < best.stored.size as usize {
                let stored = Stored { codec: CodecId::None, slack, size: view.len() as u32 };
                spare = std::mem::replace(&mut best, Best { stored, room: None }).room.or(spare);
            }
            if *codec == CodecId::None || view.is_empty() {
                continue;
            }
            let mut room = match spare.take() {
                Some(room) => room,
                None => self.rooms.take()?,
            };
            let size = press(self.encoder(coding, encoder)?, view, room.content_mut(content.len()))?;
            match size.filter(|&size| size < best.stored.size) {
                Some(size) => {
                    let stored = Stored { codec: *codec, slack, size };
                    spare = std::mem::replace(&mut best, Best { stored, room: Some(room) }).room;
                }
                None => spare = Some(room),
            }
        }
        Ok(best)
    }

    fn encoder<'a>(
        &self,
        coding: &Coding,
        place: &'a mut Option<Box<dyn Encoder>>,
    ) -> Result<&'a mut dyn Encoder, Error> {
        match place {
            Some(encoder) => Ok(encoder.as_mut()),
            place => Ok(place.insert(coding.encoder(self.record_size.bytes())?).as_mut()),
        }
    }

    /// The content of a record.
    fn content(&self, number: u64, length: usize, content: Content) -> Result<Room, Error> {
        match content {
            Content::Here(room) => Ok(room),
            Content::There(input) => {
                let mut room = self.rooms.take()?;
                let at = number << self.record_size.log();
                input.read_at(at, room.content_mut(length)).map_err(Error::Input)?;
                Ok(room)
            }
        }
    }
}

/// Bytes of the view compressed; none if that does not make it shorter.
fn press(encoder: &mut dyn Encoder, view: &[u8], room: &mut [u8]) -> Result<Option<u32>, Error> {
    match encoder.compress(view, room)? {
        Outcome::Smaller(size) => Ok(Some(size as u32)),
        Outcome::NotSmaller => Ok(None),
    }
}

impl packline_engine::Task for CompressTask {
    type In = Task;
    type Out = Pressed;
    type Error = Error;
    type Tool = Bench;

    fn tool(&self) -> Bench {
        Bench(self.codings.iter().map(|_| None).collect())
    }

    fn run(&self, bench: &mut Bench, task: Task) -> Result<Pressed, Error> {
        let Task { number, length, content, mut permit } = task;
        let plain = self.content(number, length, content)?;
        let content = plain.content(length);
        let digest = Digest::of(content, number, self.record_size);
        let Best { stored, room } = self.shortest(bench, content)?;
        let mut room = room.unwrap_or(plain);
        permit.shrink_to(Rooms::bytes(self.record_size));
        let size = stored.size as usize;
        let sum = if stored.is_plain() { digest.sum() } else { sum(&[room.content(size)]) };
        let head = Piece::record(stored, length as u32, sum).encode(number);
        // A head fits before what is stored.
        room.record_mut(0).copy_from_slice(&head);
        Ok(Pressed { length, stored, digest, room, _permit: permit })
    }

    fn bytes_in(&self, task: &Task) -> u64 {
        task.length as u64
    }

    fn bytes_out(&self, pressed: &Pressed) -> u64 {
        pressed.bytes().len() as u64
    }
}
