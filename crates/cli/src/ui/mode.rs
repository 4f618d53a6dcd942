//! Formats types and permissions like `ls -l`.

use packline_squashfs::read::NodeType;
use packline_tree::Kind;

/// Returns ten letters: the type, then three each for owner, group and others.
pub fn mode_string(kind: NodeType, mode: u16) -> String {
    let mut out = String::with_capacity(10);
    out.push(letter(kind));
    for (shift, special, lower, upper) in [(6, 0o4000, 's', 'S'), (3, 0o2000, 's', 'S'), (0, 0o1000, 't', 'T')] {
        let bits = mode >> shift;
        out.push(if bits & 4 == 0 { '-' } else { 'r' });
        out.push(if bits & 2 == 0 { '-' } else { 'w' });
        out.push(match (bits & 1 != 0, mode & special != 0) {
            (true, true) => lower,
            (false, true) => upper,
            (true, false) => 'x',
            (false, false) => '-',
        });
    }
    out
}

fn letter(kind: NodeType) -> char {
    match kind {
        NodeType::Directory => 'd',
        NodeType::File => '-',
        NodeType::Symlink => 'l',
        NodeType::BlockDevice => 'b',
        NodeType::CharDevice => 'c',
        NodeType::Fifo => 'p',
        NodeType::Socket => 's',
    }
}

/// Returns the type of the file that an entry creates; `None` for a hard link.
pub fn node_type(kind: &Kind) -> Option<NodeType> {
    Some(match kind {
        Kind::File { .. } => NodeType::File,
        Kind::Dir => NodeType::Directory,
        Kind::Symlink(_) => NodeType::Symlink,
        Kind::BlockDevice(_) => NodeType::BlockDevice,
        Kind::CharDevice(_) => NodeType::CharDevice,
        Kind::Fifo => NodeType::Fifo,
        Kind::Socket => NodeType::Socket,
        Kind::HardLink(_) => return None,
    })
}

/// Returns the name of a type, for JSON and reports.
pub fn type_name(kind: NodeType) -> &'static str {
    match kind {
        NodeType::Directory => "directory",
        NodeType::File => "file",
        NodeType::Symlink => "symlink",
        NodeType::BlockDevice => "block device",
        NodeType::CharDevice => "character device",
        NodeType::Fifo => "fifo",
        NodeType::Socket => "socket",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_modes_like_ls() {
        let cases = [
            (NodeType::File, 0o644, "-rw-r--r--"),
            (NodeType::Directory, 0o1777, "drwxrwxrwt"),
            (NodeType::Directory, 0o1770, "drwxrwx--T"),
            (NodeType::File, 0o6755, "-rwsr-sr-x"),
            (NodeType::File, 0o6644, "-rwSr-Sr--"),
            (NodeType::Symlink, 0o777, "lrwxrwxrwx"),
            (NodeType::BlockDevice, 0, "b---------"),
        ];
        for (kind, mode, text) in cases {
            assert_eq!(mode_string(kind, mode), text);
        }
    }
}
