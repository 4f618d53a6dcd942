//! `--fs-config-file`: owners, permissions and capabilities of paths, in the format of Android's canned_fs_config.
//!
//! A line is `PATH UID GID MODE`, with an octal mode, and may end with `capabilities=NUMBER`; other words after the mode are ignored. Blanks separate
//! the words.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use packline_tree::{Entry, Xattr};

use crate::compat::erofs_utils::parse_c_number;
use crate::ui::escape::Escape;
use crate::ui::failure::Failure;

/// The attribute of capabilities.
const CAPABILITY: &[u8] = b"security.capability";
/// Revision 2 of its format, with all capabilities effective.
const REVISION: u32 = 0x0200_0001;

/// The attributes of paths.
#[derive(Debug, Default)]
pub struct FsConfig {
    /// The name of the file in messages.
    name: String,
    paths: BTreeMap<Vec<u8>, Attributes>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Attributes {
    uid: u32,
    gid: u32,
    mode: u16,
    capabilities: u64,
}

impl FsConfig {
    /// Reads a file.
    ///
    /// # Errors
    /// [`Failure::Failed`] if the file cannot be read, or for the first malformed line.
    pub fn open(path: &Path) -> Result<FsConfig, Failure> {
        let name = path.escaped();
        let text = fs::read(path).map_err(|cause| Failure::failed(format!("{name}: cannot read: {cause}")))?;
        let parsed = FsConfig::parse(&text).map_err(|fault| Failure::failed(format!("{name}: {fault}")))?;
        Ok(FsConfig { name, ..parsed })
    }

    fn parse(text: &[u8]) -> Result<FsConfig, String> {
        let mut config = FsConfig::default();
        for (index, line) in text.split(|byte| *byte == b'\n').enumerate() {
            let words: Vec<&[u8]> = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).collect();
            // A line that starts with a blank is about the root.
            let is_root = line.first().is_some_and(u8::is_ascii_whitespace);
            let (path, rest) = match words.split_first() {
                None => continue,
                Some(_) if is_root => (&b""[..], words.as_slice()),
                Some((path, rest)) => (*path, rest),
            };
            let attributes = Attributes::parse(rest).ok_or_else(|| {
                format!("line {}: '{}' (expected PATH UID GID MODE [capabilities=N])", index + 1, line.escaped())
            })?;
            config.paths.insert(path.strip_prefix(b"/").unwrap_or(path).to_vec(), attributes);
        }
        Ok(config)
    }

    /// Sets the attributes of an entry, which the file has at `path`.
    ///
    /// # Errors
    /// The file lacks the path.
    pub fn apply(&self, path: &[u8], entry: &mut Entry) -> Result<(), packline_tree::Error> {
        let Attributes { uid, gid, mode, capabilities } =
            *self.paths.get(path).ok_or_else(|| packline_tree::Error::Entry {
                input: self.name.clone(),
                entry: if path.is_empty() { b"/".to_vec() } else { path.to_vec() },
                what: "is missing".to_string(),
                expected: "a line for each entry".to_string(),
            })?;
        (entry.meta.uid, entry.meta.gid, entry.meta.mode) = (uid, gid, mode);
        if capabilities != 0 {
            entry.xattrs.retain(|xattr| xattr.name != CAPABILITY);
            entry.xattrs.push(Xattr { name: CAPABILITY.to_vec(), value: capability(capabilities) });
        }
        Ok(())
    }
}

impl Attributes {
    fn parse(words: &[&[u8]]) -> Option<Attributes> {
        let text = |word: &[u8]| std::str::from_utf8(word).ok().map(str::to_string);
        let [uid, gid, mode, rest @ ..] = words else { return None };
        let mode = u16::from_str_radix(&text(mode)?, 8).ok()?;
        let given = rest.iter().find_map(|word| word.strip_prefix(b"capabilities="));
        let capabilities = match given {
            None => 0,
            Some(number) => parse_c_number(&text(number)?).ok()?,
        };
        Some(Attributes {
            uid: text(uid)?.parse().ok()?,
            gid: text(gid)?.parse().ok()?,
            mode: mode & 0o7777,
            capabilities,
        })
    }
}

/// Returns the value of the attribute: revision, then permitted and inheritable capabilities of 32 bits each, twice.
fn capability(permitted: u64) -> Vec<u8> {
    [REVISION, permitted as u32, 0, (permitted >> 32) as u32, 0].into_iter().flat_map(u32::to_le_bytes).collect()
}

#[cfg(test)]
mod tests {
    use packline_tree::{Kind, Meta};

    use super::*;

    #[test]
    fn sets_what_lines_say() {
        let text = b"/ 0 0 0755\nsystem/bin/tool 0 2000 04750 capabilities=0x100000400 selabel=u:x\n\n dropped 1 2\n";
        assert!(FsConfig::parse(text).unwrap_err().starts_with("line 4: "));
        let config = FsConfig::parse(&text[..text.len() - 14]).unwrap();
        let meta = Meta { mode: 0o644, ..Default::default() };
        let mut entry = Entry { path: b"bin/tool".to_vec(), kind: Kind::File { size: 0 }, meta, xattrs: Vec::new() };
        config.apply(b"system/bin/tool", &mut entry).unwrap();
        assert_eq!((entry.meta.uid, entry.meta.gid, entry.meta.mode), (0, 2000, 0o4750));
        let value = [1, 0, 0, 2, 0, 4, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(entry.xattrs, [Xattr { name: CAPABILITY.to_vec(), value: value.to_vec() }]);
        config.apply(b"", &mut entry).unwrap();
        assert_eq!((entry.meta.gid, entry.meta.mode), (0, 0o755));
        let error = config.apply(b"etc", &mut entry).unwrap_err().to_string();
        assert!(error.ends_with(": etc: is missing (expected a line for each entry)"), "{error}");
        let error = FsConfig::default().apply(b"", &mut entry).unwrap_err().to_string();
        assert!(error.ends_with(": /: is missing (expected a line for each entry)"), "{error}");
    }
}
