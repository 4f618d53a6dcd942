//! Canonical paths, the form of an entry's path in every source, and faults of paths.

use crate::Bytes;

/// Longest component in bytes: the limit of the Linux VFS (SquashFS could store 256).
pub const MAX_COMPONENT: usize = 255;
/// Longest accepted path in bytes.
pub const MAX_PATH: usize = 65_535;
/// Longest target of a symbolic link in bytes, as accepted by SquashFS readers.
pub const MAX_TARGET: usize = 65_535;

/// Why a path is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PathFault {
    #[error("the name is empty")]
    Empty,
    /// The path contains a NUL byte, which no file system can store.
    #[error("the name holds a NUL byte")]
    Nul,
    #[error("the path contains '..'")]
    Parent,
    /// A component is longer than [`MAX_COMPONENT`].
    #[error("a component of the name has {0} bytes")]
    LongComponent(usize),
    /// The path is longer than [`MAX_PATH`].
    #[error("the name has {0} bytes")]
    Long(usize),
}

impl PathFault {
    /// A description of valid paths, for the end of an error message.
    pub fn expected(self) -> &'static str {
        match self {
            Self::Empty => "a name, or ./ for the root directory",
            Self::Nul => "a name without NUL",
            Self::Parent => "a path that stays inside the tree",
            Self::LongComponent(_) => "at most 255 bytes a component",
            Self::Long(_) => "at most 65535 bytes",
        }
    }
}

/// The canonical form of `raw`: components joined by single slashes, without leading and trailing slashes and `.` components.
/// `/`, `.` and `./` become the empty path, which is the root.
///
/// # Errors
/// The path is empty, contains NUL or `..`, or is too long.
pub fn canonical(raw: &[u8]) -> Result<Bytes, PathFault> {
    check_whole(raw)?;
    if is_canonical(raw) {
        return Ok(raw.to_vec());
    }
    let mut path = Vec::with_capacity(raw.len());
    for component in raw.split(|&byte| byte == b'/') {
        push_component(&mut path, component)?;
    }
    Ok(path)
}

/// The path of a node in a tree of names. `above` returns the name of a node and its parent, or `None` for the root.
pub fn upwards<'a>(node: usize, above: impl Fn(usize) -> Option<(&'a [u8], usize)>) -> Bytes {
    let mut names = Vec::new();
    let mut at = node;
    while let Some((name, parent)) = above(at) {
        names.push(name);
        at = parent;
    }
    names.reverse();
    names.join(&b'/')
}

fn check_whole(raw: &[u8]) -> Result<(), PathFault> {
    match raw.len() {
        0 => Err(PathFault::Empty),
        length if length > MAX_PATH => Err(PathFault::Long(length)),
        _ if memchr::memchr(0, raw).is_some() => Err(PathFault::Nul),
        _ => Ok(()),
    }
}

/// True for most short names, which then need only one scan and one copy.
fn is_canonical(raw: &[u8]) -> bool {
    let mut start = 0;
    for end in memchr::memchr_iter(b'/', raw).chain([raw.len()]) {
        let component = &raw[start..end];
        if matches!(component, b"" | b"." | b"..") || component.len() > MAX_COMPONENT {
            return false;
        }
        start = end + 1;
    }
    true
}

fn push_component(path: &mut Bytes, component: &[u8]) -> Result<(), PathFault> {
    match component {
        b"" | b"." => return Ok(()),
        b".." => return Err(PathFault::Parent),
        long if long.len() > MAX_COMPONENT => return Err(PathFault::LongComponent(long.len())),
        _ => {}
    }
    if !path.is_empty() {
        path.push(b'/');
    }
    path.extend_from_slice(component);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn forms_of_one_path() {
        for raw in ["a/b", "/a/b", "./a/b", "a//b/", "a/./b", "//a/././/b//", "/./a/b/."] {
            assert_eq!(canonical(raw.as_bytes()).unwrap(), b"a/b", "{raw}");
        }
        for raw in ["/", ".", "./", "//", "/./."] {
            assert_eq!(canonical(raw.as_bytes()).unwrap(), b"", "{raw}");
        }
        assert_eq!(canonical(b"...").unwrap(), b"...");
        assert_eq!(canonical(b"a/..b/.c").unwrap(), b"a/..b/.c");
    }

    #[test]
    fn refused() {
        assert_eq!(canonical(b""), Err(PathFault::Empty));
        assert_eq!(canonical(b"a\0b"), Err(PathFault::Nul));
        for raw in ["..", "a/..", "../a", "a/../b", "/.."] {
            assert_eq!(canonical(raw.as_bytes()), Err(PathFault::Parent), "{raw}");
        }
        assert!(canonical(&[b'a'; 255]).is_ok());
        assert_eq!(canonical(&[b'a'; 256]), Err(PathFault::LongComponent(256)));
        assert!(canonical(&b"a/".repeat(32_767)).is_ok());
        assert_eq!(canonical(&b"a/".repeat(32_768)), Err(PathFault::Long(65_536)));
    }

    proptest! {
        #[test]
        fn idempotent_and_clean(raw in "[ab./]{1,40}") {
            if let Ok(path) = canonical(raw.as_bytes()) {
                if !path.is_empty() {
                    prop_assert_eq!(canonical(&path).unwrap(), path.clone());
                    prop_assert!(path.split(|&b| b == b'/').all(|c| !matches!(c, b"" | b"." | b"..")));
                }
            } else {
                prop_assert!(raw.split('/').any(|c| c == ".."));
            }
        }
    }
}
