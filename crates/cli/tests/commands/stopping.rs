//! What a pack leaves when it is told to stop, when the file system is full, and when the output is a device.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use packline_testkit::model::Node;
use packline_testkit::mount::Mounted;
use packline_testkit::{signal, snapshot, tar, tools, views};

const PACKLINE: &str = env!("CARGO_BIN_EXE_packline");

fn names_in(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn noise(length: usize) -> Vec<u8> {
    let mut state = 7u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    (0..length).map(|_| next()).collect()
}

/// A pack that has read a file of a tar and waits for the rest, which never comes.
fn waiting_pack(image: &Path, before: &[&str]) -> Child {
    let words = [before, &[PACKLINE, "tar2sqfs", "-f", "-c", "lz4"]].concat();
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).arg(image).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let whole = tar::to_bytes(&[Node::file("first", noise(3 << 20)), Node::file("second", noise(3 << 20))]);
    child.stdin.as_mut().unwrap().write_all(&whole[..5 << 20]).unwrap();
    child
}

/// Tells a pack to stop; what it ended with.
fn stop(mut child: Child, signal: &str) -> Option<i32> {
    signal::send(signal, child.id()).unwrap();
    let mut printed = Vec::new();
    child.stdout.take().unwrap().read_to_end(&mut printed).unwrap();
    let status = child.wait().unwrap();
    assert_eq!(status.signal().filter(|_| signal != "KILL"), None);
    status.code()
}

#[test]
fn a_signal_leaves_nothing_and_says_which_it_was() {
    let top = tempfile::tempdir().unwrap();
    // The tests themselves may run with hangups ignored.
    let heard = ["env", "--default-signal=HUP"];
    for (signal, status) in [("INT", 130), ("TERM", 143), ("HUP", 129)] {
        assert_eq!(stop(waiting_pack(&top.path().join("image"), &heard), signal), Some(status), "{signal}");
        assert_eq!(names_in(top.path()), Vec::<String>::new(), "{signal}");
    }
}

#[test]
fn a_signal_keeps_the_image_that_was_there() {
    let top = tempfile::tempdir().unwrap();
    let image = top.path().join("image");
    fs::write(&image, "old").unwrap();
    stop(waiting_pack(&image, &[]), "TERM");
    assert_eq!(fs::read(&image).unwrap(), b"old");
    assert_eq!(names_in(top.path()), ["image"]);
}

#[test]
fn even_a_kill_leaves_nothing_where_files_can_be_nameless() {
    let top = tempfile::tempdir().unwrap();
    assert_eq!(stop(waiting_pack(&top.path().join("image"), &[]), "KILL"), None);
    assert_eq!(names_in(top.path()), Vec::<String>::new());
}

#[test]
fn a_hangup_that_is_ignored_stays_ignored() {
    let top = tempfile::tempdir().unwrap();
    let child = waiting_pack(&top.path().join("image"), &["nohup"]);
    signal::send("HUP", child.id()).unwrap();
    assert_eq!(stop(child, "INT"), Some(130));
}

#[test]
fn a_full_file_system_is_one_line_and_leaves_nothing() {
    if !tools::root() {
        tools::skip("mounting needs root");
        return;
    }
    let memory = Mounted::memory(2 << 20).unwrap();
    let source = tempfile::tempdir().unwrap();
    fs::write(source.path().join("file"), noise(6 << 20)).unwrap();
    let image = memory.path().join("image");
    let ran = Command::new(PACKLINE).args(["pack", "-c", "lz4", "-q"]).arg(source.path()).arg(&image).output().unwrap();
    let said = String::from_utf8(ran.stderr).unwrap();
    assert_eq!(ran.status.code(), Some(1), "{said}");
    assert!(said.starts_with(&format!("packline: {}: ", image.display())), "{said}");
    assert!(said.contains("byte") && said.contains("No space left") && said.lines().count() == 1, "{said}");
    assert_eq!(names_in(memory.path()), Vec::<String>::new());
}

/// A loop device over a file, given back whatever happens.
struct Loop(String);

impl Loop {
    fn over(file: &Path) -> Option<Loop> {
        let made = Command::new("losetup").args(["--find", "--show"]).arg(file).output().ok()?;
        made.status.success().then(|| Loop(String::from_utf8(made.stdout).unwrap().trim().to_string()))
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["-d", &self.0]).status();
    }
}

/// The image at the start of a device, with its padding: its length stands at byte 40 of the superblock.
fn image_on(device: &str) -> Vec<u8> {
    let mut bytes = fs::read(device).unwrap();
    let used = u64::from_le_bytes(bytes[40..48].try_into().unwrap());
    bytes.truncate(used.next_multiple_of(4096) as usize);
    bytes
}

#[test]
fn a_block_device_is_written_in_place() {
    let top = tempfile::tempdir().unwrap();
    let medium = top.path().join("medium");
    fs::write(&medium, noise(4 << 20)).unwrap();
    let Some(device) = Loop::over(&medium) else {
        tools::skip("no loop device");
        return;
    };
    let nodes = [Node::dir(""), Node::file("file", noise(1 << 20))];
    let pack = |nodes: &[Node], options: &[&str]| {
        let source = top.path().join("source.tar");
        fs::write(&source, tar::to_bytes(nodes)).unwrap();
        let mut command = Command::new(PACKLINE);
        command.args(["pack", "-c", "lz4", "-q"]).args(options).arg(&source).arg(&device.0);
        let ran = command.output().unwrap();
        (ran.status.code(), String::from_utf8(ran.stderr).unwrap())
    };
    let refused = pack(&nodes, &[]);
    assert!(refused.0 == Some(1) && refused.1.contains("--force"), "{refused:?}");
    assert_eq!(pack(&nodes, &["-f"]), (Some(0), String::new()));
    let copy = top.path().join("copy");
    fs::write(&copy, image_on(&device.0)).unwrap();
    views::assert_sound("device", &copy, &snapshot::of_model(&nodes, true));
    let large = pack(&[Node::file("file", noise(5 << 20))], &["-f"]);
    assert!(large.0 == Some(1) && large.1.contains("only 4194304 bytes"), "{large:?}");
    assert_eq!(fs::read(&device.0).unwrap()[..96], [0; 96], "half an image looks like a whole one");
}

/// Runs a command line on a pseudo terminal and returns what it showed.
fn on_terminal(line: &str) -> Option<String> {
    let ran = Command::new("script").args(["-qec", line, "/dev/null"]).stdin(Stdio::null()).output().ok()?;
    Some(String::from_utf8_lossy(&ran.stdout).into_owned())
}

#[test]
fn a_bar_is_shown_on_a_terminal_and_nowhere_else() {
    if !tools::need(&["script"]) {
        return;
    }
    let top = tempfile::tempdir().unwrap();
    let (source, image) = (top.path().join("source.tar"), top.path().join("image"));
    fs::write(&source, tar::to_bytes(&[Node::file("file", noise(8 << 20))])).unwrap();
    let line =
        |options: &str| format!("TERM=xterm {PACKLINE} pack -f {options} {} {}", source.display(), image.display());
    let with = on_terminal(&line("-c lz4")).unwrap();
    assert!(with.contains("MiB/s") && with.contains("/8.00 MiB") && with.contains("left"), "{with:?}");
    for options in ["-c lz4 --no-progress", "-c lz4 -q"] {
        let without = on_terminal(&line(options)).unwrap();
        assert!(!without.contains("MiB/s"), "{without:?}");
    }
    let piped = Command::new("sh").args(["-c", &line("-c lz4")]).output().unwrap();
    assert!(!String::from_utf8_lossy(&piped.stderr).contains("MiB/s"));
}

#[test]
fn a_limit_on_the_size_of_files_is_an_error_and_leaves_nothing() {
    let top = tempfile::tempdir().unwrap();
    let (source, image) = (top.path().join("source"), top.path().join("image"));
    fs::create_dir(&source).unwrap();
    fs::write(source.join("noise"), noise(3 << 20)).unwrap();
    let mut limited = Command::new("prlimit");
    limited
        .args(["--fsize=1048576", PACKLINE, "pack"])
        .arg(&source)
        .arg(&image)
        .args(["-c", "none", "--format", "squashfs"]);
    let output = limited.output().unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(message.contains("image") && message.contains("File too large"), "{message}");
    assert_eq!(names_in(top.path()), ["source"]);
}
