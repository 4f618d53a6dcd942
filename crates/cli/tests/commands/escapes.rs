//! Names from a tree, an archive or an argument are escaped in text for people: no control character reaches a terminal, and no name
//! starts a line.

use packline_testkit::model::Node;
use packline_testkit::model::NodeKind::{CharDevice, Fifo, HardLink, Socket, Symlink};
use packline_testkit::{Ran, Sandbox, plant, tools};
use serde_json::Value;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::{PACKLINE, sandbox};

/// A title set, a bell, a C1 control as UTF-8 and as a byte, a delete, a line that looks like a message, a carriage return, bytes
/// that are not UTF-8, text that runs backwards, a tab.
const NAME: &[u8] =
    b"\x1b]0;t\x07\xc2\x9b31m\x9b\x7f\npackline: forged\rpackline: forged\xff\xe2\x80\xaeg\xe2\x81\xa6p\xe2\x80\xa8\te";
/// The valid UTF-8 of [`NAME`], for the many options that accept only UTF-8.
const TEXT: &str = "\x1b]0;t\x07\u{9b}31m\x7f\npackline: forged\rpackline: forged\u{202e}g\u{2067}p\u{2028}\te";
/// The placeholder for [`NAME`] in arguments.
const HERE: &str = "{}";

/// An argument: `{}` is replaced by the name, `{u}` by the text.
fn word(text: &str) -> OsString {
    let text = text.replace("{u}", TEXT);
    let parts: Vec<&[u8]> = text.split(HERE).map(str::as_bytes).collect();
    OsString::from_vec(parts.join(NAME))
}

/// The hostile tree: the name as that of each kind of entry, as a target and as an attribute.
fn nodes() -> Vec<Node> {
    let name = |prefix: &str, suffix: &str| [prefix.as_bytes(), NAME, suffix.as_bytes()].concat();
    let mut file = Node::file(name("dir/", "-file"), "content of a file, ".repeat(5000));
    file.xattrs.push((name("user.", ""), NAME.to_vec()));
    vec![
        Node::dir("dir"),
        file,
        Node::dir(name("dir/", "")),
        Node::file(name("dir/", "/below"), "small"),
        Node::new(name("dir/", "-link"), Symlink(name("/", "-target"))),
        Node::new(name("dir/", "-hard"), HardLink(name("dir/", "-file"))),
        Node::new(name("dir/", "-pipe"), Fifo),
    ]
}

/// The sources, archives and images that the commands are given, each with the name in its own.
struct Hostile(Sandbox);

impl Hostile {
    fn new() -> Hostile {
        let hostile = Hostile(sandbox());
        fs::create_dir(hostile.at("{}")).unwrap();
        plant::plant(&nodes(), &hostile.at("{}")).unwrap();
        plant::plant(&[Node::new([NAME, b"-socket"].concat(), Socket)], &hostile.at("{}")).unwrap();
        hostile.0.create_dir(word("empty{}"));
        hostile.write_tar("{}.tar", &nodes());
        for line in [
            ["pack", "{}.tar", "{}.sqfs"].as_slice(),
            &["pack", "-x", "*-link", "-x", "*-socket", "{}", "other{}.sqfs"],
            &["pack", "{}.tar", "{}.lrz"],
            &["compress", "{}.tar", "-o", "{}.pln"],
            &["lrzip", "-q", "-o", "stream{}.lrz", "{}.tar"],
        ] {
            Ran::good(&mut hostile.command(line));
        }
        hostile.damage();
        hostile.texts();
        hostile
    }

    /// Damaged and truncated files, and tars with invalid entries.
    fn damage(&self) {
        for name in ["{}.sqfs", "{}.lrz", "{}.pln", "{}.tar", "stream{}.lrz"] {
            let mut bytes = self.0.read(word(name));
            let middle = bytes.len() / 2;
            bytes[middle - 20..middle + 20].fill(0xa5);
            self.0.write(word(&format!("bad-{name}")), &bytes);
            bytes.truncate(middle);
            self.0.write(word(&format!("cut-{name}")), &bytes);
        }
        let dangling = Node::new([NAME, b"-a"].concat(), HardLink([NAME, b"-b"].concat()));
        self.write_tar("dangling{}.tar", &[dangling]);
        let below = [Node::file(NAME, "x"), Node::file([NAME, b"/y"].concat(), "y")];
        self.write_tar("below{}.tar", &below);
        let up = Node::file([b"../", NAME].concat(), "x");
        self.write_tar("up{}.tar", &[up]);
    }

    /// Texts that commands read, with the name as each word of a line. The line feed in the name ends the line.
    fn texts(&self) {
        let lines: [(&str, &str); 9] = [
            ("pack-word", "dir /a 0755 0 0\n{}"),
            ("pack-name", "file \"{}\" 0644 0 0"),
            ("pack-place", "file /x 0644 0 0 {}"),
            ("pack-owner", "file /x 0644 {} 0"),
            ("sort", "{} {}\n-x [{}] {}\n1 {}"),
            ("contexts", "/({} -- {}\n{} {} {}"),
            ("xattrs", "# file: {}\nuser.a={}\n{}"),
            ("lrzip.conf-name", "{} = {}"),
            ("lrzip.conf-value", "WINDOW = {}"),
        ];
        for (name, text) in lines {
            self.0.write(word(&format!("{name}{HERE}")), word(text).as_bytes());
        }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.at(word(name))
    }

    fn write_tar(&self, name: &str, nodes: &[Node]) {
        self.0.write_tar(word(name), nodes);
    }

    fn command(&self, line: &[&str]) -> Command {
        self.0.command(&line.iter().map(|text| word(text)).collect::<Vec<_>>())
    }

    /// Runs a command of which both streams are for people.
    fn check(&self, line: &[&str]) -> Output {
        let output = self.check_errors(line);
        assert_tame(&format!("{line:?}: standard output"), &output.stdout);
        output
    }

    /// Runs a command that writes data to standard output.
    fn check_errors(&self, line: &[&str]) -> Output {
        let output = self.command(line).output().unwrap();
        assert_tame(&format!("{line:?}: standard error"), &output.stderr);
        assert!(output.status.code().is_some_and(|code| code < 3), "{line:?}: {output:?}");
        output
    }

    /// Runs commands of which both streams are for people. At least half of them must print the name, escaped.
    fn check_all(&self, lines: &[&[&str]]) {
        let names = |line: &&&[&str]| {
            let output = self.check(line);
            let printed = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
            printed.contains("\\x1b]0;t\\x07\\xc2\\x9b31m") && printed.contains("\\npackline: forged\\r")
        };
        let named = lines.iter().filter(names).count();
        assert!(named * 2 >= lines.len(), "{named} of {} lines", lines.len());
    }
}

/// Returns whether a terminal does more than show the character.
fn is_obeyed(letter: char) -> bool {
    let turns = matches!(letter, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    letter.is_control() && !matches!(letter, '\n' | '\t') || turns
}

fn assert_tame(what: &str, text: &[u8]) {
    let shown = std::str::from_utf8(text).unwrap_or_else(|_| panic!("{what}: no UTF-8: {}", text.escape_ascii()));
    assert!(!shown.contains(is_obeyed), "{what}: {}", text.escape_ascii());
    assert!(!shown.lines().any(|line| line.starts_with("packline: forged")), "{what}: a forged line in {shown}");
}

#[test]
fn packing_escapes_names() {
    let hostile = Hostile::new();
    hostile.check(&["pack", "{}", "new{}.sqfs"]);
    hostile.check(&["pack", "--stats", "-f", "{}.tar", "new{}.sqfs"]);
    hostile.check(&["pack", "{}", "new{}.lrz"]);
    hostile.check(&["pack", "--json", "{}", "json{}.lrz"]);
    hostile.check_all(&[
        &["pack", "{}", "{}.sqfs"],
        &["pack", "missing{}", "x.sqfs"],
        &["pack", "missing{}.tar", "x.sqfs"],
        &["pack", "{}", "missing{}/x.sqfs"],
        &["pack", "{}", "missing{}/x.lrz"],
        &["pack", "{}", "packed{}.tar.zst"],
        &["pack", "{}.tar", "missing{}/x.tar"],
        &["pack", "{}.tar", "{}.lrz"],
        &["pack", "bad-{}.tar", "-f", "x.sqfs"],
        &["pack", "cut-{}.tar", "-f", "x.sqfs"],
        &["pack", "dangling{}.tar", "-f", "x.sqfs"],
        &["pack", "below{}.tar", "-f", "x.sqfs"],
        &["pack", "up{}.tar", "-f", "x.sqfs"],
        &["pack", "up{}.tar", "x.lrz", "--{}"],
        &["pack", "--root-becomes", "../{u}", "{}", "x.sqfs"],
        &["pack", "-c", "{u}", "{}", "x.sqfs"],
        &["pack", "-c", "zstd:{u}=1", "{}", "x.sqfs"],
        &["pack", "-b", "{u}", "{}", "x.sqfs"],
        &["pack", "-j", "1{u}", "{}", "x.sqfs"],
        &["pack", "--format", "{u}", "{}", "x.sqfs"],
        &["pack", "--share={u}", "{}", "x.sqfs"],
        &["pack", "--trace", "missing{}/t", "{}", "x.sqfs"],
        &["pack", "{}", "x.sqfs", "one-more{}"],
        &["{}"],
        &["--{}"],
        &["-{}"],
    ]);
}

#[test]
fn unpacking_escapes_names() {
    let hostile = Hostile::new();
    hostile.check_all(&[
        &["unpack", "{}.sqfs", "out{}"],
        &["unpack", "--stats", "{}.sqfs", "out-2{}"],
        &["unpack", "{}.lrz", "out-3{}"],
        &["unpack", "{}.sqfs", "out{}.tar"],
        &["unpack", "--json", "{}.sqfs", "out-4{}"],
        &["unpack", "{}.sqfs", "out-5{}", "missing{}", "dir/[{}"],
        &["unpack", "-x", "missing{}", "{}.sqfs", "out-6{}"],
        &["unpack", "{}.sqfs", "out{}"],
        &["unpack", "{}.sqfs", "missing{}/out"],
        &["unpack", "{}.sqfs", "missing{}/out.tar"],
        &["unpack", "missing{}.sqfs", "x"],
        &["unpack", "bad-{}.tar", "x"],
        &["unpack", "cut-{}.tar", "x"],
        &["unpack", "--subdir", "missing{}", "{}.tar", "x"],
        &["unpack", "{}", "x"],
        &["unpack", "bad-{}.sqfs", "bad-out{}"],
        &["unpack", "cut-{}.sqfs", "cut-out{}"],
        &["unpack", "bad-{}.lrz", "bad-out{}"],
        &["unpack", "cut-{}.lrz", "cut-out{}"],
        &["unpack", "--offset", "{u}", "{}.sqfs", "x"],
    ]);
    for line in [["unpack", "{}.sqfs", "-"].as_slice(), &["unpack", "bad-{}.sqfs", "-"], &["unpack", "{}.lrz", "-"]] {
        hostile.check_errors(line);
    }
}

/// Existing entries, links to elsewhere, and attributes that cannot be set.
#[test]
fn warnings_of_unpacking_escape_names() {
    let hostile = Hostile::new();
    let mut odd = Node::file([NAME, b"-odd"].concat(), "x").mode(0o4755).owner(1, 2);
    odd.xattrs.push(([b"user.", NAME].concat(), NAME.to_vec()));
    odd.xattrs.push(([b"security.", NAME].concat(), NAME.to_vec()));
    odd.xattrs.push(([b"unknown.", NAME].concat(), NAME.to_vec()));
    let device = Node::new([NAME, b"-null"].concat(), CharDevice(1, 3));
    hostile.write_tar("odd{}.tar", &[odd, device]);
    hostile.check(&["pack", "odd{}.tar", "odd{}.sqfs"]);
    hostile.check(&["pack", "odd{}.tar", "odd{}.lrz"]);
    symlink("/nonesuch", hostile.0.create_dir(word("into{}")).join("dir")).unwrap();
    hostile.check(&["unpack", "{}.sqfs", "into{}"]);
    hostile.check(&["unpack", "-f", "{}.sqfs", "into{}"]);
    hostile.check(&["unpack", "--no-devices", "odd{}.sqfs", "odd{}"]);
    hostile.check(&["unpack", "odd{}.lrz", "odd-2{}"]);
    if !tools::root() || !tools::need(&["setpriv"]) {
        return;
    }
    open_to_all(&hostile);
    for line in
        [["unpack", "odd{}.sqfs", "user/{}"], ["unpack", "odd{}.lrz", "user/2{}"], ["unpack", "{}.sqfs", "user/3{}"]]
    {
        let mut command = hostile.0.program("setpriv", &["--reuid=65534", "--regid=65534", "--clear-groups", PACKLINE]);
        let output = command.args(line.map(word)).output().unwrap();
        assert_tame(&format!("{line:?}: as a user"), &output.stderr);
    }
}

/// Lets every user read, and write in `user`.
fn open_to_all(hostile: &Hostile) {
    use std::os::unix::fs::PermissionsExt;
    let user = hostile.0.create_dir("user");
    for (path, mode) in [(hostile.0.path(), 0o755), (&user, 0o777)] {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
}

#[test]
fn looking_into_images_escapes_names() {
    let hostile = Hostile::new();
    let lines: [&[&str]; 27] = [
        &["list", "{}.sqfs"],
        &["list", "-l", "{}.sqfs"],
        &["list", "{}.sqfs", "missing{}"],
        &["list", "missing{}"],
        &["list", "bad-{}.sqfs"],
        &["list", "cut-{}.sqfs"],
        &["list", "{}.tar"],
        &["list", "-l", "{}.tar", "missing{}"],
        &["list", "bad-{}.lrz"],
        &["info", "{}.lrz"],
        &["verify", "bad-{}.lrz"],
        &["list", "{}.lrz"],
        &["cat", "{}.sqfs", "missing{}"],
        &["cat", "{}.sqfs", "dir/{}"],
        &["cat", "{}.sqfs", "dir/{}-link"],
        &["cat", "--range", "1{u}", "{}.pln"],
        &["info", "{}.sqfs"],
        &["info", "{}.tar"],
        &["info", "missing{}"],
        &["verify", "{}.sqfs"],
        &["verify", "--notes", "bad-{}.sqfs"],
        &["verify", "cut-{}.sqfs"],
        &["diff", "{}.sqfs", "other{}.sqfs"],
        &["diff", "{}.sqfs", "{}"],
        &["diff", "{}", "missing{}"],
        &["diff", "-e", "{}.sqfs", "{}.sqfs", "other{}.sqfs"],
        &["diff", "bad-{}.sqfs", "{}"],
    ];
    hostile.check_all(&lines);
    assert!(fs::metadata(hostile.at("{}.sqfs")).unwrap().is_file());
}

/// JSON escapes control characters, and its parsed values have them.
#[test]
fn json_escapes_names_and_keeps_them() {
    let hostile = Hostile::new();
    let lines: [&[&str]; 12] = [
        &["list", "--json", "{}.sqfs"],
        &["list", "--json", "{}.tar"],
        &["list", "--json", "{}.lrz"],
        &["verify", "--json", "bad-{}.lrz"],
        &["info", "--json", "{}.lrz"],
        &["verify", "--json", "bad-{}.sqfs"],
        &["verify", "--json", "cut-{}.pln"],
        &["diff", "--json", "{}.sqfs", "other{}.sqfs"],
        &["compress", "--json", "-f", "{}.tar"],
        &["decompress", "--json", "-f", "{}.tar.pln"],
        &["info", "--json", "{}.sqfs"],
        &["lrzip", "-i", "--json", "{}.lrz"],
    ];
    for line in lines {
        let output = hostile.check(line);
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(!text.is_empty(), "{line:?}");
        for object in text.lines() {
            serde_json::from_str::<Value>(object).unwrap_or_else(|cause| panic!("{line:?}: {cause}: {object}"));
        }
    }
    let listed = String::from_utf8(hostile.check(&["list", "--json", "{}.sqfs"]).stdout).unwrap();
    let link = listed
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .find(|entry| entry["type"] == "symlink");
    let expected = String::from_utf8_lossy(&[b"/", NAME, b"-target"].concat()).into_owned();
    assert_eq!(link.unwrap()["target"], Value::from(expected));
}

#[test]
fn streams_escape_names() {
    let hostile = Hostile::new();
    let lines: [&[&str]; 28] = [
        &["compress", "-v", "{}.tar"],
        &["compress", "{}.tar"],
        &["compress", "{}.pln"],
        &["compress", "missing{}"],
        &["compress", "{}.tar", "-o", "missing{}/x"],
        &["compress", "-c", "{u}", "{}.tar"],
        &["compress", "{}"],
        &["decompress", "-v", "-f", "{}.tar.pln"],
        &["decompress", "bad-{}.pln", "-o", "x{}"],
        &["decompress", "cut-{}.pln", "-o", "x{}"],
        &["decompress", "{}.tar"],
        &["decompress", "--test", "{}.pln"],
        &["verify", "{}.pln"],
        &["verify", "bad-{}.pln"],
        &["info", "cut-{}.pln"],
        &["lrzip", "-vv", "-o", "y{}", "{}.tar"],
        &["lrzip", "{}.tar", "-o", "{}.lrz"],
        &["lrzip", "{}.lrz"],
        &["lrzip", "-O", "missing{}", "{}.tar"],
        &["lrzip", "-S", "{u}", "{}.tar"],
        &["lrzip", "-d", "-vv", "-o", "z{}", "stream{}.lrz"],
        &["lrzip", "-d", "-o", "w{}", "bad-stream{}.lrz"],
        &["lrzip", "-t", "cut-stream{}.lrz"],
        &["lrzip", "-ivv", "stream{}.lrz"],
        &["lrunzip", "-f", "missing{}"],
        &["lrztar", "-v", "-o", "tree{}.lrz", "{}"],
        &["lrztar", "-o", "tree{}.lrz", "{}"],
        &["lrzuntar", "-O", "missing{}", "tree{}.lrz"],
    ];
    hostile.check_all(&lines);
    for text in ["lrzip.conf-name{}", "lrzip.conf-value{}"] {
        fs::copy(hostile.at(text), hostile.0.at("lrzip.conf")).unwrap();
        let output = hostile.command(&["lrzip", "-i", "{}.lrz"]).env_remove("LRZIP").output().unwrap();
        assert!(!output.status.success(), "{text}");
        assert_tame(text, &output.stderr);
    }
}

/// On standard output drop-ins print names as peers do; on standard error names are escaped.
#[test]
fn drop_ins_escape_names_in_messages() {
    let hostile = Hostile::new();
    let lines: [&[&str]; 30] = [
        &["tar2sqfs", "{}.sqfs"],
        &["tar2sqfs", "missing{}/x"],
        &["tar2sqfs", "-c", "{u}", "x"],
        &["tar2sqfs", "-X", "{u}", "x"],
        &["tar2sqfs", "-d", "{u}=1", "x"],
        &["tar2sqfs", "-r", "../{}", "x"],
        &["gensquashfs", "-D", "{}", "gen{}.sqfs"],
        &["gensquashfs", "-D", "missing{}", "x.sqfs"],
        &["gensquashfs", "-F", "missing{}", "x.sqfs"],
        &["gensquashfs", "-F", "pack-word{}", "x.sqfs"],
        &["gensquashfs", "-F", "pack-name{}", "x.sqfs"],
        &["gensquashfs", "-F", "pack-place{}", "x.sqfs"],
        &["gensquashfs", "-F", "pack-owner{}", "x.sqfs"],
        &["gensquashfs", "-D", "{}", "-S", "sort{}", "x.sqfs"],
        &["gensquashfs", "-D", "{}", "-s", "contexts{}", "x.sqfs"],
        &["gensquashfs", "-D", "{}", "-A", "xattrs{}", "x.sqfs"],
        &["sqfs2tar", "bad-{}.sqfs"],
        &["sqfs2tar", "-d", "missing{}", "{}.sqfs"],
        &["sqfs2tar", "-r", "../{}", "{}.sqfs"],
        &["sqfs2tar", "missing{}"],
        &["rdsquashfs", "-l", "dir", "{}.sqfs"],
        &["rdsquashfs", "-l", "missing{}", "{}.sqfs"],
        &["rdsquashfs", "-c", "dir/{}", "{}.sqfs"],
        &["rdsquashfs", "-s", "dir/{}-link", "{}.sqfs"],
        &["rdsquashfs", "-x", "dir/{}-file", "{}.sqfs"],
        &["rdsquashfs", "-d", "{}.sqfs"],
        &["rdsquashfs", "-u", "/", "-p", "rd{}", "-X", "{}.sqfs"],
        &["rdsquashfs", "-u", "missing{}", "{}.sqfs"],
        &["sqfsdiff", "-a", "{}.sqfs", "-b", "other{}.sqfs"],
        &["sqfsdiff", "-a", "{}.sqfs", "-b", "bad-{}.sqfs"],
    ];
    for line in lines {
        hostile.check_errors(line);
    }
}

#[test]
fn other_commands_escape_names() {
    let hostile = Hostile::new();
    let lines: [&[&str]; 11] = [
        &["mount", "missing{}.sqfs", "{}"],
        &["mount", "{}.sqfs", "missing{}"],
        &["mount", "-o", "{u}", "{}.sqfs", "{}"],
        &["man", "{u}"],
        &["completions", "{u}"],
        &["bench", "{u}"],
        &["bench", "pack", "missing{}"],
        &["bench", "pack", "{}.tar", "--against", "{u}"],
        &["bench", "pack", "{}.tar", "--html", "{}.sqfs"],
        &["bench", "unpack", "bad-{}.sqfs", "--runs", "1"],
        &["bench", "codec", "{}.tar", "-c", "lz4", "--runs", "1", "--warmup", "0"],
    ];
    hostile.check_all(&lines);
}

/// On a terminal drop-ins escape names too.
#[test]
fn terminal_gets_names_escaped() {
    if !tools::terminal() {
        return;
    }
    let hostile = Hostile::new();
    // Without a line feed, which a pack file cannot describe.
    let name = b"a\x1b]0;t\x07\x9b\x7f\r\xe2\x80\xae b";
    let mut file = Node::file(name.as_slice(), "x");
    file.xattrs.push((b"user.a".to_vec(), b"\x0b\xc2\x9b31m\n\x08x".to_vec()));
    hostile.write_tar("plain.tar", &[file]);
    hostile.0.write("name", name);
    for line in [
        "tar2sqfs plain.sqfs",
        "rdsquashfs -d plain.sqfs",
        "rdsquashfs -x \"$(cat name)\" plain.sqfs",
        "list plain.sqfs",
    ] {
        let words = ["-qec", &format!("{PACKLINE} {line} < plain.tar"), "/dev/null"];
        let output = Ran::of(&mut hostile.0.program("script", &words));
        // The terminal ends lines with CR LF.
        let shown = output.text().replace("\r\n", "\n");
        assert!(output.status == 0 && !shown.is_empty(), "{line}: {shown}");
        assert_tame(line, shown.as_bytes());
    }
}

#[test]
fn word_has_the_name() {
    assert_eq!(word("a{}b"), OsStr::from_bytes(&[b"a", NAME, b"b"].concat()));
    assert!(Path::new(&word("{}")).components().count() == 1 && NAME.len() < 100);
}
