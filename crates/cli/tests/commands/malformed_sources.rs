//! Sources and sinks that fail while they are used: one line that names what failed, exit code 1, no image.

use packline_testkit::model::Node;
use packline_testkit::mount::Mounted;
use packline_testkit::packer::{Packer, left_in, refusal};
use packline_testkit::tar::{TarWriter, to_bytes};
use packline_testkit::{Random, generate, signal, tools};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

fn packer() -> Packer {
    Packer::new(env!("CARGO_BIN_EXE_packline"))
}

#[test]
fn unreadable_file() {
    if !tools::need(&["setpriv"]) || !tools::root() {
        return;
    }
    let (source, output) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    std::fs::write(source.path().join("secret"), "x").unwrap();
    std::fs::set_permissions(source.path().join("secret"), PermissionsExt::from_mode(0o600)).unwrap();
    for place in [source.path(), output.path()] {
        std::fs::set_permissions(place, PermissionsExt::from_mode(0o777)).unwrap();
    }
    let pack = packer().command(source.path(), &output.path().join("i.sqfs"), &[]);
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"]).arg(reachable(output.path()));
    command.args(pack.get_args()).stdin(Stdio::null());
    let copy = output.path().join("packline");
    let line = refusal_but(command, output.path(), &copy);
    assert!(line.contains("secret") && line.contains("denied"), "{line}");
}

/// A copy of the binary that another user can run: the build directory may be closed to them.
fn reachable(directory: &Path) -> std::path::PathBuf {
    let copy = directory.join("packline");
    std::fs::copy(packer().binary(), &copy).unwrap();
    copy
}

/// As [`refusal`], but one file may be left.
fn refusal_but(command: Command, directory: &Path, kept: &Path) -> String {
    let mut command = command;
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!((output.status.code(), said.lines().count()), (Some(1), 1), "{said}");
    assert_eq!(left_in(directory), [kept], "nothing else is left");
    said
}

/// Files of /sys say 4096 bytes and have fewer: they shrink while they are read.
#[test]
fn file_that_shrinks() {
    let source = Path::new("/sys/kernel/mm/transparent_hugepage");
    if !source.is_dir() && !tools::skip("there is no /sys/kernel/mm/transparent_hugepage") {
        return;
    }
    let output = tempfile::tempdir().unwrap();
    let line = packer().refused(source, output.path(), &[]);
    assert!(line.contains("/sys/kernel/mm/transparent_hugepage/") && line.contains("4096"), "{line}");
}

/// Another thread appends to the file all the time. It may just miss the moment, but not ten times.
#[test]
fn file_that_grows() {
    let (source, output) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = source.path().join("log");
    std::fs::write(&path, vec![b'x'; 30 << 20]).unwrap();
    let stop = AtomicBool::new(false);
    let said = std::thread::scope(|scope| {
        scope.spawn(|| append_until(&path, &stop));
        let outcome =
            (0..10).map(|_| packer().command(source.path(), &output.path().join("i.sqfs"), &["-f"]).output().unwrap());
        let refused = outcome.into_iter().find(|output| !output.status.success());
        stop.store(true, Ordering::Relaxed);
        refused.map(|output| String::from_utf8_lossy(&output.stderr).into_owned())
    });
    let said = said.unwrap();
    assert!(said.contains("log") && said.lines().count() == 1, "{said}");
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
    let output = tempfile::tempdir().unwrap();
    let line = packer().refused(Path::new("/nowhere/at/all"), output.path(), &[]);
    assert!(line.contains("/nowhere/at/all"), "{line}");
}

#[test]
fn no_space_on_the_sink() {
    if !tools::root() {
        return;
    }
    let (source, small) = (tempfile::tempdir().unwrap(), Mounted::memory(1 << 20).unwrap());
    let archive = source.path().join("large.tar");
    generate::write_tar(&archive, |sink| generate::mixed_bulk(sink, 8)).unwrap();
    for workers in ["0", "2"] {
        let line = packer().refused(&archive, small.path(), &["-c", "none", "-j", workers]);
        assert!(line.contains("No space left"), "{line}");
    }
}

/// A loop device on a file that has no room to grow: what is written to it fails with an I/O error.
struct BrokenDevice {
    path: String,
    _room: Mounted,
}

impl BrokenDevice {
    fn new() -> BrokenDevice {
        let room = Mounted::memory(1 << 20).unwrap();
        let file = room.path().join("device");
        std::fs::File::create(&file).unwrap().set_len(64 << 20).unwrap();
        let output = tools::run(Command::new("losetup").args(["--find", "--show"]).arg(&file)).unwrap();
        BrokenDevice { path: String::from_utf8(output.stdout).unwrap().trim().to_owned(), _room: room }
    }
}

impl Drop for BrokenDevice {
    fn drop(&mut self) {
        let _ = tools::run(Command::new("losetup").args(["--detach", &self.path]));
    }
}

#[test]
fn broken_sink() {
    if !tools::need(&["losetup"]) || !tools::root() {
        return;
    }
    let (device, place, empty) = (BrokenDevice::new(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let archive = place.path().join("a.tar");
    std::fs::write(&archive, to_bytes(&[Node::file("f", Random::new(1).noise(20 << 20))])).unwrap();
    let options = ["-c", "none", "--force", "--format", "squashfs"];
    let line = refusal(packer().command(&archive, Path::new(&device.path), &options), empty.path());
    let failed = line.contains("Input/output error") || line.contains("No space left");
    assert!(failed && line.contains(&device.path), "{line}");
}

#[test]
fn broken_source() {
    if !tools::root() {
        return;
    }
    // Reading another process's memory at offset 0 is an I/O error.
    let output = tempfile::tempdir().unwrap();
    let line = packer().refused(Path::new("/proc/self/mem"), output.path(), &[]);
    assert!(line.contains("/proc/self/mem") && line.contains("Input/output error"), "{line}");
}

#[test]
fn too_many_ids() {
    let place = tempfile::tempdir().unwrap();
    let archive = place.path().join("ids.tar");
    let pack = |count: u32, options: &[&str]| {
        generate::write_tar(&archive, |sink| {
            let mut tar = TarWriter::new(sink);
            tar.node(&Node::dir("").owner(1, 1))?;
            (1..=count).try_for_each(|id| tar.node(&Node::file(format!("f{id}"), "").owner(id, id)))?;
            tar.finish().map(drop)
        })
        .unwrap();
        let output = tempfile::tempdir().unwrap();
        packer().command(&archive, &output.path().join("i.sqfs"), options).output().unwrap()
    };
    assert!(pack(65_535, &[]).status.success(), "65,535 ids fit into the superblock's 16-bit count");
    let refused = pack(65_537, &[]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!((refused.status.code(), said.lines().count()), (Some(1), 1), "{said}");
    assert!(said.contains("65535") || said.contains("65536"), "{said}");
}

/// Interrupted while it waits for the rest of a stream: nothing is left, neither file nor process.
#[test]
fn interrupted() {
    let mut beginning = Vec::new();
    generate::mixed_bulk(&mut beginning, 6).unwrap();
    beginning.truncate(beginning.len() / 2);
    for (signal, workers) in [("INT", "2"), ("TERM", "2"), ("TERM", "0"), ("HUP", "2")] {
        let output = tempfile::tempdir().unwrap();
        let options = ["-c", "none", "-j", workers];
        let pack = packer().command(Path::new("-"), &output.path().join("i.sqfs"), &options);
        // The tests themselves may run with hangups ignored.
        let mut command = Command::new("env");
        command.arg("--default-signal=HUP").arg(pack.get_program()).args(pack.get_args());
        let mut child = command.stdin(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut pipe = child.stdin.take().unwrap();
        // A pipe holds 64 KiB: when all is written, most is read, and the image is under way.
        pipe.write_all(&beginning).unwrap();
        signal::send(signal, child.id()).unwrap();
        let status = child.wait().unwrap();
        assert!(!status.success(), "{signal}");
        assert_eq!(left_in(output.path()), Vec::<std::path::PathBuf>::new(), "SIG{signal} with {workers} workers");
        drop(pipe);
    }
}

#[test]
fn an_image_that_exists_is_kept() {
    let place = tempfile::tempdir().unwrap();
    let (archive, image) = (place.path().join("a.tar"), place.path().join("i.sqfs"));
    std::fs::write(&archive, to_bytes(&[Node::file("f", "x")])).unwrap();
    std::fs::write(&image, "precious").unwrap();
    let refused = packer().command(&archive, &image, &[]).output().unwrap();
    assert!(!refused.status.success());
    assert_eq!(std::fs::read(&image).unwrap(), b"precious");
    std::fs::write(&archive, [0xaa; 4096]).unwrap();
    assert!(!packer().command(&archive, &image, &["--force"]).output().unwrap().status.success());
    assert_eq!(
        std::fs::read(&image).unwrap(),
        b"precious",
        "a pack that fails leaves the old image, even with --force"
    );
    assert_eq!(left_in(place.path()).len(), 2);
}
