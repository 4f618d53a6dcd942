//! A minimal tar writer of our own: ustar headers (POSIX.1-1988), pax records (POSIX.1-2001) where ustar is too small, sparse files as GNU
//! pax 1.0. Only the current header is in memory.

use crate::model::{Bytes, Content, Node, NodeKind};
use std::io::{self, Write};

/// Bytes in a tar block.
pub const BLOCK: usize = 512;
const NAME_FIELD: usize = 100;
const OCTAL_7: u64 = 0o777_7777;
const OCTAL_11: u64 = 0o777_7777_7777;

#[derive(Debug)]
pub struct TarWriter<W: Write> {
    sink: W,
    /// Whether files with holes are written as sparse entries.
    sparse: bool,
}

impl<W: Write> TarWriter<W> {
    /// Writes files with holes as sparse entries.
    pub fn new(sink: W) -> TarWriter<W> {
        TarWriter { sink, sparse: true }
    }

    /// Writes holes as zeros.
    pub fn without_sparse(sink: W) -> TarWriter<W> {
        TarWriter { sink, sparse: false }
    }

    /// Writes all nodes except sockets, which tars do not support.
    pub fn nodes(&mut self, nodes: &[Node]) -> io::Result<()> {
        nodes.iter().filter(|node| !matches!(node.kind, NodeKind::Socket)).try_for_each(|node| self.node(node))
    }

    /// Writes one node with its content.
    pub fn node(&mut self, node: &Node) -> io::Result<()> {
        match &node.kind {
            NodeKind::File(content) if self.sparse && content.has_holes() => self.sparse_file(node, content),
            NodeKind::File(content) => {
                self.header(node, content.size, &[])?;
                self.content(content)
            }
            _ => self.header(node, 0, &[]),
        }
    }

    /// Writes the two zero blocks at the end and returns the sink.
    pub fn finish(mut self) -> io::Result<W> {
        self.sink.write_all(&[0; 2 * BLOCK])?;
        self.sink.flush()?;
        Ok(self.sink)
    }

    /// Writes a header, preceded by a pax header with `extra` and all values that do not fit the header.
    fn header(&mut self, node: &Node, size: u64, extra: &[(Bytes, Bytes)]) -> io::Result<()> {
        let mut records: Vec<(Bytes, Bytes)> = extra.to_vec();
        let path = stored_path(node);
        let target = link_target(node);
        overflow(&mut records, node, &path, target, size);
        if !records.is_empty() {
            self.pax(&records)?;
        }
        let mut block = Header::new(&path, node.mode, kind_byte(&node.kind));
        block.number(108..115, u64::from(node.uid).min(OCTAL_7));
        block.number(116..123, u64::from(node.gid).min(OCTAL_7));
        block.number(124..135, size.min(OCTAL_11));
        block.number(136..147, u64::try_from(node.mtime).unwrap_or(0));
        block.text(157, target, NAME_FIELD);
        if let NodeKind::BlockDevice(major, minor) | NodeKind::CharDevice(major, minor) = node.kind {
            block.number(329..336, u64::from(major));
            block.number(337..344, u64::from(minor));
        }
        self.sink.write_all(&block.sealed())
    }

    fn pax(&mut self, records: &[(Bytes, Bytes)]) -> io::Result<()> {
        let body: Vec<u8> = records.iter().flat_map(|(key, value)| pax_record(key, value)).collect();
        let mut block = Header::new(b"PaxHeaders/entry", 0o644, b'x');
        block.number(124..135, body.len() as u64);
        self.sink.write_all(&block.sealed())?;
        self.sink.write_all(&body)?;
        self.fill(body.len() as u64)
    }

    fn content(&mut self, content: &Content) -> io::Result<()> {
        let mut outcome = Ok(());
        content.each(&mut |bytes| {
            if outcome.is_ok() {
                outcome = self.sink.write_all(bytes);
            }
        });
        outcome?;
        self.fill(content.size)
    }

    /// A sparse file of the GNU pax format 1.0 (GNU tar manual, "Storing Sparse Files"): the map precedes the data.
    fn sparse_file(&mut self, node: &Node, content: &Content) -> io::Result<()> {
        let map = sparse_map(content);
        let stored: u64 = content.pieces.iter().map(|(_, bytes)| bytes.len() as u64).sum();
        let extra = [
            (b"GNU.sparse.major".to_vec(), b"1".to_vec()),
            (b"GNU.sparse.minor".to_vec(), b"0".to_vec()),
            (b"GNU.sparse.name".to_vec(), node.path.clone()),
            (b"GNU.sparse.realsize".to_vec(), content.size.to_string().into_bytes()),
        ];
        let mut held = node.clone();
        held.path = b"GNUSparseFile.0/held".to_vec();
        self.header(&held, map.len() as u64 + stored, &extra)?;
        self.sink.write_all(&map)?;
        for (_, bytes) in &content.pieces {
            self.sink.write_all(bytes)?;
        }
        self.fill(stored)
    }

    fn fill(&mut self, length: u64) -> io::Result<()> {
        let rest = (length % BLOCK as u64) as usize;
        if rest == 0 { Ok(()) } else { self.sink.write_all(&[0; BLOCK][rest..]) }
    }
}

pub fn to_bytes(nodes: &[Node]) -> Bytes {
    let mut writer = TarWriter::new(Vec::new());
    let written = writer.nodes(nodes);
    debug_assert!(written.is_ok(), "memory takes every write");
    writer.finish().unwrap_or_default()
}

/// One pax record: its own length in decimal, a space, `key=value`, a line end.
pub fn pax_record(key: &[u8], value: &[u8]) -> Bytes {
    let rest = key.len() + value.len() + 3;
    let mut length = rest + 1;
    while length != rest + length.to_string().len() {
        length = rest + length.to_string().len();
    }
    [length.to_string().as_bytes(), b" ", key, b"=", value, b"\n"].concat()
}

/// One header block without its checksum, so that malformed tars can be made by changing it.
#[derive(Debug, Clone)]
pub struct Header(pub [u8; BLOCK]);

impl Header {
    /// A ustar header with all numbers 0.
    pub fn new(path: &[u8], mode: u16, kind: u8) -> Header {
        let mut header = Header([0; BLOCK]);
        header.text(0, path, NAME_FIELD);
        header.number(100..107, u64::from(mode));
        for field in [108..115, 116..123, 124..135, 136..147] {
            header.number(field, 0);
        }
        header.0[156] = kind;
        header.text(257, b"ustar\x0000", 8);
        header
    }

    /// Puts the first `limit` bytes of `text` at an offset.
    pub fn text(&mut self, offset: usize, text: &[u8], limit: usize) {
        let length = text.len().min(limit);
        self.0[offset..offset + length].copy_from_slice(&text[..length]);
    }

    /// Writes an octal number that fills `field`.
    pub fn number(&mut self, field: std::ops::Range<usize>, value: u64) {
        let digits = format!("{value:0width$o}", width = field.len());
        self.text(field.start, digits.as_bytes(), field.len());
    }

    /// Adds the checksum: the sum of all bytes, with the checksum field counted as spaces.
    pub fn sealed(mut self) -> [u8; BLOCK] {
        self.0[148..156].fill(b' ');
        let sum: u64 = self.0.iter().map(|&byte| u64::from(byte)).sum();
        self.number(148..154, sum);
        self.0[154] = 0;
        self.0
    }
}

fn stored_path(node: &Node) -> Bytes {
    let mut path = if node.path.is_empty() { b".".to_vec() } else { node.path.clone() };
    if matches!(node.kind, NodeKind::Dir) {
        path.push(b'/');
    }
    path
}

fn link_target(node: &Node) -> &[u8] {
    match &node.kind {
        NodeKind::Symlink(target) | NodeKind::HardLink(target) => target,
        _ => &[],
    }
}

fn kind_byte(kind: &NodeKind) -> u8 {
    match kind {
        NodeKind::File(_) | NodeKind::Socket => b'0',
        NodeKind::HardLink(_) => b'1',
        NodeKind::Symlink(_) => b'2',
        NodeKind::CharDevice(..) => b'3',
        NodeKind::BlockDevice(..) => b'4',
        NodeKind::Dir => b'5',
        NodeKind::Fifo => b'6',
    }
}

fn overflow(records: &mut Vec<(Bytes, Bytes)>, node: &Node, path: &[u8], target: &[u8], size: u64) {
    let mut add = |key: &str, value: Bytes| records.push((key.into(), value));
    if path.len() > NAME_FIELD {
        add("path", path.to_vec());
    }
    if target.len() > NAME_FIELD {
        add("linkpath", target.to_vec());
    }
    if u64::from(node.uid) > OCTAL_7 {
        add("uid", node.uid.to_string().into_bytes());
    }
    if u64::from(node.gid) > OCTAL_7 {
        add("gid", node.gid.to_string().into_bytes());
    }
    if size > OCTAL_11 {
        add("size", size.to_string().into_bytes());
    }
    if node.mtime < 0 {
        add("mtime", node.mtime.to_string().into_bytes());
    }
    for (name, value) in &node.xattrs {
        records.push(([b"SCHILY.xattr.", name.as_slice()].concat(), value.clone()));
    }
}

fn sparse_map(content: &Content) -> Bytes {
    let mut lines = format!("{}\n", content.pieces.len() + 1);
    for (offset, bytes) in &content.pieces {
        lines += &format!("{offset}\n{}\n", bytes.len());
    }
    lines += &format!("{}\n0\n", content.size);
    let mut map = lines.into_bytes();
    map.resize(map.len().next_multiple_of(BLOCK), 0);
    map
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn record_length_counts_itself() {
        assert_eq!(pax_record(b"a", b"b"), b"6 a=b\n");
        let long = pax_record(b"path", &[b'x'; 90]);
        assert!(long.starts_with(b"99 path=") && long.len() == 99);
        let longer = pax_record(b"path", &[b'x'; 91]);
        assert!(longer.starts_with(b"101 path=") && longer.len() == 101);
    }

    #[test]
    fn blocks_are_whole() {
        let nodes = [Node::dir("d"), Node::file("d/f", vec![7; 513])];
        assert_eq!(to_bytes(&nodes).len(), (1 + 1 + 2 + 2) * BLOCK);
    }
}
