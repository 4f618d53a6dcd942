//! Reads the names of users and groups from /etc/passwd and /etc/group; no other file does. A static program can read both files
//! anywhere, but not a directory service.

use std::collections::BTreeMap;

/// The names of users and groups of this system, by number.
#[derive(Debug, Clone, Default)]
pub struct Names {
    users: BTreeMap<u32, Vec<u8>>,
    groups: BTreeMap<u32, Vec<u8>>,
}

/// Returns the names of this system. A file that cannot be read gives no names.
pub fn names() -> Names {
    let read = |path| std::fs::read(path).unwrap_or_default();
    Names::parse(&read("/etc/passwd"), &read("/etc/group"))
}

impl Names {
    /// Parses the contents of the two files.
    pub fn parse(passwd: &[u8], group: &[u8]) -> Names {
        Names { users: by_number(passwd), groups: by_number(group) }
    }

    pub fn user(&self, number: u32) -> Option<&[u8]> {
        self.users.get(&number).map(Vec::as_slice)
    }

    pub fn user_number(&self, name: &[u8]) -> Option<u32> {
        number_of(&self.users, name)
    }

    pub fn group_number(&self, name: &[u8]) -> Option<u32> {
        number_of(&self.groups, name)
    }

    pub fn group(&self, number: u32) -> Option<&[u8]> {
        self.groups.get(&number).map(Vec::as_slice)
    }
}

fn number_of(names: &BTreeMap<u32, Vec<u8>>, name: &[u8]) -> Option<u32> {
    names.iter().find(|(_, known)| *known == name).map(|(number, _)| *number)
}

/// Parses lines `NAME:PASSWORD:NUMBER:...`. If a number has several names, the first one counts, as with getpwuid(3).
fn by_number(text: &[u8]) -> BTreeMap<u32, Vec<u8>> {
    let mut names = BTreeMap::new();
    for line in text.split(|&byte| byte == b'\n') {
        let mut fields = line.split(|&byte| byte == b':');
        let name = fields.next().unwrap_or_default();
        let number = fields.nth(1).unwrap_or_default();
        if let Some(number) = std::str::from_utf8(number).ok().and_then(|text| text.parse().ok()) {
            names.entry(number).or_insert_with(|| name.to_vec());
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uses_first_name_of_number() {
        let passwd =
            b"root:x:0:0:root:/root:/bin/sh\n# comment\ntoor:x:0:0::/:/bin/sh\nbroken\nann:x:1000:1000::/home:/bin/sh";
        let names = Names::parse(passwd, b"wheel:x:0:ann\nusers:x:100:\nbad:x:-1:\n");
        assert_eq!((names.user(0), names.user(1000), names.user(1)), (Some(&b"root"[..]), Some(&b"ann"[..]), None));
        assert_eq!(
            (names.group(0), names.group(100), names.group(1)),
            (Some(&b"wheel"[..]), Some(&b"users"[..]), None)
        );
    }
}
