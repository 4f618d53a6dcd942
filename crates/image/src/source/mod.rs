//! An image as a source: its entries in the order of a directory source, and their contents.
//!
//! No content is read before the caller asks for it. When the caller reads the content of the current file, workers decode the contents of all
//! following files ahead. When an order is announced ([`Source::expect`]), they decode the files of the order ahead. Any other file that is
//! recalled is decoded alone. Entries and contents do not depend on workers and memory.

mod content;
mod demand;
mod names;
mod order;

use std::ops::Range;
use std::sync::Arc;

use packline_runtime::escape::Escape;
use packline_runtime::{FormatFault, TaskError, Unsupported, WorkFault};
use packline_tree::{Bookmark, Bytes, Entry, Error, Extent, KeepRule, Source};
use packline_volume::{
    BlockListener, FileData, NodeId, ReadError, ReadSettings, Reading, Request, SharedUses, SharedVolume,
};

use crate::links::link_bytes;
use crate::tar_out::data_ranges;
use crate::{OpenedImage, Resources};
pub use demand::{SourceDemand, SourcePlan};

use content::{Content, begin};
use names::{Fault, Names, SourceEntry, bytes_of};
use order::Order;

/// An image as a source.
pub struct ImageSource {
    image: OpenedImage,
    /// Settings for contents in a known order, and for one content alone.
    settings: [ReadSettings; 2],
    link_bytes: u64,
    rule: KeepRule,
    entries: Entries,
    /// Number of entries that were returned.
    returned: usize,
    /// Path of the current entry.
    path: Bytes,
    /// The current file, or the file that was recalled.
    at: Option<NodeId>,
    file: Current,
    order: Option<Order>,
    /// Bytes of content returned so far, and in total if known.
    done: u64,
    total: Option<u64>,
}

/// The entries after the current one.
enum Entries {
    /// Entries whose contents have not been read.
    Listed(Box<Names>),
    /// Entries whose contents are decoded ahead.
    Read(Box<Reading<'static, Tag>>),
    /// No entry is left.
    Ended,
}

/// A request of the reading.
enum Tag {
    /// The file whose entry was returned before the reading started.
    Started,
    Next(Box<Result<SourceEntry, Fault>>),
}

/// Content of the current file, or of a recalled file.
enum Current {
    /// No file.
    Nothing,
    /// Nothing of the file has been read.
    Unread { at: NodeId, file: FileData },
    /// The reading of the entries has the content.
    InEntries { at: NodeId, content: Content },
    /// The announced order has the content.
    InOrder,
    /// The content is read alone.
    Alone { reading: Box<Reading<'static, ()>>, content: Content },
}

impl ImageSource {
    /// The entries of an image that a rule keeps, read with `plan` on the pool of `resources`.
    pub fn new(image: OpenedImage, plan: &SourcePlan, resources: &Resources, rule: KeepRule) -> ImageSource {
        let link_bytes = link_bytes(resources.memory);
        ImageSource {
            settings: plan.settings(resources),
            entries: Entries::Listed(Box::new(Names::new(&image.volume, link_bytes, &rule))),
            image,
            link_bytes,
            rule,
            returned: 0,
            path: Bytes::new(),
            at: None,
            file: Current::Nothing,
            order: None,
            done: 0,
            total: None,
        }
    }

    /// Reports each decoded block.
    #[must_use]
    pub fn reporting_to(mut self, listener: Arc<dyn BlockListener>) -> ImageSource {
        self.settings.iter_mut().for_each(|settings| settings.listener = Some(Arc::clone(&listener)));
        self
    }

    fn advance(&mut self) -> Result<Option<SourceEntry>, Fault> {
        let at_end = |error| (Bytes::new(), error);
        match &mut self.entries {
            Entries::Listed(names) => {
                let Some(name) = names.next() else { return Ok(None) };
                name.and_then(|name| name.into_entry(&self.image.volume)).map(Some)
            }
            Entries::Read(reading) => match begin(reading).map_err(at_end)? {
                Some(Tag::Next(named)) => named.map(Some),
                Some(Tag::Started) => Err(at_end(ReadError::internal("a file began twice".to_string()))),
                None => Ok(None),
            },
            Entries::Ended => Ok(None),
        }
    }

    /// Starts to read the contents of the current file and of all following files.
    fn start(&mut self, at: NodeId, file: &FileData) -> Result<Current, ReadError> {
        if !matches!(self.entries, Entries::Listed(_)) {
            return self.alone(file);
        }
        let uses = self.survey(file);
        let Entries::Listed(names) = std::mem::replace(&mut self.entries, Entries::Ended) else {
            return self.alone(file);
        };
        let first = Request { tag: Tag::Started, file: Some(file.clone()), weight: 0 };
        let volume = SharedVolume::clone(&self.image.volume);
        let next = names.map(move |name| {
            let named = name.and_then(|name| name.into_entry(&volume));
            let file = named.as_ref().ok().and_then(|named| named.file.clone());
            let weight = bytes_of(&named);
            Request { tag: Tag::Next(Box::new(named)), file, weight }
        });
        let requests = Box::new(std::iter::once(first).chain(next).map(Ok));
        let mut reading = Reading::new(&self.image.volume, requests, uses, &self.settings[0])?;
        begin(&mut reading)?;
        self.entries = Entries::Read(Box::new(reading));
        Ok(Current::InEntries { at, content: Content::new(file.size) })
    }

    /// Finds the uses of shared units from the current file on, and the number of bytes to read.
    fn survey(&mut self, file: &FileData) -> SharedUses {
        let mut uses = SharedUses::new();
        let mut total = self.done.saturating_add(file.size);
        uses.note(self.image.volume.as_ref(), file);
        for name in Names::new(&self.image.volume, self.link_bytes, &self.rule).skip(self.returned).flatten() {
            if let Some(file) = name.file() {
                uses.note(self.image.volume.as_ref(), file);
                total = total.saturating_add(file.size);
            }
        }
        self.total = Some(total);
        uses
    }

    fn alone(&self, file: &FileData) -> Result<Current, ReadError> {
        let requests = std::iter::once(Ok(Request { tag: (), file: Some(file.clone()), weight: 0 }));
        let mut reading = Reading::new(&self.image.volume, Box::new(requests), SharedUses::new(), &self.settings[1])?;
        begin(&mut reading)?;
        Ok(Current::Alone { reading: Box::new(reading), content: Content::new(file.size) })
    }

    fn go_to(&mut self, at: NodeId) -> Result<Current, ReadError> {
        if let Some(order) = &mut self.order
            && order.go_to(at)?
        {
            return Ok(Current::InOrder);
        }
        self.alone(&order::file(&self.image.volume, at)?)
    }

    fn extent(&mut self, buffer: &mut [u8]) -> Result<Extent, ReadError> {
        if let Current::Unread { at, file } = &self.file {
            let at = *at;
            let file = file.clone();
            self.file = self.start(at, &file)?;
        }
        match (&mut self.file, &mut self.entries, &mut self.order) {
            (Current::InEntries { content, .. }, Entries::Read(reading), _) => content.read(reading, buffer),
            (Current::InOrder, _, Some(order)) => order.read(buffer),
            (Current::Alone { reading, content }, ..) => content.read(reading, buffer),
            _ => Ok(Extent::End),
        }
    }

    fn fault(&self, error: ReadError) -> Error {
        fault(&self.image, &self.path, error)
    }
}

impl Source for ImageSource {
    fn next_entry(&mut self) -> Result<Option<Entry>, Error> {
        self.file = Current::Nothing;
        let next = self.advance().map_err(|(path, error)| fault(&self.image, &path, error))?;
        let Some(SourceEntry { entry, at, file }) = next else {
            self.entries = Entries::Ended;
            return Ok(None);
        };
        self.returned += 1;
        self.path.clone_from(&entry.path);
        self.at = file.as_ref().map(|_| at);
        self.file = match (file, &self.entries) {
            (Some(file), Entries::Read(_)) => Current::InEntries { at, content: Content::new(file.size) },
            (Some(file), _) => Current::Unread { at, file },
            (None, _) => Current::Nothing,
        };
        Ok(Some(entry))
    }

    fn read(&mut self, buffer: &mut [u8]) -> Result<Extent, Error> {
        let extent = self.extent(buffer).map_err(|error| self.fault(error))?;
        self.done += match extent {
            Extent::Data(bytes) => bytes as u64,
            Extent::Hole(bytes) => bytes,
            Extent::End => 0,
        };
        Ok(extent)
    }

    fn data_ranges(&mut self, _most: usize) -> Result<Option<Vec<Range<u64>>>, Error> {
        let Some(at) = self.at else { return Ok(None) };
        let file = order::file(&self.image.volume, at).map_err(|error| self.fault(error))?;
        Ok(data_ranges(&self.image.volume, &file))
    }

    fn bookmark(&mut self) -> Option<Bookmark> {
        match &self.file {
            Current::Unread { at, .. } | Current::InEntries { at, .. } => Some(Bookmark::Number(at.0)),
            _ => None,
        }
    }

    fn recall(&mut self, bookmark: &Bookmark, path: &[u8]) -> Result<(), Error> {
        self.path = path.to_vec();
        self.file = Current::Nothing;
        let Bookmark::Number(at) = bookmark else {
            return Err(Bookmark::foreign(&self.image.display_path.escaped(), path));
        };
        self.at = Some(NodeId(*at));
        self.file = self.go_to(NodeId(*at)).map_err(|error| self.fault(error))?;
        Ok(())
    }

    fn expect(&mut self, order: &mut dyn Iterator<Item = Bookmark>) {
        let number = |bookmark| if let Bookmark::Number(at) = bookmark { Some(NodeId(at)) } else { None };
        let files = order.filter_map(number).collect();
        // The order is a hint. Without it, each file is read alone.
        self.order = Order::new(&self.image.volume, files, &self.settings[0]).ok();
    }

    fn progress(&self) -> (u64, Option<u64>) {
        (self.done, self.total)
    }
}

/// Converts a fault of an image to an error of a source.
fn fault(image: &OpenedImage, path: &[u8], error: ReadError) -> Error {
    let input = image.display_path.escaped();
    let entry = path.to_vec();
    match error {
        ReadError::Corrupt(FormatFault { offset, what, expected }) => {
            Error::Malformed { input, entry, offset, what, expected }
        }
        ReadError::Unsupported(Unsupported { what, expected }) => Error::Entry { input, entry, what, expected },
        ReadError::Input { offset, cause } => Error::Io {
            path: image.display_path.clone(),
            action: "cannot read",
            cause: std::io::Error::new(cause.kind(), format!("{cause} at byte {offset}")),
        },
        ReadError::Work(fault @ WorkFault::Cancelled) => Error::Work(fault),
        other @ ReadError::Work(_) => Error::Entry { input, entry, what: other.to_string(), expected: String::new() },
    }
}
