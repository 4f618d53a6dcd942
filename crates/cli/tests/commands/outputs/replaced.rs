//! Existing outputs: what each command keeps of a replaced file, and where a rename cannot replace it.

use std::fs::{self, File, Permissions};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;
use std::process::Command;

use packline_testkit::mount::Mounted;
use packline_testkit::{Ran, Random, Sandbox, tools};

use crate::{PACKLINE, sandbox};

/// Command lines that replace `D/FILE`, the last of whose names is that file.
const LINES: [&str; 16] = [
    "pack -q -f tree D/o.sqfs",
    "pack -q -f tree D/o.erofs",
    "pack -q -f tree.tar D/o.sqfs",
    "pack -q -f tree D/o.lrz",
    "mksquashfs tree D/o.sqfs -noappend -quiet -no-progress",
    "gensquashfs -q -f -D tree D/o.sqfs",
    "unpack -q -f old.sqfs D/o.tar",
    "compress -q -f f -o D/o.pln",
    "compress -q -f --recovery 5% f -o D/o.pln",
    "decompress -q -f f.pln -o D/o",
    "lrzip -q -f f -o D/o.lrz",
    "lrzip -q -d -f f.lrz -o D/o",
    "delta -q -f old.sqfs new.sqfs D/o.pld",
    "patch -q -f old.sqfs d.pld D/o",
    "protect -q -f f -o D/o.recovery",
    "repair -q -f damaged --recovery f.recovery -o D/o",
];

fn sources() -> Sandbox {
    let sandbox = sandbox();
    sandbox.write("tree/text", "some text ".repeat(3000));
    sandbox.write("tree/noise", Random::new(5).noise(50_000));
    sandbox.good(&["pack", "-q", "tree", "old.sqfs"]);
    sandbox.write("tree/more", "more");
    sandbox.good(&["pack", "-q", "tree", "new.sqfs"]);
    sandbox.good(&["unpack", "-q", "new.sqfs", "tree.tar"]);
    let mut content = Random::new(6).noise(40_000);
    sandbox.write("f", &content);
    sandbox.good(&["compress", "-q", "f"]);
    sandbox.good(&["lrzip", "-q", "f"]);
    sandbox.good(&["protect", "-q", "f"]);
    sandbox.good(&["delta", "-q", "old.sqfs", "new.sqfs", "d.pld"]);
    content[9] ^= 1;
    sandbox.write("damaged", &content);
    // Another user reads them.
    sandbox.shell("chmod -R a+rX .");
    sandbox
}

/// The words of a line, with this directory.
fn words(line: &str, directory: &str) -> Vec<String> {
    line.split(' ').map(|word| word.replace("D/", &format!("{directory}/"))).collect()
}

/// The output of a line.
fn output(line: &str) -> &str {
    line.split(' ').find_map(|word| word.strip_prefix("D/")).unwrap()
}

#[test]
fn each_command_replaces_a_file_only_if_asked_to() {
    let sandbox = sources();
    for line in LINES.iter().filter(|line| line.contains(" -f ")) {
        let path = sandbox.write(format!("d/{}", output(line)), "old");
        let message = sandbox.bad(1, &words(&line.replace(" -f ", " "), "d"));
        assert!(message.contains("exists") && fs::read(&path).unwrap() == b"old", "{line}: {message}");
        assert_eq!(sandbox.names_in("d"), [output(line)], "{line}");
        sandbox.good(&words(line, "d"));
        assert!(fs::metadata(&path).unwrap().len() > 3, "{line}");
        sandbox.remove("d");
    }
}

#[test]
fn each_command_creates_the_file_that_a_link_names() {
    let sandbox = sources();
    for line in LINES {
        for line in [line.to_string(), line.replace(" -f ", " ")] {
            let link = sandbox.create_dir("d").join(output(&line));
            std::os::unix::fs::symlink("../other/new", &link).unwrap();
            let refused = sandbox.bad(1, &words(&line, "d"));
            assert!(
                refused.contains("cannot create the link's target: d/../other/new: No such file"),
                "{line}: {refused}"
            );
            sandbox.create_dir("other");
            sandbox.good(&words(&line, "d"));
            assert!(link.is_symlink() && fs::metadata(sandbox.at("other/new")).unwrap().len() > 0, "{line}");
            assert_eq!(fs::read_dir(sandbox.at("other")).unwrap().count(), 1, "{line}");
            sandbox.remove("d");
            sandbox.remove("other");
        }
    }
}

#[test]
fn sqfstar_unpack_and_traces_create_what_a_link_names() {
    let sandbox = sources();
    for (name, line) in [
        ("image", "sqfstar -quiet -no-progress image"),
        ("new", "unpack -q old.sqfs new"),
        ("dir", "unsquashfs -q -n -no-progress -d dir old.sqfs"),
        ("trace", "pack -q --trace trace tree traced.sqfs"),
    ] {
        std::os::unix::fs::symlink(format!("{name}-target"), sandbox.at(name)).unwrap();
        sandbox.good_on(&line.split(' ').collect::<Vec<_>>(), "tree.tar");
        assert!(sandbox.at(name).is_symlink() && sandbox.at(format!("{name}-target")).exists(), "{line}");
    }
    assert!(sandbox.read("new-target/text") == sandbox.read("dir-target/text"));
}

fn as_user(sandbox: &Sandbox, arguments: &[String]) -> Ran {
    let user = ["--reuid=65534", "--regid=65534", "--clear-groups", PACKLINE].map(String::from);
    let mut command = sandbox.program("setpriv", &[&user[..], arguments].concat());
    // The usual one need not be theirs.
    Ran::of(command.env("TMPDIR", "/tmp"))
}

#[test]
fn each_command_keeps_mode_owner_and_attributes_of_the_file_that_it_replaces() {
    if !tools::root() || !tools::need(&["setfattr", "getfattr"]) {
        return;
    }
    let sandbox = sources();
    for line in LINES {
        let path = sandbox.write(format!("d/{}", output(line)), "old");
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        chown(&path, Some(1234), Some(1235)).unwrap();
        sandbox.peer("setfattr", &["-n", "user.origin", "-v", "here", path.to_str().unwrap()]);
        let ran = sandbox.good(&words(line, "d"));
        let about = fs::metadata(&path).unwrap();
        assert_eq!((about.mode() & 0o7777, about.uid(), about.gid()), (0o600, 1234, 1235), "{line}: {ran:?}");
        let kept = sandbox.peer("getfattr", &["-n", "user.origin", "--only-values", path.to_str().unwrap()]);
        assert_eq!(kept.text(), "here", "{line}");
        assert!(about.len() > 3 && ran.stderr.is_empty(), "{line}: {ran:?}");
        sandbox.remove("d");
    }
}

#[test]
fn each_command_warns_of_recovery_data_of_the_file_that_it_replaces() {
    let sandbox = sources();
    for line in LINES {
        let name = output(line);
        let side_file = format!("d/{name}.recovery");
        let expected = format!("{side_file} belongs to the replaced file; remove it, or write it again");
        for (old, count) in [(Some("old"), 1), (None, 0)] {
            sandbox.write(&side_file, "recovery data");
            if let Some(old) = old {
                sandbox.write(format!("d/{name}"), old);
            }
            let ran = sandbox.good(&words(line, "d"));
            assert_eq!(ran.stderr.matches(&expected).count(), count, "{line}: {ran:?}");
            assert_eq!(ran.stderr.matches("belongs to the replaced file").count(), count, "{line}: {ran:?}");
            assert_eq!(sandbox.read_text(&side_file), "recovery data", "{line}");
            sandbox.remove("d");
        }
    }
}

/// `systemd-repart` without loop devices keeps a descriptor of the file that it has mksquashfs write.
#[test]
fn each_command_writes_an_empty_file_in_place() {
    let sandbox = sources();
    for line in LINES {
        let path = sandbox.write(format!("d/{}", output(line)), "");
        let mut open = File::open(&path).unwrap();
        let before = fs::metadata(&path).unwrap().ino();
        let ran = sandbox.good(&words(line, "d"));
        assert_eq!(fs::metadata(&path).unwrap().ino(), before, "{line}: {ran:?}");
        let mut seen = Vec::new();
        open.seek(SeekFrom::Start(0)).unwrap();
        open.read_to_end(&mut seen).unwrap();
        assert!(seen == fs::read(&path).unwrap() && seen.len() > 3, "{line}");
        sandbox.remove("d");
    }
}

/// A file mounted over another, until it is dropped.
struct Bound(String);

impl Bound {
    fn over(real: &Path, path: &Path) -> Option<Bound> {
        let bound = Command::new("mount").arg("--bind").args([real, path]).status();
        bound.is_ok_and(|status| status.success()).then(|| Bound(path.to_str().unwrap().to_string()))
    }
}

impl Drop for Bound {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

#[test]
fn each_command_writes_over_a_file_that_is_a_mount_point() {
    if !tools::root() {
        return;
    }
    let sandbox = sources();
    sandbox.create_dir("e");
    for line in LINES {
        let real = sandbox.write("real", "old");
        let path = sandbox.write(format!("d/{}", output(line)), "covered");
        let Some(bound) = Bound::over(&real, &path) else {
            tools::skip("needs bind mounts");
            return;
        };
        let ran = sandbox.good(&words(line, "d"));
        assert!(ran.stderr.contains("was overwritten in place"), "{line}: {ran:?}");
        let whole = sandbox.read("real");
        drop(bound);
        sandbox.good(&words(line, "e"));
        assert!(whole == sandbox.read(format!("e/{}", output(line))), "{line}");
        sandbox.remove("d");
        sandbox.remove(format!("e/{}", output(line)));
    }
}

#[test]
fn each_command_writes_over_a_file_in_a_directory_that_cannot_be_written() {
    if !tools::root() || !tools::need(&["setpriv"]) {
        return;
    }
    let sandbox = sources();
    for line in LINES {
        let path = sandbox.write(format!("d/{}", output(line)), "old");
        chown(&path, Some(65534), Some(65534)).unwrap();
        let ran = as_user(&sandbox, &words(line, "d"));
        assert!(ran.status == 0 && ran.stderr.contains("was overwritten in place"), "{line}: {ran:?}");
        assert_eq!(sandbox.names_in("d"), [output(line)], "{line}");
        let whole = fs::read(&path).unwrap();
        assert!(whole.len() > 3, "{line}");
        // A file of another is left alone.
        chown(&path, Some(0), Some(0)).unwrap();
        let ran = as_user(&sandbox, &words(line, "d"));
        assert!(ran.status == 1 && ran.stderr.contains("Permission denied"), "{line}: {ran:?}");
        assert!(fs::read(&path).unwrap() == whole, "{line}");
        sandbox.remove("d");
    }
}

#[test]
fn an_owner_that_cannot_be_kept_is_in_a_warning_and_its_group_gets_no_rights() {
    if !tools::root() || !tools::need(&["setpriv"]) {
        return;
    }
    let sandbox = sources();
    let path = sandbox.write("d/o.sqfs", "old");
    fs::set_permissions(sandbox.at("d"), Permissions::from_mode(0o777)).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o664)).unwrap();
    let ran = as_user(&sandbox, &words(LINES[0], "d"));
    assert!(ran.status == 0 && ran.stderr.contains("its owner, its group"), "{ran:?}");
    let about = fs::metadata(&path).unwrap();
    assert_eq!((about.uid(), about.mode() & 0o7777), (65534, 0o644));
}

#[test]
fn a_full_file_system_leaves_the_file_that_was_there() {
    if !tools::root() {
        return;
    }
    let memory = Mounted::memory(64 << 10).unwrap();
    let sandbox = sources();
    let small = Sandbox::within(PACKLINE, memory.path());
    sandbox.write("tree/noise", Random::new(9).noise(200_000));
    for (old, name) in [("old", "file.sqfs"), ("", "empty.sqfs"), ("old", "file.erofs")] {
        small.write(name, old);
        for line in ["pack -q -f tree D/", "mksquashfs tree -noappend -quiet -no-progress D/"] {
            let mut words = words(line, small.path().to_str().unwrap());
            if let Some(last) = words.last_mut() {
                last.push_str(name);
            }
            // The image comes before the options.
            if words[0] == "mksquashfs" {
                let image = words.pop().unwrap();
                words.insert(2, image);
            }
            let message = sandbox.bad(1, &words);
            assert!(message.contains("No space left"), "{message}");
            assert_eq!(small.read_text(name), old, "{line}");
        }
    }
    assert_eq!(small.names(), ["empty.sqfs", "file.erofs", "file.sqfs"]);
}

#[test]
fn repair_in_place_keeps_the_access_control_list() {
    if !tools::root() || !tools::need(&["setfacl", "getfacl"]) {
        return;
    }
    let sandbox = sources();
    fs::set_permissions(sandbox.at("damaged"), Permissions::from_mode(0o600)).unwrap();
    sandbox.peer("setfacl", &["-m", "u:77:rw,g::-", "damaged"]);
    let before = sandbox.peer("getfacl", &["-n", "damaged"]).text();
    sandbox.good(&["repair", "-q", "-f", "--recovery", "f.recovery", "damaged"]);
    assert!(sandbox.read("damaged") == sandbox.read("f"));
    assert_eq!(sandbox.peer("getfacl", &["-n", "damaged"]).text(), before);
}
