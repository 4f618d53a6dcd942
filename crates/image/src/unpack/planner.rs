//! The walk: makes directories, links and devices, and plans files.

use std::collections::BTreeMap;

use packline_squashfs::read::{FileData, Inode, InodeRef, Node, Visit};
use packline_tree::Kind;
use packline_tree::destination::{DestinationNode, Directory, Refusal};
use rustix::io::Errno;

use super::ground::ROOT;
use super::names::{NameRef, Names};
use super::notes::{Note, Outcome, Written};
use super::shop::{Shop, Spot};
use super::site::Site;
use super::window::{FileKey, Window};
use crate::Error;

/// What one entry of the link table takes, bytes: key, value and its share of a node.
const LINK_BYTES: usize = 48;

/// The state of the walk.
pub struct Planner<'p> {
    shop: &'p Shop,
    devices: bool,
    site: &'p Site,
    /// The directories on the way to the present place: length of the path, number.
    above: Vec<(usize, u32)>,
    /// The path of the innermost of them.
    path: Vec<u8>,
    /// Files planned and not written.
    pub window: Window,
    firsts: BTreeMap<InodeRef, First>,
    first_names: Names,
    /// Further names of files that are planned.
    links: Vec<Link>,
    /// First names among the files planned, where what fails does not stop the rest.
    planned: Vec<(InodeRef, FileKey)>,
    made: u64,
}

/// The first name of an inode that says it has several.
#[derive(Debug, Clone, Copy)]
struct First {
    directory: u32,
    name: NameRef,
    /// Names that are still to come.
    left: u32,
    /// Its place among the planned files, if it is a file.
    file: Option<FileKey>,
}

/// A first name that could not be written.
struct Failed {
    /// Names that are still to come.
    left: u32,
    /// The name that is planned in its place.
    instead: Option<First>,
}

/// What became of the first name of an inode.
enum Made {
    /// It was left out.
    Nothing,
    /// It is there.
    Node,
    /// It is a file that is yet to be written.
    Planned(FileKey),
}

/// A further name of a file.
struct Link {
    inode: InodeRef,
    first: First,
    file: FileKey,
    directory: u32,
    name: NameRef,
}

impl<'p> Planner<'p> {
    /// Nothing has been visited.
    pub fn new(shop: &'p Shop, site: &'p Site, devices: bool) -> Planner<'p> {
        Planner {
            shop,
            devices,
            site,
            above: vec![(0, ROOT)],
            path: Vec::new(),
            window: Window::new(0),
            firsts: BTreeMap::new(),
            first_names: Names::default(),
            links: Vec::new(),
            planned: Vec::new(),
            made: 0,
        }
    }

    /// Makes or plans an entry. What is below a directory that could not be made is passed over: that has been told.
    pub fn visit(&mut self, visit: &Visit, outcome: &mut Outcome) -> Result<(), Error> {
        if visit.path.is_empty() {
            outcome.counts.directories += 1;
            return Ok(());
        }
        let Some((directory, name)) = self.parent(&visit.path) else { return Ok(()) };
        if directory == ROOT && self.site.reserves(name) {
            let error = self.shop.refused(
                directory,
                name,
                Refusal::Os("this name is needed while files are written", Errno::BUSY),
            );
            return Err(error);
        }
        self.make(visit, directory, name, outcome)
    }

    /// The number of the directory that an entry is in, and its name.
    fn parent<'v>(&mut self, path: &'v [u8]) -> Option<(u32, &'v [u8])> {
        let slash = path.iter().rposition(|&byte| byte == b'/');
        let (parent, name) = slash.map_or((&path[..0], path), |slash| (&path[..slash], &path[slash + 1..]));
        while self
            .above
            .pop_if(|(length, _)| *length > parent.len() || self.path[..*length] != parent[..*length])
            .is_some()
        {}
        let &(length, number) = self.above.last()?;
        self.path.truncate(length);
        (length == parent.len()).then_some((number, name))
    }

    fn make(&mut self, visit: &Visit, directory: u32, name: &[u8], outcome: &mut Outcome) -> Result<(), Error> {
        let inode = &visit.inode;
        if let Node::Directory(_) = inode.node {
            self.make_directory(visit, directory, name)?;
            outcome.counts.directories += 1;
            return Ok(());
        }
        if inode.links > 1 && self.link_to_first(inode, directory, name, outcome)? {
            return Ok(());
        }
        match self.make_first(inode, directory, name, outcome)? {
            Made::Nothing => Ok(()),
            _ if inode.links < 2 => Ok(()),
            Made::Node => self.note_first(inode, directory, name, None),
            Made::Planned(file) => self.note_first(inode, directory, name, Some(file)),
        }
    }

    fn refused(&self, directory: u32, name: &[u8], refusal: Refusal) -> Error {
        self.shop.refused(directory, name, refusal)
    }

    fn make_directory(&mut self, visit: &Visit, directory: u32, name: &[u8]) -> Result<(), Error> {
        let make = || self.new_directory(&*self.shop.ground.open(directory)?, name);
        let made = make().map_err(|refusal| self.refused(directory, name, refusal))?;
        let added = self.shop.ground.add(directory, name, visit.inode.at, made);
        let (number, _) = added.ok_or_else(|| self.refused(directory, name, TOO_MANY))?;
        self.path.clear();
        self.path.extend_from_slice(&visit.path);
        self.above.push((visit.path.len(), number));
        Ok(())
    }

    /// Makes a directory. Where files are replaced, one that is there is kept, and anything else gives way to it.
    fn new_directory(&self, parent: &Directory, name: &[u8]) -> Result<Directory, Refusal> {
        match parent.make(name) {
            Err(Refusal::Os(_, Errno::EXIST)) if self.shop.staging.is_some() => {}
            made => return made,
        }
        match parent.open(name) {
            Err(Refusal::Os(_, Errno::NOTDIR | Errno::LOOP)) => {
                parent.unlink(name)?;
                parent.make(name)
            }
            opened => opened,
        }
    }

    /// Makes an entry a further name of an inode that has been met; false if this is the first.
    fn link_to_first(
        &mut self,
        inode: &Inode,
        directory: u32,
        name: &[u8],
        outcome: &mut Outcome,
    ) -> Result<bool, Error> {
        let Some(first) = self.firsts.get_mut(&inode.at) else { return Ok(false) };
        let found = *first;
        first.left = first.left.saturating_sub(1);
        if first.left == 0 {
            self.firsts.remove(&inode.at);
        }
        if let Some(file) = found.file {
            let name = self.first_names.add(name).ok_or_else(|| self.refused(directory, name, TOO_MANY))?;
            self.links.push(Link { inode: inode.at, first: found, file, directory, name });
        } else {
            self.link(found, directory, name)?;
            outcome.counts.hard_links += 1;
        }
        Ok(true)
    }

    fn link(&mut self, first: First, directory: u32, name: &[u8]) -> Result<(), Error> {
        let spot = self.spot(directory, name)?;
        let link = |to: &Directory, new: &[u8]| {
            self.shop.ground.open(first.directory)?.link(self.first_names.get(first.name), to, new)
        };
        let linked = spot.make(link).and_then(|()| spot.settle());
        linked.map_err(|refusal| self.refused(directory, name, refusal))
    }

    fn spot(&mut self, directory: u32, name: &[u8]) -> Result<Spot, Error> {
        self.made += 1;
        let spot = self.shop.spot(directory, name, || format!("w{:x}", self.made));
        spot.map_err(|refusal| self.refused(directory, name, refusal))
    }

    fn note_first(&mut self, inode: &Inode, directory: u32, name: &[u8], file: Option<FileKey>) -> Result<(), Error> {
        let kept = self.first_names.add(name).ok_or_else(|| self.refused(directory, name, TOO_MANY))?;
        self.firsts.insert(inode.at, First { directory, name: kept, left: inode.links - 1, file });
        if let Some(file) = file.filter(|_| self.shop.go_on) {
            self.planned.push((inode.at, file));
        }
        Ok(())
    }

    fn plan(&mut self, at: InodeRef, file: &FileData, directory: u32, name: &[u8]) -> Result<FileKey, Error> {
        self.window.add(at, file, directory, name).ok_or_else(|| self.refused(directory, name, TOO_MANY))
    }

    /// Makes or plans the first name of an inode, or the only one.
    fn make_first(&mut self, inode: &Inode, directory: u32, name: &[u8], outcome: &mut Outcome) -> Result<Made, Error> {
        let kind = match &inode.node {
            Node::File(file) => return self.plan(inode.at, file, directory, name).map(Made::Planned),
            Node::Symlink(target) => {
                self.make_node(inode, directory, name, outcome, |to, new| to.symlink(new, target))?;
                outcome.counts.symlinks += 1;
                return Ok(Made::Node);
            }
            Node::Directory(_) => return Ok(Made::Nothing),
            Node::BlockDevice(device) => Kind::BlockDevice(*device),
            Node::CharDevice(device) => Kind::CharDevice(*device),
            Node::Fifo => Kind::Fifo,
            Node::Socket => Kind::Socket,
        };
        if !self.devices && matches!(kind, Kind::BlockDevice(_) | Kind::CharDevice(_)) {
            outcome.notes.push(Note::device(&self.shop.path(directory, name)));
            outcome.counts.devices_left_out += 1;
            return Ok(Made::Nothing);
        }
        self.make_node(inode, directory, name, outcome, |to, new| to.special(new, &kind))?;
        outcome.counts.special += 1;
        Ok(Made::Node)
    }

    fn make_node(
        &mut self,
        inode: &Inode,
        directory: u32,
        name: &[u8],
        outcome: &mut Outcome,
        make: impl Fn(&Directory, &[u8]) -> Result<DestinationNode, Refusal>,
    ) -> Result<(), Error> {
        let spot = self.spot(directory, name)?;
        let node = spot.make(make).map_err(|refusal| self.refused(directory, name, refusal))?;
        let dressed = self.shop.dress(inode, (directory, name), node.attributes(), outcome);
        let settled = dressed.and_then(|()| spot.settle().map_err(|refusal| self.refused(directory, name, refusal)));
        if settled.is_err() {
            spot.give_up();
        }
        settled
    }

    /// Makes the further names of files that have been written meanwhile. Where a first name could not be written, the next
    /// is planned in its place: the window is not empty then.
    pub fn make_links(&mut self, written: &Written, outcome: &mut Outcome) -> Result<(), Error> {
        let mut failed = self.failed_firsts(written);
        for link in std::mem::take(&mut self.links) {
            let made = match failed.get_mut(&link.file) {
                None => self.make_link(&link, outcome),
                Some(_) if written.unreadable.contains(&link.file) => Err(self.unreadable(&link)),
                Some(failed) => self.plan_anew(link, failed),
            };
            outcome.keep(made)?;
        }
        Ok(())
    }

    /// First names that could not be written. They are forgotten: the next name, whenever it comes, is a first one.
    fn failed_firsts(&mut self, written: &Written) -> BTreeMap<FileKey, Failed> {
        let planned = std::mem::take(&mut self.planned);
        let failed = planned.into_iter().filter(|(_, file)| !written.made.contains(file));
        let forget = |(inode, file): (InodeRef, FileKey)| {
            let present = self.firsts.get(&inode).filter(|first| first.file == Some(file));
            let left = present.map_or(0, |first| first.left);
            if present.is_some() {
                self.firsts.remove(&inode);
            }
            (file, Failed { left, instead: None })
        };
        failed.map(forget).collect()
    }

    fn make_link(&mut self, link: &Link, outcome: &mut Outcome) -> Result<(), Error> {
        let name = self.first_names.get(link.name).to_vec();
        self.link(link.first, link.directory, &name)?;
        outcome.counts.hard_links += 1;
        Ok(())
    }

    /// Plans a name as the file if no other is yet in the place of the first name, which failed; else as a link to that other.
    fn plan_anew(&mut self, link: Link, failed: &mut Failed) -> Result<(), Error> {
        if let Some(first) = failed.instead {
            self.links.extend(first.file.map(|file| Link { first, file, ..link }));
            return Ok(());
        }
        let name = self.first_names.get(link.name).to_vec();
        let inode = self.shop.opened.image.inode(link.inode);
        let inode = inode.map_err(|cause| self.shop.fault(link.directory, &name, cause))?;
        let Node::File(data) = &inode.node else { return Err(self.unreadable(&link)) };
        let file = self.plan(inode.at, data, link.directory, &name)?;
        self.planned.push((inode.at, file));
        let first = First { directory: link.directory, name: link.name, left: failed.left, file: Some(file) };
        failed.instead = Some(first);
        if failed.left > 0 {
            self.firsts.insert(inode.at, first);
        }
        Ok(())
    }

    fn unreadable(&self, link: &Link) -> Error {
        let path = self.shop.path(link.directory, self.first_names.get(link.name));
        let cause = std::io::Error::other("the content could not be read under the file's first name");
        Error::Output { path, action: "cannot link", cause }
    }

    /// Sets the attributes of all directories but the root, those below before those above: one may forbid to enter it.
    pub fn dress_directories(&self, outcome: &mut Outcome) -> Result<(), Error> {
        for number in (ROOT + 1..self.shop.ground.count()).rev() {
            let image = &self.shop.opened.image;
            let inode = image.inode(self.shop.ground.inode(number));
            let inode = inode.map_err(|cause| self.shop.fault(number, b"", cause));
            let dressed = inode.and_then(|inode| self.dress_directory(number, &inode, outcome));
            outcome.keep(dressed)?;
        }
        Ok(())
    }

    /// Sets the attributes of the destination itself, if it is to have those of the image's directory.
    pub fn dress_root(&self, root: &Inode, outcome: &mut Outcome) -> Result<(), Error> {
        let dressed = if self.shop.kept.destination { self.dress_directory(ROOT, root, outcome) } else { Ok(()) };
        outcome.keep(dressed).map(drop)
    }

    fn dress_directory(&self, number: u32, inode: &Inode, outcome: &mut Outcome) -> Result<(), Error> {
        let refused = |refusal| self.shop.refused(number, b"", refusal);
        let handle = self.shop.ground.open(number).map_err(refused)?;
        self.shop.dress(inode, (number, b""), handle.attributes(), outcome)
    }

    /// Bytes that must be kept to the end: directories and the names of links.
    pub fn kept_memory(&self) -> usize {
        let links = self.links.capacity() * size_of::<Link>();
        let planned = self.planned.capacity() * size_of::<(InodeRef, FileKey)>();
        self.shop.ground.memory() + self.firsts.len() * LINK_BYTES + self.first_names.memory() + links + planned
    }

    /// Takes the files planned so far; planning goes on in a new window.
    pub fn take_window(&mut self) -> Window {
        let next = Window::new(self.window.number.wrapping_add(1));
        std::mem::replace(&mut self.window, next)
    }
}

/// Four gigabytes of names, or four thousand million directories.
const TOO_MANY: Refusal = Refusal::Os("too many names to be planned", Errno::NOMEM);
