//! Changes attributes on the way to the destination.

use packline_image::AttributeRules;
use packline_manifests::ModeChange;
use packline_squashfs::read::NodeType;
use packline_tree::{Meta, Time};

use super::Attributes;
use crate::compat::squashfs_tools::name_pattern::XattrFilter;
use crate::compat::squashfs_tools::posix_regex;
use crate::host::Host;
use crate::ui::escape::Escape;
use crate::ui::failure::Failure;

/// The owner, group, time and permissions of everything, and the filter of extended attributes.
#[derive(Debug)]
pub struct Restored {
    uid: Option<u32>,
    gid: Option<u32>,
    time: Option<i64>,
    file_mode: Option<ModeChange>,
    directory_mode: Option<ModeChange>,
    xattrs: XattrFilter,
}

impl AttributeRules for Restored {
    fn meta(&self, kind: NodeType, meta: Meta) -> Meta {
        let directory = kind == NodeType::Directory;
        let change = if directory { &self.directory_mode } else { &self.file_mode };
        Meta {
            mode: change.as_ref().map_or(meta.mode, |change| change.apply(meta.mode, directory)),
            uid: self.uid.unwrap_or(meta.uid),
            gid: self.gid.unwrap_or(meta.gid),
            mtime: self.time.map_or(meta.mtime, Time::from_seconds),
        }
    }

    fn keeps_xattr(&self, name: &[u8]) -> bool {
        self.xattrs.keeps(name)
    }
}

impl Attributes {
    /// # Errors
    /// [`Failure::Usage`] for an unknown owner, an owner without root, and a malformed expression.
    pub(super) fn restored(&self, root: bool, host: &Host) -> Result<Restored, Failure> {
        let owner = |option: &str, text: &Option<String>, number: &dyn Fn(&[u8]) -> Option<u32>| match text {
            Some(_) if !root => Err(Failure::usage(format!("{option} can only be used running as superuser"))),
            Some(text) => {
                let unknown = || {
                    let expected = "a number, or a name that exists on this system";
                    Failure::usage(format!(
                        "{option}: '{}' is unknown (expected {expected})",
                        text.as_bytes().escaped()
                    ))
                };
                text.parse().ok().or_else(|| number(text.as_bytes())).map(Some).ok_or_else(unknown)
            }
            None => Ok(None),
        };
        let regex = |option: &str, text: &[u8]| {
            let malformed = |fault| Failure::usage(format!("{option}: '{}': {fault}", text.escaped()));
            posix_regex::compile(text).map(Some).map_err(malformed)
        };
        let given = |option: &str, text: &Option<std::ffi::OsString>| {
            text.as_ref().map_or(Ok(None), |text| regex(option, text.as_encoded_bytes()))
        };
        let names = (host.names)();
        Ok(Restored {
            uid: owner("-force-uid", &self.force_uid, &|text| names.user_number(text))?,
            gid: owner("-force-gid", &self.force_gid, &|text| names.group_number(text))?,
            time: self.all_time.map(i64::from),
            file_mode: self.force_file_mode.clone(),
            directory_mode: self.force_dir_mode.clone(),
            xattrs: XattrFilter {
                include: if self.user_xattrs {
                    regex("-user-xattrs", b"^user[.]")?
                } else {
                    given("-xattrs-include", &self.xattrs_include)?
                },
                exclude: given("-xattrs-exclude", &self.xattrs_exclude)?,
            },
        })
    }
}
