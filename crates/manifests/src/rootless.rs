//! Owners that an unprivileged user could not set: the extended attribute `user.rootlesscontainers` records them instead.
//!
//! Its value is the Protocol Buffers message `Resource` of <https://github.com/rootless-containers/proto>. Field 1 is the number of the user,
//! field 2 the number of the group, both `uint32`. Unknown fields are skipped. A missing number is 0, and 4294967295 means no number.

use packline_runtime::escape::Escape;
use packline_tree::{Entry, Error, Kind};

pub const ROOTLESS_XATTR: &str = "user.rootlesscontainers";

/// Sets the owners of an entry from its attribute, and removes the attribute. An entry without the attribute stays the same.
///
/// # Errors
/// [`Error::Entry`] if the attribute's value is malformed.
pub fn take_rootless_owners(entry: &mut Entry) -> Result<(), Error> {
    let is_one = |name: &[u8]| name == ROOTLESS_XATTR.as_bytes();
    let Some(at) = entry.xattrs.iter().position(|xattr| is_one(&xattr.name)) else { return Ok(()) };
    let value = entry.xattrs.remove(at).value;
    if matches!(entry.kind, Kind::HardLink(_)) {
        return Ok(());
    }
    let (uid, gid) = owners(&value).ok_or_else(|| Error::Entry {
        input: ROOTLESS_XATTR.to_owned(),
        entry: entry.path.clone(),
        what: format!("{} is not a message with owners", value.escaped()),
        expected: "fields 1 (user) and 2 (group) with numbers of 32 bits".to_owned(),
    })?;
    let number = |given: u32| Some(given).filter(|&given| given != u32::MAX);
    entry.meta.uid = number(uid).unwrap_or(entry.meta.uid);
    entry.meta.gid = number(gid).unwrap_or(entry.meta.gid);
    Ok(())
}

/// The user and the group in a message.
fn owners(mut message: &[u8]) -> Option<(u32, u32)> {
    let mut owners = (0, 0);
    while !message.is_empty() {
        let key = varint(&mut message)?;
        match (key >> 3, key & 7) {
            (1, 0) => owners.0 = u32::try_from(varint(&mut message)?).ok()?,
            (2, 0) => owners.1 = u32::try_from(varint(&mut message)?).ok()?,
            (0..=2, _) => return None,
            (_, 0) => drop(varint(&mut message)?),
            (_, 1) => message = message.get(8..)?,
            (_, 2) => {
                let length = usize::try_from(varint(&mut message)?).ok()?;
                message = message.get(length..)?;
            }
            (_, 5) => message = message.get(4..)?,
            _ => return None,
        }
    }
    Some(owners)
}

/// Reads a number in groups of seven bits, lowest first. A byte below 128 ends the number.
fn varint(message: &mut &[u8]) -> Option<u64> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = message.split_first()?;
        *message = rest;
        let bits = u64::from(byte & 0x7f);
        // The tenth byte has one bit.
        if shift == 63 && bits > 1 {
            return None;
        }
        value |= bits << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use packline_tree::{Meta, Xattr};

    fn taken(value: &[u8]) -> Result<(u32, u32), String> {
        let meta = Meta::new(0o644, 7, 8, 0);
        let other = Xattr { name: b"user.k".to_vec(), value: b"v".to_vec() };
        let xattrs = vec![other.clone(), Xattr { name: ROOTLESS_XATTR.into(), value: value.to_vec() }];
        let mut entry = Entry { path: b"a".to_vec(), kind: Kind::Fifo, meta, xattrs };
        take_rootless_owners(&mut entry).map_err(|error| error.to_string())?;
        assert_eq!(entry.xattrs, [other]);
        Ok((entry.meta.uid, entry.meta.gid))
    }

    #[test]
    fn reads_owners_from_the_message() {
        for (value, expected) in [
            (&b""[..], (0, 0)),
            (b"\x08\xe8\x07\x10\x32", (1000, 50)),
            (b"\x10\x01", (0, 1)),
            (b"\x08\x01\x08\x02", (2, 0)),
            (b"\x08\xff\xff\xff\xff\x0f\x10\x05", (7, 5)),
            (b"\x1a\x02ab\x20\x80\x01\x29abcdefgh\x35abcd\x08\x03", (3, 0)),
            (b"\x08\x83\x80\x80\x80\x80\x80\x80\x80\x80\x00", (3, 0)),
        ] {
            assert_eq!(taken(value), Ok(expected), "{value:?}");
        }
    }

    #[test]
    fn rejects_malformed_messages() {
        for value in [
            &b"\x08"[..],
            b"\x08\x80",
            b"\x08\xff\xff\xff\xff\x1f",
            b"\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x02",
            b"\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00",
            b"\x0a\x00",
            b"\x00\x00",
            b"\x1a\x05ab",
            b"\x1a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
            b"\x1b",
            b"\x19abc",
            b"1000:50",
        ] {
            let error = taken(value).unwrap_err();
            assert!(error.contains("is not a message with owners (expected fields 1 (user)"), "{value:?}: {error}");
        }
    }
}
