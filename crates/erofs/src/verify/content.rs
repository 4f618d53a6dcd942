//! Contents: every cluster decodes to its required length.

use packline_volume::{Event, FileData, Node, ReadError, Reading, Report, Request, Visit, Walk};

use super::VerifySettings;
use super::areas::Areas;
use super::tree::{Files, Tree};
use crate::format::superblock::SUPERBLOCK_START;
use crate::read::Image;
use crate::read::data::node_of;

/// Reads all files in the order of the tree, each once. Reads the metabox, and the packed inode if files do not have all of it.
pub(super) fn check(
    image: &Image,
    tree: Tree<'_>,
    areas: &Areas,
    settings: &VerifySettings,
    report: &mut Report<'_>,
) -> Result<(), ReadError> {
    let Tree { mut files, uses, content: total, .. } = tree;
    let packed = image.superblock().packed.filter(|_| areas.packed_has_unused);
    let special = [packed, image.superblock().metabox].into_iter().flatten();
    let special = special.filter_map(|number| special_file(image, number).ok()).map(|file| request(Vec::new(), file));
    // The first walk reported the faults of the tree.
    let visits = Walk::new(image, image.root(), Vec::new()).filter_map(Result::ok);
    let requests = visits.filter_map(|visit| file_of(visit, &mut files)).map(|(path, file)| request(path, file));
    let requests = requests.chain(special).map(Ok);
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
                report.unread(Some(&path[..]).filter(|path| !path.is_empty()), error)?;
                length
            }
        };
        // Special files come last, and the tree does not count them.
        report.totals.content = report.totals.content.saturating_add(length).min(total);
        report.examiner.advance(report.totals.content, total);
    }
    Ok(())
}

fn request(path: Vec<u8>, file: FileData) -> Request<Vec<u8>> {
    Request { weight: path.len(), tag: path, file: Some(file) }
}

fn file_of(visit: Visit, files: &mut Files) -> Option<(Vec<u8>, FileData)> {
    match visit.inode.node {
        Node::File(file) if files.request(visit.inode.at) => Some((visit.path, file)),
        _ => None,
    }
}

/// Returns the content of an inode that has parts of others.
fn special_file(image: &Image, number: u64) -> Result<FileData, ReadError> {
    let place = image.inodes().fields(node_of(number, SUPERBLOCK_START)?)?.place();
    Ok(FileData { size: place.size, sparse: 0, place: place.pack() })
}
