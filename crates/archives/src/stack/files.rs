//! The contents of the regular files of layers, in 24 bytes each if that is enough to find a content.

use packline_runtime::push_tight;
use packline_tree::{Bookmark, Held};

use crate::tar::TarBookmark;

#[derive(Default)]
pub(super) struct Files {
    list: Vec<File>,
    /// Contents of [`Form::Other`], and their heap memory in bytes.
    others: Vec<Held>,
    heap: usize,
}

struct File {
    size: u64,
    position: u64,
    before: u32,
    layer: u16,
    form: Form,
}

/// The meaning of a file's `position` and `before`.
#[derive(Clone, Copy)]
enum Form {
    Nothing,
    /// A bookmark that is a number.
    Number,
    /// The start of the content in a tar, and its distance from the header.
    Tar,
    /// An index into the list of other contents.
    Other,
}

pub(super) enum ContentLocation<'a> {
    Nothing,
    InLayer(Bookmark),
    Elsewhere(&'a Held),
}

const _: () = assert!(size_of::<File>() == 24);

impl Files {
    /// The number of the next file.
    pub fn next(&self) -> u32 {
        self.list.len() as u32
    }

    pub fn add(&mut self, layer: u16, size: u64, content: Held) {
        let (form, position, before) = match content {
            Held::Nothing => (Form::Nothing, 0, 0),
            Held::InSource(Bookmark::Number(number)) => (Form::Number, number, 0),
            other => match in_tar(&other, size) {
                Some((start, before)) => (Form::Tar, start, before),
                None => (Form::Other, self.add_other(other), 0),
            },
        };
        push_tight(&mut self.list, File { size, position, before, layer, form });
    }

    fn add_other(&mut self, content: Held) -> u64 {
        self.heap += content.memory() as usize;
        push_tight(&mut self.others, content);
        self.others.len() as u64 - 1
    }

    pub fn size(&self, number: u32) -> u64 {
        self.list.get(number as usize).map_or(0, |file| file.size)
    }

    /// The layer of a file, and the location of its content.
    pub fn location(&self, number: u32) -> Option<(u16, ContentLocation<'_>)> {
        let file = self.list.get(number as usize)?;
        let location = match file.form {
            Form::Nothing => ContentLocation::Nothing,
            Form::Number => ContentLocation::InLayer(Bookmark::Number(file.position)),
            Form::Tar => {
                let header = file.position - u64::from(file.before);
                ContentLocation::InLayer(TarBookmark::at(header, file.position, file.size).into_bookmark())
            }
            Form::Other => match self.others.get(file.position as usize)? {
                Held::InSource(bookmark) => ContentLocation::InLayer(bookmark.clone()),
                other => ContentLocation::Elsewhere(other),
            },
        };
        Some((file.layer, location))
    }

    pub fn memory(&self) -> usize {
        self.list.capacity() * size_of::<File>() + self.others.capacity() * size_of::<Held>() + self.heap
    }
}

/// The position of a content of `size` bytes in a tar, if it has no holes.
fn in_tar(content: &Held, size: u64) -> Option<(u64, u32)> {
    let Held::InSource(bookmark) = content else { return None };
    let bookmark = bookmark.value::<TarBookmark>()?;
    let (start, plain) = bookmark.plain()?;
    let before = start.checked_sub(bookmark.header_offset())?;
    (plain == size).then_some((start, u32::try_from(before).ok()?))
}
