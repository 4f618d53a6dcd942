//! Owners, times, labels and permissions that options set.

use packline::requests::{Changes, EntryEdit, Unsupported};
use packline_manifests::{FileContexts, SELINUX_XATTR};
use packline_tree::{Entry, Error, Kind, Xattr};

use super::MkfsErofs;
use super::extended::Features;
use super::fs_config::FsConfig;
use super::options::TimeOptions;
use crate::args::Invocation;
use crate::ui::failure::Failure;
use crate::ui::io::Io;

/// Changes of each entry.
struct Edits {
    /// Added to owners and groups.
    offsets: (u32, u32),
    config: Option<FsConfig>,
    contexts: Option<FileContexts>,
    /// Before the paths in both files; empty or with a slash at its end.
    prefix: Vec<u8>,
}

/// Returns all changes that the options request. `epoch` is SOURCE_DATE_EPOCH.
///
/// # Errors
/// [`Failure::Failed`] for a file that cannot be read or is malformed.
pub fn changes(
    command: &MkfsErofs,
    features: Features,
    epoch: Option<u32>,
    invocation: &Invocation,
    io: &Io,
) -> Result<Changes, Failure> {
    let options = &command.attributes;
    let owner = |long: &str, id: Option<u32>| {
        let root = options.all_root.then_some(0);
        let root_is_last = invocation.position("all-root") > invocation.position(long);
        if root_is_last { root.or(id) } else { id.or(root) }
    };
    let edits = Edits {
        offsets: (options.uid_offset, options.gid_offset),
        config: options.fs_config_file.as_deref().map(FsConfig::open).transpose()?,
        contexts: options.file_contexts.as_deref().map(FileContexts::open).transpose().map_err(Failure::failed)?,
        prefix: prefix_of(options.mount_point.as_ref().map_or(&b""[..], |point| point.as_encoded_bytes())),
    };
    let created = i64::from(command.times.created(epoch, io));
    let fixed = features.ignore_times || command.times.fixes_all(epoch);
    Ok(Changes {
        uid: owner("force-uid", options.force_uid),
        gid: owner("force-gid", options.force_gid),
        mtime: fixed.then_some(created),
        mtime_most: epoch.is_some().then_some(created),
        edit: edits.change_something().then(|| EntryEdit::new(move |entry| edits.apply(entry))),
        unsupported: Unsupported::Skip,
        ..Changes::default()
    })
}

/// Returns a directory without slashes at its start, and with one at its end.
fn prefix_of(directory: &[u8]) -> Vec<u8> {
    let path = packline_tree::path::canonical(directory).unwrap_or_default();
    if path.is_empty() { path } else { [path.as_slice(), b"/"].concat() }
}

impl Edits {
    fn change_something(&self) -> bool {
        self.offsets != (0, 0) || self.config.is_some() || self.contexts.is_some()
    }

    fn apply(&self, entry: &mut Entry) -> Result<(), Error> {
        if matches!(entry.kind, Kind::HardLink(_)) {
            return Ok(());
        }
        let path = [self.prefix.as_slice(), entry.path.as_slice()].concat();
        if let Some(config) = &self.config {
            // The root has no mount point before it.
            let path = if entry.path.is_empty() { &b""[..] } else { &path };
            config.apply(path, entry)?;
        }
        let (uid, gid) = self.offsets;
        entry.meta.uid = shifted(entry, entry.meta.uid, uid)?;
        entry.meta.gid = shifted(entry, entry.meta.gid, gid)?;
        let path = path.strip_suffix(b"/").unwrap_or(&path);
        if let Some(context) = self.contexts.as_ref().and_then(|contexts| contexts.lookup(path, &entry.kind)) {
            entry.xattrs.retain(|xattr| xattr.name != SELINUX_XATTR.as_bytes());
            entry.xattrs.push(Xattr { name: SELINUX_XATTR.into(), value: context.into() });
        }
        Ok(())
    }
}

fn shifted(entry: &Entry, id: u32, offset: u32) -> Result<u32, Error> {
    id.checked_add(offset).ok_or_else(|| Error::Entry {
        input: "owners".to_string(),
        entry: entry.path.clone(),
        what: format!("owner or group {id} with an offset of {offset}"),
        expected: "at most 4294967295".to_string(),
    })
}

impl TimeOptions {
    /// Returns SOURCE_DATE_EPOCH.
    ///
    /// # Errors
    /// [`Failure::Usage`] for a text that is not a 32-bit number.
    pub fn epoch(&self, io: &Io) -> Result<Option<u32>, Failure> {
        let Some(text) = io.host.source_date_epoch.as_deref().filter(|text| !text.is_empty()) else { return Ok(None) };
        let invalid = |_| {
            let expected = "expected seconds since 1970, 0 to 2^32-1";
            Failure::usage(format!("environment variable $SOURCE_DATE_EPOCH {text} is invalid ({expected})"))
        };
        text.parse().map(Some).map_err(invalid)
    }

    /// Returns the time of the image: `epoch`, -T, or the present.
    pub fn created(&self, epoch: Option<u32>, io: &Io) -> u32 {
        epoch.or(self.time).unwrap_or(io.host.now)
    }

    /// Returns whether all entries get the time of the image.
    fn fixes_all(&self, epoch: Option<u32>) -> bool {
        let by_time = self.time.is_some() && !self.mkfs_time && epoch.is_none();
        by_time || self.ignore_mtime
    }
}
