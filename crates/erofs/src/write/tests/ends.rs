//! Ends of compressed files that follow their inodes.

use packline_testkit::Random;
use packline_testkit::mount::{self, Mounted};
use packline_testkit::snapshot::{Except, assert_same, of_directory, of_model};

use super::writer::{all, findings, pack};
use super::*;
use crate::format::inode::Layout;
use crate::options::Inline;

/// Files with ends of all kinds.
fn with_ends(seed: u64) -> Vec<Node> {
    let mut random = Random::new(seed);
    let mut nodes = vec![Node::dir("")];
    nodes.extend((0..150).map(|number| Node::file(format!("p{number}"), random.prose(1 + number * number))));
    nodes.extend((0..60).map(|number| Node::file(format!("n{number}"), random.noise(1 + number * 140))));
    let prose = random.prose(1 << 20);
    let noise = random.noise(9000);
    nodes.push(Node::file("whole", prose.clone()));
    let zeros = [0; 5000];
    for (name, end) in [("a", &noise[..1]), ("b", &noise[..3000]), ("c", &noise[..4090]), ("d", &noise), ("e", &zeros)]
    {
        nodes.push(Node::file(format!("more-{name}"), [&prose[..], end].concat()));
        nodes.push(Node::file(format!("both-{name}"), [&prose[..40_000], end].concat()));
    }
    nodes.push(Node::file("hole", [&[0; 1 << 20][..], &prose[..3000]].concat()));
    nodes.push(Node::file("attributes", &noise[..4000]).xattr("user.a", "a".repeat(3900)));
    nodes.push(Node::file("again", random.prose(149 * 149)));
    nodes.extend(["x", "y"].map(|name| Node::file(format!("same-{name}"), &prose[..30_000])));
    nodes
}

#[test]
fn ends_of_compressed_files_follow_their_inodes() {
    for seed in 0..2 {
        let nodes = with_ends(seed);
        for options in all().filter(|options| options.form() == Form::Clusters) {
            let what = format!("{} for {}", options.codec, options.kernel);
            let block_size = BlockSize::new(if seed == 0 { 16 << 10 } else { 128 << 10 }).unwrap();
            let packed = |inline| {
                let options = Options { fragments: Fragments::Never, inline, block_size, ..options.clone() };
                let (image, _) = pack(&nodes, &options, 0, true);
                assert!(inline != Inline::Ends || pack(&nodes, &options, 2, false).0 == image, "{what}");
                let length = image.len();
                let image = open(image);
                assert_eq!(findings(&image), [], "{what}");
                compare(&nodes, &image);
                assert!(image.superblock().least_kernel() <= options.kernel, "{what}");
                (length, image.superblock().has(incompat::INLINE_CLUSTERS))
            };
            let [never, small, ends] = [Inline::Never, Inline::SmallFiles, Inline::Ends].map(packed);
            assert_eq!([never.1, small.1, ends.1], [false, false, true], "{what}");
            let saved = [never.0 - small.0, small.0 - ends.0];
            assert!(saved.iter().all(|saved| *saved > 60 << 10), "{what}: {never:?} {small:?} {ends:?}");
        }
    }
}

#[test]
fn old_kernels_have_only_small_files_after_their_inodes() {
    let nodes = with_ends(3);
    let options = Options { kernel: Kernel::new(5, 16), ..Options::new(Spec::parse("lz4").unwrap()) };
    let mut options = Options { fragments: Fragments::Never, ..options };
    options.without_unknown_sharing();
    let image = open(pack(&nodes, &options, 0, true).0);
    compare(&nodes, &image);
    assert_eq!(findings(&image), []);
    assert!(image.superblock().least_kernel() <= options.kernel);
    let layout =
        |path: &str| image.inodes().fields(image.resolve(path.as_bytes()).unwrap().unwrap().at).unwrap().raw.layout;
    assert_eq!([layout("p9"), layout("n3"), layout("attributes")], [Layout::Inline, Layout::Inline, Layout::Plain]);
}

#[test]
fn the_kernel_reads_ends_after_inodes() {
    for options in all().filter(|options| options.form() == Form::Clusters) {
        let name = options.codec.name();
        if !mount::kernel_mounts_erofs(name) {
            continue;
        }
        let nodes = with_ends(5);
        for inline in [Inline::SmallFiles, Inline::Ends] {
            let options = Options { fragments: Fragments::Never, inline, ..options.clone() };
            let file = tempfile::NamedTempFile::new().unwrap();
            std::fs::write(file.path(), pack(&nodes, &options, 0, false).0).unwrap();
            let mounted = Mounted::erofs(file.path()).unwrap();
            let found = of_directory(mounted.path()).unwrap();
            assert_same(&format!("{name}, {inline:?}"), &of_model(&nodes, true), &found, Except::default());
        }
    }
}
