//! No command overwrites its own input, under whatever name the output is given.

use std::fs;

use packline_testkit::model::{Node, NodeKind};
use packline_testkit::mount::{self, LoopDevice};
use packline_testkit::{Ran, Sandbox};

use crate::inspect::support::{pack, quiet, with_source};

/// A tree, and containers of it with hard links and symbolic links to them.
fn with_containers() -> Sandbox {
    let hard = |name: &str, target: &str| Node::new(name, NodeKind::HardLink(target.as_bytes().to_vec()));
    let link = Node::new("link", NodeKind::Symlink(b"file".to_vec()));
    let sandbox = with_source(&[Node::dir(""), Node::file("file", "content"), hard("hard", "file"), link]);
    pack(&sandbox, "i.sqfs", &[]);
    quiet(&sandbox, &["pack", "-q", "source", "i.lrz"]);
    quiet(&sandbox, &["compress", "-q", "-o", "i.pln", "source.tar"]);
    for name in ["source.tar", "i.sqfs", "i.lrz", "i.pln"] {
        fs::hard_link(sandbox.at(name), sandbox.at(format!("hard-{name}"))).unwrap();
        std::os::unix::fs::symlink(name, sandbox.at(format!("link-{name}"))).unwrap();
    }
    sandbox
}

fn shell(sandbox: &Sandbox, script: &str) -> Ran {
    sandbox.shell(&format!("\"$P\" {script}"))
}

/// Runs a command that must fail and leave the containers unchanged.
fn refused(sandbox: &Sandbox, script: &str) {
    let names = ["source.tar", "i.sqfs", "i.lrz", "i.pln"];
    let before = names.map(|name| sandbox.read(name));
    let ran = shell(sandbox, script);
    assert!(ran.status == 1 && ran.stderr.contains("is the input itself"), "{script}: {ran:?}");
    assert!(names.map(|name| sandbox.read(name)) == before, "{script}");
}

#[test]
fn an_output_that_is_the_input_is_refused() {
    let sandbox = with_containers();
    sandbox.write("pack", "file /f 0644 0 0 source.tar\n");
    for script in [
        "pack -f --format squashfs source.tar OUT",
        "pack -f --format erofs source.tar OUT",
        "pack -f --format lrz source.tar OUT",
        "pack -f --format squashfs - OUT <source.tar",
        "pack -f --format erofs - OUT <source.tar",
        "pack -f --format lrz - OUT <source.tar",
        "tar2sqfs -f OUT <source.tar",
        "gensquashfs -f -F pack OUT",
        "lrzip -f -o OUT source.tar",
        "lrzip -f -o OUT <source.tar",
    ] {
        for name in ["source.tar", "./source.tar", "hard-source.tar", "link-source.tar"] {
            refused(&sandbox, &script.replace("OUT", name));
        }
    }
    for (script, input) in [
        ("unpack -f --to tar IN OUT", "i.sqfs"),
        ("unpack -f --to tar IN OUT", "i.lrz"),
        ("lrzip -d -f -o OUT IN", "i.lrz"),
        ("lrzip -d -f -o OUT <IN", "i.lrz"),
        ("compress -f -o OUT IN", "i.pln"),
        ("compress -f -o OUT <IN", "i.pln"),
        ("decompress -f -o OUT IN", "i.pln"),
        ("decompress -f -o OUT <IN", "i.pln"),
        ("gensquashfs -f -D source -S OUT OUT", "pack"),
        ("gensquashfs -f -F OUT OUT", "pack"),
    ] {
        refused(&sandbox, &script.replace("IN", input).replace("OUT", input));
    }
}

#[test]
fn an_output_that_is_another_of_several_inputs_is_refused() {
    let sandbox = with_containers();
    for (program, ending) in [("compress", "pln"), ("lrzip", "lrz")] {
        fs::copy(sandbox.at(format!("i.{ending}")), sandbox.at(format!("i.{ending}.{ending}"))).unwrap();
        refused(&sandbox, &format!("{program} -d -f i.{ending}.{ending} i.{ending}"));
    }
}

#[test]
fn does_not_append_content_to_its_input() {
    let sandbox = with_containers();
    for script in [
        "cat i.sqfs file >>i.sqfs",
        "unpack i.sqfs - >>i.sqfs",
        "sqfs2tar i.sqfs >>hard-i.sqfs",
        "rdsquashfs -c file i.sqfs >>i.sqfs",
        "unpack i.lrz - >>i.lrz",
        "lrzcat i.lrz >>link-i.lrz",
        "compress --stdout source.tar >>source.tar",
        "compress <source.tar >>source.tar",
        "decompress --stdout i.pln >>i.pln",
        "cat i.pln >>i.pln",
    ] {
        refused(&sandbox, script);
    }
    // A device may be both.
    let ran = shell(&sandbox, "compress </dev/null >/dev/null");
    assert_eq!(ran.status, 0, "{ran:?}");
}

#[test]
fn unpacking_does_not_replace_container() {
    let sandbox = with_containers();
    for (name, script) in [
        ("i.sqfs", "unpack -f IN d"),
        ("i.sqfs", "rdsquashfs -u / -p d IN"),
        ("i.lrz", "unpack -f IN d"),
        ("i.lrz", "lrzuntar -f -O d IN"),
    ] {
        for file in ["file", "hard", "link"] {
            sandbox.create_dir("d");
            let container = format!("d/{file}");
            fs::copy(sandbox.at(name), sandbox.at(&container)).unwrap();
            let ran = shell(&sandbox, &script.replace("IN", &container));
            assert!(ran.status != 0 && ran.stderr.contains("it is the input itself"), "{script} {file}: {ran:?}");
            assert_eq!(sandbox.read(&container), sandbox.read(name), "{script} {file}");
            sandbox.remove("d");
        }
    }
}

#[test]
fn extracting_does_not_replace_compared_files() {
    let sandbox = with_containers();
    sandbox.create_dir("e/old");
    fs::copy(sandbox.at("i.sqfs"), sandbox.at("e/old/file")).unwrap();
    sandbox.create_dir("other");
    let ran = sandbox.run(&["diff", "e/old/file", "other", "-e", "e"]);
    assert!(ran.status == 2 && ran.stderr.contains("it is an input itself"), "{ran:?}");
    assert_eq!(sandbox.read("e/old/file"), sandbox.read("i.sqfs"));
    for words in [["diff", "e/old", "i.sqfs", "-e", "e"], ["diff", "i.sqfs", "e", "-e", "e/below"]] {
        sandbox.create_dir("e/below");
        let ran = sandbox.run(&words);
        assert!(ran.status == 2 && ran.stderr.contains("which is compared"), "{words:?}: {ran:?}");
    }
}

#[test]
fn trace_does_not_replace_operand() {
    let sandbox = with_containers();
    for trace in ["source.tar", "hard-source.tar", "new.sqfs"] {
        let ran = sandbox.run(&["pack", "-f", "source.tar", "new.sqfs", "--trace", trace]);
        assert!(ran.status != 0 && !sandbox.at("new.sqfs").exists(), "{trace}: {ran:?}");
    }
}

#[test]
fn a_block_device_is_not_packed_onto_itself() {
    if !mount::loop_devices() {
        return;
    }
    let sandbox = with_containers();
    let mut image = sandbox.read("source.tar");
    image.resize(1 << 20, 0);
    sandbox.write("disk", &image);
    let device = LoopDevice::over(&sandbox.at("disk")).unwrap();
    let ran = sandbox.run(&["pack", "-f", device.path(), device.path()]);
    assert!(ran.status == 1 && ran.stderr.contains("is the input itself"), "{ran:?}");
    assert!(sandbox.read("disk") == image);
}
