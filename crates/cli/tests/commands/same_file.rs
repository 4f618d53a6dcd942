//! No command takes its own input for its output, by whatever name it is given.

use std::fs;
use std::process::Command;

use packline_testkit::model::{Node, NodeKind};
use packline_testkit::tools;

use crate::inspect_support::{Place, Ran, binary};

/// A tree whose files are called as images are in these tests, and containers of it.
fn place() -> Place {
    let hard = |name: &str, target: &str| Node::new(name, NodeKind::HardLink(target.as_bytes().to_vec()));
    let link = Node::new("link", NodeKind::Symlink(b"file".to_vec()));
    let place = Place::new(&[Node::dir(""), Node::file("file", "content"), hard("hard", "file"), link]);
    place.pack("i.sqfs", &[]);
    place.good(&["pack", "-q", "source", "i.lrz"]);
    place.good(&["compress", "-q", "-o", "i.pln", "source.tar"]);
    for name in ["source.tar", "i.sqfs", "i.lrz", "i.pln"] {
        fs::hard_link(place.at(name), place.at(&format!("hard-{name}"))).unwrap();
        std::os::unix::fs::symlink(name, place.at(&format!("link-{name}"))).unwrap();
    }
    place
}

fn shell(place: &Place, script: &str) -> Ran {
    let mut command = Command::new("sh");
    command.env("P", binary()).env("LRZIP", "NOCONFIG").args(["-c", &format!("\"$P\" {script}")]);
    place.run(command)
}

/// Runs a command that must refuse, and leave the containers as they are.
fn refused(place: &Place, script: &str) {
    let names = ["source.tar", "i.sqfs", "i.lrz", "i.pln"];
    let before = names.map(|name| fs::read(place.at(name)).unwrap());
    let ran = shell(place, script);
    assert!(ran.status == 1 && ran.err.contains("is the input itself"), "{script}: {ran:?}");
    assert!(names.map(|name| fs::read(place.at(name)).unwrap()) == before, "{script}");
}

#[test]
fn an_output_that_is_the_input_is_refused() {
    let place = place();
    fs::write(place.at("pack"), "file /f 0644 0 0 source.tar\n").unwrap();
    for script in [
        "pack -f --format squashfs source.tar OUT",
        "pack -f --format lrz source.tar OUT",
        "pack -f --format squashfs - OUT <source.tar",
        "pack -f --format lrz - OUT <source.tar",
        "tar2sqfs -f OUT <source.tar",
        "gensquashfs -f -F pack OUT",
        "lrzip -f -o OUT source.tar",
        "lrzip -f -o OUT <source.tar",
    ] {
        for name in ["source.tar", "./source.tar", "hard-source.tar", "link-source.tar"] {
            refused(&place, &script.replace("OUT", name));
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
        refused(&place, &script.replace("IN", input).replace("OUT", input));
    }
}

#[test]
fn an_output_that_is_another_of_several_inputs_is_refused() {
    let place = place();
    for (program, ending) in [("compress", "pln"), ("lrzip", "lrz")] {
        fs::copy(place.at(&format!("i.{ending}")), place.at(&format!("i.{ending}.{ending}"))).unwrap();
        refused(&place, &format!("{program} -d -f i.{ending}.{ending} i.{ending}"));
    }
}

#[test]
fn content_is_not_appended_to_its_own_input() {
    let place = place();
    for script in [
        "cat i.sqfs file >>i.sqfs",
        "unpack i.sqfs - >>i.sqfs",
        "sqfs2tar i.sqfs >>hard-i.sqfs",
        "rdsquashfs -c file i.sqfs >>i.sqfs",
        "unpack i.lrz - >>i.lrz",
        "lrzcat i.lrz >>link-i.lrz",
        "compress -c source.tar >>source.tar",
        "compress <source.tar >>source.tar",
        "decompress -c i.pln >>i.pln",
        "cat i.pln >>i.pln",
    ] {
        refused(&place, script);
    }
    // What is no file may be both.
    let ran = shell(&place, "compress </dev/null >/dev/null");
    assert_eq!(ran.status, 0, "{ran:?}");
}

#[test]
fn what_is_unpacked_does_not_replace_its_container() {
    let place = place();
    for (name, script) in [
        ("i.sqfs", "unpack -f IN d"),
        ("i.sqfs", "rdsquashfs -u / -p d IN"),
        ("i.lrz", "unpack -f IN d"),
        ("i.lrz", "lrzuntar -f -O d IN"),
    ] {
        for file in ["file", "hard", "link"] {
            fs::create_dir(place.at("d")).unwrap();
            let container = format!("d/{file}");
            fs::copy(place.at(name), place.at(&container)).unwrap();
            let ran = shell(&place, &script.replace("IN", &container));
            assert!(ran.status != 0 && ran.err.contains("it is the input itself"), "{script} {file}: {ran:?}");
            assert_eq!(fs::read(place.at(&container)).unwrap(), fs::read(place.at(name)).unwrap(), "{script} {file}");
            fs::remove_dir_all(place.at("d")).unwrap();
        }
    }
}

#[test]
fn what_is_extracted_does_not_replace_what_is_compared() {
    let place = place();
    fs::create_dir_all(place.at("e/old")).unwrap();
    fs::copy(place.at("i.sqfs"), place.at("e/old/file")).unwrap();
    fs::create_dir(place.at("other")).unwrap();
    let ran = place.ours(&["diff", "e/old/file", "other", "-e", "e"]);
    assert!(ran.status == 2 && ran.err.contains("it is an input itself"), "{ran:?}");
    assert_eq!(fs::read(place.at("e/old/file")).unwrap(), fs::read(place.at("i.sqfs")).unwrap());
    for words in [["diff", "e/old", "i.sqfs", "-e", "e"], ["diff", "i.sqfs", "e", "-e", "e/below"]] {
        fs::create_dir_all(place.at("e/below")).unwrap();
        let ran = place.ours(&words);
        assert!(ran.status == 2 && ran.err.contains("which is compared"), "{words:?}: {ran:?}");
    }
}

#[test]
fn a_trace_takes_the_place_of_no_operand() {
    let place = place();
    for trace in ["source.tar", "hard-source.tar", "new.sqfs"] {
        let ran = place.ours(&["pack", "-f", "source.tar", "new.sqfs", "--trace", trace]);
        assert!(ran.status != 0 && !place.at("new.sqfs").exists(), "{trace}: {ran:?}");
    }
}

#[test]
fn a_block_device_is_not_packed_onto_itself() {
    if !tools::root() {
        return;
    }
    let place = place();
    let mut image = fs::read(place.at("source.tar")).unwrap();
    image.resize(1 << 20, 0);
    fs::write(place.at("disk"), &image).unwrap();
    let set_up = place.peer("losetup", &["-f", "--show", "disk"]);
    if set_up.status != 0 {
        eprintln!("skipped: no loop device ({})", set_up.err);
        return;
    }
    let device = String::from_utf8(set_up.out).unwrap();
    let ran = place.ours(&["pack", "-f", device.trim(), device.trim()]);
    place.peer("losetup", &["-d", device.trim()]);
    assert!(ran.status == 1 && ran.err.contains("is the input itself"), "{ran:?}");
    assert!(fs::read(place.at("disk")).unwrap() == image);
}
