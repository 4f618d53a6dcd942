//! Sources and sinks that fail during use: one line names what failed, the exit status is 1, and there is no image.

use packline_testkit::model::Node;
use packline_testkit::mount::{self, LoopDevice, Mounted};
use packline_testkit::tar::TarWriter;
use packline_testkit::{Random, Sandbox, generate, signal, tools};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::{PACKLINE, sandbox};

#[test]
fn unreadable_file() {
    if !tools::need(&["setpriv"]) || !tools::root() {
        return;
    }
    let sandbox = sandbox();
    let secret = sandbox.write("source/secret", "x");
    std::fs::set_permissions(secret, PermissionsExt::from_mode(0o600)).unwrap();
    for directory in ["", "source"] {
        std::fs::set_permissions(sandbox.at(directory), PermissionsExt::from_mode(0o777)).unwrap();
    }
    // A copy of the binary that another user can run: the build directory may be closed to them.
    std::fs::copy(PACKLINE, sandbox.at("packline")).unwrap();
    let user = ["--reuid=65534", "--regid=65534", "--clear-groups", "--", "./packline", "pack", "source", "i.sqfs"];
    let line = sandbox.refusal(&mut sandbox.program("setpriv", &user));
    assert!(line.contains("secret") && line.contains("denied"), "{line}");
}

/// Files in /sys have a size of 4096 bytes and less content, like files that shrink while they are read.
#[test]
fn file_that_shrinks_is_stored_up_to_its_end_with_a_warning() {
    let source = Path::new("/sys/kernel/mm/transparent_hugepage");
    if !source.is_dir() && !tools::skip("there is no /sys/kernel/mm/transparent_hugepage") {
        return;
    }
    let sandbox = sandbox();
    let ran = sandbox.good(&["pack", source.to_str().unwrap(), "i.sqfs"]);
    let warned = |line: &str| line.contains("/transparent_hugepage/enabled") && line.contains("4096");
    assert!(ran.stderr.lines().any(warned), "{}", ran.stderr);
    assert_eq!(sandbox.good(&["cat", "i.sqfs", "enabled"]).stdout, std::fs::read(source.join("enabled")).unwrap());
}

/// Another thread appends to the file all the time. One run may miss it, ten do not.
#[test]
fn file_that_grows_is_stored_at_its_first_size_with_a_warning() {
    let sandbox = sandbox();
    let path = sandbox.write("source/log", vec![b'x'; 30 << 20]);
    let stop = AtomicBool::new(false);
    let warnings = std::thread::scope(|scope| {
        let append = || append_until(&path, &stop);
        std::thread::Builder::new().spawn_scoped(scope, append).unwrap();
        let options = [&[][..], &["--continue"]];
        let runs = (0..10).map(|run| sandbox.run(&[&["pack", "source", "i.sqfs", "-f"], options[run % 2]].concat()));
        let runs: Vec<_> = runs.collect();
        stop.store(true, Ordering::Relaxed);
        runs
    });
    assert!(warnings.iter().all(|ran| ran.status == 0), "{warnings:?}");
    assert!(warnings.iter().any(|ran| ran.stderr.contains("log") && ran.stderr.contains("changed")), "{warnings:?}");
    sandbox.good(&["verify", "-q", "i.sqfs"]);
}

fn append_until(path: &Path, stop: &AtomicBool) {
    let mut file = std::fs::File::options().append(true).open(path).unwrap();
    while !stop.load(Ordering::Relaxed) {
        file.write_all(b"more\n").unwrap();
        std::thread::sleep(Duration::from_micros(50));
    }
}

#[test]
fn no_source() {
    let line = sandbox().refused(&["pack", "/nowhere/at/all", "i.sqfs"]);
    assert!(line.contains("/nowhere/at/all"), "{line}");
}

#[test]
fn no_space_on_the_sink() {
    if !mount::allowed() {
        return;
    }
    let sandbox = sandbox();
    let memory = Mounted::memory(1 << 20).unwrap();
    let small = Sandbox::within(PACKLINE, memory.path());
    generate::write_tar(&sandbox.at("large.tar"), |sink| generate::mixed_bulk(sink, 8)).unwrap();
    for workers in ["0", "2"] {
        let line = small.refused(&["pack", &sandbox.arg("large.tar"), "i.sqfs", "-c", "none", "-j", workers]);
        assert!(line.contains("No space left"), "{line}");
    }
}

#[test]
fn broken_sink() {
    if !mount::loop_devices() {
        return;
    }
    // A loop device on a file that cannot grow: writing to it fails with an I/O error.
    let sandbox = sandbox();
    let memory = Mounted::memory(1 << 20).unwrap();
    let file = memory.path().join("device");
    std::fs::File::create(&file).unwrap().set_len(64 << 20).unwrap();
    let device = LoopDevice::over(&file).unwrap();
    sandbox.write_tar("a.tar", &[Node::file("f", Random::new(1).noise(20 << 20))]);
    let line = sandbox.refused(&["pack", "a.tar", device.path(), "-c", "none", "--force", "--format", "squashfs"]);
    let failed = line.contains("Input/output error") || line.contains("No space left");
    assert!(failed && line.contains(device.path()), "{line}");
}

#[test]
fn broken_source() {
    if !tools::root() {
        return;
    }
    // Reading another process's memory at offset 0 is an I/O error.
    let line = sandbox().refused(&["pack", "/proc/self/mem", "i.sqfs"]);
    assert!(line.contains("/proc/self/mem") && line.contains("Input/output error"), "{line}");
}

#[test]
fn too_many_ids() {
    let sandbox = sandbox();
    let write_ids = |count: u32| {
        generate::write_tar(&sandbox.at("ids.tar"), |sink| {
            let mut tar = TarWriter::new(sink);
            tar.node(&Node::dir("").owner(1, 1))?;
            (1..=count).try_for_each(|id| tar.node(&Node::file(format!("f{id}"), "").owner(id, id)))?;
            tar.finish().map(drop)
        })
        .unwrap();
    };
    write_ids(65_537);
    let message = sandbox.refused(&["pack", "ids.tar", "i.sqfs"]);
    assert!(message.contains("65535") || message.contains("65536"), "{message}");
    // 65,535 ids fit into the superblock's 16-bit count.
    write_ids(65_535);
    sandbox.good(&["pack", "ids.tar", "i.sqfs"]);
}

/// Interrupted while it waits for the rest of a stream: nothing is left, neither file nor process.
#[test]
fn interrupted() {
    let mut beginning = Vec::new();
    generate::mixed_bulk(&mut beginning, 6).unwrap();
    beginning.truncate(beginning.len() / 2);
    for (signal, workers) in [("INT", "2"), ("TERM", "2"), ("TERM", "0"), ("HUP", "2")] {
        let sandbox = sandbox();
        // The tests themselves may run with hangups ignored.
        let mut command = sandbox.program("env", &["--default-signal=HUP", PACKLINE, "pack", "-", "i.sqfs"]);
        command.args(["-c", "none", "-j", workers]);
        let mut child = command.stdin(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut pipe = child.stdin.take().unwrap();
        // A pipe holds 64 KiB: when all is written, most is read, and the image is under way.
        pipe.write_all(&beginning).unwrap();
        signal::send(signal, child.id()).unwrap();
        let status = child.wait().unwrap();
        assert!(!status.success(), "{signal}");
        assert_eq!(sandbox.names(), Vec::<String>::new(), "SIG{signal} with {workers} workers");
        drop(pipe);
    }
}

#[test]
fn an_image_that_exists_is_kept() {
    let sandbox = sandbox();
    sandbox.write_tar("a.tar", &[Node::file("f", "x")]);
    sandbox.write("i.sqfs", "precious");
    sandbox.refused(&["pack", "a.tar", "i.sqfs"]);
    assert_eq!(sandbox.read("i.sqfs"), b"precious");
    sandbox.write("a.tar", [0xaa; 4096]);
    sandbox.refused(&["pack", "a.tar", "i.sqfs", "--force"]);
    assert_eq!(sandbox.read("i.sqfs"), b"precious", "a pack that fails leaves the old image, even with --force");
}
