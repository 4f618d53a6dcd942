//! `packline mount`: what is seen in it, how it begins and ends, and what faults and little memory do to it.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::{DirEntryExt, FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use packline_testkit::model::Node;
use packline_testkit::mount::Mounted;
use packline_testkit::packer::Packer;
use packline_testkit::snapshot::{self, Except};
use packline_testkit::{generate, reader, signal, tar, tools};

const PACKLINE: &str = env!("CARGO_BIN_EXE_packline");

fn available() -> bool {
    let device = Path::new("/dev/fuse").exists() || tools::skip("there is no /dev/fuse");
    device && tools::need(&["fusermount", "umount"]) && tools::root()
}

/// An image and a directory to mount it on. Nothing stays mounted.
struct Place {
    top: tempfile::TempDir,
}

impl Place {
    fn new(nodes: &[Node], options: &[&str]) -> Place {
        let top = tempfile::tempdir().unwrap();
        fs::create_dir(top.path().join("on")).unwrap();
        let source = top.path().join("source.tar");
        fs::write(&source, tar::to_bytes(nodes)).unwrap();
        Packer::new(PACKLINE).pack(&source, &top.path().join("image"), options);
        fs::remove_file(source).unwrap();
        Place { top }
    }

    fn image(&self) -> PathBuf {
        self.top.path().join("image")
    }

    fn on(&self) -> PathBuf {
        self.top.path().join("on")
    }

    fn command(&self, options: &[&str]) -> Command {
        let mut command = Command::new("env");
        // The tests themselves may run with hangups ignored.
        command.args(["--default-signal=HUP", PACKLINE, "mount"]).args(options).arg(self.image()).arg(self.on());
        command.stdin(Stdio::null());
        command
    }

    /// Mounts in the background; what it printed.
    fn mount(&self, options: &[&str]) -> Output {
        self.command(options).output().unwrap()
    }

    fn mounted(&self, options: &[&str]) {
        let output = self.mount(options);
        assert!(output.status.success() && output.stdout.is_empty() && output.stderr.is_empty(), "{output:?}");
        assert!(self.is_mounted());
    }

    /// Mounts in the foreground.
    fn foreground(&self, options: &[&str]) -> (Child, BufReader<ChildStderr>) {
        let options = [&["--foreground", "--announce"], options].concat();
        let mut child = self.command(&options).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        if line != "mounted\n" {
            stderr.read_line(&mut line).unwrap();
            panic!("not mounted: {line}");
        }
        (child, stderr)
    }

    fn is_mounted(&self) -> bool {
        let on = self.on();
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
        mounts.lines().any(|line| line.split(' ').nth(4).is_some_and(|point| Path::new(point) == on))
    }

    /// The process behind the mount.
    fn process(&self) -> Option<u32> {
        let image = self.image();
        let ours = |pid: &u32| {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let words: Vec<&[u8]> = line.split(|byte| *byte == 0).collect();
            words.contains(&image.as_os_str().as_encoded_bytes())
        };
        let entries = fs::read_dir("/proc").unwrap().flatten();
        entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).find(ours)
    }

    fn unmount(&self) {
        tools::run(Command::new("umount").arg(self.on())).unwrap();
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        while self.is_mounted() {
            if !Command::new("umount").arg("-l").arg(self.on()).status().unwrap().success() {
                break;
            }
        }
    }
}

/// Waits for what other processes are about to do.
fn becomes(what: &str, condition: impl Fn() -> bool) {
    for _ in 0..2000 {
        if condition() {
            return;
        }
        thread::sleep(Duration::from_millis(10));
    }
    panic!("never: {what}");
}

/// Bytes that compress, but not to nothing.
fn prose(length: usize) -> Vec<u8> {
    let words = (0u64..).map(|number| format!("{} ", number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40));
    words.flat_map(String::into_bytes).take(length).collect()
}

#[test]
fn the_tree_is_the_sources_with_every_codec() {
    if !available() {
        return;
    }
    for (codec, block) in [
        ("gzip", 4096),
        ("xz", 131_072),
        ("lzma", 4096),
        ("lzo", 131_072),
        ("lz4", 4096),
        ("zstd", 131_072),
        ("none", 4096),
    ] {
        let nodes = generate::small_tree(block as u64, block);
        let place = Place::new(&nodes, &["-c", codec, "-b", &block.to_string()]);
        place.mounted(&[]);
        let found = snapshot::of_directory(&place.on()).unwrap();
        snapshot::assert_same(codec, &snapshot::of_model(&nodes, false), &found, Except::default());
        place.unmount();
        becomes("the process ends with the mount", || place.process().is_none());
    }
}

#[test]
fn many_readers_see_the_same() {
    if !available() {
        return;
    }
    let content = prose(9_000_000);
    let small = |number: usize| content[number * 1000..number * 1000 + 700].to_vec();
    let mut nodes: Vec<Node> = (0..200).map(|number| Node::file(format!("{number}"), small(number))).collect();
    nodes.push(Node::file("big", content.clone()));
    let place = Place::new(&nodes, &["-c", "lz4"]);
    place.mounted(&["-j", "3", "--mem", "60M"]);
    let read = |seed: usize| {
        let big = File::open(place.on().join("big")).unwrap();
        let mut buffer = vec![0; 300_000];
        for step in 0..100 {
            let (offset, length) = ((seed + step * 7_777_777) % content.len(), 1 + step * 2999);
            let count = big.read_at(&mut buffer[..length], offset as u64).unwrap();
            assert!(count > 0 && buffer[..count] == content[offset..offset + count], "{length} bytes at {offset}");
            let number = (seed + step) % 200;
            assert!(fs::read(place.on().join(number.to_string())).unwrap() == small(number));
        }
    };
    thread::scope(|scope| (0..4).for_each(|seed| drop(scope.spawn(move || read(seed * 999_983)))));
    assert!(fs::read(place.on().join("big")).unwrap() == content);
}

#[test]
fn long_listings_are_whole_and_absent_names_are_absent() {
    if !available() {
        return;
    }
    let nodes: Vec<Node> = (0..20_000).map(|number| Node::file(format!("entry-{number:07}"), *b"")).collect();
    let place = Place::new(&nodes, &["-c", "lz4"]);
    place.mounted(&[]);
    for _ in 0..2 {
        let entries = fs::read_dir(place.on()).unwrap().map(Result::unwrap);
        let names: Vec<String> = entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
        assert_eq!(names.len(), 20_000);
        assert!(names.is_sorted() && names[19_999] == "entry-0019999");
    }
    for name in ["absent", "entry-", "z"] {
        let absent = || fs::metadata(place.on().join(name)).unwrap_err().kind();
        assert_eq!((absent(), absent()), (std::io::ErrorKind::NotFound, std::io::ErrorKind::NotFound));
    }
    let refused = File::create(place.on().join("new")).unwrap_err();
    assert_eq!(refused.kind(), std::io::ErrorKind::ReadOnlyFilesystem);
}

#[test]
fn signals_end_it_cleanly() {
    if !available() {
        return;
    }
    let place = Place::new(&[Node::file("f", *b"x")], &[]);
    for name in ["INT", "TERM", "HUP"] {
        let (mut child, _stderr) = place.foreground(&[]);
        // Somebody who stays in it does not keep it.
        let open = File::open(place.on().join("f")).unwrap();
        signal::send(name, child.id()).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(0), "{name}");
        assert!(!place.is_mounted(), "{name}");
        drop(open);
        place.mounted(&[]);
        signal::send(name, place.process().unwrap()).unwrap();
        becomes("the mount is gone", || !place.is_mounted() && place.process().is_none());
    }
}

#[test]
fn no_dead_mount_is_left_behind_if_it_is_asked_for() {
    if !available() {
        return;
    }
    let place = Place::new(&[Node::file("f", *b"x")], &[]);
    for options in [["--auto-unmount"].as_slice(), &["-o", "auto_unmount,allow_other,nosuid,ro"]] {
        place.mounted(options);
        assert_eq!(fs::read(place.on().join("f")).unwrap(), b"x");
        signal::send("KILL", place.process().unwrap()).unwrap();
        becomes("the mount is gone", || !place.is_mounted());
        place.mounted(options);
        tools::run(Command::new("fusermount").arg("-u").arg(place.on())).unwrap();
        becomes("the process ends with the mount", || place.process().is_none());
    }
}

#[test]
fn a_damaged_block_is_one_error_and_is_told() {
    if !available() {
        return;
    }
    let content = prose(1_000_000);
    let place = Place::new(&[Node::file("f", content.clone()), Node::file("g", *b"sound")], &["-c", "zstd"]);
    let mut bytes = fs::read(place.image()).unwrap();
    // The first block is the first thing behind the superblock; without its beginning it is nothing that zstd knows.
    bytes[96..196].fill(0xff);
    fs::write(place.image(), bytes).unwrap();
    let (mut child, mut stderr) = place.foreground(&[]);
    let file = File::open(place.on().join("f")).unwrap();
    let mut buffer = vec![0; 1000];
    for _ in 0..2 {
        let error = file.read_at(&mut buffer, 5000).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(5), "{error}");
    }
    file.read_exact_at(&mut buffer, 500_000).unwrap();
    assert!(buffer == content[500_000..501_000]);
    assert_eq!(fs::read(place.on().join("g")).unwrap(), b"sound");
    let mut line = String::new();
    stderr.read_line(&mut line).unwrap();
    assert!(line.starts_with("packline: ") && line.contains("image") && line.contains("byte 96"), "{line}");
    signal::send("TERM", child.id()).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn what_cannot_be_mounted_is_refused_with_a_reason() {
    if !available() {
        return;
    }
    let place = Place::new(&[Node::file("f", *b"x")], &[]);
    let refused = |image: &Path, on: &Path, options: &[&str]| {
        let mut said = Vec::new();
        for way in [None, Some("--foreground")] {
            let mut command = Command::new(PACKLINE);
            command.arg("mount").args(way).args(options).arg(image).arg(on);
            let output = command.stdin(Stdio::null()).output().unwrap();
            assert!(output.stdout.is_empty() && !output.status.success(), "{output:?}");
            said.push((output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap()));
        }
        assert_eq!(said[0], said[1]);
        assert!(said[0].1.starts_with("packline: ") && said[0].1.lines().count() == 1, "{said:?}");
        said.remove(0)
    };
    let (image, on) = (place.image(), place.on());
    let (status, text) = refused(&image, &image, &[]);
    assert!(status == 1 && text.contains("not a directory"), "{text}");
    let (status, text) = refused(&image, &place.top.path().join("nowhere"), &[]);
    assert!(status == 1 && text.contains("nowhere"), "{text}");
    fs::write(place.top.path().join("no-image"), [7; 5000]).unwrap();
    assert_eq!(refused(&place.top.path().join("no-image"), &on, &[]).0, 1);
    assert_eq!(refused(&image, &on, &["--mem", "1M"]).0, 1);
    assert_eq!(refused(&image, &on, &["-o", "rw"]).0, 2);
    assert_eq!(refused(&image, &on, &["--offset", "100000000"]).0, 1);
    assert!(!place.is_mounted());
}

#[test]
fn a_mount_covers_what_was_there_as_any_mount_does() {
    if !available() {
        return;
    }
    let place = Place::new(&[Node::file("f", *b"x")], &[]);
    fs::write(place.on().join("below"), b"y").unwrap();
    place.mounted(&[]);
    place.mounted(&[]);
    assert!(place.on().join("f").exists() && !place.on().join("below").exists());
    place.unmount();
    assert!(place.on().join("f").exists());
    place.unmount();
    assert!(place.on().join("below").exists());
    becomes("both processes have ended", || place.process().is_none());
}

#[test]
fn an_image_behind_something_else_is_found_and_links_are_one_inode() {
    if !available() {
        return;
    }
    let nodes = generate::small_tree(3, 4096);
    let place = Place::new(&nodes, &["-c", "lz4"]);
    let bytes = fs::read(place.image()).unwrap();
    let root = fs::metadata(Mounted::kernel(&place.image()).unwrap().path()).unwrap().ino();
    fs::write(place.image(), [vec![b'#'; 12_345], bytes].concat()).unwrap();
    for options in [[].as_slice(), &["--offset", "12345"]] {
        place.mounted(options);
        let found = snapshot::of_directory(&place.on()).unwrap();
        snapshot::assert_same("behind", &snapshot::of_model(&nodes, false), &found, Except::default());
        assert_eq!(fs::metadata(place.on()).unwrap().ino(), root);
        place.unmount();
    }
}

/// Inode numbers below a directory, by path: those of the files, and those that its listings have.
fn inode_numbers(top: &Path) -> BTreeMap<PathBuf, (u64, u64)> {
    let mut found = BTreeMap::new();
    let mut pending = vec![top.to_path_buf()];
    while let Some(directory) = pending.pop() {
        for entry in fs::read_dir(&directory).unwrap().map(Result::unwrap) {
            let (path, about) = (entry.path(), fs::symlink_metadata(entry.path()).unwrap());
            if about.is_dir() {
                pending.push(path.clone());
            }
            // The file that the image calls 1, which is the root's number in the protocol, is listed with another.
            let listed = if about.ino() == 1 { 1 } else { entry.ino() };
            found.insert(path.strip_prefix(top).unwrap().to_path_buf(), (about.ino(), listed));
        }
    }
    let root = fs::metadata(top).unwrap().ino();
    found.insert(PathBuf::new(), (root, root));
    found
}

#[test]
fn inode_numbers_are_those_that_the_kernel_shows_of_the_image() {
    if !available() || !tools::need(&["mksquashfs"]) {
        return;
    }
    let mut nodes = generate::small_tree(5, 4096);
    nodes.extend((0..700).map(|number| Node::file(format!("many/{number}"), vec![b'x'; number])));
    let ours = [&["-c", "gzip"][..], &["-c", "gzip", "--exportable"]].map(|options| Place::new(&nodes, options));
    let [plain, _] = &ours;
    let theirs = ["-exports", "-no-exports"].map(|option| {
        let place = Place::new(&[], &[]);
        let source = Mounted::kernel(&plain.image()).unwrap();
        let mut command = Command::new("mksquashfs");
        command.arg(source.path()).arg(place.image()).args(["-noappend", "-quiet", "-no-progress", option]);
        tools::run(&mut command).unwrap();
        place
    });
    for place in ours.iter().chain(&theirs) {
        let expected = inode_numbers(Mounted::kernel(&place.image()).unwrap().path());
        assert!(expected.len() > 700 && expected.values().any(|&(number, _)| number == 1));
        place.mounted(&[]);
        assert_eq!(inode_numbers(&place.on()), expected);
        place.unmount();
    }
}

#[test]
fn inodes_of_one_number_are_told_apart() {
    if !available() {
        return;
    }
    let mut nodes: Vec<Node> = ["a", "b"].map(|name| Node::file(name, name.as_bytes().to_vec())).into();
    let times = [0x1122_3344, 0x5566_7788];
    nodes.iter_mut().zip(times).for_each(|(node, time)| node.mtime = time);
    for options in [&["--stored", "inodes"][..], &["--stored", "inodes", "--exportable"]] {
        let place = Place::new(&nodes, options);
        let mut bytes = fs::read(place.image()).unwrap();
        // The number is behind the time.
        let at = times.map(|time| bytes.windows(4).position(|four| four == (time as u32).to_le_bytes()).unwrap() + 4);
        bytes.copy_within(at[0]..at[0] + 4, at[1]);
        fs::write(place.image(), bytes).unwrap();
        place.mounted(&[]);
        let numbers = ["a", "b"].map(|name| fs::metadata(place.on().join(name)).unwrap().ino());
        let contents = ["a", "b"].map(|name| fs::read_to_string(place.on().join(name)).unwrap());
        assert_eq!(contents, ["a", "b"]);
        assert!(numbers[0] < 10 && numbers[1] > u64::from(u32::MAX), "{numbers:?}");
        place.unmount();
    }
}

#[test]
fn the_kernel_reads_ahead_for_every_processor() {
    if !available() {
        return;
    }
    let content = prose(3_000_000);
    let cases: [(&[&str], &str); 3] = [(&["-j1"], "256"), (&["-j3"], "768"), (&["-j2", "--auto-unmount"], "512")];
    for (options, kibibytes) in cases {
        let place = Place::new(&[Node::file("f", content.clone())], &["-c", "zstd"]);
        place.mounted(options);
        let device = fs::metadata(place.on()).unwrap().dev();
        let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
        let setting = PathBuf::from(format!("/sys/class/bdi/{major}:{minor}/read_ahead_kb"));
        if File::options().write(true).open(&setting).is_err() {
            tools::skip("/sys cannot be written to");
            return;
        }
        assert_eq!(fs::read_to_string(setting).unwrap().trim(), kibibytes, "{options:?}");
        assert!(fs::read(place.on().join("f")).unwrap() == content);
    }
}

#[test]
fn memory_stays_within_the_limit() {
    if !available() {
        return;
    }
    let content = prose(60_000_000);
    let place = Place::new(&[Node::file("f", content.clone())], &["-c", "lz4"]);
    assert_eq!(reader::codec_of(&place.image()).unwrap(), "lz4");
    place.mounted(&["--mem", "32M", "-j", "4"]);
    let mut read = Vec::new();
    File::open(place.on().join("f")).unwrap().read_to_end(&mut read).unwrap();
    assert!(read == content);
    let status = fs::read_to_string(format!("/proc/{}/status", place.process().unwrap())).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let kibibytes: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(kibibytes <= 32 << 10, "{kibibytes} KiB");
}
