//! The inputs of all cases: the same bytes, owners and times on every machine.

use crate::shell;
use packline_testkit::generate::{self, write_tar};
use packline_testkit::model::Node;
use packline_testkit::{Random, plant, tar, tools};
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::process::Command;

const PACK_FILE: &str = "\
dir /usr 0755 1 2
dir /usr/lib 0700 0 0
file /usr/lib/text 0644 3 4 text
file \"/usr/with blank\" 04755 0 0 program
file /usr/twin 0600 0 0 noise
slink /bin 0777 0 0 usr/lib
link /usr/lib/again 0 0 0 /usr/lib/text
nod /dev/null 0666 0 0 c 1 3
nod /dev/disk 0660 0 6 b 8 0
pipe /run/pipe 0600 5 5
sock /run/socket 0755 0 0
glob /tree * * * -keeptime -type d -type f -type l tree/links
glob /names 0750 7 7 -type f -name \"*o*\" tree/names
";

const SORT_FILE: &str = "\
-10 [dont_compress,dont_fragment] usr/lib/text
-5 [glob] usr/*
7 [align,dont_deduplicate] usr/twin
8 [glob_no_path,nosparse] *zeros*
9 [dont_compress] sizes/prose-512
-7 [glob] twins/*
";

const XATTR_FILE: &str = "\
# file: usr/lib/text
user.comment=\"text\"
security.selinux=0x00ff10

# file: usr/twin
user.comment=\"text\"
user.base=0sAAEC
";

const FILE_CONTEXTS: &str = "\
/.* system_u:object_r:default_t:s0
/usr(/.*)? system_u:object_r:usr_t:s0
/usr/lib/[^/]+ -- system_u:object_r:lib_t:s0
";

/// Compressors of the tree's tar, by file name extension.
const COMPRESSORS: [(&str, &[&str]); 6] = [
    ("gz", &["gzip"]),
    ("xz", &["xz", "-0"]),
    ("lzma", &["xz", "-0", "--format=lzma"]),
    ("zst", &["zstd"]),
    ("bz2", &["bzip2"]),
    ("lz4", &["lz4"]),
];

/// Creates all inputs in a new directory.
pub fn make(directory: &Path) -> Result<(), String> {
    let named = |cause: io::Error| format!("{}: {cause}", directory.display());
    fs::create_dir_all(directory.join("tree")).map_err(named)?;
    let tree = generate::small_tree(1, 1 << 15);
    plant::plant(&tree, &directory.join("tree"))?;
    streams(directory).and_then(|()| lists(directory)).and_then(|()| tars(directory, &tree)).map_err(named)?;
    large(directory).and_then(|()| kept(directory)).map_err(named)?;
    COMPRESSORS.iter().try_for_each(|(ending, words)| compress(directory, ending, words))
}

/// A sparse file whose size and second part need more than 32 bits.
fn large(directory: &Path) -> io::Result<()> {
    use std::os::unix::fs::FileExt as _;
    fs::create_dir(directory.join("large"))?;
    let file = File::create(directory.join("large/sparse"))?;
    file.set_len(5 << 30)?;
    file.write_all_at(b"near", 70_000)?;
    file.write_all_at(b"far", (4 << 30) + 70_000)
}

/// Lets cases read the kept files, whose keys never change: what is encrypted anew has other bytes each time.
fn kept(directory: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(shell::root().join("testdata/0.1.0"), directory.join("kept"))
}

/// Files for the commands that compress streams, and for the pack file.
fn streams(directory: &Path) -> io::Result<()> {
    let mut random = Random::new(1);
    let text = random.prose(700_000);
    let far = [random.noise(400_000), text[..300_000].to_vec(), random.noise(100_000)].concat();
    let slack = [text[..100_000].to_vec(), vec![0; 500_000], far[..50_000].to_vec(), vec![0; 150_000]].concat();
    let files: [(&str, &[u8]); 8] = [
        ("empty", b""),
        ("short", &text[..1000]),
        ("text", &text),
        ("noise", &far[..300_000]),
        ("program", &program(&mut random, 400_000)),
        // Repeats at distances beyond the codecs' windows, not multiples of any size.
        ("far", &[far.as_slice(), &text, &far[17..], &far].concat()),
        ("slack", &slack),
        ("mixed", &[slack.as_slice(), &far[300_000..600_000]].concat()),
    ];
    files.into_iter().try_for_each(|(name, bytes)| fs::write(directory.join(name), bytes))
}

/// x86 machine code for filters: calls of a few targets from many places, among bytes of a small set.
fn program(random: &mut Random, length: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while bytes.len() < length {
        let place = 0x1000 * random.below(40) as u32;
        bytes.push(0xe8);
        bytes.extend_from_slice(&place.wrapping_sub(bytes.len() as u32 + 4).to_le_bytes());
        let codes = random.below(12) as usize;
        bytes.extend((0..codes).map(|_| [0x48, 0x89, 0x8b, 0x0f, 0x00, 0xc3, 0x55, 0x24][random.below(8) as usize]));
    }
    bytes.truncate(length);
    bytes
}

fn lists(directory: &Path) -> io::Result<()> {
    let lists = [("list", PACK_FILE), ("sort", SORT_FILE), ("xattrs", XATTR_FILE), ("contexts", FILE_CONTEXTS)];
    lists.into_iter().try_for_each(|(name, text)| fs::write(directory.join(name), text))
}

fn tars(directory: &Path, tree: &[Node]) -> io::Result<()> {
    let at = |name: &str| directory.join(name);
    fs::write(at("tree.tar"), tar::to_bytes(tree))?;
    fs::write(at("edges.tar"), tar::to_bytes(&generate::small_tree(2, 1 << 17)))?;
    write_tar(&at("bulk.tar"), |sink| generate::mixed_bulk(sink, 6))?;
    write_tar(&at("many.tar"), |sink| generate::many_files(sink, 4000))?;
    write_tar(&at("flat.tar"), |sink| generate::flat_directory(sink, 3000))?;
    write_tar(&at("links.tar"), |sink| generate::hard_link_pairs(sink, 500))?;
    write_tar(&at("twice.tar"), |sink| generate::duplicated(sink, 20, 2))?;
    write_tar(&at("sparse.tar"), |sink| generate::one_sparse_file(sink, 100 << 20))?;
    write_tar(&at("zeros.tar"), |sink| generate::zero_files(sink, 3, 300_000))?;
    write_tar(&at("shifted.tar"), |sink| generate::shifted_files(sink, 4, 300_000))
}

fn compress(directory: &Path, ending: &str, words: &[&str]) -> Result<(), String> {
    let path = directory.join(format!("tree.tar.{ending}"));
    let input = File::open(directory.join("tree.tar")).map_err(|cause| cause.to_string())?;
    let output = tools::run(Command::new(words[0]).args(&words[1..]).arg("-c").stdin(input))?;
    fs::write(&path, output.stdout).map_err(|cause| format!("{}: {cause}", path.display()))
}
