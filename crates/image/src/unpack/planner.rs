//! The walk: creates directories, links and devices, and plans files.

use std::collections::BTreeMap;

use packline_tree::Kind;
use packline_tree::destination::{DestinationNode, Directory, Refusal, WritableDirectory};
use packline_volume::{FileData, Inode, Node, NodeId, Visit};
use rustix::io::Errno;

use super::context::{StagedEntry, UnpackContext};
use super::dir_table::ROOT;
use super::names::{NameRef, Names};
use super::outcome::{Outcome, Warning, Written};
use super::staging_dir::StagingDir;
use super::window::{FileKey, Window};
use crate::Error;

/// Memory of an entry of the link table, bytes: key, value and its share of a node.
const LINK_BYTES: usize = 48;

/// The state of the walk.
pub struct Planner<'p> {
    context: &'p UnpackContext,
    devices: bool,
    staging_dir: &'p StagingDir,
    /// The directories above the current entry: length of the path, and number.
    above: Vec<(usize, u32)>,
    /// The path of the innermost directory.
    path: Vec<u8>,
    /// Planned files that are not yet written.
    pub window: Window,
    firsts: BTreeMap<NodeId, First>,
    first_names: Names,
    /// Further names of planned files.
    links: Vec<Link>,
    /// First names among the planned files, if unpacking continues after errors.
    planned: Vec<(NodeId, FileKey)>,
    /// Existing directories whose permissions were extended, with the permissions before.
    extended: Vec<(u32, u16)>,
    made: u64,
}

/// The first name of an inode with several names.
#[derive(Debug, Clone, Copy)]
struct First {
    directory: u32,
    name: NameRef,
    /// Number of names still to come.
    left: u32,
    /// Key among the planned files, if the inode is a file.
    file: Option<FileKey>,
}

/// A first name that could not be written.
struct Failed {
    /// Number of names still to come.
    left: u32,
    /// The name planned in its place.
    instead: Option<First>,
}

/// Result of creating the first name of an inode.
enum Created {
    /// The entry was skipped.
    Nothing,
    /// The entry exists.
    Node,
    /// The entry is a file that is not yet written.
    Planned(FileKey),
}

/// A directory of the tree that was created or existed before.
struct NewDirectory {
    directory: Directory,
    /// The permissions before, if they were extended.
    before: Option<u16>,
    /// Whether files cannot be moved there from the staging directory; `None` if it is the same as for its parent.
    apart: Option<bool>,
}

/// A further name of a file.
struct Link {
    inode: NodeId,
    first: First,
    file: FileKey,
    directory: u32,
    name: NameRef,
}

impl<'p> Planner<'p> {
    pub fn new(context: &'p UnpackContext, staging_dir: &'p StagingDir, devices: bool) -> Planner<'p> {
        Planner {
            context,
            devices,
            staging_dir,
            above: vec![(0, ROOT)],
            path: Vec::new(),
            window: Window::new(0),
            firsts: BTreeMap::new(),
            first_names: Names::default(),
            links: Vec::new(),
            planned: Vec::new(),
            extended: Vec::new(),
            made: 0,
        }
    }

    /// Creates or plans an entry. Skips entries below a directory that could not be created, whose error was reported.
    pub fn visit(&mut self, visit: &Visit, outcome: &mut Outcome) -> Result<(), Error> {
        if visit.path.is_empty() {
            outcome.counts.directories += 1;
            return Ok(());
        }
        let Some((directory, name)) = self.parent(&visit.path) else { return Ok(()) };
        if directory == ROOT && self.staging_dir.reserves(name) {
            let error = self.context.refused(
                directory,
                name,
                Refusal::Os("this name is needed while files are written", Errno::BUSY),
            );
            return Err(error);
        }
        self.make(visit, directory, name, outcome)
    }

    /// Returns the number of an entry's parent directory, and the entry's name.
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
            Created::Nothing => Ok(()),
            _ if inode.links < 2 => Ok(()),
            Created::Node => self.note_first(inode, directory, name, None),
            Created::Planned(file) => self.note_first(inode, directory, name, Some(file)),
        }
    }

    fn refused(&self, directory: u32, name: &[u8], refusal: Refusal) -> Error {
        self.context.refused(directory, name, refusal)
    }

    fn make_directory(&mut self, visit: &Visit, directory: u32, name: &[u8]) -> Result<(), Error> {
        let make = || self.new_directory(&*self.context.dirs.open(directory)?, name);
        let NewDirectory { directory: made, before, apart } =
            make().map_err(|refusal| self.refused(directory, name, refusal))?;
        let added = self.context.dirs.add(directory, name, visit.inode.at, made);
        let (number, _) = added.ok_or_else(|| self.refused(directory, name, TOO_MANY))?;
        self.extended.extend(before.map(|mode| (number, mode)));
        if let Some(apart) = apart {
            self.context.dirs.set_apart(number, apart);
        }
        self.path.clear();
        self.path.extend_from_slice(&visit.path);
        self.above.push((visit.path.len(), number));
        Ok(())
    }

    /// Creates a directory. In a destination whose files are replaced, keeps an existing directory, and replaces any other entry.
    fn new_directory(&self, parent: &Directory, name: &[u8]) -> Result<NewDirectory, Refusal> {
        let make = || Ok(NewDirectory { directory: parent.make(name)?, before: None, apart: None });
        let staging = self.context.staging.as_ref().filter(|_| self.context.replace);
        let staging = match (make(), staging) {
            (Err(Refusal::Os(_, Errno::EXIST)), Some(staging)) => staging,
            (made, _) => return made,
        };
        match parent.open_writable(name) {
            Err(Refusal::Os(_, Errno::NOTDIR | Errno::LOOP)) => {
                parent.unlink(name)?;
                make()
            }
            opened => {
                let WritableDirectory { directory, before } = opened?;
                // Another file system may be mounted there, or the same file system again.
                let apart = Some(!directory.shares_mount(staging)?);
                Ok(NewDirectory { directory, before, apart })
            }
        }
    }

    /// Gives existing directories their permissions back, after an error.
    pub fn restore_modes(&self) {
        for &(number, mode) in self.extended.iter().rev() {
            // The earlier error is the one that is reported.
            let _: Result<(), Refusal> =
                self.context.dirs.open(number).and_then(|directory| directory.attributes().set_mode(mode));
        }
    }

    /// Links an entry to the first name of its inode; returns false if this is the first name.
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
            return Ok(true);
        }
        match self.link(found, directory, name)? {
            None => outcome.counts.hard_links += 1,
            Some(refusal) => {
                self.note_copy(directory, name, &refusal, outcome);
                self.make_first(inode, directory, name, outcome)?;
            }
        }
        Ok(true)
    }

    /// Creates a hard link; returns the reason if the destination cannot have it.
    fn link(&mut self, first: First, directory: u32, name: &[u8]) -> Result<Option<Refusal>, Error> {
        let staged = self.staged(directory, name)?;
        let link = |to: &Directory, new: &[u8]| {
            self.context.dirs.open(first.directory)?.link(self.first_names.get(first.name), to, new)
        };
        match staged.make(link) {
            Err(refusal) if refusal.is_unlinkable() => Ok(Some(refusal)),
            linked => {
                let settled = linked.and_then(|()| staged.settle());
                settled.map(|()| None).map_err(|refusal| self.refused(directory, name, refusal))
            }
        }
    }

    /// Counts a name that becomes a copy.
    fn note_copy(&self, directory: u32, name: &[u8], refusal: &Refusal, outcome: &mut Outcome) {
        outcome.counts.hard_links_copied += 1;
        outcome.warnings.push(Warning::not_linked(&self.context.path(directory, name), refusal));
    }

    fn staged(&mut self, directory: u32, name: &[u8]) -> Result<StagedEntry, Error> {
        self.made += 1;
        let staged = self.context.staged(directory, name, || format!("w{:x}", self.made));
        staged.map_err(|refusal| self.refused(directory, name, refusal))
    }

    fn note_first(&mut self, inode: &Inode, directory: u32, name: &[u8], file: Option<FileKey>) -> Result<(), Error> {
        let kept = self.first_names.add(name).ok_or_else(|| self.refused(directory, name, TOO_MANY))?;
        self.firsts.insert(inode.at, First { directory, name: kept, left: inode.links - 1, file });
        if let Some(file) = file.filter(|_| self.context.continue_on_error) {
            self.planned.push((inode.at, file));
        }
        Ok(())
    }

    fn plan(&mut self, at: NodeId, file: &FileData, directory: u32, name: &[u8]) -> Result<FileKey, Error> {
        self.window
            .add(&self.context.opened.volume, at, file, directory, name)
            .ok_or_else(|| self.refused(directory, name, TOO_MANY))
    }

    /// Creates or plans the first or only name of an inode.
    fn make_first(
        &mut self,
        inode: &Inode,
        directory: u32,
        name: &[u8],
        outcome: &mut Outcome,
    ) -> Result<Created, Error> {
        let kind = match &inode.node {
            Node::File(file) => return self.plan(inode.at, file, directory, name).map(Created::Planned),
            Node::Symlink(target) => {
                let made = self.make_node(inode, directory, name, outcome, |to, new| to.symlink(new, target));
                let made = self.context.keep_lesser(made, outcome)?;
                outcome.counts.symlinks += u64::from(made);
                return Ok(if made { Created::Node } else { Created::Nothing });
            }
            Node::Directory(_) => return Ok(Created::Nothing),
            Node::BlockDevice(device) => Kind::BlockDevice(*device),
            Node::CharDevice(device) => Kind::CharDevice(*device),
            Node::Fifo => Kind::Fifo,
            Node::Socket => Kind::Socket,
        };
        if !self.devices && matches!(kind, Kind::BlockDevice(_) | Kind::CharDevice(_)) {
            outcome.warnings.push(Warning::device(&self.context.path(directory, name)));
            outcome.counts.devices_left_out += 1;
            return Ok(Created::Nothing);
        }
        let made = self.make_node(inode, directory, name, outcome, |to, new| to.special(new, &kind));
        if !self.context.keep_lesser(made, outcome)? {
            return Ok(Created::Nothing);
        }
        outcome.counts.special += 1;
        outcome.counts.devices += u64::from(matches!(kind, Kind::BlockDevice(_) | Kind::CharDevice(_)));
        outcome.counts.fifos += u64::from(matches!(kind, Kind::Fifo));
        Ok(Created::Node)
    }

    fn make_node(
        &mut self,
        inode: &Inode,
        directory: u32,
        name: &[u8],
        outcome: &mut Outcome,
        make: impl Fn(&Directory, &[u8]) -> Result<DestinationNode, Refusal>,
    ) -> Result<(), Error> {
        let staged = self.staged(directory, name)?;
        let node = staged.make(make).map_err(|refusal| self.refused(directory, name, refusal))?;
        let applied = self.context.set_attributes(inode, (directory, name), node.attributes(), outcome);
        let settled = applied.and_then(|()| staged.settle().map_err(|refusal| self.refused(directory, name, refusal)));
        if settled.is_err() {
            staged.give_up();
        }
        settled
    }

    /// Creates the further names of files that have now been written. If a first name could not be written, the next name is planned in its
    /// place, and the window is then not empty.
    pub fn make_links(&mut self, written: &Written, outcome: &mut Outcome) -> Result<(), Error> {
        let mut failed = self.failed_firsts(written);
        let mut full = BTreeMap::new();
        for link in std::mem::take(&mut self.links) {
            let made = match failed.get_mut(&link.file) {
                None => self.make_link(link, &mut full, outcome),
                Some(_) if written.unreadable.contains(&link.file) => Err(self.unreadable(&link)),
                Some(failed) => self.plan_anew(link, failed),
            };
            outcome.keep(made)?;
        }
        Ok(())
    }

    /// Returns the first names that could not be written, and forgets them: the next name becomes the first.
    fn failed_firsts(&mut self, written: &Written) -> BTreeMap<FileKey, Failed> {
        let planned = std::mem::take(&mut self.planned);
        let failed = planned.into_iter().filter(|(_, file)| !written.made.contains(file));
        let forget = |(inode, file): (NodeId, FileKey)| {
            let present = self.firsts.get(&inode).filter(|first| first.file == Some(file));
            let left = present.map_or(0, |first| first.left);
            if present.is_some() {
                self.firsts.remove(&inode);
            }
            (file, Failed { left, instead: None })
        };
        failed.map(forget).collect()
    }

    /// Creates a further name, or plans it as a copy if the destination cannot have the link. `full` has the copies to which later names of a
    /// file are linked, because the file has the maximum number of names.
    fn make_link(
        &mut self,
        link: Link,
        full: &mut BTreeMap<FileKey, First>,
        outcome: &mut Outcome,
    ) -> Result<(), Error> {
        if let Some(&first) = full.get(&link.file) {
            self.links.extend(first.file.map(|file| Link { first, file, ..link }));
            return Ok(());
        }
        let name = self.first_names.get(link.name).to_vec();
        let Some(refusal) = self.link(link.first, link.directory, &name)? else {
            outcome.counts.hard_links += 1;
            return Ok(());
        };
        self.note_copy(link.directory, &name, &refusal, outcome);
        let file = self.plan_again(&link, &name)?;
        if refusal.errno() == Some(Errno::MLINK) {
            let first = First { directory: link.directory, name: link.name, left: 0, file: Some(file) };
            full.insert(link.file, first);
            if let Some(present) = self.firsts.get_mut(&link.inode) {
                *present = First { left: present.left, ..first };
            }
            if self.context.continue_on_error {
                self.planned.push((link.inode, file));
            }
        }
        Ok(())
    }

    /// Plans a further name as a file of its own.
    fn plan_again(&mut self, link: &Link, name: &[u8]) -> Result<FileKey, Error> {
        let inode = self.context.opened.volume.inode(link.inode);
        let inode = inode.map_err(|cause| self.context.fault(link.directory, name, cause))?;
        let Node::File(data) = &inode.node else { return Err(self.unreadable(link)) };
        self.plan(inode.at, data, link.directory, name)
    }

    /// Plans a name as the file if no other name has replaced the failed first name; otherwise as a link to the replacement.
    fn plan_anew(&mut self, link: Link, failed: &mut Failed) -> Result<(), Error> {
        if let Some(first) = failed.instead {
            self.links.extend(first.file.map(|file| Link { first, file, ..link }));
            return Ok(());
        }
        let name = self.first_names.get(link.name).to_vec();
        let file = self.plan_again(&link, &name)?;
        self.planned.push((link.inode, file));
        let first = First { directory: link.directory, name: link.name, left: failed.left, file: Some(file) };
        failed.instead = Some(first);
        if failed.left > 0 {
            self.firsts.insert(link.inode, first);
        }
        Ok(())
    }

    fn unreadable(&self, link: &Link) -> Error {
        let path = self.context.path(link.directory, self.first_names.get(link.name));
        let cause = std::io::Error::other("the content could not be read under the file's first name");
        Error::Output { path, action: "cannot link", cause }
    }

    /// Sets the attributes of all directories except the root. Children come before parents, whose modes may deny access.
    pub fn set_directory_attributes(&self, outcome: &mut Outcome) -> Result<(), Error> {
        for number in (ROOT + 1..self.context.dirs.count()).rev() {
            let image = &self.context.opened.volume;
            let inode = image.inode(self.context.dirs.inode(number));
            let inode = inode.map_err(|cause| self.context.fault(number, b"", cause));
            let applied = inode.and_then(|inode| self.set_attributes_of(number, &inode, outcome));
            outcome.keep(applied)?;
        }
        Ok(())
    }

    /// Sets the attributes of the destination itself, if requested.
    pub fn set_root_attributes(&self, root: &Inode, outcome: &mut Outcome) -> Result<(), Error> {
        if !self.context.restore.destination {
            return Ok(());
        }
        if let Some(refusal) = self.context.denied_by_destination(root) {
            outcome.warnings.push(Warning::destination(&self.context.display_path, &refusal));
            return Ok(());
        }
        let applied = self.set_attributes_of(ROOT, root, outcome);
        outcome.keep(applied).map(drop)
    }

    fn set_attributes_of(&self, number: u32, inode: &Inode, outcome: &mut Outcome) -> Result<(), Error> {
        let refused = |refusal| self.context.refused(number, b"", refusal);
        let handle = self.context.dirs.open(number).map_err(refused)?;
        self.context.set_attributes(inode, (number, b""), handle.attributes(), outcome)
    }

    /// Returns the memory in bytes that is needed to the end, for directories and the names of links.
    pub fn retained_memory(&self) -> usize {
        let links = self.links.capacity() * size_of::<Link>();
        let planned = self.planned.capacity() * size_of::<(NodeId, FileKey)>();
        let extended = self.extended.capacity() * size_of::<(u32, u16)>();
        let firsts = self.firsts.len() * LINK_BYTES;
        self.context.dirs.memory() + firsts + self.first_names.memory() + links + planned + extended
    }

    /// Takes the files planned so far. Planning continues in a new window.
    pub fn take_window(&mut self) -> Window {
        let next = Window::new(self.window.number.wrapping_add(1));
        std::mem::replace(&mut self.window, next)
    }
}

/// 4 GiB of names, or 2^32 directories.
const TOO_MANY: Refusal = Refusal::Os("too many names to be planned", Errno::NOMEM);
