//! The state after a signal and on a full file system, and the output to a device.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use packline_testkit::model::Node;
use packline_testkit::mount::{self, LoopDevice, Mounted};
use packline_testkit::{Random, Sandbox, signal, snapshot, tar, tools, views};

use crate::{PACKLINE, sandbox};

fn noise(length: usize) -> Vec<u8> {
    Random::new(7).noise(length)
}

/// Command lines that pack a tar from standard input to an image, whose name follows.
const PACKS: [&[&str]; 3] = [
    &["tar2sqfs", "-f", "-c", "lz4"],
    &["pack", "-f", "-c", "lz4", "--format", "squashfs", "-"],
    &["pack", "-f", "-c", "lz4", "--format", "erofs", "-"],
];

/// Starts a pack that has read a file of a tar and waits for the rest.
fn waiting_pack(pack: &[&str], image: &Path, before: &[&str]) -> Child {
    let words = [before, &[PACKLINE], pack].concat();
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).arg(image).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let whole = tar::to_bytes(&[Node::file("first", noise(3 << 20)), Node::file("second", noise(3 << 20))]);
    child.stdin.as_mut().unwrap().write_all(&whole[..5 << 20]).unwrap();
    child
}

/// Sends a signal to a pack and waits for it; its exit status, none if the signal killed it.
fn stop(mut child: Child, signal: &str) -> Option<i32> {
    signal::send(signal, child.id()).unwrap();
    let mut printed = Vec::new();
    child.stdout.take().unwrap().read_to_end(&mut printed).unwrap();
    let status = child.wait().unwrap();
    assert_eq!(status.signal().filter(|_| signal != "KILL"), None);
    status.code()
}

#[test]
fn signal_cleans_up_and_sets_exit_status() {
    let sandbox = sandbox();
    // The tests themselves may run with hangups ignored.
    let with_hangups = ["env", "--default-signal=HUP"];
    for pack in PACKS {
        for (signal, status) in [("INT", 130), ("TERM", 143), ("HUP", 129)] {
            let child = waiting_pack(pack, &sandbox.at("image"), &with_hangups);
            assert_eq!(stop(child, signal), Some(status), "{pack:?} {signal}");
            assert_eq!(sandbox.names(), Vec::<String>::new(), "{pack:?} {signal}");
        }
    }
}

#[test]
fn signal_ends_commands_that_leave_nothing() {
    for command in ["list", "info"] {
        let mut waiting = Command::new(PACKLINE);
        waiting.args([command, "-"]).stdin(Stdio::piped()).stdout(Stdio::null());
        let mut child = waiting.spawn().unwrap();
        signal::send("TERM", child.id()).unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(15), "{command}");
    }
}

#[test]
fn signal_keeps_existing_image() {
    let sandbox = sandbox();
    let image = sandbox.write("image", "old");
    for pack in PACKS {
        stop(waiting_pack(pack, &image, &[]), "TERM");
        assert_eq!(fs::read(&image).unwrap(), b"old", "{pack:?}");
        assert_eq!(sandbox.names(), ["image"], "{pack:?}");
    }
}

#[test]
fn even_a_kill_leaves_nothing_where_files_can_be_unnamed() {
    let sandbox = sandbox();
    for pack in PACKS {
        assert_eq!(stop(waiting_pack(pack, &sandbox.at("image"), &[]), "KILL"), None, "{pack:?}");
        assert_eq!(sandbox.names(), Vec::<String>::new(), "{pack:?}");
    }
}

#[test]
fn ignored_hangup_stays_ignored() {
    let sandbox = sandbox();
    let child = waiting_pack(PACKS[0], &sandbox.at("image"), &["nohup"]);
    signal::send("HUP", child.id()).unwrap();
    assert_eq!(stop(child, "INT"), Some(130));
}

#[test]
fn a_full_file_system_is_one_line_and_leaves_nothing() {
    if !mount::allowed() {
        tools::skip("mounting needs root");
        return;
    }
    let memory = Mounted::memory(2 << 20).unwrap();
    let source = sandbox();
    let small = Sandbox::within(PACKLINE, memory.path());
    source.write("file", noise(6 << 20));
    for name in ["image", "image.erofs"] {
        let image = small.arg(name);
        let message = small.refused(&["pack", "-c", "lz4", "-q", &source.arg(""), &image]);
        assert!(message.starts_with(&format!("packline: {image}: ")), "{message}");
        assert!(message.contains("byte") && message.contains("No space left"), "{message}");
    }
}

/// The image at the start of a device, with its padding. Its length is at byte 40 of the superblock.
fn image_on(device: &str) -> Vec<u8> {
    let mut bytes = fs::read(device).unwrap();
    let used = u64::from_le_bytes(bytes[40..48].try_into().unwrap());
    bytes.truncate(used.next_multiple_of(4096) as usize);
    bytes
}

#[test]
fn a_block_device_is_written_in_place() {
    if !mount::loop_devices() {
        return;
    }
    let sandbox = sandbox();
    let medium = sandbox.write("medium", noise(4 << 20));
    let device = LoopDevice::over(&medium).unwrap();
    let nodes = [Node::dir(""), Node::file("file", noise(1 << 20))];
    let pack = |nodes: &[Node], options: &[&str]| {
        sandbox.write_tar("source.tar", nodes);
        let words = ["pack", "-c", "lz4", "-q", "source.tar", device.path()];
        let ran = sandbox.run(&[&words, options].concat());
        (ran.status, ran.stderr)
    };
    let refused = pack(&nodes, &[]);
    assert!(refused.0 == 1 && refused.1.contains("--force"), "{refused:?}");
    assert_eq!(pack(&nodes, &["-f"]), (0, String::new()));
    let copy = sandbox.write("copy", image_on(device.path()));
    views::assert_sound("device", &copy, &snapshot::of_model(&nodes, true));
    let large = pack(&[Node::file("file", noise(5 << 20))], &["-f"]);
    assert!(large.0 == 1 && large.1.contains("only 4194304 bytes"), "{large:?}");
    assert_eq!(fs::read(device.path()).unwrap()[..96], [0; 96], "half an image looks like a whole one");
}

/// The output of a command line on a pseudo terminal.
fn on_terminal(line: &str) -> Option<String> {
    let ran = Command::new("script").args(["-qec", line, "/dev/null"]).stdin(Stdio::null()).output().ok()?;
    Some(String::from_utf8_lossy(&ran.stdout).into_owned())
}

#[test]
fn shows_bar_only_on_terminal() {
    if !tools::terminal() {
        return;
    }
    let sandbox = sandbox();
    let source = sandbox.at("source.tar");
    let image = sandbox.at("image");
    sandbox.write_tar("source.tar", &[Node::file("file", noise(8 << 20))]);
    let line =
        |options: &str| format!("TERM=xterm {PACKLINE} pack -f {options} {} {}", source.display(), image.display());
    let with = on_terminal(&line("-c lz4")).unwrap();
    assert!(with.contains("MiB/s") && with.contains("/8.00 MiB"), "{with:?}");
    for options in ["-c lz4 --no-progress", "-c lz4 -q", "-c lz4 --json"] {
        let without = on_terminal(&line(options)).unwrap();
        assert!(!without.contains("/8.00 MiB"), "{without:?}");
    }
    let piped = Command::new("sh").args(["-c", &line("-c lz4")]).output().unwrap();
    assert!(!String::from_utf8_lossy(&piped.stderr).contains("/8.00 MiB"));
}

#[test]
fn colours_messages_on_a_terminal_unless_no_color_is_set() {
    if !tools::terminal() {
        return;
    }
    let shown = |variables: &str| on_terminal(&format!("env {variables} {PACKLINE} list /missing; true")).unwrap();
    let coloured = shown("-u NO_COLOR TERM=xterm");
    assert!(coloured.starts_with("\x1b[1;31mpackline:\x1b[0m /missing: cannot open"), "{coloured:?}");
    for variables in ["NO_COLOR=1 TERM=xterm", "-u NO_COLOR TERM=dumb"] {
        let plain = shown(variables);
        assert!(plain.starts_with("packline: /missing: cannot open"), "{plain:?}");
    }
}

#[test]
fn a_stopped_command_says_so_on_a_terminal() {
    if !tools::terminal() || !tools::need(&["timeout"]) {
        return;
    }
    let sandbox = sandbox();
    let line = |errors: &str| {
        let output = sandbox.at("x.pln");
        format!("sleep 2 | timeout --foreground -s INT 1 {PACKLINE} compress >{} {errors}", output.display())
    };
    let message = "packline: stopped; incomplete outputs were removed";
    let shown = on_terminal(&line("")).unwrap();
    assert!(shown.contains(message), "{shown:?}");
    let shown = on_terminal(&line("2>/dev/null")).unwrap();
    assert!(!shown.contains(message), "{shown:?}");
}

#[test]
fn a_limit_on_the_size_of_files_is_an_error_and_leaves_nothing() {
    if !tools::need(&["prlimit"]) {
        return;
    }
    let sandbox = sandbox();
    sandbox.write("source/noise", noise(3 << 20));
    for format in ["squashfs", "erofs"] {
        let words = ["--fsize=1048576", PACKLINE, "pack", "source", "image", "-c", "none", "--format", format];
        let message = sandbox.refusal(&mut sandbox.program("prlimit", &words));
        assert!(message.contains("image") && message.contains("File too large"), "{format}: {message}");
    }
}
