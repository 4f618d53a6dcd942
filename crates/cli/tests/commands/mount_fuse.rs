//! `packline mount`: the mounted tree, start and end, damaged images, and little memory.

use std::collections::BTreeMap;
use std::fs::{self, File, Permissions};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::{DirEntryExt, FileExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::thread;
use std::time::Duration;

use packline_testkit::model::Node;
use packline_testkit::mount::{self, Mounted};
use packline_testkit::snapshot::{self, Except};
use packline_testkit::{Ran, Random, Sandbox, generate, reader, signal, tools};

use crate::{PACKLINE, sandbox};

fn available() -> bool {
    mount::fuse_available()
}

/// An image and a directory to mount it on. Nothing stays mounted.
struct MountPoint {
    sandbox: Sandbox,
}

impl MountPoint {
    fn new(nodes: &[Node], options: &[&str]) -> MountPoint {
        let sandbox = sandbox();
        sandbox.create_dir("on");
        sandbox.write_tar("source.tar", nodes);
        sandbox.good(&[&["pack", "source.tar", "image"], options].concat());
        sandbox.remove("source.tar");
        MountPoint { sandbox }
    }

    fn image(&self) -> PathBuf {
        self.sandbox.at("image")
    }

    fn on(&self) -> PathBuf {
        self.sandbox.at("on")
    }

    fn command(&self, options: &[&str]) -> Command {
        // The tests themselves may run with hangups ignored.
        let mut command = self.sandbox.program("env", &["--default-signal=HUP", PACKLINE, "mount"]);
        command.args(options).arg(self.image()).arg(self.on());
        command
    }

    /// Mounts in the background.
    fn start(&self, options: &[&str]) -> Ran {
        Ran::of(&mut self.command(options))
    }

    fn mounted(&self, options: &[&str]) {
        let ran = self.start(options);
        assert!(ran.status == 0 && ran.stdout.is_empty() && ran.stderr.is_empty(), "{ran:?}");
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

    /// The process that serves the mount.
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

impl Drop for MountPoint {
    fn drop(&mut self) {
        while self.is_mounted() {
            if !Command::new("umount").arg("-l").arg(self.on()).status().unwrap().success() {
                break;
            }
        }
    }
}

/// Waits until other processes have made a condition true.
pub fn becomes(what: &str, condition: impl Fn() -> bool) {
    for _ in 0..2000 {
        if condition() {
            return;
        }
        thread::sleep(Duration::from_millis(10));
    }
    panic!("never: {what}");
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
        let mount = MountPoint::new(&nodes, &["-c", codec, "-b", &block.to_string()]);
        mount.mounted(&[]);
        let found = snapshot::of_directory(&mount.on()).unwrap();
        snapshot::assert_same(codec, &snapshot::of_model(&nodes, false), &found, Except::default());
        mount.unmount();
        becomes("the process ends with the mount", || mount.process().is_none());
    }
}

#[test]
fn many_readers_see_the_same() {
    if !available() {
        return;
    }
    let content = Random::new(1).prose(9_000_000);
    let small = |number: usize| content[number * 1000..number * 1000 + 700].to_vec();
    let mut nodes: Vec<Node> = (0..200).map(|number| Node::file(format!("{number}"), small(number))).collect();
    nodes.push(Node::file("big", content.clone()));
    let mount = MountPoint::new(&nodes, &["-c", "lz4"]);
    mount.mounted(&["-j", "3", "--mem", "60M"]);
    let read = |seed: usize| {
        let big = File::open(mount.on().join("big")).unwrap();
        let mut buffer = vec![0; 300_000];
        for step in 0..100 {
            let offset = (seed + step * 7_777_777) % content.len();
            let length = 1 + step * 2999;
            let count = big.read_at(&mut buffer[..length], offset as u64).unwrap();
            assert!(count > 0 && buffer[..count] == content[offset..offset + count], "{length} bytes at {offset}");
            let number = (seed + step) % 200;
            assert!(fs::read(mount.on().join(number.to_string())).unwrap() == small(number));
        }
    };
    thread::scope(|scope| (0..4).for_each(|seed| drop(scope.spawn(move || read(seed * 999_983)))));
    assert!(fs::read(mount.on().join("big")).unwrap() == content);
}

#[test]
fn lists_large_directories_and_misses_absent_names() {
    if !available() {
        return;
    }
    let nodes: Vec<Node> = (0..20_000).map(|number| Node::file(format!("entry-{number:07}"), *b"")).collect();
    let mount = MountPoint::new(&nodes, &["-c", "lz4"]);
    mount.mounted(&[]);
    for _ in 0..2 {
        let entries = fs::read_dir(mount.on()).unwrap().map(Result::unwrap);
        let names: Vec<String> = entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
        assert_eq!(names.len(), 20_000);
        assert!(names.is_sorted() && names[19_999] == "entry-0019999");
    }
    for name in ["absent", "entry-", "z"] {
        let absent = || fs::metadata(mount.on().join(name)).unwrap_err().kind();
        assert_eq!((absent(), absent()), (std::io::ErrorKind::NotFound, std::io::ErrorKind::NotFound));
    }
    let refused = File::create(mount.on().join("new")).unwrap_err();
    assert_eq!(refused.kind(), std::io::ErrorKind::ReadOnlyFilesystem);
}

#[test]
fn signals_unmount_cleanly() {
    if !available() {
        return;
    }
    let mount = MountPoint::new(&[Node::file("f", *b"x")], &[]);
    for name in ["INT", "TERM", "HUP"] {
        let (mut child, _stderr) = mount.foreground(&[]);
        // An open file does not keep it mounted.
        let open = File::open(mount.on().join("f")).unwrap();
        signal::send(name, child.id()).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(0), "{name}");
        assert!(!mount.is_mounted(), "{name}");
        drop(open);
        mount.mounted(&[]);
        signal::send(name, mount.process().unwrap()).unwrap();
        becomes("the mount is gone", || !mount.is_mounted() && mount.process().is_none());
    }
}

/// Runs as mount(8) runs the helper of a type, with words of /etc/fstab.
#[test]
fn mounts_line_of_fstab() {
    if !available() {
        return;
    }
    let nodes = [Node::dir(""), Node::dir("d").owner(3, 4), Node::file("d/f", *b"x").owner(1, 2)];
    let mount = MountPoint::new(&nodes, &[]);
    mount.sandbox.write("behind", [vec![7; 4096], mount.sandbox.read("image")].concat());
    let helper = mount.sandbox.at("mount.packline");
    std::os::unix::fs::symlink(PACKLINE, &helper).unwrap();
    let helper = helper.to_str().unwrap();
    let on = mount.sandbox.arg("on");
    let words = "ro,noatime,nofail,_netdev,x-systemd.automount,uid=1234,gid=5678,offset=4096,fsname=my root";
    let ran = Ran::of(&mut mount.sandbox.program(helper, &["behind", &on, "-o", words]));
    assert!(ran.status == 0 && ran.stderr.is_empty(), "{ran:?}");
    for name in ["", "d", "d/f"] {
        let found = fs::metadata(mount.on().join(name)).unwrap();
        assert_eq!((found.uid(), found.gid()), (1234, 5678), "{name}");
    }
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    assert!(mounts.lines().any(|line| line.starts_with(&format!("my\\040root {on} fuse.packline ro,"))), "{mounts}");
    mount.unmount();
    let ran = Ran::of(&mut mount.sandbox.program(helper, &["image", &on, "-o", "defaults,gid=9"]));
    assert!(ran.status == 0 && ran.stderr.is_empty(), "{ran:?}");
    let found = fs::metadata(mount.on().join("d/f")).unwrap();
    assert_eq!((found.uid(), found.gid()), (1, 9));
}

#[test]
fn users_mount_although_a_directory_in_path_is_closed() {
    if !available() || !tools::root() || !tools::need(&["setpriv"]) {
        return;
    }
    let mount = MountPoint::new(&[Node::file("f", *b"x")], &[]);
    let open = |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    let closed = mount.sandbox.create_dir("closed");
    open(&closed, 0o700);
    open(mount.sandbox.path(), 0o755);
    open(&mount.on(), 0o777);
    let with_path = |path: &str, words: &[&str]| {
        let path = format!("PATH={path}");
        let user = ["--reuid=65534", "--regid=65534", "--clear-groups", "env", &path];
        Ran::of(&mut mount.sandbox.program("setpriv", &[&user[..], words].concat()))
    };
    let closed = closed.display().to_string();
    for (path, cause) in [(&*closed, "Permission denied"), ("/none", "No such file or directory")] {
        let ran = with_path(path, &[PACKLINE, "mount", "image", "on"]);
        let expected = "packline: fusermount3 or fusermount: cannot start the program that mounts for users: ";
        assert!(ran.status == 1 && ran.stderr.starts_with(&format!("{expected}{cause}")), "{ran:?}");
    }
    let programs = format!("{closed}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin");
    let ran = with_path(&programs, &[PACKLINE, "mount", "image", "on"]);
    assert!(ran.status == 0 && mount.is_mounted(), "{ran:?}");
    assert_eq!(with_path(&programs, &["cat", "on/f"]).stdout, b"x");
    let ran = with_path(&programs, &[PACKLINE, "umount", "on"]);
    assert!(ran.status == 0 && !mount.is_mounted(), "{ran:?}");
}

#[test]
fn auto_unmount_leaves_no_dead_mount() {
    if !available() {
        return;
    }
    let mount = MountPoint::new(&[Node::file("f", *b"x")], &[]);
    for options in [["--auto-unmount"].as_slice(), &["-o", "auto_unmount,allow_other,nosuid,ro"]] {
        mount.mounted(options);
        assert_eq!(fs::read(mount.on().join("f")).unwrap(), b"x");
        signal::send("KILL", mount.process().unwrap()).unwrap();
        becomes("the mount is gone", || !mount.is_mounted());
        mount.mounted(options);
        tools::run(Command::new("fusermount").arg("-u").arg(mount.on())).unwrap();
        becomes("the process ends with the mount", || mount.process().is_none());
    }
}

#[test]
fn a_damaged_block_is_one_error_and_is_reported() {
    if !available() {
        return;
    }
    let content = Random::new(1).prose(1_000_000);
    let mount = MountPoint::new(&[Node::file("f", content.clone()), Node::file("g", *b"sound")], &["-c", "zstd"]);
    let mut bytes = fs::read(mount.image()).unwrap();
    // The first block follows the superblock. Without its beginning it is not a zstd frame.
    bytes[96..196].fill(0xff);
    fs::write(mount.image(), bytes).unwrap();
    let (mut child, mut stderr) = mount.foreground(&[]);
    let file = File::open(mount.on().join("f")).unwrap();
    let mut buffer = vec![0; 1000];
    for _ in 0..2 {
        let error = file.read_at(&mut buffer, 5000).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(5), "{error}");
    }
    file.read_exact_at(&mut buffer, 500_000).unwrap();
    assert!(buffer == content[500_000..501_000]);
    assert_eq!(fs::read(mount.on().join("g")).unwrap(), b"sound");
    let mut line = String::new();
    stderr.read_line(&mut line).unwrap();
    assert!(line.starts_with("packline: ") && line.contains("image") && line.contains("byte 96"), "{line}");
    signal::send("TERM", child.id()).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn rejects_unmountable_images_with_reason() {
    if !available() {
        return;
    }
    let mount = MountPoint::new(&[Node::file("f", *b"x")], &[]);
    let refused = |image: &Path, on: &Path, options: &[&str]| {
        let [background, foreground] = [None, Some("--foreground")].map(|option| {
            let mut command = mount.sandbox.command(&["mount"]);
            let ran = Ran::of(command.args(option).args(options).arg(image).arg(on));
            assert!(ran.stdout.is_empty() && ran.status != 0, "{ran:?}");
            (ran.status, ran.stderr)
        });
        assert_eq!(background, foreground);
        assert!(background.1.starts_with("packline: ") && background.1.lines().count() == 1, "{background:?}");
        background
    };
    let image = mount.image();
    let on = mount.on();
    let (status, text) = refused(&image, &image, &[]);
    assert!(status == 1 && text.contains("not a directory"), "{text}");
    let (status, text) = refused(&image, &mount.sandbox.at("nowhere"), &[]);
    assert!(status == 1 && text.contains("nowhere"), "{text}");
    let no_image = mount.sandbox.write("no-image", [7; 5000]);
    assert_eq!(refused(&no_image, &on, &[]).0, 1);
    assert_eq!(refused(&image, &on, &["--mem", "1M"]).0, 1);
    assert_eq!(refused(&image, &on, &["-o", "rw"]).0, 2);
    assert_eq!(refused(&image, &on, &["--offset", "100000000"]).0, 1);
    assert!(!mount.is_mounted());
}

#[test]
fn a_mount_covers_what_was_there_as_any_mount_does() {
    if !available() {
        return;
    }
    let mount = MountPoint::new(&[Node::file("f", *b"x")], &[]);
    fs::write(mount.on().join("below"), b"y").unwrap();
    mount.mounted(&[]);
    mount.mounted(&[]);
    assert!(mount.on().join("f").exists() && !mount.on().join("below").exists());
    mount.unmount();
    assert!(mount.on().join("f").exists());
    mount.unmount();
    assert!(mount.on().join("below").exists());
    becomes("both processes have ended", || mount.process().is_none());
}

#[test]
fn an_image_after_other_data_is_found_and_links_are_one_inode() {
    if !available() || !mount::kernel_mounts("lz4") {
        return;
    }
    let nodes = generate::small_tree(3, 4096);
    let mount = MountPoint::new(&nodes, &["-c", "lz4"]);
    let bytes = fs::read(mount.image()).unwrap();
    let root = fs::metadata(Mounted::kernel(&mount.image()).unwrap().path()).unwrap().ino();
    fs::write(mount.image(), [vec![b'#'; 12_345], bytes].concat()).unwrap();
    for options in [[].as_slice(), &["--offset", "12345"]] {
        mount.mounted(options);
        let found = snapshot::of_directory(&mount.on()).unwrap();
        snapshot::assert_same("behind", &snapshot::of_model(&nodes, false), &found, Except::default());
        assert_eq!(fs::metadata(mount.on()).unwrap().ino(), root);
        mount.unmount();
    }
}

/// Inode numbers below a directory, by path: those of stat, and those of readdir.
fn inode_numbers(top: &Path) -> BTreeMap<PathBuf, (u64, u64)> {
    let mut found = BTreeMap::new();
    let mut pending = vec![top.to_path_buf()];
    while let Some(directory) = pending.pop() {
        for entry in fs::read_dir(&directory).unwrap().map(Result::unwrap) {
            let (path, about) = (entry.path(), fs::symlink_metadata(entry.path()).unwrap());
            if about.is_dir() {
                pending.push(path.clone());
            }
            // Number 1 is the root's in the protocol: readdir lists the image's inode 1 with another.
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
    if !available() || !mount::kernel_mounts("gzip") || !tools::need(&["mksquashfs"]) {
        return;
    }
    let mut nodes = generate::small_tree(5, 4096);
    nodes.extend((0..700).map(|number| Node::file(format!("many/{number}"), vec![b'x'; number])));
    let ours = [&["-c", "gzip"][..], &["-c", "gzip", "--exportable"]].map(|options| MountPoint::new(&nodes, options));
    let [plain, _] = &ours;
    let theirs = ["-exports", "-no-exports"].map(|option| {
        let mount = MountPoint::new(&[], &[]);
        let source = Mounted::kernel(&plain.image()).unwrap();
        let mut command = Command::new("mksquashfs");
        command.arg(source.path()).arg(mount.image()).args(["-noappend", "-quiet", "-no-progress", option]);
        tools::run(&mut command).unwrap();
        mount
    });
    for mount in ours.iter().chain(&theirs) {
        let expected = inode_numbers(Mounted::kernel(&mount.image()).unwrap().path());
        assert!(expected.len() > 700 && expected.values().any(|&(number, _)| number == 1));
        mount.mounted(&[]);
        assert_eq!(inode_numbers(&mount.on()), expected);
        mount.unmount();
    }
}

#[test]
fn keeps_inodes_with_equal_numbers_distinct() {
    if !available() {
        return;
    }
    let mut nodes: Vec<Node> = ["a", "b"].map(|name| Node::file(name, name.as_bytes().to_vec())).into();
    let times = [0x1122_3344, 0x5566_7788];
    nodes.iter_mut().zip(times).for_each(|(node, time)| node.mtime = time);
    for options in [&["--stored", "inodes"][..], &["--stored", "inodes", "--exportable"]] {
        let mount = MountPoint::new(&nodes, options);
        let mut bytes = fs::read(mount.image()).unwrap();
        // The number follows the time.
        let at = times.map(|time| bytes.windows(4).position(|four| four == (time as u32).to_le_bytes()).unwrap() + 4);
        bytes.copy_within(at[0]..at[0] + 4, at[1]);
        fs::write(mount.image(), bytes).unwrap();
        mount.mounted(&[]);
        let numbers = ["a", "b"].map(|name| fs::metadata(mount.on().join(name)).unwrap().ino());
        let contents = ["a", "b"].map(|name| fs::read_to_string(mount.on().join(name)).unwrap());
        assert_eq!(contents, ["a", "b"]);
        assert!(numbers[0] < 10 && numbers[1] > u64::from(u32::MAX), "{numbers:?}");
        mount.unmount();
    }
}

#[test]
fn the_kernel_reads_ahead_for_every_processor() {
    if !available() {
        return;
    }
    let content = Random::new(1).prose(3_000_000);
    let cases: [(&[&str], &str); 3] = [(&["-j1"], "256"), (&["-j3"], "768"), (&["-j2", "--auto-unmount"], "512")];
    for (options, kibibytes) in cases {
        let mount = MountPoint::new(&[Node::file("f", content.clone())], &["-c", "zstd"]);
        mount.mounted(options);
        let device = fs::metadata(mount.on()).unwrap().dev();
        let major = rustix::fs::major(device);
        let minor = rustix::fs::minor(device);
        let setting = PathBuf::from(format!("/sys/class/bdi/{major}:{minor}/read_ahead_kb"));
        if File::options().write(true).open(&setting).is_err() {
            tools::skip("/sys cannot be written to");
            return;
        }
        assert_eq!(fs::read_to_string(setting).unwrap().trim(), kibibytes, "{options:?}");
        assert!(fs::read(mount.on().join("f")).unwrap() == content);
    }
}

#[test]
fn memory_stays_within_the_limit() {
    if !available() {
        return;
    }
    let content = Random::new(1).prose(60_000_000);
    let mount = MountPoint::new(&[Node::file("f", content.clone())], &["-c", "lz4"]);
    assert_eq!(reader::codec_of(&mount.image()).unwrap(), "lz4");
    mount.mounted(&["--mem", "32M", "-j", "4"]);
    let mut read = Vec::new();
    File::open(mount.on().join("f")).unwrap().read_to_end(&mut read).unwrap();
    assert!(read == content);
    let status = fs::read_to_string(format!("/proc/{}/status", mount.process().unwrap())).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let kibibytes: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(kibibytes <= 32 << 10, "{kibibytes} KiB");
}
