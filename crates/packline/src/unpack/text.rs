//! Options of an [`Unpacker`] as text, for configuration files and for other languages.

use super::unpacker::Unpacker;
use crate::error::Error;
use crate::text::{SWITCH, size, switch, wrong};

/// The names that [`Unpacker::set`] takes, for messages.
const NAMES: &str =
    "continue, exclude, jobs, memory, owners, permissions, replace, scratch, select, sparse, times or xattrs";

impl Unpacker<'_> {
    /// Sets an option by its name. Numbers are decimal; sizes may end in K, M, G or T; `yes` and `no` are the values of a switch.
    ///
    /// | name | value | meaning |
    /// |---|---|---|
    /// | `continue` | `yes` or `no` | [`Unpacker::continue_on_error`]; default `no` |
    /// | `exclude` | pattern | leaves out what matches; may be repeated |
    /// | `jobs` | number of workers | [`Resources::workers`](crate::Resources) |
    /// | `memory` | size | [`Resources::memory_limit`](crate::Resources::memory_limit) |
    /// | `owners` | `yes` or `no` | whether owners, set-uid and set-gid bits are set, which needs root; default `yes` |
    /// | `permissions` | `yes` or `no` | whether permissions are set; default `yes` |
    /// | `replace` | `yes` or `no` | [`Unpacker::replace`]; default `no` |
    /// | `scratch` | directory for temporary files | [`Resources::scratch_in`](crate::Resources::scratch_in) |
    /// | `select` | pattern | unpacks only what matches one of the patterns; may be repeated |
    /// | `sparse` | `yes` or `no` | whether holes of files are kept; default `yes` |
    /// | `times` | `yes` or `no` | whether modification times are set; default `yes` |
    /// | `xattrs` | `yes` or `no` | whether extended attributes are set; default `yes` |
    ///
    /// ```
    /// use packline::Unpacker;
    ///
    /// # fn main() -> Result<(), packline::Error> {
    /// let unpacker = Unpacker::new("root.sqfs").set("select", "etc/*")?.set("owners", "no")?;
    /// let unknown = unpacker.set("level", "19").err().unwrap();
    /// assert!(unknown.to_string().starts_with("unknown option 'level' (expected continue, exclude,"));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Request`] for an unknown name and for a malformed value, [`Error::Pattern`] for a malformed pattern.
    pub fn set(mut self, name: &str, value: &str) -> Result<Self, Error> {
        let yes = || switch(value).ok_or_else(|| wrong(name, value, SWITCH));
        let request = &mut self.request;
        match name {
            "continue" => request.continue_on_error = yes()?,
            "exclude" => request.selection.exclude.add(value.as_bytes())?,
            "jobs" => {
                request.resources.workers = value.parse().map_err(|_| wrong(name, value, "a number of workers"))?;
            }
            "memory" => {
                let bytes = size(value).ok_or_else(|| wrong(name, value, "a size such as 512M"))?;
                request.resources.memory = Some(bytes);
            }
            "owners" => {
                request.restore.owners = yes()?;
                request.restore.set_id = request.restore.owners;
            }
            "permissions" => request.restore.permissions = yes()?,
            "replace" => request.force = yes()?,
            "scratch" => request.resources.scratch = Some(value.into()),
            "select" => request.selection.include.add(value.as_bytes())?,
            "sparse" => request.sparse = yes()?,
            "times" => request.restore.times = yes()?,
            "xattrs" => request.restore.xattrs = yes()?,
            _ => return Err(Error::Request { what: format!("unknown option '{name}'"), expected: NAMES.to_string() }),
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_change_the_request() {
        let pairs =
            [("owners", "no"), ("xattrs", "no"), ("select", "a"), ("select", "b"), ("jobs", "3"), ("memory", "1G")];
        let set = |unpacker: Unpacker<'static>, (name, value): (&str, &str)| unpacker.set(name, value).unwrap();
        let request = pairs.into_iter().fold(Unpacker::new("a.sqfs"), set).request;
        let restore = request.restore;
        assert_eq!((restore.owners, restore.set_id, restore.xattrs, restore.times), (false, false, false, true));
        assert_eq!((request.resources.workers, request.resources.memory), (3, Some(1 << 30)));
        for (path, selected) in [(&b"a"[..], true), (b"b", true), (b"c", false)] {
            assert_eq!(request.selection.selects(path, false), selected, "{path:?}");
        }
    }

    #[test]
    fn rejects_values_that_an_option_does_not_have() {
        for (name, value) in [
            ("continue", "1"),
            ("exclude", "a{b"),
            ("jobs", "-1"),
            ("memory", "much"),
            ("owners", "root"),
            ("permissions", ""),
            ("replace", "true"),
            ("select", "a{b"),
            ("sparse", "Yes"),
            ("times", "now"),
            ("xattrs", "user"),
            ("", "yes"),
        ] {
            let refused = Unpacker::new("a.sqfs").set(name, value).err();
            assert!(refused.is_some_and(|error| error.kind() == crate::ErrorKind::Invalid), "{name}={value}");
        }
    }
}
