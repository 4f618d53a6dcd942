//! Tests of lookups in file_contexts files.

use super::*;

const POLICY: &str = "\
# a policy
/.*                    system_u:object_r:default_t:s0
/                  -d  system_u:object_r:root_t:s0
/usr(/.*)?             system_u:object_r:usr_t:s0
/usr/bin/.*        --  system_u:object_r:bin_t:s0
/usr/bin/su\\.old  --  system_u:object_r:su_t:s0
/usr/s?bin/.*\\.conf   system_u:object_r:etc_t:s0
/tmp(/.*)?             <<none>>
/dev/[^/]*         -c  system_u:object_r:device_t:s0
/.*\\.so(\\.[0-9]+)*   system_u:object_r:lib_t:s0
";

fn policy() -> FileContexts {
    let mut contexts = FileContexts::default();
    contexts.add("policy", POLICY.as_bytes()).unwrap();
    contexts
}

fn context(path: &str, kind: &Kind) -> Option<String> {
    policy().lookup(path.as_bytes(), kind).map(|context| context.split(':').nth(2).unwrap().to_owned())
}

const FILE: Kind = Kind::File { size: 0 };

#[test]
fn the_last_match_of_the_type_wins() {
    let device = Kind::CharDevice(packline_tree::Device { major: 1, minor: 3 });
    for (path, kind, expected) in [
        ("", Kind::Dir, "root_t"),
        ("home", Kind::Dir, "default_t"),
        ("usr", Kind::Dir, "usr_t"),
        ("usrx", Kind::Dir, "default_t"),
        ("usr/bin/ls", FILE, "bin_t"),
        ("usr/bin/ls", Kind::Dir, "usr_t"),
        ("usr/bin/su.old", FILE, "su_t"),
        ("usr/sbin/a.conf", FILE, "etc_t"),
        ("usr/lib/a.so.6", FILE, "lib_t"),
        ("dev/null", device, "device_t"),
        ("dev/null", FILE, "default_t"),
    ] {
        assert_eq!(context(path, &kind).as_deref(), Some(expected), "{path} {kind:?}");
    }
}

#[test]
fn none_gives_no_context() {
    assert_eq!(context("tmp/x", &FILE), None);
    assert_eq!(FileContexts::default().lookup(b"x", &FILE), None);
}

#[test]
fn a_path_without_wildcards_wins_wherever_it_is() {
    let mut contexts = FileContexts::default();
    contexts.add("policy", b"/a/b first\n/a/.* second\n/a/b third\n").unwrap();
    assert_eq!(contexts.lookup(b"a/b", &FILE), Some("third"));
    assert_eq!(contexts.lookup(b"a/c", &FILE), Some("second"));
}

#[test]
fn rejects_malformed_lines() {
    for (text, part) in [
        ("\n/a", "policy: line 2: '/a' has no context (expected pathname [type] context)"),
        ("/a -x c", "line 1: file type '-x'"),
        ("/(?=a) c", "line 1: pathname '/(?=a)': look-around"),
        ("/(a)\\1 c", "line 1: pathname '/(a)\\1': backreferences are not supported"),
        ("/a++ c", "a repeat of a repeat"),
        ("/\u{e9} c", "is not ASCII"),
    ] {
        let found = FileContexts::default().add("policy", text.as_bytes()).unwrap_err().to_string();
        assert!(found.contains(part), "{text}: {found}");
    }
}

#[test]
fn reads_related_files() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file_contexts");
    let write = |extension: &str, text: &str| std::fs::write(format!("{}{extension}", file.display()), text).unwrap();
    write("", "/.* base\n/home/.* home\n");
    assert_eq!(FileContexts::open(&file).unwrap().lookup(b"home/me", &FILE), Some("home"));
    write(".local", "/home/me local\n");
    write(".homedirs", "/home/[^/]* homedir\n");
    write(".subs_dist", "/users /home\n");
    let contexts = FileContexts::open(&file).unwrap();
    assert_eq!(contexts.lookup(b"home/me", &FILE), Some("local"));
    assert_eq!(contexts.lookup(b"users/you", &FILE), Some("homedir"));
    let missing = FileContexts::open(&folder.path().join("none")).unwrap_err().to_string();
    assert!(missing.contains("none: cannot read: "), "{missing}");
}
