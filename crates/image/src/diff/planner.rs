//! Walks ahead of the comparison: finds pairs of names, compares their attributes, and queues contents to compare.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::rc::Rc;

use packline_tree::Bytes;
use packline_volume::{FileData, Node as InodeNode, NodeType, SharedUses};

use super::attributes::{differences, differing_xattrs};
use super::links::Links;
use super::merge::{Merge, Pair};
use super::side::{Node, Side};
use super::{Compared, DiffRequest, Difference, What};
use crate::Error;

/// Maximum number of queued items, at which the walk pauses.
const AHEAD_MOST: usize = 4096;
/// Memory in bytes of each tree for files with several names, if there is no memory limit.
const LINKS_BYTES: usize = 64 << 20;
/// Inverse of the share of a memory limit for files with several names, of each tree.
pub(super) const LINKS_PART: u64 = 8;
/// Memory of queued items in bytes, except for very long paths.
pub(super) const QUEUE: u64 = 4 << 20;

/// Returns the memory in bytes of each tree for files with several names, under a total limit.
pub(super) fn links_share(limit: u64) -> u64 {
    limit / LINKS_PART
}

/// A queued result of a pair of names.
pub(super) enum Item {
    /// A difference, and the files to extract because of it.
    Found(Difference, Extracted),
    /// Contents to compare.
    Contents(Box<Pair>),
}

/// Files to extract, of the old and of the new tree.
pub(super) type Extracted = Option<Box<(Option<Node>, Option<Node>)>>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Which {
    Old,
    New,
}

/// The planner, shared by the comparison and both readers, which ask it for the next file to decode.
pub(super) type SharedPlanner = Rc<RefCell<Planner>>;

pub(super) struct Planner {
    merge: Merge,
    old: Side,
    new: Side,
    compared: Compared,
    /// Whether nanoseconds of times are compared.
    nanoseconds: bool,
    /// Whether equal positions mean equal contents.
    same_image: bool,
    links: [Links; 2],
    pub(super) items: VecDeque<Item>,
    /// Contents to decode, of the old and of the new tree.
    files: [VecDeque<FileData>; 2],
    pub(super) common: u64,
    ended: bool,
    /// Why the walk ended early. Items before it are still valid.
    pub(super) failed: Option<Error>,
}

impl Planner {
    /// Walks both trees once in advance, and returns the uses of shared units of the wanted sides. Faults are reported later, when the trees are
    /// compared.
    pub(super) fn survey(
        old: &Side,
        new: &Side,
        request: &DiffRequest,
        wanted: [bool; 2],
    ) -> Result<[SharedUses; 2], Error> {
        let mut uses: [SharedUses; 2] = Default::default();
        let planner = Planner::new(old, new, request)?;
        let mut planner = planner.borrow_mut();
        while !planner.ended && !request.resources.cancel.is_cancelled() {
            planner.advance();
            planner.items.clear();
            let sides = planner.files.iter_mut().zip([old, new]).zip(uses.iter_mut().zip(wanted));
            for ((files, side), (uses, wanted)) in sides {
                let image = side.image().filter(|_| wanted);
                for file in files.drain(..) {
                    if let Some(image) = image {
                        uses.note(image.volume.as_ref(), &file);
                    }
                }
            }
        }
        Ok(uses)
    }

    pub(super) fn new(old: &Side, new: &Side, request: &DiffRequest) -> Result<SharedPlanner, Error> {
        let limit = request.resources.memory;
        let bytes = limit.map_or(LINKS_BYTES, |limit| links_share(limit) as usize);
        Ok(Rc::new(RefCell::new(Planner {
            merge: Merge::new(old, new, request.order),
            same_image: same_image(old, new),
            old: old.clone(),
            new: new.clone(),
            compared: request.compared,
            nanoseconds: compares_nanoseconds(old, new),
            links: [Links::new(bytes, limit), Links::new(bytes, limit)],
            items: VecDeque::new(),
            files: Default::default(),
            common: 0,
            ended: false,
            failed: None,
        })))
    }

    /// Returns the next content to decode: `None` after the last, `Some(None)` if there is none now.
    pub(super) fn next_file(&mut self, which: Which) -> Option<Option<FileData>> {
        loop {
            if let Some(file) = self.files[which as usize].pop_front() {
                return Some(Some(file));
            }
            if self.ended {
                return None;
            }
            if self.items.len() >= AHEAD_MOST {
                return Some(None);
            }
            self.advance();
        }
    }

    /// Returns the next item; `None` after the last.
    pub(super) fn next_item(&mut self) -> Option<Item> {
        while self.items.is_empty() && !self.ended {
            self.advance();
        }
        self.items.pop_front()
    }

    /// Compares one more pair of names.
    fn advance(&mut self) {
        let looked = self.merge.next_pair().and_then(|pair| match pair {
            Some(pair) => self.compare(pair),
            None => {
                self.ended = true;
                Ok(())
            }
        });
        if let Err(error) = looked {
            self.failed = Some(error);
            self.ended = true;
        }
    }

    fn compare(&mut self, pair: Pair) -> Result<(), Error> {
        match (&pair.old, &pair.new) {
            (Some(old), None) => {
                let what = What::OnlyOld(old.kind);
                let extracted = is_file(old).then(|| Box::new((pair.old.clone(), None)));
                self.found(&pair.path, what, extracted);
                Ok(())
            }
            (None, Some(new)) => {
                let what = What::OnlyNew(new.kind);
                let extracted = is_file(new).then(|| Box::new((None, pair.new.clone())));
                self.found(&pair.path, what, extracted);
                Ok(())
            }
            (Some(old), Some(new)) => {
                let old = old.clone();
                let new = new.clone();
                self.common += 1;
                self.compare_both(pair, &old, &new)
            }
            (None, None) => Ok(()),
        }
    }

    fn compare_both(&mut self, pair: Pair, old: &Node, new: &Node) -> Result<(), Error> {
        let firsts = if self.compared.links {
            [self.links[0].first_of(old.shared, &pair.path)?, self.links[1].first_of(new.shared, &pair.path)?]
        } else {
            [None, None]
        };
        if firsts[0].is_some() && firsts[0] == firsts[1] {
            // Both are further names of files that were compared before.
            return Ok(());
        }
        let found = differences(old, new, &self.compared, self.nanoseconds);
        let other_type = old.kind != new.kind;
        found.into_iter().for_each(|what| self.found(&pair.path, what, None));
        if other_type {
            return Ok(());
        }
        self.compare_xattrs(&pair.path, old, new)?;
        if firsts[0] != firsts[1] {
            self.found(&pair.path, What::Links, None);
        }
        if old.kind == NodeType::File {
            self.compare_files(pair, old, new);
        }
        Ok(())
    }

    fn compare_xattrs(&mut self, path: &[u8], old: &Node, new: &Node) -> Result<(), Error> {
        if !self.compared.xattrs {
            return Ok(());
        }
        let names = differing_xattrs(&self.old.xattrs(path, old)?, &self.new.xattrs(path, new)?);
        if !names.is_empty() {
            self.found(path, What::Xattrs(names), None);
        }
        Ok(())
    }

    fn compare_files(&mut self, pair: Pair, old: &Node, new: &Node) {
        if old.size != new.size {
            let extracted = Some(Box::new((pair.old, pair.new)));
            self.found(&pair.path, What::Size(old.size, new.size), extracted);
        } else if self.compared.contents && old.size > 0 && !self.at_one_place(old, new) {
            for (node, files) in [old, new].into_iter().zip(&mut self.files) {
                files.extend(file_of(node).cloned());
            }
            self.items.push_back(Item::Contents(Box::new(pair)));
        }
    }

    /// Whether both contents are the same bytes of the same image.
    fn at_one_place(&self, old: &Node, new: &Node) -> bool {
        let (Some(image), Some(old), Some(new)) = (self.old.image(), file_of(old), file_of(new)) else { return false };
        let volume = &image.volume;
        if !self.same_image || volume.content_place(old) != volume.content_place(new) {
            return false;
        }
        let pieces = volume.pieces(old, 0).zip(volume.pieces(new, 0));
        pieces.into_iter().all(|(old, new)| matches!((old, new), (Ok(old), Ok(new)) if old == new))
    }

    fn found(&mut self, path: &[u8], what: What, extracted: Extracted) {
        self.items.push_back(Item::Found(Difference { path: Bytes::from(path), what }, extracted));
    }
}

fn is_file(node: &Node) -> bool {
    node.kind == NodeType::File
}

/// Returns the content of a file of an image.
pub(super) fn file_of(node: &Node) -> Option<&FileData> {
    match node.inode.as_ref().map(|inode| &inode.node) {
        Some(InodeNode::File(file)) => Some(file),
        _ => None,
    }
}

/// Whether all images have nanoseconds. Times of two directories are compared in whole seconds, because one of them may come from an image.
fn compares_nanoseconds(old: &Side, new: &Side) -> bool {
    let mut images = [old, new].into_iter().filter_map(Side::image).peekable();
    images.peek().is_some() && images.all(|image| image.volume.facts().nanoseconds)
}

/// Whether both trees are in one image: the same file, from the same byte on.
fn same_image(old: &Side, new: &Side) -> bool {
    let (Some(old), Some(new)) = (old.image(), new.image()) else { return false };
    let file =
        |image: &crate::OpenedImage| fs::metadata(&image.display_path).ok().map(|found| (found.dev(), found.ino()));
    old.volume.facts().origin == new.volume.facts().origin && file(old).is_some() && file(old) == file(new)
}
