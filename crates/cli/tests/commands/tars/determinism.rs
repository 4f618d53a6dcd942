//! A tar has the same bytes for any number of workers and any memory limit.

use packline_testkit::{generate, share};

use crate::sandbox;

#[test]
fn workers_and_memory_change_no_byte() {
    let sandbox = sandbox();
    generate::write_tar(&sandbox.at("bulk.tar"), |sink| generate::mixed_bulk(sink, 6)).unwrap();
    sandbox.good(&["unpack", "-q", "--no-owner", "bulk.tar", "bulk"]);
    sandbox.good(&["pack", "-q", "-c", "lz4", "bulk.tar", "bulk.sqfs"]);
    let codecs = [
        ("x.tar", "none"),
        ("x.tar.gz", "gzip:level=1"),
        ("x.tar.zst", "zstd:level=1"),
        ("x.tar.xz", "xz:level=0"),
        ("x.tar.bz2", "bzip2"),
    ];
    let sources = ["bulk.tar", "bulk", "bulk.sqfs"];
    let pairs = codecs.into_iter().flat_map(|codec| sources.map(|source| (source, codec)));
    for (source, (output, codec)) in share(pairs, 4, "tars") {
        let pack = |options: &[&str]| {
            sandbox.good(&[&["pack", "-q", "-f", "-c", codec, source, output], options].concat());
            sandbox.read(output)
        };
        let reference = pack(&["--serial"]);
        for options in [&["-j", "0"][..], &["-j", "1"], &["-j", "2"], &["-j", "7"], &["-j", "7", "--mem", "96M"]] {
            assert!(pack(options) == reference, "{source} {output} {options:?}: other bytes than --serial");
        }
    }
}

#[test]
fn readers_of_a_directory_change_no_byte() {
    let sandbox = sandbox();
    let owner = rustix::process::getuid().as_raw();
    let group = rustix::process::getgid().as_raw();
    let nodes = generate::without_privileges(generate::small_tree(12, 131_072), owner, group);
    sandbox.plant("source", &nodes);
    let pack = |options: &[&str]| {
        sandbox.good(&[&["pack", "-q", "-f", "source", "x.tar.zst"], options].concat());
        sandbox.read("x.tar.zst")
    };
    let reference = pack(&["--serial"]);
    for workers in ["0", "1", "2", "7"] {
        for readers in ["0", "1", "5"] {
            assert!(pack(&["-j", workers, "--readers", readers]) == reference, "{workers} {readers}");
        }
    }
}
