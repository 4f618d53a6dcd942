//! Changes of entries by options: owner, permissions, times, extended attributes.

use packline::requests::EntryEdit;
use packline_manifests::ModeChange;
use packline_tree::{Entry, Error, Kind, Meta, Time, Xattr};

use crate::compat::squashfs_tools::name_pattern::XattrFilter;
use crate::host::Host;

/// The rule for the times of entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TimeRule {
    #[default]
    Keep,
    /// Sets all times to this time.
    Set(i64),
    /// Sets later times to this time.
    AtMost(i64),
}

/// Returns the attributes of a root that no source describes.
pub fn own_root(host: &Host) -> Meta {
    let uid = rustix::process::getuid().as_raw();
    let gid = rustix::process::getgid().as_raw();
    Meta::new(0o777, uid, gid, host.now.into())
}

#[derive(Debug, Clone, Default)]
pub struct Edits {
    /// The owner and the group of everything.
    pub uid: Option<u32>,
    pub gid: Option<u32>,
    /// The number that is added to all owners and groups.
    pub id_offset: u32,
    pub file_mode: Option<ModeChange>,
    pub directory_mode: Option<ModeChange>,
    pub time: TimeRule,
    pub root: RootEdit,
    pub xattrs: XattrEdit,
}

/// The attributes of the root.
#[derive(Debug, Clone, Default)]
pub struct RootEdit {
    pub mode: Option<ModeChange>,
    pub uid: Option<u32>,
    pub gid: Option<u32>,
    pub mtime: Option<i64>,
}

#[derive(Debug, Clone, Default)]
pub struct XattrEdit {
    pub filter: XattrFilter,
    pub add: Vec<Xattr>,
}

impl Edits {
    /// Returns the change of each entry.
    pub fn into_edit(self) -> EntryEdit {
        EntryEdit::new(move |entry| self.apply(entry))
    }

    /// Moves the owners and modes of everything out of the changes, so that they apply to the source alone. They override the root's own
    /// values.
    pub fn take_forced(&mut self) -> Edits {
        let forced = Edits {
            uid: self.uid.take(),
            gid: self.gid.take(),
            file_mode: self.file_mode.take(),
            directory_mode: self.directory_mode.take(),
            ..Edits::default()
        };
        let root = &mut self.root;
        root.uid = root.uid.filter(|_| forced.uid.is_none());
        root.gid = root.gid.filter(|_| forced.gid.is_none());
        root.mode = root.mode.take().filter(|_| forced.directory_mode.is_none());
        forced
    }

    fn apply(&self, entry: &mut Entry) -> Result<(), Error> {
        let directory = entry.kind == Kind::Dir;
        entry.meta = self.meta(entry.meta, directory, entry.path.is_empty()).ok_or_else(|| Error::Entry {
            input: "-uid-gid-offset".to_string(),
            entry: entry.path.clone(),
            what: "its owner or group is out of range with the offset".to_string(),
            expected: format!("at most {} together", u32::MAX),
        })?;
        self.xattrs.apply(entry);
        Ok(())
    }

    /// Returns the changed attributes; `None` if an owner is out of range.
    pub fn meta(&self, mut meta: Meta, directory: bool, root: bool) -> Option<Meta> {
        if root {
            let RootEdit { mode, uid, gid, mtime } = &self.root;
            if let (Some(change), None) = (mode, &self.directory_mode) {
                meta.mode = change.apply(meta.mode, true);
            }
            meta.uid = uid.unwrap_or(meta.uid);
            meta.gid = gid.unwrap_or(meta.gid);
            meta.mtime = mtime.map_or(meta.mtime, Time::from_seconds);
        }
        let change = if directory { &self.directory_mode } else { &self.file_mode };
        meta.mode = change.as_ref().map_or(meta.mode, |change| change.apply(meta.mode, directory));
        meta.uid = self.uid.unwrap_or(meta.uid).checked_add(self.id_offset)?;
        meta.gid = self.gid.unwrap_or(meta.gid).checked_add(self.id_offset)?;
        meta.mtime = match self.time {
            TimeRule::Keep => meta.mtime,
            TimeRule::Set(time) => Time::from_seconds(time),
            TimeRule::AtMost(most) => meta.mtime.min(Time::from_seconds(most)),
        };
        Some(meta)
    }
}

impl XattrEdit {
    fn apply(&self, entry: &mut Entry) {
        if matches!(entry.kind, Kind::HardLink(_)) {
            return;
        }
        entry.xattrs.retain(|xattr| self.filter.keeps(&xattr.name));
        // Linux stores attributes of users on files and directories only.
        let user = matches!(entry.kind, Kind::File { .. } | Kind::Dir);
        for xattr in self.add.iter().filter(|xattr| user || !xattr.name.starts_with(b"user.")) {
            entry.xattrs.retain(|known| known.name != xattr.name);
            entry.xattrs.push(xattr.clone());
        }
    }
}
