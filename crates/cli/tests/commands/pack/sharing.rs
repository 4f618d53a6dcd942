//! Contents that are parts of other contents take no space in the image, and every reader finds them.

use packline_testkit::model::Node;
use packline_testkit::{Ran, Random, Sandbox, reader, snapshot, views};

use crate::sandbox;

const BLOCK: usize = 4096;
const OPTIONS: [&str; 6] = ["-q", "-f", "-b", "4K", "-c", "gzip:level=4"];

/// A directory `wholes` with a file of seven blocks and one of a tail end, and `all` with parts of them, too.
fn planted() -> (Sandbox, Vec<Node>) {
    let sandbox = sandbox();
    let mut random = Random::new(22);
    let blocks = random.prose(7 * BLOCK);
    let tail = random.prose(4000);
    let wholes = vec![Node::dir(""), Node::file("a-blocks", &blocks[..]), Node::file("a-tail", &tail[..])];
    let parts = vec![
        Node::file("b-middle", &blocks[2 * BLOCK..5 * BLOCK]),
        Node::file("c-start", &tail[..1500]),
        Node::file("d-end", &tail[2100..]),
        Node::file("e-both", [&blocks[6 * BLOCK..], &tail[777..3333]].concat()),
        Node::file("f-start-again", &tail[..1500]),
    ];
    sandbox.plant("wholes", &wholes);
    let all = [wholes, parts].concat();
    sandbox.plant("all", &all);
    (sandbox, all)
}

fn pack(sandbox: &Sandbox, source: &str, image: &str, options: &[&str]) -> Ran {
    sandbox.good(&[&["pack", source, image], &OPTIONS[..], options].concat())
}

#[test]
fn shared_parts_add_no_data() {
    let (sandbox, _) = planted();
    let area = |source: &str, options: &[&str]| {
        pack(&sandbox, source, "i.sqfs", options);
        let area = reader::inspect(&sandbox.at("i.sqfs")).unwrap().data_area;
        area.end - area.start
    };
    assert_eq!(area("all", &[]), area("wholes", &[]));
    assert!(area("all", &["--no-dedup"]) > area("wholes", &[]) * 3 / 2);
    let json = sandbox.good(&["pack", "-f", "all", "i.sqfs", "-b", "4K", "--json"]).text();
    for counted in ["\"duplicate_files\":5,", "\"duplicate_blocks\":4,", "\"duplicate_tails\":4,"] {
        assert!(json.contains(counted), "{counted} {json}");
    }
    // Not compressed. The log names files with data of their own: the only blocks are the seven, and the tail ends follow.
    let options = ["-quiet", "-noappend", "-b", "4K", "-noD", "-noF", "-always-use-fragments", "-log", "log"];
    sandbox.good(&[&["mksquashfs", "all", "j.sqfs"], &options[..]].concat());
    assert_eq!(sandbox.read_text("log"), "all/a-blocks, 96\nFragment 0, 28768\n");
}

#[test]
fn all_programs_see_the_parts() {
    if !views::available() {
        return;
    }
    let (sandbox, all) = planted();
    let expected = snapshot::of_model(&all, true);
    for options in [&[][..], &["--layout=stable"], &["-c", "zstd:level=15"], &["--no-dedup"]] {
        pack(&sandbox, "all", "i.sqfs", options);
        views::assert_all_agree(&format!("{options:?}"), &sandbox.at("i.sqfs"), &expected, sandbox.path());
        sandbox.good(&["verify", "-q", "i.sqfs"]);
    }
}

#[test]
fn sharing_depends_only_on_input() {
    let (sandbox, _) = planted();
    pack(&sandbox, "all", "serial.sqfs", &["--serial"]);
    pack(&sandbox, "wholes", "old.sqfs", &[]);
    let expected = sandbox.read("serial.sqfs");
    for options in [
        &["-j", "1"][..],
        &["-j", "7", "--mem", "64M", "--verify"],
        &["--cache", "cache"],
        &["--cache", "cache", "-j", "3"],
        &["--base", "old.sqfs"],
        &["--base", "serial.sqfs", "--verify"],
    ] {
        pack(&sandbox, "all", "i.sqfs", options);
        assert!(sandbox.read("i.sqfs") == expected, "{options:?}");
    }
}

#[test]
fn an_image_with_parts_is_appended_to() {
    let (sandbox, _) = planted();
    pack(&sandbox, "all", "i.sqfs", &[]);
    sandbox.write("more/z", "more");
    sandbox.good(&["mksquashfs", "more/z", "i.sqfs", "-quiet", "-no-progress"]);
    sandbox.good(&["verify", "-q", "i.sqfs"]);
    sandbox.good(&["unpack", "-q", "i.sqfs", "out"]);
    for name in ["a-blocks", "b-middle", "c-start", "d-end", "e-both"] {
        assert!(sandbox.read(format!("out/{name}")) == sandbox.read(format!("all/{name}")), "{name}");
    }
}
