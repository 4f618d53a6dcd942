//! Contents of files in an announced order.

use std::collections::VecDeque;

use packline_runtime::TaskError;
use packline_tree::Extent;
use packline_volume::{FileData, Node, NodeId, ReadError, ReadSettings, Reading, Request, SharedUses, SharedVolume};

use super::content::{Content, begin};

/// The size of a file, or the error of reading its inode.
type FileSize = Result<u64, ReadError>;

/// Files that are read in the order of their announcement.
pub(super) struct Order {
    reading: Reading<'static, FileSize>,
    /// Files that have not begun.
    left: VecDeque<NodeId>,
    content: Content,
}

impl Order {
    /// # Errors
    /// [`ReadError::Work`] if threads cannot be started.
    pub(super) fn new(volume: &SharedVolume, files: Vec<NodeId>, settings: &ReadSettings) -> Result<Order, ReadError> {
        let mut uses = SharedUses::new();
        for at in &files {
            if let Ok(file) = file(volume, *at) {
                uses.note(volume.as_ref(), &file);
            }
        }
        let requests = files.clone().into_iter();
        let of = SharedVolume::clone(volume);
        let requests = requests.map(move |at| {
            let file = file(&of, at);
            Ok(Request { tag: file.clone().map(|file| file.size), file: file.ok(), weight: 0 })
        });
        let reading = Reading::new(volume, Box::new(requests), uses, settings)?;
        Ok(Order { reading, left: files.into(), content: Content::default() })
    }

    /// Goes to a file; returns false if the rest of the order does not have it.
    pub(super) fn go_to(&mut self, at: NodeId) -> Result<bool, ReadError> {
        let Some(passed) = self.left.iter().position(|other| *other == at) else { return Ok(false) };
        let mut found = None;
        for _ in 0..=passed {
            self.left.pop_front();
            found = begin(&mut self.reading)?;
        }
        let size = found.unwrap_or_else(|| Err(ReadError::internal("the order ended early".to_string())))?;
        self.content = Content::new(size);
        Ok(true)
    }

    /// Continues reading the file.
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> Result<Extent, ReadError> {
        self.content.read(&mut self.reading, buffer)
    }
}

/// Returns the file whose inode is at a position.
pub(super) fn file(volume: &SharedVolume, at: NodeId) -> Result<FileData, ReadError> {
    let inode = volume.inode(at)?;
    match inode.node {
        Node::File(data) => Ok(data),
        _ => Err(ReadError::internal(format!("content of inode {}, which is not a file", inode.number))),
    }
}
