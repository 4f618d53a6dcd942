//! Contents: every block of a file decodes to its required length.

use std::cell::Cell;

use packline_volume::{Event, FileData, Inode, Node, Reading, Report, Request, SharedUses, Walk};

use super::{VerifySettings, check_cancelled, record};
use crate::read::{FileData as BlockList, Image, ReadError};

/// Numbers the inodes of the table.
#[derive(Clone, Copy)]
pub(super) struct Slots<'s> {
    /// More than the largest number.
    pub(super) count: usize,
    /// Returns the number of an inode; `None` if the table does not have the inode.
    pub(super) of: &'s dyn Fn(&Inode) -> Option<usize>,
}

/// Reads all files in the order of the tree, each inode once.
pub(super) fn check(
    image: &Image,
    slots: Slots<'_>,
    settings: &VerifySettings,
    report: &mut Report<'_>,
) -> Result<(), ReadError> {
    let total = Cell::new(0u64);
    let mut uses = SharedUses::new();
    for file in files(image, slots) {
        check_cancelled(settings)?;
        match file {
            Ok((path, file)) => {
                uses.note(image, &file);
                total.set(total.get().saturating_add(file.size));
                let mut stored =
                    image.blocks(&BlockList::of(&file)).flatten().filter_map(|block| block.place).peekable();
                if let Some(early) = stored.peek().filter(|place| place.offset < image.data_start()) {
                    let expected = format!("at least byte {}, after the superblock", image.data_start());
                    report.unread(Some(&path), ReadError::corrupt(early.offset, "a data block", expected))?;
                }
                for place in stored {
                    report.totals.blocks += 1;
                    report.totals.unchecked += u64::from(!record::has_checksum(image, &place));
                }
            }
            // The tables already reported the other faults of the tree. A few faults only a walk can find.
            Err((path, error)) if report.totals.faults == 0 => report.unread(Some(&path), error)?,
            Err(_) => {}
        }
    }
    let requests = files(image, slots).filter_map(Result::ok);
    let requests = requests.map(|(path, file)| Ok(Request { weight: path.len(), tag: path, file: Some(file) }));
    let mut reading = Reading::new(image, Box::new(requests), uses, &settings.reading)?;
    let mut path = Vec::new();
    while let Some(event) = reading.next_event()? {
        let length = match event {
            Event::Begin(next) => {
                path = next;
                0
            }
            Event::Data(chunk) => chunk.len() as u64,
            Event::Hole(length) => length,
            Event::Failed { length, error } => {
                report.unread(Some(&path), error)?;
                length
            }
        };
        report.totals.content = report.totals.content.saturating_add(length);
        report.examiner.advance(report.totals.content, total.get());
    }
    Ok(())
}

type WalkedFile = Result<(Vec<u8>, FileData), (Vec<u8>, ReadError)>;

/// Returns the regular files of the tree, each under its first name.
fn files<'f>(image: &'f Image, slots: Slots<'f>) -> impl Iterator<Item = WalkedFile> + 'f {
    let mut seen = vec![0u64; slots.count / 64 + 1];
    Walk::new(image, image.root(), Vec::new()).filter_map(move |visit| {
        let visit = match visit {
            Ok(visit) => visit,
            Err(fault) => return Some(Err(fault)),
        };
        let slot = (slots.of)(&visit.inode);
        let Node::File(file) = visit.inode.node else { return None };
        if let Some(slot) = slot
            && let Some(seen) = seen.get_mut(slot / 64)
        {
            let bit = 1 << (slot % 64);
            if *seen & bit != 0 {
                return None;
            }
            *seen |= bit;
        }
        Some(Ok((visit.path, file)))
    })
}
