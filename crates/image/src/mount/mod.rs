//! Mounts an image as a read-only file system through the kernel's FUSE. Several threads answer requests.
//!
//! Memory holds only inode numbers of the tree, and only if the image has no table of them (`numbers.rs`). A look-up costs the metadata that it
//! reads, and the kernel may cache replies for ever.

mod activity;
mod answer;
mod attach;
mod attributes;
mod detach;
mod directory;
mod handles;
mod helper;
mod kernel_ahead;
mod numbers;
mod table;

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

use fuser::{BackgroundSession, Config, Session, SessionACL};
use packline_runtime::escape::Escape;
use packline_runtime::memory::Limits;
use packline_runtime::threads::{refused as no_thread, startable};
use packline_volume::{Files, Inode, Node, RandomSettings};
use rustix::io::Errno;

pub use attach::Unmounter;
use attach::{Attached, SUBTYPE, attach};
pub use detach::unmount;
use kernel_ahead::KernelAhead;
pub use table::{MountFlag, MountFlags};

use crate::follow::{Followed, follow};
use crate::{Error, OpenedImage, ReadDemand, ReadPlan, Resources};
use activity::{Activity, TICK};
use answer::ImageFs;

/// Maximum number of faults that wait to be reported; further faults are dropped.
const FAULTS: usize = 64;
/// Default bytes of decoded blocks to cache without a memory limit, for parts that were not requested yet. The kernel caches what was read.
const CACHE: usize = 256 << 20;
/// Bytes decoded ahead of sequential readers, or a few blocks for each processor if that is more. The distance is short, so that decoded blocks
/// and reused buffers are still in the processor's caches.
const AHEAD: usize = 2 << 20;
/// Minimum number of blocks ahead for each processor.
const BLOCKS_AHEAD: usize = 3;
/// Bytes of one answer: the minimum and maximum that the kernel may ask for at once. Between them it is a block, so that each request is for a
/// block of its own and several blocks can be decoded at the same time.
const ANSWERS: (u64, u64) = (128 << 10, 1 << 20);

/// Request to mount an image.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct MountRequest {
    /// The directory to mount on.
    pub point: PathBuf,
    /// An open `/dev/fuse` that another process has already mounted. `point` is then its name in messages, and the users, flags, type and source
    /// of the mount are not changed.
    pub device: Option<Arc<OwnedFd>>,
    /// The directory of the image that becomes the root of the mount: a path, empty for the complete image. Symbolic links are followed inside
    /// the image.
    pub subdir: Vec<u8>,
    /// Whether other users may use the mount, too.
    pub allow_other: bool,
    /// Whether root may use the mount, too, but not other users.
    pub allow_root: bool,
    /// Whether the permissions of the entries are checked. Otherwise every user of the mount may read everything.
    pub check_permissions: bool,
    /// Whether the mount also ends if this process is killed. Needs `fusermount3` or `fusermount`, and `allow_other` unless the user is root.
    pub auto_unmount: bool,
    /// Flags of the mount.
    pub flags: MountFlags,
    /// The owner that every entry shows, instead of its own.
    pub uid: Option<u32>,
    /// The group that every entry shows, instead of its own.
    pub gid: Option<u32>,
    /// The source that mount(8) shows; by default the path of the image.
    pub source_name: Option<Vec<u8>>,
    /// Suffix after `fuse.` in the type that mount(8) shows.
    pub subtype: Vec<u8>,
    /// Unmount after this time without a request and without an open file or directory. The precision is one second.
    pub idle: Option<Duration>,
    /// Processors and memory; at least one thread answers and one decodes ahead. The other fields are not used.
    pub resources: Resources,
}

impl MountRequest {
    /// Mounts for this user until it is unmounted, with default flags, all processors and no memory limit.
    pub fn new(point: PathBuf) -> MountRequest {
        MountRequest {
            point,
            device: None,
            subdir: Vec::new(),
            allow_other: false,
            allow_root: false,
            check_permissions: true,
            auto_unmount: false,
            flags: MountFlags::default(),
            uid: None,
            gid: None,
            source_name: None,
            subtype: SUBTYPE.to_vec(),
            idle: None,
            resources: Resources::default(),
        }
    }
}

/// A mounted image. It stays mounted until it is unmounted, even if this value is dropped.
pub struct Mounted {
    session: BackgroundSession,
    unmounter: Unmounter,
    faults: Receiver<String>,
    activity: Arc<Activity>,
    idle: Option<Duration>,
    display_path: PathBuf,
}

/// Mounts `image`, which can be used when this returns.
///
/// # Errors
/// [`Error::Request`] for options that exclude each other; [`Error::Target`] and [`Error::Output`] for an unsuitable mount point, and for system
/// calls that fail; [`Error::Memory`].
pub fn mount(image: OpenedImage, request: &MountRequest) -> Result<Mounted, Error> {
    let plan = plan(&image, request)?;
    let source = request.source_name.clone().unwrap_or_else(|| attach::source_name(&image.display_path));
    let block_size = image.volume.facts().block_size;
    let answer = u64::from(block_size).clamp(ANSWERS.0, ANSWERS.1);
    let files = Files::new(&image.volume, settings(request, &plan, block_size)).map_err(|cause| image.fault(cause))?;
    let (teller, faults) = sync_channel(FAULTS);
    let files = Arc::new(files);
    let root = root_of(&image, &request.subdir)?;
    let answers = ImageFs::new(image, &root, Arc::clone(&files), request, teller)?;
    let activity = answers.activity();
    let attached = attach(request, &source, answer)?;
    let unmounter = attached.unmounter();
    let kernel = attached.point().map(KernelAhead::of);
    match serve(answers, attached, answering(&plan), request) {
        Ok(session) => {
            let raised = kernel.is_some_and(|kernel| kernel.raise(request.resources.workers, answer));
            files.serve_ahead(!raised);
            Ok(Mounted {
                session,
                unmounter,
                faults,
                activity,
                idle: request.idle,
                display_path: request.point.clone(),
            })
        }
        Err(cause) => {
            // A mount must not stay without a process that answers.
            let _: std::io::Result<()> = unmounter.unmount();
            Err(refused(&request.point, cause))
        }
    }
}

fn refused(point: &Path, cause: std::io::Error) -> Error {
    helper::failed(point, "cannot mount an image here", cause)
}

/// Returns the directory of the image that becomes the root of the mount.
fn root_of(image: &OpenedImage, subdir: &[u8]) -> Result<Inode, Error> {
    let refused = |what: &str| Error::Target {
        path: image.display_path.clone(),
        what: format!("{}: {what}", subdir.escaped()),
        expected: "the path of a directory in the image".to_string(),
    };
    match follow(&image.volume, subdir).map_err(|cause| image.fault_at(subdir, cause))? {
        Followed::Missing => Err(refused("there is no such entry")),
        Followed::TooManyLinks => Err(refused("too many symbolic links on the way")),
        Followed::Found(inode) => match inode.node {
            Node::Directory(_) => Ok(*inode),
            _ if subdir.is_empty() => Ok(*inode),
            _ => Err(refused("is not a directory")),
        },
    }
}

fn plan(image: &OpenedImage, request: &MountRequest) -> Result<ReadPlan, Error> {
    // Each thread decodes. A thread that answers also holds at most one answer.
    let threads = 2 * request.resources.workers.max(1);
    let numbers = request.resources.memory.map_or(0, |limit| numbers::memory(&image.volume, limit));
    let besides = threads as u64 / 2 * ANSWERS.1 + numbers;
    let limits = Limits { workers: threads, memory: request.resources.memory, ..Limits::default() };
    // The cache of a mount has space for two of the largest units that the format allows.
    let mut plan = ReadDemand::of_format(&image.volume, limits, besides).plan()?;
    // The session needs a thread itself, and at least one more answers.
    let Some(startable @ 1..) = startable(plan.workers.max(1) + 1).checked_sub(1) else {
        return Err(refused(&request.point, no_thread(&std::io::ErrorKind::WouldBlock.into())));
    };
    plan.workers = plan.workers.min(startable);
    Ok(plan)
}

/// Returns the number of threads that answer: half of all, rounded up.
fn answering(plan: &ReadPlan) -> usize {
    plan.workers.div_ceil(2).max(1)
}

fn settings(request: &MountRequest, plan: &ReadPlan, block_size: u32) -> RandomSettings {
    let workers = plan.workers - answering(plan).min(plan.workers);
    let cache = plan.window + plan.fragments;
    // Without a memory limit a mount uses less than a command, because a mount stays.
    let cache = if request.resources.memory.is_some() { cache } else { cache.min(CACHE) };
    let ahead = AHEAD.max(BLOCKS_AHEAD * request.resources.workers * block_size as usize);
    RandomSettings { workers, cache, ahead: ahead.min(cache / 2) }
}

fn serve(
    answers: ImageFs,
    attached: Attached,
    threads: usize,
    request: &MountRequest,
) -> std::io::Result<BackgroundSession> {
    // The kernel knows who may use the mount, but it cannot allow only root. The session would get the user from geteuid(), which fakeroot and
    // pseudo replace, and would then keep all users out.
    let acl = if request.allow_root { SessionACL::RootAndOwner } else { SessionACL::All };
    let mut config = Config::default();
    config.acl = acl;
    config.n_threads = Some(threads);
    Session::from_fd(answers, attached.into_device(), acl, config)?.spawn()
}

impl Mounted {
    /// Returns a handle that unmounts from any thread.
    pub fn unmounter(&self) -> Unmounter {
        self.unmounter.clone()
    }

    /// Waits until the image is unmounted, or has been idle for the requested time, and then unmounts it. Meanwhile `fault` gets a message for
    /// each failed read, unless it is too slow.
    ///
    /// # Errors
    /// [`Error::Output`] if the kernel's requests can no longer be read, or if unmounting fails.
    pub fn wait(self, fault: &mut dyn FnMut(&str)) -> Result<(), Error> {
        let failed = |cause| refused(&self.display_path, cause);
        if self.is_left_idle(fault) {
            self.unmounter.unmount().map_err(failed)?;
            // Without a mount point of ours, the kernel ends the session when the process ends.
            if self.unmounter.point().is_none() {
                return Ok(());
            }
            self.faults.iter().for_each(|what| fault(&what));
        }
        match self.session.join() {
            // The kernel has ended the connection (`umount -f`, or its file in /sys/fs/fuse), so the mount is gone.
            Err(cause) if cause.raw_os_error() == Some(Errno::CONNABORTED.raw_os_error()) => Ok(()),
            joined => joined.map_err(failed),
        }
    }

    /// Passes faults on until the session ends, or until the mount is idle; returns true if it is idle.
    fn is_left_idle(&self, fault: &mut dyn FnMut(&str)) -> bool {
        let Some(most) = self.idle else {
            // The sender is part of the file system, which ends with the session.
            self.faults.iter().for_each(|what| fault(&what));
            return false;
        };
        let mut quiet = self.activity.quiet();
        loop {
            match self.faults.recv_timeout(TICK) {
                Ok(what) => fault(&what),
                Err(RecvTimeoutError::Disconnected) => return false,
                Err(RecvTimeoutError::Timeout) if quiet.tick() >= most => return true,
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }
}
