//! Input that exceeds the format, and failures on the way: each leads to one error with a position, and no finished image.

use std::io;

use crate::metadata_support::{InlineCompressor, Source, When, options, source, try_image};
use packline_runtime::{TaskError, WorkFault};
use packline_squashfs::{Error, MetadataCompressor, Options, Sink, TailPlace, write_metadata};
use packline_testkit::model::{Node, NodeKind};

fn failure(nodes: &[Node], options: &Options) -> String {
    match try_image(&source(nodes, options), options, When::Early) {
        Ok(_) => panic!("an image was written"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn too_many_ids() {
    let nodes = |count: u32| (0..count).map(|n| Node::file(format!("f{n:05}"), "").owner(n, 0)).collect::<Vec<_>>();
    let fits = source(&nodes(65_535), &options("lz4"));
    assert_eq!(try_image(&fits, &options("lz4"), When::Early).ok().map(|image| image.end.ids), Some(65_535));
    let message = failure(&nodes(65_536), &options("lz4"));
    assert!(message.contains("f65535") && message.contains("65535 different"), "{message}");
}

#[test]
fn device_numbers_out_of_range() {
    for (major, minor) in [(4096, 0), (0, 1 << 20), (u32::MAX, u32::MAX)] {
        let message = failure(&[Node::new("dev/odd", NodeKind::BlockDevice(major, minor))], &options("gzip"));
        assert!(message.contains("dev/odd") && message.contains(&format!("{major}:{minor}")), "{message}");
    }
}

#[test]
fn a_layout_that_does_not_have_what_the_tree_names() {
    let options = options("gzip");
    let broken = |breaks: fn(&mut Source)| {
        let mut source = source(&[Node::file("a/file", "").xattr("user.a", "b")], &options);
        breaks(&mut source);
        try_image(&source, &options, When::Early).map(|_| ()).unwrap_err().to_string()
    };
    let breaks: [fn(&mut Source); 3] = [
        |source| source.data.files.clear(),
        |source| source.data.files[0].blocks = 1,
        |source| (source.data.files[0].first_block, source.data.files[0].blocks) = (u64::MAX, 2),
    ];
    for breaks in breaks {
        let message = broken(breaks);
        assert!(message.contains("a/file") && message.contains("internal error"), "{message}");
    }
}

#[test]
fn tails_and_blocks_reach_the_inode() {
    let options = options("none");
    let mut source = source(&[Node::file("f", "")], &options);
    source.data.sizes = (0..50_000).collect();
    let file = &mut source.data.files[0];
    file.size = u64::from(u32::MAX);
    file.start = 0x5566;
    file.first_block = 1;
    file.blocks = 49_999;
    file.tail = Some(TailPlace { fragment: 0x77, offset: 0x88 });
    let image = try_image(&source, &options, When::Early).unwrap();
    let blocks = image.bytes[96..].chunks(8194).take(25).flat_map(|block| &block[2..]).copied();
    let table: Vec<u8> = blocks.collect();
    assert_eq!(table[16..32], [0x66, 0x55, 0, 0, 0x77, 0, 0, 0, 0x88, 0, 0, 0, 0xff, 0xff, 0xff, 0xff]);
    let sizes = table[32..].chunks_exact(4).take(49_999).zip(1u32..);
    assert!(sizes.clone().count() == 49_999 && { sizes }.all(|(word, size)| word == size.to_le_bytes()));
}

/// Refuses to write from some offset on.
struct Full(Vec<u8>, u64);

impl Sink for Full {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.write_at(self.0.len() as u64, bytes).map(drop)
    }

    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<bool> {
        if offset + bytes.len() as u64 > self.1 {
            return Err(io::Error::from_raw_os_error(28));
        }
        self.0.write_at(offset, bytes)
    }
}

#[test]
fn a_full_disk_is_reported_and_leaves_no_superblock() {
    let options = options("none");
    let source = source(&[Node::file("a", ""), Node::dir("b"), Node::file("b/c", "")], &options);
    let whole = try_image(&source, &options, When::Early).unwrap();
    for limit in [96, 120, 200, whole.end.bytes_used - 1, whole.end.padded - 1] {
        let mut compressor = InlineCompressor::new(&options.codec, When::Late);
        let mut sink = Full(Vec::new(), limit);
        let error = write_metadata(&mut compressor, &mut sink, &source.tree, &source.data, &source.xattrs, &options);
        let message = error.unwrap_err().to_string();
        assert!(message.starts_with("cannot write the image at byte "), "{message}");
        assert!(sink.0.iter().take(96).all(|byte| *byte == 0));
    }
}

/// Fails at one call, or returns no block.
struct Broken(InlineCompressor, usize, bool);

impl MetadataCompressor for Broken {
    fn submit(&mut self, raw: Vec<u8>, stored: bool) -> Result<(), Error> {
        if self.0.blocks == self.1 && !self.2 {
            return Err(Error::cancelled());
        }
        self.0.submit(raw, stored)
    }

    fn next(&mut self) -> Result<Option<Vec<u8>>, Error> {
        if self.0.blocks > self.1 && self.2 { Ok(None) } else { self.0.next() }
    }

    fn pending(&self) -> usize {
        self.0.pending()
    }
}

#[test]
fn a_compressor_that_fails_ends_it() {
    let options = options("gzip");
    let nodes: Vec<Node> = (0..3000).map(|n| Node::file(format!("{n}"), "")).collect();
    let source = source(&nodes, &options);
    for (at, silent) in [(0, false), (5, false), (0, true), (5, true)] {
        let mut compressor = Broken(InlineCompressor::new(&options.codec, When::Early), at, silent);
        let mut sink = Vec::new();
        let result = write_metadata(&mut compressor, &mut sink, &source.tree, &source.data, &source.xattrs, &options);
        let found = matches!(result, Err(Error::Work(WorkFault::Cancelled)) if !silent)
            || matches!(result, Err(Error::Work(WorkFault::Internal(_))) if silent);
        assert!(found, "{result:?}");
    }
}
