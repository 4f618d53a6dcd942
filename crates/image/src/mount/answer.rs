//! ImageFs the requests of the kernel.

use std::cell::RefCell;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::time::Duration;

use fuser::{
    Errno, FileHandle, Filesystem, FopenFlags, Generation, INodeNo, InitFlags, KernelConfig, LockOwner, OpenAccMode,
    OpenFlags, ReplyAttr, ReplyData, ReplyDirectory, ReplyDirectoryPlus, ReplyEmpty, ReplyEntry, ReplyOpen,
    ReplyStatfs, ReplyXattr, Request,
};
use packline_volume::{DirEntry, Files, Inode, Node, NodeType, OpenFile, ReadError, SharedVolume};

use super::MountRequest;
use super::activity::Activity;
use super::attributes::{absent, attributes, file_type, unreadable};
use super::directory::{DOTS, Directory};
use super::handles::Handles;
use super::kernel_ahead::READ_AHEAD;
use super::numbers::{NodeNumbers, Numbers};
use crate::{Error, OpenedImage};

/// The kernel may cache replies for ever: an image does not change.
const CACHE_FOREVER: Duration = Duration::from_secs(1 << 30);
/// The only generation: an inode number is never reused.
const GENERATION: Generation = Generation(0);
/// Longest name in bytes.
const NAME: u32 = 255;
/// Maximum number of read-ahead requests that the kernel may have waiting.
const BACKGROUND: u16 = 64;

thread_local! {
    /// Buffer of each answering thread for contents that are in several blocks.
    static SCRATCH: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// The file system.
pub(super) struct ImageFs {
    image: OpenedImage,
    numbers: Numbers,
    contents: Arc<Files>,
    files: Handles<OpenFile>,
    directories: Handles<Directory>,
    faults: SyncSender<String>,
    activity: Arc<Activity>,
    /// Owner and group of every entry, instead of its own.
    owner: (Option<u32>, Option<u32>),
}

/// Why a request failed.
enum Refusal {
    /// The image, or its device, cannot be read.
    Fault(ReadError),
    /// The request is invalid.
    Wrong(Errno),
}

impl From<ReadError> for Refusal {
    fn from(cause: ReadError) -> Refusal {
        Refusal::Fault(cause)
    }
}

impl ImageFs {
    /// Serves the files below a directory of an image. Fails if the directory cannot be read.
    pub(super) fn new(
        image: OpenedImage,
        root: &Inode,
        contents: Arc<Files>,
        request: &MountRequest,
        faults: SyncSender<String>,
    ) -> Result<ImageFs, Error> {
        if let Err(cause) = image.volume.entries(root) {
            return Err(image.fault(cause));
        }
        let numbers = Numbers::new(&image.volume, root, request.resources.memory);
        let files = Handles::new();
        let directories = Handles::new();
        let activity = Arc::default();
        let owner = (request.uid, request.gid);
        Ok(ImageFs { image, numbers, contents, files, directories, faults, activity, owner })
    }

    /// Returns the counters of the mount's use.
    pub(super) fn activity(&self) -> Arc<Activity> {
        Arc::clone(&self.activity)
    }

    fn volume(&self) -> &SharedVolume {
        &self.image.volume
    }

    fn inode(&self, node: INodeNo) -> Result<Inode, Refusal> {
        self.activity.asked();
        let place = self.numbers.place(self.volume(), node)?.ok_or(Refusal::Wrong(Errno::ESTALE))?;
        Ok(self.volume().inode(place)?)
    }

    fn named(&self, inode: &Inode) -> NodeNumbers {
        self.numbers.named(self.volume(), inode.at, inode.number)
    }

    /// Reports a fault, unless the receiver's queue is full or closed.
    fn refuse(&self, refusal: Refusal) -> Errno {
        match refusal {
            Refusal::Wrong(errno) => errno,
            Refusal::Fault(cause) => {
                // A slow receiver misses some faults.
                let _ = self.faults.try_send(self.image.fault(cause).to_string());
                Errno::EIO
            }
        }
    }

    fn found(&self, parent: INodeNo, name: &OsStr) -> Result<Option<Inode>, Refusal> {
        let parent = self.inode(parent)?;
        if parent.node_type() != NodeType::Directory {
            return Err(Refusal::Wrong(Errno::ENOTDIR));
        }
        let entry = self.volume().lookup(&parent, name.as_bytes())?;
        Ok(entry.map(|entry| self.volume().inode(entry.inode)).transpose()?)
    }

    fn opened(&self, number: INodeNo, flags: OpenFlags) -> Result<u64, Refusal> {
        if flags.acc_mode() != OpenAccMode::O_RDONLY {
            return Err(Refusal::Wrong(Errno::EROFS));
        }
        match self.inode(number)?.node {
            Node::File(file) => {
                self.activity.opened();
                Ok(self.files.open(self.contents.open(&file)))
            }
            Node::Directory(_) => Err(Refusal::Wrong(Errno::EISDIR)),
            _ => Err(Refusal::Wrong(Errno::EINVAL)),
        }
    }

    fn opened_directory(&self, number: INodeNo) -> Result<u64, Refusal> {
        let inode = self.inode(number)?;
        match inode.node {
            Node::Directory(_) => {
                self.activity.opened();
                Ok(self.directories.open(Directory::new(inode)))
            }
            _ => Err(Refusal::Wrong(Errno::ENOTDIR)),
        }
    }

    /// Passes `.`, `..` and the entries from `offset` on to `take`: the offset after each, its kind, and its name.
    fn list(&self, handle: u64, offset: u64, take: &mut dyn FnMut(u64, ListEntry<'_>) -> bool) -> Result<(), Refusal> {
        let directory = self.directories.get(handle).ok_or(Refusal::Wrong(Errno::EBADF))?;
        for (number, name) in [(0, "."), (1, "..")] {
            if offset <= number && !take(number + 1, ListEntry::Dot(&directory.inode, name)) {
                return Ok(());
            }
        }
        let mut given = offset < DOTS;
        let mut fits = |number: u64, entry: &DirEntry| {
            given = take(number + 1 + DOTS, ListEntry::Entry(entry));
            given
        };
        match directory.entries(self.volume(), offset.saturating_sub(DOTS), &mut fits) {
            // Entries before the fault are returned; the next request meets the fault again.
            Err(_) if given => Ok(()),
            outcome => Ok(outcome?),
        }
    }

    /// Returns the number that `.` or `..` of a directory shows. A directory says the number of its parent; the root is its own parent.
    fn dot(&self, directory: &Inode, name: &str) -> INodeNo {
        match &directory.node {
            Node::Directory(data) if name == ".." && !self.numbers.is_root(directory.at) => {
                INodeNo(data.parent.unwrap_or(0).max(1))
            }
            _ => self.named(directory).st_ino,
        }
    }

    /// Returns the attributes of an entry, with its node, and how long they are valid. An entry whose inode cannot be read is still listed: only
    /// requests for more than its name fail.
    fn listed(&self, entry: &DirEntry) -> (fuser::FileAttr, Duration) {
        match self.volume().inode(entry.inode) {
            Ok(inode) => self.entered(&inode),
            Err(_) => {
                let named = self.numbers.by_place(entry.inode);
                (unreadable(self.volume(), named.node, entry.kind), Duration::ZERO)
            }
        }
    }

    /// Returns the attributes that come with a name, and how long they are valid. The time is zero if the kernel must ask for the number.
    fn entered(&self, inode: &Inode) -> (fuser::FileAttr, Duration) {
        let named = self.named(inode);
        let holds = if named.shows_node() { CACHE_FOREVER } else { Duration::ZERO };
        (self.attributes(named.node, inode), holds)
    }

    /// Returns all attributes of an inode that shows this number.
    fn attributes(&self, number: INodeNo, inode: &Inode) -> fuser::FileAttr {
        let own = attributes(self.volume(), number, inode);
        fuser::FileAttr { uid: self.owner.0.unwrap_or(own.uid), gid: self.owner.1.unwrap_or(own.gid), ..own }
    }

    fn xattrs(&self, number: INodeNo) -> Result<Vec<packline_tree::Xattr>, Refusal> {
        let inode = self.inode(number)?;
        Ok(self.volume().xattrs(&inode)?)
    }
}

/// An entry of a directory.
enum ListEntry<'a> {
    /// `.` or `..` of a directory.
    Dot(&'a Inode, &'a str),
    /// An entry of the image.
    Entry(&'a DirEntry),
}

/// ImageFs with attributes or names, or with their size if the kernel asks for it.
fn answer_xattr(reply: ReplyXattr, size: u32, data: &[u8]) {
    if size == 0 {
        reply.size(data.len() as u32);
    } else if data.len() > size as usize {
        reply.error(Errno::ERANGE);
    } else {
        reply.data(data);
    }
}

impl Filesystem for ImageFs {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        // Each capability is optional: an older kernel works without it.
        for wanted in [
            InitFlags::FUSE_PARALLEL_DIROPS,
            InitFlags::FUSE_DO_READDIRPLUS | InitFlags::FUSE_READDIRPLUS_AUTO,
            InitFlags::FUSE_CACHE_SYMLINKS,
            InitFlags::FUSE_ASYNC_DIO,
        ] {
            let _ = config.add_capabilities(wanted);
        }
        if let Err(most) = config.set_max_readahead(READ_AHEAD as u32) {
            let _ = config.set_max_readahead(most);
        }
        let _ = config.set_max_background(BACKGROUND);
        Ok(())
    }

    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        match self.found(parent, name) {
            Ok(Some(inode)) => {
                let (attributes, holds) = self.entered(&inode);
                reply.entry_with_ttls(&holds, &CACHE_FOREVER, &attributes, GENERATION);
            }
            Ok(None) => reply.entry(&CACHE_FOREVER, &absent(self.volume()), GENERATION),
            Err(refusal) => reply.error(self.refuse(refusal)),
        }
    }

    fn getattr(&self, _: &Request, ino: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        match self.inode(ino) {
            Ok(inode) => reply.attr(&CACHE_FOREVER, &self.attributes(self.named(&inode).st_ino, &inode)),
            Err(refusal) => reply.error(self.refuse(refusal)),
        }
    }

    fn readlink(&self, _: &Request, ino: INodeNo, reply: ReplyData) {
        match self.inode(ino).map(|inode| inode.node) {
            Ok(Node::Symlink(target)) => reply.data(&target),
            Ok(_) => reply.error(Errno::EINVAL),
            Err(refusal) => reply.error(self.refuse(refusal)),
        }
    }

    fn open(&self, _: &Request, ino: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        match self.opened(ino, flags) {
            Ok(handle) => reply.opened(FileHandle(handle), FopenFlags::FOPEN_KEEP_CACHE | FopenFlags::FOPEN_NOFLUSH),
            Err(refusal) => reply.error(self.refuse(refusal)),
        }
    }

    fn read(
        &self,
        _: &Request,
        _: INodeNo,
        fh: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let Some(file) = self.files.get(fh.0) else { return reply.error(Errno::EBADF) };
        let mut reply = Some(reply);
        let outcome = SCRATCH.with_borrow_mut(|scratch| {
            self.contents.read_with(&file, offset, size as usize, scratch, |bytes| {
                if let Some(reply) = reply.take() {
                    reply.data(bytes);
                }
            })
        });
        if let (Err(cause), Some(reply)) = (outcome, reply) {
            reply.error(self.refuse(cause.into()));
        }
    }

    fn release(
        &self,
        _: &Request,
        _: INodeNo,
        fh: FileHandle,
        _: OpenFlags,
        _: Option<LockOwner>,
        _: bool,
        reply: ReplyEmpty,
    ) {
        self.files.close(fh.0);
        self.activity.closed();
        reply.ok();
    }

    fn opendir(&self, _: &Request, ino: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        let cached = FopenFlags::FOPEN_CACHE_DIR | FopenFlags::FOPEN_KEEP_CACHE;
        match self.opened_directory(ino) {
            Ok(handle) => reply.opened(FileHandle(handle), cached),
            Err(refusal) => reply.error(self.refuse(refusal)),
        }
    }

    fn readdir(&self, _: &Request, _: INodeNo, fh: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        let outcome = self.list(fh.0, offset, &mut |next, listed| {
            let full = match listed {
                ListEntry::Dot(inode, name) => reply.add(self.dot(inode, name), next, fuser::FileType::Directory, name),
                ListEntry::Entry(entry) => {
                    let number = self.numbers.named(self.volume(), entry.inode, entry.number).st_ino;
                    reply.add(number, next, file_type(entry.kind), OsStr::from_bytes(&entry.name))
                }
            };
            !full
        });
        match outcome {
            Ok(()) => reply.ok(),
            Err(refusal) => reply.error(self.refuse(refusal)),
        }
    }

    fn readdirplus(&self, _: &Request, _: INodeNo, fh: FileHandle, offset: u64, mut reply: ReplyDirectoryPlus) {
        let outcome = self.list(fh.0, offset, &mut |next, listed| {
            let full = match listed {
                // The kernel uses only the number of these two.
                ListEntry::Dot(inode, name) => {
                    let number = self.dot(inode, name);
                    let attributes = self.attributes(number, inode);
                    reply.add(number, next, name, &Duration::ZERO, &attributes, GENERATION)
                }
                ListEntry::Entry(entry) => {
                    let (attributes, holds) = self.listed(entry);
                    reply.add(attributes.ino, next, OsStr::from_bytes(&entry.name), &holds, &attributes, GENERATION)
                }
            };
            !full
        });
        match outcome {
            Ok(()) => reply.ok(),
            Err(refusal) => reply.error(self.refuse(refusal)),
        }
    }

    fn releasedir(&self, _: &Request, _: INodeNo, fh: FileHandle, _: OpenFlags, reply: ReplyEmpty) {
        self.directories.close(fh.0);
        self.activity.closed();
        reply.ok();
    }

    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        let facts = self.volume().facts();
        let block = facts.block_size;
        let blocks = facts.bytes.div_ceil(u64::from(block));
        reply.statfs(blocks, 0, 0, facts.inodes, 0, block, NAME, block);
    }

    fn getxattr(&self, _: &Request, ino: INodeNo, name: &OsStr, size: u32, reply: ReplyXattr) {
        match self.xattrs(ino) {
            Ok(xattrs) => match xattrs.iter().find(|xattr| xattr.name == name.as_bytes()) {
                Some(xattr) => answer_xattr(reply, size, &xattr.value),
                None => reply.error(Errno::NO_XATTR),
            },
            Err(refusal) => reply.error(self.refuse(refusal)),
        }
    }

    fn listxattr(&self, _: &Request, ino: INodeNo, size: u32, reply: ReplyXattr) {
        match self.xattrs(ino) {
            Ok(xattrs) => {
                let names = xattrs.iter().flat_map(|xattr| xattr.name.iter().copied().chain([0]));
                answer_xattr(reply, size, &names.collect::<Vec<u8>>());
            }
            Err(refusal) => reply.error(self.refuse(refusal)),
        }
    }
}
