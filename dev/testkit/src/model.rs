//! A tree as a list of nodes in memory, produced by generators and written to directories and tars.

/// Raw bytes of a path, a name or a target.
pub type Bytes = Vec<u8>;

/// One node of a tree; parents precede children.
#[derive(Debug, Clone)]
pub struct Node {
    /// Path below the root without a leading slash; the root itself is empty.
    pub path: Bytes,
    /// Type and type-specific data.
    pub kind: NodeKind,
    /// The lower 12 bits of `st_mode`.
    pub mode: u16,
    pub uid: u32,
    pub gid: u32,
    /// Modification time, seconds since 1970.
    pub mtime: i64,
    /// Extended attributes: full names and values.
    pub xattrs: Vec<(Bytes, Bytes)>,
}

/// Type of a node.
#[derive(Debug, Clone)]
pub enum NodeKind {
    File(Content),
    Dir,
    /// A symbolic link to a target.
    Symlink(Bytes),
    /// Another name of the file at a path; that file precedes it.
    HardLink(Bytes),
    /// A block device: major and minor number.
    BlockDevice(u32, u32),
    /// A character device: major and minor number.
    CharDevice(u32, u32),
    Fifo,
    /// A Unix socket. Tars have none.
    Socket,
}

/// The content of a file: pieces of data, zeros between them.
#[derive(Debug, Clone, Default)]
pub struct Content {
    /// Size of the file in bytes.
    pub size: u64,
    /// Offsets and bytes, ascending, not adjacent.
    pub pieces: Vec<(u64, Bytes)>,
}

impl Content {
    /// Content without holes.
    pub fn whole(bytes: Bytes) -> Content {
        let size = bytes.len() as u64;
        let pieces = if bytes.is_empty() { Vec::new() } else { vec![(0, bytes)] };
        Content { size, pieces }
    }

    /// A file of `size` bytes that is a hole except for `pieces`.
    pub fn sparse(size: u64, pieces: Vec<(u64, Bytes)>) -> Content {
        Content { size, pieces }
    }

    pub fn has_holes(&self) -> bool {
        let stored: u64 = self.pieces.iter().map(|(_, bytes)| bytes.len() as u64).sum();
        stored < self.size
    }

    /// Passes all bytes, holes as zeros, to `take`, in pieces of at most 64 KiB.
    pub fn each(&self, take: &mut dyn FnMut(&[u8])) {
        let mut position = 0;
        for (offset, bytes) in &self.pieces {
            zeros(offset - position, take);
            take(bytes);
            position = offset + bytes.len() as u64;
        }
        zeros(self.size - position, take);
    }
}

fn zeros(mut length: u64, take: &mut dyn FnMut(&[u8])) {
    static ZEROS: [u8; 65536] = [0; 65536];
    while length > 0 {
        let step = length.min(ZEROS.len() as u64);
        take(&ZEROS[..step as usize]);
        length -= step;
    }
}

impl Node {
    /// A node with default attributes: mode 0644 or 0755, root, 1.6e9 s.
    pub fn new(path: impl Into<Bytes>, kind: NodeKind) -> Node {
        let mode = match kind {
            NodeKind::Dir => 0o755,
            NodeKind::Symlink(_) => 0o777,
            _ => 0o644,
        };
        Node { path: path.into(), kind, mode, uid: 0, gid: 0, mtime: 1_600_000_000, xattrs: Vec::new() }
    }

    /// A file with this content.
    pub fn file(path: impl Into<Bytes>, bytes: impl Into<Bytes>) -> Node {
        Node::new(path, NodeKind::File(Content::whole(bytes.into())))
    }

    pub fn dir(path: impl Into<Bytes>) -> Node {
        Node::new(path, NodeKind::Dir)
    }

    /// Replaces the mode.
    pub fn mode(mut self, mode: u16) -> Node {
        self.mode = mode;
        self
    }

    /// Replaces owner and group.
    pub fn owner(mut self, uid: u32, gid: u32) -> Node {
        self.uid = uid;
        self.gid = gid;
        self
    }

    /// Replaces the modification time.
    pub fn time(mut self, mtime: i64) -> Node {
        self.mtime = mtime;
        self
    }

    /// Adds an extended attribute.
    pub fn xattr(mut self, name: &str, value: impl Into<Bytes>) -> Node {
        self.xattrs.push((name.into(), value.into()));
        self
    }
}
