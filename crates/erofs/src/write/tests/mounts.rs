//! Images that the kernel mounts.

use packline_testkit::mount::{self, Mounted};
use packline_testkit::snapshot::{Except, assert_same, of_directory, of_model};

use super::*;

fn mounted(nodes: &[Node], options: &Options, seed: u64) {
    let name = options.codec.name();
    if !mount::kernel_mounts_erofs(name) {
        return;
    }
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), make(nodes, options, seed).image).unwrap();
    let mounted = Mounted::erofs(file.path()).unwrap();
    let found = of_directory(mounted.path()).unwrap();
    // The kernel adds the mode to an access list that it shows.
    assert_same(&format!("{name} for {}", options.kernel), &of_model(nodes, true), &found, Except::default());
}

#[test]
fn the_kernel_reads_all_forms() {
    for seed in 10..12 {
        let nodes = trees::random(seed, 150);
        for options in forms() {
            mounted(&nodes, &options, seed);
        }
    }
}

#[test]
fn the_kernel_reads_names_with_long_prefixes() {
    for options in prefixed() {
        mounted(&trees::random(13, 150), &options, 13);
    }
}

#[test]
fn the_kernel_reads_directories_and_links_of_all_sizes() {
    for options in forms() {
        mounted(&trees::edges(), &options, 1);
    }
}
