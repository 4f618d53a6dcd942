//! Contents of files in an order that was announced.

use std::collections::VecDeque;

use packline_runtime::TaskError;
use packline_squashfs::read::{
    FileData, FragmentUses, Image, InodeRef, Node, ReadError, ReadSettings, Reading, Request,
};
use packline_tree::Extent;

use super::content::{Content, begin};

/// The size of a file, or why it cannot be read.
type Found = Result<u64, ReadError>;

/// Files that are read in the order of their announcement.
pub(super) struct Order {
    reading: Reading<'static, Found>,
    /// Those that have not begun.
    left: VecDeque<InodeRef>,
    content: Content,
}

impl Order {
    /// # Errors
    /// [`ReadError::Work`] if the system refuses to start threads.
    pub(super) fn new(image: &Image, files: Vec<InodeRef>, settings: &ReadSettings) -> Result<Order, ReadError> {
        let mut uses = FragmentUses::new();
        files.iter().for_each(|at| uses.note(file(image, *at).as_ref().ok()));
        let requests = files.clone().into_iter();
        let of = image.clone();
        let requests = requests.map(move |at| {
            let file = file(&of, at);
            Ok(Request { tag: file.clone().map(|file| file.size), file: file.ok(), weight: 0 })
        });
        let reading = Reading::new(image, Box::new(requests), uses, settings)?;
        Ok(Order { reading, left: files.into(), content: Content::default() })
    }

    /// Goes to a file; false if it is not in the rest of the order.
    pub(super) fn go_to(&mut self, at: InodeRef) -> Result<bool, ReadError> {
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

/// The file whose inode is at this place.
pub(super) fn file(image: &Image, at: InodeRef) -> Result<FileData, ReadError> {
    let inode = image.inode(at)?;
    match inode.node {
        Node::File(data) => Ok(data),
        _ => Err(ReadError::internal(format!("content of inode {}, which is not a file", inode.number))),
    }
}
