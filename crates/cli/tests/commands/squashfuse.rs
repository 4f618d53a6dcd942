//! Compares the drop-ins `squashfuse` and `squashfuse_ll` with squashfuse: trees, exit statuses, words, and the start and end of a
//! mount.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use packline_testkit::model::Node;
use packline_testkit::snapshot::{self, Except};
use packline_testkit::{Ran, Sandbox, generate, mount, signal, tools};
use rustix::fs::{CWD, FileType, Mode, mknodat, statvfs};

use crate::mount_fuse::becomes;
use crate::{PACKLINE, sandbox};

const NAMES: [&str; 2] = ["squashfuse", "squashfuse_ll"];

pub fn available(programs: &[&str]) -> bool {
    tools::need(programs) && mount::fuse_available()
}

/// An image, and a directory `on` to mount it on. Nothing stays mounted.
struct Point(Sandbox);

impl Point {
    fn new(nodes: &[Node]) -> Point {
        let sandbox = sandbox();
        sandbox.create_dir("on");
        sandbox.write_tar("source.tar", nodes);
        sandbox.good(&["pack", "source.tar", "image", "-c", "gzip", "-b", "4096"]);
        for name in NAMES {
            std::os::unix::fs::symlink(PACKLINE, sandbox.at(name)).unwrap();
        }
        Point(sandbox)
    }

    /// The tree of most tests.
    fn small() -> Point {
        let file = |name: &str, mode: u16| Node { mode, ..Node::file(name, *b"x") };
        Point::new(&[Node::dir(""), Node::dir("d").owner(3, 4), file("d/f", 0o644).owner(1, 2), file("secret", 0o600)])
    }

    fn on(&self) -> PathBuf {
        self.0.at("on")
    }

    /// A drop-in, called by its name in the directory of the sandbox.
    fn ours(&self, name: &str, arguments: &[&str]) -> Command {
        // The tests themselves may run with signals ignored.
        let program = self.0.arg(name);
        self.0.program("env", &[&["--default-signal=HUP,INT", &program], arguments].concat())
    }

    fn mounted(&self, name: &str, arguments: &[&str]) {
        let ran = Ran::of(&mut self.ours(name, arguments));
        assert!(ran.status == 0 && ran.stdout.is_empty() && ran.stderr.is_empty(), "{arguments:?}: {ran:?}");
        assert!(self.mount().is_some(), "{arguments:?}");
    }

    /// Type, source and options of what is mounted on the directory.
    fn mount(&self) -> Option<(String, String, String)> {
        let on = self.0.arg("on");
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
        let mut rows = mounts.lines().map(|line| line.split(' ').collect::<Vec<&str>>());
        let row = rows.rfind(|row| row[1] == on)?;
        Some((row[2].to_string(), row[0].to_string(), row[3].to_string()))
    }

    fn unmount(&self) {
        tools::run(Command::new("umount").arg(self.on())).unwrap();
    }
}

impl Drop for Point {
    fn drop(&mut self) {
        while self.mount().is_some() {
            if !Command::new("umount").arg("-l").arg(self.on()).status().unwrap().success() {
                break;
            }
        }
    }
}

/// Attributes that both programs show, by path, and contents of files.
fn tree(top: &Path) -> BTreeMap<PathBuf, (Vec<i64>, Vec<u8>)> {
    let mut found = BTreeMap::new();
    let mut pending = vec![top.to_path_buf()];
    while let Some(path) = pending.pop() {
        let about = fs::symlink_metadata(&path).unwrap();
        // squashfuse shows no size of a directory, and shows each name of a hard link with its own inode.
        let size = if about.is_dir() { 0 } else { about.size() };
        let numbers = [about.mode().into(), about.uid().into(), about.gid().into(), about.mtime(), size as i64];
        let numbers = [&numbers[..], &[about.nlink() as i64, about.rdev() as i64]].concat();
        let content = match about.file_type() {
            kind if kind.is_file() => fs::read(&path).unwrap(),
            kind if kind.is_symlink() => fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes(),
            kind => {
                assert!(
                    kind.is_dir()
                        || kind.is_fifo()
                        || kind.is_socket()
                        || kind.is_char_device()
                        || kind.is_block_device()
                );
                Vec::new()
            }
        };
        if about.is_dir() {
            pending.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
        found.insert(path.strip_prefix(top).unwrap().to_path_buf(), (numbers, content));
    }
    found
}

#[test]
fn the_tree_is_the_one_that_squashfuse_shows() {
    if !available(&NAMES) {
        return;
    }
    let nodes = generate::small_tree(9, 4096);
    let point = Point::new(&nodes);
    for name in NAMES {
        let seen = [true, false].map(|ours| {
            if ours {
                point.mounted(name, &["image", "on"])
            } else {
                _ = Ran::good(&mut point.0.program(name, &["image", "on"]))
            }
            let (kind, source, options) = point.mount().unwrap();
            let fs = statvfs(point.on()).unwrap();
            let seen = (tree(&point.on()), kind, source, [fs.f_blocks, fs.f_bsize, fs.f_files, fs.f_bfree]);
            if ours {
                let found = snapshot::of_directory(&point.on()).unwrap();
                snapshot::assert_same(name, &snapshot::of_model(&nodes, false), &found, Except::default());
                assert!(options.starts_with("ro,nosuid,nodev"), "{options}");
            }
            point.unmount();
            seen
        });
        let [ours, theirs] = &seen;
        assert_eq!((&ours.1, &ours.2, ours.3), (&theirs.1, &theirs.2, theirs.3));
        assert_eq!(ours.0.keys().collect::<Vec<_>>(), theirs.0.keys().collect::<Vec<_>>());
        for (path, (numbers, content)) in &ours.0 {
            assert!(
                theirs.0[path] == (numbers.clone(), content.clone()),
                "{path:?}: {numbers:?} {:?}",
                theirs.0[path].0
            );
        }
    }
}

#[test]
fn exit_statuses_are_those_of_squashfuse() {
    if !available(&NAMES) {
        return;
    }
    let point = Point::small();
    point.0.write("no-image", [7; 5000]);
    for name in NAMES {
        for (status, arguments) in [
            (0, &["image", "on"][..]),
            (0, &["-o", "", "image", "on"]),
            (0, &["-oallow_other", "image", "--", "on"]),
            (255, &["no-image", "on"]),
            (255, &["nowhere", "on"]),
            (255, &["on", "on"]),
            (255, &["-o", "offset=1", "image", "on"]),
            (255, &["-o", "offset=100000000", "image", "on"]),
            (if name == "squashfuse" { 1 } else { 254 }, &["image", "nowhere"]),
            (254, &["image", "on", "more"]),
            (254, &["-o", "offset=", "image", "on"]),
            (254, &["-o", "offset=x", "image", "on"]),
        ] {
            // Debian's programs append an option, which -- makes an operand.
            let theirs = !arguments.contains(&"--");
            for mut command in [Some(point.ours(name, arguments)), theirs.then(|| point.0.program(name, arguments))]
                .into_iter()
                .flatten()
            {
                let ran = Ran::of(&mut command);
                assert_eq!(ran.status, status, "{command:?}: {ran:?}");
                assert_eq!((point.mount().is_some(), ran.stderr.is_empty()), (status == 0, status == 0), "{ran:?}");
                if status == 0 {
                    // Mounted over again: it is not busy for either.
                    assert_eq!(Ran::of(&mut command).status, 0);
                    point.unmount();
                    point.unmount();
                }
            }
        }
        // The drop-in does not mount on a file.
        let ran = Ran::of(&mut point.ours(name, &["image", "image"]));
        assert!(
            ran.status == if name == "squashfuse" { 4 } else { 1 } && ran.stderr.contains("not a directory"),
            "{ran:?}"
        );
        let ran = Ran::of(&mut point.ours(name, &["-o", "subdir=d/f", "image", "on"]));
        assert!(ran.status == 255 && ran.stderr.contains("is not a directory"), "{ran:?}");
    }
}

#[test]
fn words_change_the_mount() {
    if !available(&[]) {
        return;
    }
    let point = Point::small();
    point.0.write("behind", [vec![7; 4096], point.0.read("image")].concat());
    let owner = |path: &str| fs::metadata(point.on().join(path)).map(|about| (about.uid(), about.gid())).unwrap();
    for (name, zero) in [("squashfuse", (0, 0)), ("squashfuse_ll", (1, 2))] {
        point.mounted(name, &["-o", "uid=1234,gid=5678,offset=4096", "behind", "on"]);
        assert_eq!((owner("d"), owner("d/f")), ((1234, 5678), (1234, 5678)));
        point.unmount();
        point.mounted(name, &["-o", "uid=0,gid=0", "image", "on"]);
        assert_eq!(owner("d/f"), zero);
        point.unmount();
        point.mounted(name, &["image", "on", "-o", r"subdir=/d/,rw,fsname=a\,b,subtype=c", "-s"]);
        let (kind, source, options) = point.mount().unwrap();
        assert_eq!((kind.as_str(), source.as_str()), ("fuse.c", "a,b"));
        assert!(options.starts_with("ro,nosuid,nodev,"), "{options}");
        assert_eq!((owner(""), point.0.names_in("on")), ((3, 4), vec!["f".to_string()]));
        assert_eq!(fs::read_link(point.on().join("..")).unwrap_err().raw_os_error(), Some(22));
        point.unmount();
        point
            .mounted(name, &["-o", "suid,dev,noexec,subtype=only,max_threads=1,nonempty,max_read=4096", "image", "on"]);
        let (kind, source, options) = point.mount().unwrap();
        assert_eq!((kind.as_str(), source.as_str()), ("fuse.only", "only"));
        assert!(options.starts_with("ro,noexec"), "{options}");
        assert_eq!(File::create(point.on().join("new")).unwrap_err().raw_os_error(), Some(30));
        point.unmount();
    }
}

#[test]
fn access_rights_match_squashfuse() {
    if !available(&["squashfuse", "squashfuse_ll", "setpriv"]) {
        return;
    }
    let point = Point::small();
    // Others must be able to reach the mount point.
    tools::run(Command::new("chmod").arg("755").arg(point.0.path())).unwrap();
    let readable = |file: &str| {
        let arguments = ["--reuid=65534", "--regid=65534", "--clear-groups", "cat", file];
        Ran::of(&mut point.0.program("setpriv", &arguments)).status == 0
    };
    for name in NAMES {
        for (words, public, secret) in [
            ("ro", false, false),
            ("allow_other", true, true),
            ("allow_other,default_permissions", true, false),
            ("allow_root", false, false),
        ] {
            for mut command in
                [point.ours(name, &["-o", words, "image", "on"]), point.0.program(name, &["-o", words, "image", "on"])]
            {
                Ran::good(&mut command);
                assert_eq!((readable("on/d/f"), readable("on/secret")), (public, secret), "{command:?}");
                assert_eq!(fs::read(point.on().join("secret")).unwrap(), b"x");
                point.unmount();
            }
        }
    }
    let ran = Ran::of(&mut point.ours("squashfuse", &["-o", "allow_root,allow_other", "image", "on"]));
    assert!(ran.status == 254 && ran.stderr.contains("exclude each other"), "{ran:?}");
}

#[test]
fn an_idle_mount_ends_and_an_open_file_keeps_it() {
    if !available(&[]) {
        return;
    }
    let point = Point::small();
    point.mounted("squashfuse_ll", &["-o", "timeout=1", "image", "on"]);
    let open = File::open(point.on().join("d/f")).unwrap();
    thread::sleep(Duration::from_secs(4));
    assert!(point.mount().is_some());
    drop(open);
    becomes("the mount is gone", || point.mount().is_none());
    let mut child = point.ours("squashfuse", &["-f", "-o", "timeout=1", "image", "on"]).spawn().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(point.mount().is_none());
}

#[test]
fn notifies_pipe_of_success_and_failure() {
    if !available(&[]) {
        return;
    }
    let point = Point::small();
    let pipe = point.0.at("pipe");
    mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    assert!(fs::metadata(&pipe).unwrap().file_type().is_fifo());
    let heard = || fs::read_to_string(&pipe).unwrap();
    for name in NAMES {
        for foreground in [&[][..], &["-f"]] {
            for (heard_is, words, image) in [
                ("s", "notify_pipe=pipe", "image"),
                ("f", "notify_pipe=pipe", "nowhere"),
                ("f", "notify_pipe=pipe,offset=1", "image"),
                ("f", "notify_pipe=pipe,wsize=3", "image"),
            ] {
                let arguments = [foreground, &["-o", words, image, "on"]].concat();
                let mut child = point.ours(name, &arguments).stderr(Stdio::null()).spawn().unwrap();
                assert_eq!(heard(), heard_is, "{arguments:?}");
                if heard_is == "s" {
                    assert_eq!(fs::read(point.on().join("d/f")).unwrap(), b"x");
                    point.unmount();
                }
                assert_eq!(child.wait().unwrap().success(), heard_is == "s", "{arguments:?}");
            }
        }
    }
    let ran = Ran::of(&mut point.ours("squashfuse", &["-o", "notify_pipe=on", "image", "on"]));
    assert_eq!(ran.status, 0, "{ran:?}");
    let ran = Ran::of(&mut point.ours("squashfuse", &["-o", "notify_pipe=image", "nowhere", "on"]));
    assert!(
        ran.status == 255 && ran.stderr.contains("notify_pipe: ") && ran.stderr.contains("not a named pipe"),
        "{ran:?}"
    );
}

/// Runs as apptainer runs it: with the image and the mount as descriptors, in the foreground and in the background.
#[test]
fn descriptors_are_image_and_mount_point() {
    if !available(&["mount"]) {
        return;
    }
    let point = Point::small();
    let mount = "exec 4<image 3<>/dev/fuse; \
                 mount -i -t fuse.given -o ro,fd=3,rootmode=40000,user_id=0,group_id=0,allow_other src \"$PWD/on\" && ";
    for name in NAMES {
        for (foreground, command) in [(true, "exec ./NAME -f -o ro"), (false, "./NAME -o ro,timeout=30")] {
            let script = format!("{mount}{} /proc/self/fd/4 /dev/fd/3", command.replace("NAME", name));
            let mut child = point.0.program("sh", &["-c", &script]).spawn().unwrap();
            becomes("it can be used", || point.mount().is_some_and(|(kind, ..)| kind == "fuse.given"));
            assert_eq!(fs::read(point.on().join("d/f")).unwrap(), b"x");
            if foreground {
                point.unmount();
            }
            assert_eq!(child.wait().unwrap().code(), Some(0), "{script}");
            if !foreground {
                assert_eq!(fs::read(point.on().join("secret")).unwrap(), b"x");
                point.unmount();
            }
        }
    }
    let ran = Ran::of(&mut point.0.program("sh", &["-c", "exec ./squashfuse_ll -f image /dev/fd/9"]));
    assert!(ran.status == 1 && ran.stderr.contains("/dev/fd/9: cannot be used as a mount point"), "{ran:?}");
}

/// Starts in the foreground, and waits until the image can be used.
fn in_foreground(point: &Point, arguments: &[&str]) -> Child {
    let mut command = point.ours("squashfuse_ll", &[arguments, &["image", "on"]].concat());
    let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    becomes("it is mounted", || point.mount().is_some());
    assert_eq!(fs::read(point.on().join("d/f")).unwrap(), b"x");
    child
}

#[test]
fn signals_end_it_and_debugging_prints_requests() {
    if !available(&[]) {
        return;
    }
    let point = Point::small();
    for name in ["INT", "TERM", "HUP"] {
        let mut child = in_foreground(&point, &["-f"]);
        signal::send(name, child.id()).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(0), "{name}");
        assert!(point.mount().is_none(), "{name}");
    }
    for option in [&["-d"][..], &["-o", "debug"]] {
        let mut child = in_foreground(&point, option);
        point.unmount();
        assert_eq!(child.wait().unwrap().code(), Some(0));
        let mut text = String::new();
        child.stderr.take().unwrap().read_to_string(&mut text).unwrap();
        assert!(text.lines().all(|line| line.starts_with("squashfuse_ll: ")), "{text}");
        assert!(text.contains("LOOKUP") && text.contains("\"f\""), "{text}");
    }
    let mut child = in_foreground(&point, &["-f", "--announce"]);
    point.unmount();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let mut announced = point.ours("squashfuse", &["-f", "--announce", "image", "on"]);
    let mut child = announced.stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "mounted\n");
    point.unmount();
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_mount_that_lacks_privileges_does_not_blame_the_directory() {
    if !available(&["setpriv", "fusermount"]) || !tools::root() {
        return;
    }
    let point = Point::new(&[Node::file("f", *b"x")]);
    for (name, mode) in [("", 0o755), ("on", 0o777)] {
        fs::set_permissions(point.0.at(name), fs::Permissions::from_mode(mode)).unwrap();
    }
    let user = ["--reuid=65534", "--regid=65534", "--clear-groups", "--no-new-privs"];
    let ran = Ran::of(&mut point.0.program("setpriv", &[&user[..], &[PACKLINE, "mount", "image", "on"]].concat()));
    assert!(
        ran.status == 1 && ran.stderr.starts_with("packline: on: cannot mount an image here: fusermount"),
        "{ran:?}"
    );
    assert!(ran.stderr.contains("Operation not permitted; fusermount may not mount: "), "{ran:?}");
}
