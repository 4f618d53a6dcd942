//! Options of a [`Packer`] as text, for configuration files and for other languages.

use crate::container::by_name::Container;
use crate::error::Error;
use crate::pack::packer::Packer;
use crate::text::{SWITCH, size, switch, wrong};
use packline_archives::{ContentOrder, FileList, RestOrder};
use packline_blocks::Layout;

/// The names that [`Packer::set`] takes, for messages.
const NAMES: &str = "base, block-size, codec, container, exclude, jobs, layout, memory, mtime, offset, order, owner, replace, scratch, time, \
                     verify or xattrs";

impl Packer<'_> {
    /// Sets an option by its name. Numbers are decimal; sizes may end in K, M, G or T; `yes` and `no` are the values of a switch.
    ///
    /// | name | value | method |
    /// |---|---|---|
    /// | `base` | path of an image | [`Packer::base`] |
    /// | `block-size` | size | [`Packer::block_size`] |
    /// | `codec` | `NAME[:key=value,...]` | [`Packer::codec`] |
    /// | `container` | `squashfs`, `erofs`, `tar` or `lrz` | [`Packer::container`] |
    /// | `exclude` | pattern | [`Packer::exclude`] |
    /// | `jobs` | number of workers | [`Resources::workers`](crate::Resources) |
    /// | `layout` | `compact` or `stable` | [`Packer::layout`] |
    /// | `memory` | size | [`Resources::memory_limit`](crate::Resources::memory_limit) |
    /// | `mtime` | seconds since 1970 | [`Packer::mtime`] |
    /// | `offset` | size | [`Packer::offset`] |
    /// | `order` | `path` or `similar` | [`Packer::order`] |
    /// | `owner` | `UID:GID` | [`Packer::owner`] |
    /// | `replace` | `yes` or `no` | [`Packer::replace`] |
    /// | `scratch` | directory for temporary files | [`Resources::scratch_in`](crate::Resources::scratch_in) |
    /// | `time` | seconds since 1970 | [`Packer::time`] |
    /// | `verify` | `yes` or `no` | [`Packer::verify`] |
    /// | `xattrs` | `yes` or `no` | [`Packer::xattrs`] |
    ///
    /// ```
    /// use packline::{Packer, Tree};
    ///
    /// # fn main() -> Result<(), packline::Error> {
    /// let packer = Packer::new(Tree::new()).set("codec", "zstd:level=19")?.set("block-size", "256K")?;
    /// let packed = packer.write_into(&mut std::io::Cursor::new(Vec::new()))?;
    /// assert_eq!(packed.content_bytes, 0);
    /// let unknown = Packer::new(Tree::new()).set("level", "19").err().unwrap();
    /// assert!(unknown.to_string().starts_with("unknown option 'level' (expected base, block-size,"));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Request`] for an unknown name and for a malformed value, [`Error::Pattern`] for a malformed pattern. A codec is checked when the
    /// pack begins.
    pub fn set(mut self, name: &str, value: &str) -> Result<Self, Error> {
        let wrong = |expected: &str| wrong(name, value, expected);
        match name {
            "base" => Ok(self.base(value)),
            "block-size" => {
                let bytes = size(value).and_then(|bytes| u32::try_from(bytes).ok());
                Ok(self.block_size(bytes.ok_or_else(|| wrong("a size such as 128K"))?))
            }
            "codec" => Ok(self.codec(value)),
            "container" => Ok(self.container(Container::for_tree(value)?)),
            "exclude" => self.exclude(value),
            "jobs" => {
                self.resources.workers = value.parse().map_err(|_| wrong("a number of workers"))?;
                Ok(self)
            }
            "layout" => match value {
                "compact" => Ok(self.layout(Layout::Compact)),
                "stable" => Ok(self.layout(Layout::STABLE)),
                _ => Err(wrong("compact or stable")),
            },
            "memory" => {
                self.resources.memory = Some(size(value).ok_or_else(|| wrong("a size such as 512M"))?);
                Ok(self)
            }
            "mtime" => Ok(self.mtime(value.parse().map_err(|_| wrong("seconds since 1970"))?)),
            "offset" => Ok(self.offset(size(value).ok_or_else(|| wrong("a size such as 4K"))?)),
            "order" => match value {
                "path" => Ok(self.order(ContentOrder::default())),
                "similar" => Ok(self.order(ContentOrder::new(FileList::default(), RestOrder::Similar))),
                _ => Err(wrong("path or similar")),
            },
            "owner" => {
                let (uid, gid) = owner(value).ok_or_else(|| wrong("UID:GID"))?;
                Ok(self.owner(uid, gid))
            }
            "replace" => Ok(self.replace(switch(value).ok_or_else(|| wrong(SWITCH))?)),
            "scratch" => {
                self.resources.scratch = Some(value.into());
                Ok(self)
            }
            "time" => Ok(self.time(value.parse().map_err(|_| wrong("seconds from 0 to 4294967295"))?)),
            "verify" => Ok(self.verify(switch(value).ok_or_else(|| wrong(SWITCH))?)),
            "xattrs" => Ok(self.xattrs(switch(value).ok_or_else(|| wrong(SWITCH))?)),
            _ => Err(Error::Request { what: format!("unknown option '{name}'"), expected: NAMES.to_string() }),
        }
    }
}

fn owner(value: &str) -> Option<(u32, u32)> {
    let (uid, gid) = value.split_once(':')?;
    Some((uid.parse().ok()?, gid.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sources::tree::Tree;

    #[test]
    fn rejects_values_that_an_option_does_not_have() {
        for (name, value) in [
            ("block-size", "5T"),
            ("container", "zip"),
            ("exclude", "a{b"),
            ("jobs", "-1"),
            ("layout", "loose"),
            ("memory", "much"),
            ("mtime", "now"),
            ("offset", "1P"),
            ("order", "boot.txt"),
            ("owner", "root"),
            ("replace", "true"),
            ("time", "-1"),
            ("verify", ""),
            ("xattrs", "1"),
            ("", "yes"),
        ] {
            let refused = Packer::new(Tree::new()).set(name, value).err();
            assert!(refused.is_some_and(|error| error.kind() == crate::ErrorKind::Invalid), "{name}={value}");
        }
    }
}
