//! Interprets any bytes as options of an EROFS image and as a tree.

use packline_codec::Spec;
use packline_erofs::{BlockSize, Fragments, Kernel, Options};
use packline_testkit::Random;
use packline_testkit::model::{Content, Node, NodeKind};

/// Limits of a tree, so that most inputs take a tenth of a second.
const NODES: usize = 200;
const CONTENT: usize = 3 << 17;
/// Limit of steps of one file.
const STEPS: u8 = 12;

const CODECS: [&str; 8] =
    ["none", "lz4", "lz4:hc,level=4", "lz4:hc", "zstd:level=1", "zstd:level=13", "lzma:level=1", "gzip:level=2"];

const KERNELS: [(u16, u16); 8] = [(5, 4), (5, 13), (5, 16), (6, 1), (6, 6), (6, 10), (6, 15), (6, 18)];

/// Starts of the names of attributes that [`Recipe::nodes`] makes.
const PREFIXES: [&[u8]; 4] = [b"user.n", b"trusted.overlay.", b"security.nnnnnnnn", b"trusted."];

/// Bytes that are read one after another; zeros follow the last.
pub struct Recipe<'a>(&'a [u8]);

impl<'a> Recipe<'a> {
    pub fn new(bytes: &'a [u8]) -> Recipe<'a> {
        Recipe(bytes)
    }

    fn byte(&mut self) -> u8 {
        let (first, rest) = self.0.split_first().unwrap_or((&0, &[]));
        self.0 = rest;
        *first
    }

    fn number(&mut self) -> usize {
        usize::from(self.byte()) | usize::from(self.byte()) << 8
    }

    /// Returns a number of more than two bytes only if the first byte asks for it.
    fn wide(&mut self) -> u64 {
        (0..self.byte() % 9).fold(0, |number, _| number << 8 | u64::from(self.byte()))
    }

    fn choice<'c, T>(&mut self, choices: &'c [T]) -> &'c T {
        &choices[usize::from(self.byte()) % choices.len()]
    }

    /// Returns valid options; `None` if the kernel lacks the codec.
    pub fn options(&mut self) -> Option<Options> {
        let codec = *self.choice(&CODECS);
        let mut options = Options::new(Spec::parse(codec).expect("a codec"));
        let (major, minor) = *self.choice(&KERNELS);
        options.kernel = Kernel::new(major, minor);
        options.block_size = BlockSize::new(4096 << (self.byte() % 9)).expect("a size in range");
        options.fragments = *self.choice(&[Fragments::Always, Fragments::SmallFiles, Fragments::Never]);
        let flags = self.byte();
        options.deduplicate = flags & 1 == 0;
        options.sparse = flags & 2 == 0;
        options.xattrs = flags & 4 == 0;
        if flags & 8 != 0 {
            options.pad = 1 << 16;
        }
        if flags & 16 != 0 {
            options.created = self.wide() as u32;
            options.label = b"a label"[..usize::from(self.byte() % 8)].to_vec();
        }
        options.without_unknown_sharing();
        options.compress_directories = flags & 64 != 0;
        if options.validate().is_err() {
            options.compress_directories = false;
        }
        if flags & 32 != 0 {
            options.xattr_prefixes = (0..1 + self.byte() % 4).map(|_| self.choice(&PREFIXES).to_vec()).collect();
            // The kernel may lack the feature.
            if options.validate().is_err() {
                options.xattr_prefixes.clear();
            }
        }
        options.validate().is_ok().then_some(options)
    }

    /// Returns a tree, parents first. The names of a directory are distinct.
    pub fn nodes(&mut self) -> Vec<Node> {
        let root = self.attributes(Node::dir(""));
        let mut made = Made { nodes: vec![root], directories: vec![Vec::new()], others: Vec::new(), pool: Vec::new() };
        while !self.0.is_empty() && made.nodes.len() < NODES {
            self.node(&mut made);
        }
        made.nodes
    }

    fn node(&mut self, made: &mut Made) {
        let choice = self.byte();
        let parent = made.directories[usize::from(self.byte()) % made.directories.len()].clone();
        let name = self.name(made.nodes.len());
        let path = if parent.is_empty() { name } else { [&parent[..], b"/", &name].concat() };
        let kind = match choice % 16 {
            0 | 1 => NodeKind::Dir,
            2 => NodeKind::Symlink(vec![b't'; 1 + self.number() % 4095]),
            3 => NodeKind::CharDevice(self.number() as u32 % 4096, self.wide() as u32 % (1 << 20)),
            4 => NodeKind::BlockDevice(self.byte().into(), self.byte().into()),
            5 => NodeKind::Fifo,
            6 => NodeKind::Socket,
            7 | 8 if !made.others.is_empty() => NodeKind::HardLink(self.choice(&made.others).clone()),
            _ => NodeKind::File(Content::whole(self.content(&mut made.pool))),
        };
        let node = match kind {
            NodeKind::HardLink(_) => Node::new(path, kind),
            _ => self.attributes(Node::new(path, kind)),
        };
        match node.kind {
            NodeKind::Dir if node.path.len() < 2000 => made.directories.push(node.path.clone()),
            NodeKind::Dir | NodeKind::HardLink(_) => {}
            _ => made.others.push(node.path.clone()),
        }
        made.nodes.push(node);
    }

    /// Returns a name that ends with a number of three digits.
    fn name(&mut self, number: usize) -> Vec<u8> {
        let start = match self.byte() {
            length @ 0..4 => (0..length).map(|_| self.byte()).filter(|byte| !matches!(byte, 0 | b'/')).collect(),
            repeated @ 4..8 => vec![repeated; 250],
            first => vec![if first == b'/' { b'!' } else { first }],
        };
        [&start[..], format!("{number:03}").as_bytes()].concat()
    }

    /// Sets what the recipe says. An entry without flags has the usual attributes.
    fn attributes(&mut self, mut node: Node) -> Node {
        let flags = self.byte();
        if flags & 1 != 0 {
            node.mode = self.number() as u16 & 0o7777;
        }
        if flags & 2 != 0 {
            node = node.owner(self.wide() as u32, self.wide() as u32);
        }
        if flags & 4 != 0 {
            // Years up to a million, before and after 1970.
            node.mtime = self.wide() as i64 >> 18;
        }
        if flags & 8 != 0 {
            for _ in 0..self.byte() % 4 {
                self.add_xattr(&mut node);
            }
        }
        node
    }

    fn add_xattr(&mut self, node: &mut Node) {
        let prefix = *self.choice(&["user.", "trusted.", "security.", "trusted.overlay."]);
        let name = format!("{prefix}{}", "n".repeat(1 + usize::from(self.byte() % 200)));
        let value = match self.byte() {
            length @ 0..64 => vec![b'v'; length.into()],
            length @ 64..250 => vec![b'w'; usize::from(length) * 4],
            seed => Random::new(seed.into()).noise(self.number() % 10_000),
        };
        if node.xattrs.iter().all(|(known, _)| known != name.as_bytes()) {
            node.xattrs.push((name.into_bytes(), value));
        }
    }

    /// Returns content of some steps, and appends it to `pool`, the contents of all files.
    fn content(&mut self, pool: &mut Vec<u8>) -> Vec<u8> {
        let from = pool.len();
        for _ in 0..self.byte() % STEPS {
            let kind = self.byte();
            let length = self.number().min(CONTENT.saturating_sub(pool.len()));
            match kind % 6 {
                0 => pool.resize(pool.len() + length, kind),
                1 => pool.extend(Random::new(kind.into()).noise(length)),
                2 => pool.extend(Random::new(kind.into()).prose(length)),
                // Holes are whole blocks at multiples of blocks of the file.
                3 => {
                    let blocks = (length / 512).min(CONTENT.saturating_sub(pool.len()) / 4096);
                    let filled = (pool.len() - from).next_multiple_of(4096);
                    pool.resize(from + filled, kind);
                    pool.resize(from + filled + blocks * 4096, 0);
                }
                // Bytes of an earlier file, or of this one.
                step => {
                    let unit = if step == 4 { 4096 } else { 1 };
                    let start = (self.number() * unit).min(pool.len());
                    let end = (start + length * 8).min(pool.len()).min(start + CONTENT.saturating_sub(pool.len()));
                    pool.extend_from_within(start..end);
                }
            }
        }
        pool[from..].to_vec()
    }
}

/// A part of a tree.
struct Made {
    nodes: Vec<Node>,
    directories: Vec<Vec<u8>>,
    /// Paths that hard links may name.
    others: Vec<Vec<u8>>,
    /// The contents of all files, one after another.
    pool: Vec<u8>,
}
