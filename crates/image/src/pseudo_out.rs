//! Writes an image as a pseudo file: definitions of its entries, then the contents of its files.

use std::io::{self, Write};
use std::path::PathBuf;

use packline_manifests::{PSEUDO_DATA_HEAD, PseudoData, pseudo_definition};
use packline_runtime::{Unsupported, zeros};
use packline_tree::{Bytes, Entry, Xattr};
use packline_volume::{CheckScope, Event, Inode, Node, ReadError, Reading, Request, SharedUses, Visit};

use crate::links::{Links, link_bytes};
use crate::read_plan::read_settings;
use crate::tar_out::kind_of;
use crate::{Error, OpenedImage, Resources, SelectedWalk, Selection};

/// Selects the entries to write, and how to write them.
pub struct PseudoOutRequest<'r> {
    /// The entries, with the directories that lead to them.
    pub selection: &'r Selection,
    /// Whether an extended attribute with this name is written.
    pub keeps_xattr: &'r dyn Fn(&[u8]) -> bool,
    /// Workers and memory. They do not change a byte.
    pub resources: &'r Resources,
}

/// Extended attributes without a value, which no mksquashfs reads from a definition.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EmptyXattrs {
    /// Number of attributes that were left out.
    pub count: u64,
    /// The path of the entry of the first one.
    pub first_path: Bytes,
    /// The name of the first one.
    pub first_name: Bytes,
}

/// Writes an image as definitions, in the order of a walk, and the contents of its files in the same order. Messages call the output
/// `display_path`. Returns the attributes that were left out because they are empty.
///
/// # Errors
/// [`Error::Read`] for unreadable metadata and content, and for entries that a definition cannot express; [`Error::Output`].
pub fn pseudo_out(
    image: &OpenedImage,
    request: &PseudoOutRequest<'_>,
    out: &mut dyn Write,
    display_path: &str,
) -> Result<EmptyXattrs, Error> {
    let image = &image.checked(CheckScope::of_selection(request.selection.has_all_files()));
    let refused = |cause| Error::Output { path: PathBuf::from(display_path), action: "cannot write", cause };
    let links = link_bytes(request.resources.memory);
    let mut definitions =
        Definitions { image, request, links: Links::new(links), offset: 0, empty: EmptyXattrs::default() };
    let mut uses = SharedUses::new();
    for visit in SelectedWalk::new(&image.volume, request.selection) {
        let visit = visit.map_err(|(path, cause)| image.fault_at(&path, cause))?;
        let lines = definitions.lines(&visit, &mut uses).map_err(|cause| image.fault_at(&visit.path, cause))?;
        out.write_all(&lines).map_err(refused)?;
    }
    out.write_all(PSEUDO_DATA_HEAD).map_err(refused)?;
    let settings = read_settings(&image.volume, request.resources, links)?;
    let files = Files { walk: SelectedWalk::new(&image.volume, request.selection), links: Links::new(links) };
    let reading = Reading::new(&image.volume, Box::new(files), uses, &settings);
    let mut reading = reading.map_err(|cause| image.fault(cause))?;
    let mut path = Bytes::new();
    while let Some(event) = reading.next_event().map_err(|cause| image.fault_at(&path, cause))? {
        let written: io::Result<()> = match event {
            Event::Begin(begun) => {
                path = begun;
                Ok(())
            }
            Event::Data(bytes) => out.write_all(&bytes),
            Event::Hole(length) => zeros(length).try_for_each(|piece| out.write_all(piece)),
            Event::Failed { error, .. } => return Err(image.fault_at(&path, error)),
        };
        written.map_err(refused)?;
    }
    image.compare_data(request.resources)?;
    out.flush().map_err(refused)?;
    Ok(definitions.empty)
}

struct Definitions<'d> {
    image: &'d OpenedImage,
    request: &'d PseudoOutRequest<'d>,
    links: Links,
    /// Bytes of contents before the next file.
    offset: u64,
    empty: EmptyXattrs,
}

impl Definitions<'_> {
    fn lines(&mut self, Visit { path, inode }: &Visit, uses: &mut SharedUses) -> Result<Bytes, ReadError> {
        let link = self.links.earlier(inode, path)?;
        let xattrs = if link.is_none() { self.image.volume.xattrs(inode)? } else { Vec::new() };
        let kept = xattrs.into_iter().filter(|xattr| (self.request.keeps_xattr)(&xattr.name));
        let xattrs = kept.filter(|xattr| !self.empty.take(path, xattr)).collect();
        let mut data = PseudoData { offset: self.offset, sparse: false };
        if let (Node::File(file), None) = (&inode.node, &link) {
            uses.note(self.image.volume.as_ref(), file);
            data.sparse = file.sparse > 0;
            let end = self.offset.checked_add(file.size).filter(|end| i64::try_from(*end).is_ok());
            self.offset = end.ok_or_else(|| unsupported("the contents are too long", "less than 2^63 bytes"))?;
        }
        let entry = Entry { path: path.clone(), kind: kind_of(Inode::clone(inode), link), meta: inode.meta, xattrs };
        let expected = "an entry that a pseudo file can define";
        pseudo_definition(&entry, data).map_err(|what| unsupported(what, expected))
    }
}

impl EmptyXattrs {
    /// Whether an attribute is empty. Empty attributes are counted.
    fn take(&mut self, path: &[u8], xattr: &Xattr) -> bool {
        if !xattr.value.is_empty() {
            return false;
        }
        if self.count == 0 {
            self.first_path = path.to_vec();
            self.first_name.clone_from(&xattr.name);
        }
        self.count += 1;
        true
    }
}

fn unsupported(what: &str, expected: &str) -> ReadError {
    Unsupported::new(what, expected).into()
}

/// The files, each under its first name.
struct Files<'f> {
    walk: SelectedWalk<'f>,
    links: Links,
}

impl Files<'_> {
    fn request(&mut self, Visit { path, inode }: Visit) -> Result<Option<Request<Bytes>>, ReadError> {
        let first = self.links.earlier(&inode, &path)?.is_none();
        Ok(match inode.node {
            Node::File(file) if first => Some(Request { weight: path.capacity(), tag: path, file: Some(file) }),
            _ => None,
        })
    }
}

impl Iterator for Files<'_> {
    type Item = Result<Request<Bytes>, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let found = match self.walk.next()? {
                Ok(visit) => self.request(visit),
                Err((_, cause)) => Err(cause),
            };
            if let Some(request) = found.transpose() {
                return Some(request);
            }
        }
    }
}
