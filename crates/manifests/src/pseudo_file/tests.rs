//! Tests of pseudo files: each kind of definition, malformed definitions, and definitions that are written and read again.

use std::io::{Cursor, Seek, SeekFrom, Write};

use packline_tree::{Device, Entry, Extent, Kind, ListSource, Meta, Source};

use super::*;

struct Fake;

impl PseudoHost for Fake {
    fn user(&mut self, name: &str) -> Option<u32> {
        (name == "ann").then_some(1000)
    }

    fn group(&mut self, name: &str) -> Option<u32> {
        (name == "staff").then_some(50)
    }

    fn time(&mut self, date: &str) -> Option<u32> {
        (date == "1 jan 1980").then_some(315_532_800)
    }

    fn run(&mut self, command: &[u8]) -> io::Result<File> {
        let mut file = tempfile::tempfile()?;
        file.write_all(command)?;
        file.seek(SeekFrom::End(0))?;
        Ok(file)
    }
}

const META: Meta = Meta::new(0o644, 1, 2, 3);

fn pseudo(text: &[u8]) -> Result<PseudoFile, Error> {
    let mut pseudo = PseudoFile::new(Fake, 9);
    pseudo.read_stream("list", Cursor::new(text.to_vec()))?;
    Ok(pseudo)
}

fn entry(path: &str, kind: Kind) -> Entry {
    Entry { path: path.into(), kind, meta: META, xattrs: Vec::new() }
}

type ReadEntries = (Vec<(Entry, Bytes)>, Vec<String>);

fn read(mut source: PseudoSource<impl Source + ?Sized>) -> Result<ReadEntries, Error> {
    let mut found = Vec::new();
    let mut buffer = [0; 7];
    while let Some(entry) = source.next_entry()? {
        let mut content = Bytes::new();
        while let Extent::Data(count) = source.read(&mut buffer)? {
            content.extend_from_slice(&buffer[..count]);
        }
        found.push((entry, content));
    }
    Ok((found, source.take_warnings()))
}

fn over(entries: &[Entry], text: &str) -> Result<ReadEntries, Error> {
    let entries: Vec<_> = entries.iter().map(|entry| (entry.clone(), None)).collect();
    read(PseudoSource::over(Box::new(ListSource::new(entries, None, 0, 0)), pseudo(text.as_bytes())?))
}

fn alone(text: &[u8]) -> Result<ReadEntries, Error> {
    read(PseudoSource::alone(pseudo(text)?)?)
}

fn error(text: &str) -> String {
    alone(format!("/ d 755 0 0\n{text}").as_bytes()).err().map(|error| error.to_string()).unwrap_or_default()
}

#[test]
fn every_type_adds_its_entry() {
    let text = b"# comment\n/ D 7 755 0 0\n  \"a b\" d 0700 ann staff\na\\ b/c\\\\\\\" c 600 0 0 1 3\nb B 8 600 0 0 7 1000\n\
        s S \"1 jan 1980\" 644 0 0 to a \"b\"\n./i//. i 644 0 0 s\nd d 1777 0 0\nd/p I 5 644 0 0 f\n\
        f F 6 4755 0 0 echo \"x\" \\\n  y\nl L s\n/ x user.k=v\nd x security.a=0s/w==\nr R 1 600 4294967295 0 3 2 1\ne R 1 600 0 0 0 5 0\n\
        # START OF DATA - DO NOT MODIFY\n#\nabcdef";
    let (found, warnings) = alone(text).unwrap();
    assert_eq!(warnings, Vec::<String>::new());
    let meta = Meta::new;
    let file = |size| Kind::File { size };
    let expected = [
        ("", Kind::Dir, meta(0o755, 0, 0, 7), ""),
        ("a b", Kind::Dir, meta(0o700, 1000, 50, 9), ""),
        ("a b/c\\\"", Kind::CharDevice(Device { major: 1, minor: 3 }), meta(0o600, 0, 0, 9), ""),
        ("b", Kind::BlockDevice(Device { major: 7, minor: 1000 }), meta(0o600, 0, 0, 8), ""),
        ("s", Kind::Symlink(b"to a \"b\"".into()), meta(0o777, 0, 0, 315_532_800), ""),
        ("i", Kind::Socket, meta(0o644, 0, 0, 9), ""),
        ("d", Kind::Dir, meta(0o1777, 0, 0, 9), ""),
        ("d/p", Kind::Fifo, meta(0o644, 0, 0, 5), ""),
        ("f", file(13), meta(0o4755, 0, 0, 6), "echo \"x\"   y"),
        ("l", Kind::HardLink(b"s".into()), meta(0, 0, 0, 9), ""),
        ("r", file(3), meta(0o600, u32::MAX, 0, 1), "cde"),
        ("e", file(0), meta(0o600, 0, 0, 1), ""),
    ];
    for ((entry, content), (path, kind, meta, text)) in found.iter().zip(&expected) {
        assert_eq!((&entry.path[..], &entry.meta, &content[..]), (path.as_bytes(), meta, text.as_bytes()), "{path}");
        if path != &"f" {
            assert_eq!(&entry.kind, kind, "{path}");
        }
    }
    assert_eq!(found.len(), expected.len());
    let xattr = |name: &str, value: &[u8]| vec![Xattr { name: name.into(), value: value.into() }];
    assert_eq!(found[0].0.xattrs, xattr("user.k", b"v"));
    assert_eq!(found[6].0.xattrs, xattr("security.a", b"\xff"));
}

#[test]
fn entries_of_the_source_are_changed_and_kept() {
    let source = [
        entry("", Kind::Dir),
        entry("a", Kind::Dir),
        entry("a/f", Kind::Fifo),
        entry("h", Kind::HardLink(b"a/f".into())),
    ];
    let text = "a/f m 4711 5 6\nh m 4711 5 6\na M 8 500 0 0\na x user.k=1\na x user.k=2\na/f x user.k=1\na/g d 755 0 0\n/ d 1 1 1\n\
                a/f s 1 1 1 x\na/f s 1 1 1 x\nnone m 1 1 1\na d 1 1 1\n";
    let (found, warnings) = over(&source, text).unwrap();
    let metas: Vec<_> =
        found.iter().map(|(entry, _)| (entry.meta.mode, entry.meta.uid, entry.meta.mtime.seconds())).collect();
    assert_eq!(metas, [(0o644, 1, 3), (0o500, 0, 8), (0o4711, 5, 3), (0o644, 1, 3), (0o755, 0, 9)]);
    assert_eq!(found[1].0.xattrs, [Xattr { name: b"user.k".into(), value: b"2".into() }]);
    assert!(found[2].0.xattrs.is_empty(), "attributes of users are for files and directories");
    let passed = "is skipped: the path is defined already";
    let expected = [
        format!("list: line 9: 'a/f' {passed}"),
        format!("list: line 10: 'a/f' {passed}"),
        format!("list: line 12: 'a' {passed}"),
        "list: line 11: 'none' is not in the source: nothing is changed".to_owned(),
    ];
    assert_eq!(warnings, expected);
    let refused = over(&source, "h m 1 1 1").unwrap_err().to_string();
    assert_eq!(
        refused,
        "list: line 1: 'h' is a hard link to 'a/f' (expected the same definition for both, or one for the target only)"
    );
}

#[test]
fn skips_definitions_of_existing_entries() {
    let (found, warnings) =
        over(&[entry("x/y", Kind::Fifo)], "x d 700 0 0\nx/y d 1 1 1\nl L x\nz L x/y").map_err(drop).unwrap_or_default();
    assert_eq!((found.len(), warnings.len()), (0, 0), "'L' of a directory is an error");
    let (found, warnings) =
        over(&[entry("x/y", Kind::Fifo)], "x d 700 0 0\nx/y c 1 1 1 2 3\nz L x/y\nx/z L z").unwrap();
    assert_eq!(warnings.len(), 2);
    assert_eq!(warnings[0], "list: line 1: 'x' is skipped: the source has it, and does not exclude it");
    let kinds: Vec<_> = found.iter().map(|(entry, _)| (&entry.path[..], &entry.kind)).collect();
    let device = Kind::CharDevice(Device { major: 2, minor: 3 });
    assert_eq!(kinds, [(&b"x/y"[..], &Kind::Fifo), (b"z", &device), (b"x/z", &Kind::HardLink(b"z".into()))]);
}

#[test]
fn missing_directories_are_created_if_they_have_attributes() {
    let mut file = pseudo(b"a/b/c i 1 1 1 f\ne x user.k=v").unwrap();
    file.create_parents("default", b" D 4 711 ann staff").unwrap();
    let (found, _) = read(PseudoSource::alone(file).unwrap()).unwrap();
    let paths: Vec<_> = found.iter().map(|(entry, _)| (&entry.path[..], entry.meta.mtime.seconds())).collect();
    assert_eq!(paths, [(&b""[..], 4), (b"a", 4), (b"a/b", 4), (b"a/b/c", 9), (b"e", 4)]);
    let refused = PseudoSource::alone(pseudo(b"a d 1 1 1").unwrap()).err().map(|error| error.to_string());
    assert!(refused.unwrap().contains("the root is not defined"));
    assert!(
        PseudoFile::new(Fake, 0).create_parents("default", b"s 1 1 1").unwrap_err().to_string().contains("type 's'")
    );
}

/// A host that runs no commands.
struct Careful;

impl PseudoHost for Careful {
    fn user(&mut self, _: &str) -> Option<u32> {
        None
    }

    fn group(&mut self, _: &str) -> Option<u32> {
        None
    }

    fn time(&mut self, _: &str) -> Option<u32> {
        None
    }

    fn permits_commands(&self) -> Result<(), String> {
        Err("ask for permission".into())
    }

    fn run(&mut self, _: &[u8]) -> io::Result<File> {
        panic!("a command was run")
    }
}

#[test]
fn rejects_commands_early_if_they_may_not_run() {
    let mut pseudo = PseudoFile::new(Careful, 9);
    let refused = pseudo.read_stream("list", Cursor::new(b"a d 755 0 0\na/b f 644 0 0 echo x\n".to_vec())).unwrap_err();
    let expected =
        "list: line 2: the content is the output of a command, but commands may not be run; ask for permission";
    assert_eq!(refused.to_string(), expected);
}

#[test]
fn adds_files_of_the_host_once() {
    let top = tempfile::tempdir().unwrap();
    std::fs::write(top.path().join("file"), "content").unwrap();
    std::os::unix::fs::symlink("file", top.path().join("link")).unwrap();
    let at = top.path().display();
    let text = format!("/ d 755 0 0\na l {at}/file\nb h {at}/link\nc l {at}/link\nd l {at}/none");
    let refused = alone(text.as_bytes()).unwrap_err().to_string();
    assert!(refused.starts_with("list: line 5: '") && refused.contains("No such file"), "{refused}");
    let (found, _) = alone(text.rsplit_once('\n').unwrap().0.as_bytes()).unwrap();
    assert_eq!((&found[1].0.kind, &found[1].1[..]), (&Kind::File { size: 7 }, &b"content"[..]));
    assert_eq!(found[2].0.kind, Kind::HardLink(b"a".into()));
    assert_eq!(found[3].0.kind, Kind::Symlink(b"file".into()));
    assert!(error(&format!("a l {at}")).contains("is a directory"));
}

#[test]
fn reads_contents_of_a_pipe_in_order_and_of_a_file_in_any_order() {
    let text = b"/ d 755 0 0\nb R 1 600 0 0 3 3 0\na R 1 600 0 0 3 0 0\n# START OF DATA - DO NOT MODIFY\n#\nabcdef";
    let refused = alone(text).unwrap_err().to_string();
    assert!(refused.contains("list: line 3: a content at byte 0, after byte 6"), "{refused}");
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text).unwrap();
    let mut pseudo = PseudoFile::new(Fake, 0);
    pseudo.read_file(file.path()).unwrap();
    let (found, _) = read(PseudoSource::alone(pseudo).unwrap()).unwrap();
    assert_eq!((&found[1].1[..], &found[2].1[..]), (&b"def"[..], &b"abc"[..]));
}

#[test]
fn rejects_malformed_lines_with_the_missing_part() {
    for (text, part) in [
        ("a", "list: line 2: the line ends before the type"),
        ("a q 1 1 1", "type 'q' (expected one of d m b"),
        ("a dd 1 1 1", "type 'dd'"),
        ("\"a d 1 1 1", "unclosed quote"),
        ("a/../b d 1 1 1", "contains '..'"),
        ("a d 788 1 1", "mode '788' (expected an octal number"),
        ("a d 10000 1 1", "mode '10000'"),
        ("a d 1 bob 1", "user 'bob' (expected a number from 0 to 4294967295, or the name of a user"),
        ("a d 1 4294967296 1", "user '4294967296'"),
        ("a d 1 1 -1", "group '-1'"),
        ("a d 1 1", "before the group"),
        ("a d 1 1 1 1", "'1' after the last argument"),
        ("a D x 1 1 1", "time 'x'"),
        ("a D 4294967296 1 1 1", "time '4294967296'"),
        ("a c 1 1 1 4096 0", "major number '4096' (expected a number from 0 to 4095"),
        ("a b 1 1 1 1", "before the minor number"),
        ("a i 1 1 1 x", "'x' (expected 's' for a socket"),
        ("a f 1 1 1", "before the command"),
        ("a s 1 1 1 ", "before the target"),
        ("a l", "before the path of the file"),
        ("a L b", "'L' to 'b', which no line defines"),
        ("a d 1 1 1\nb L a", "line 3: 'L' to 'a', a directory"),
        ("a x user.k", "attribute 'user.k' (expected name=value"),
        ("a x k=v", "a name that begins with user., trusted. or security."),
        ("a x user.k=", "value '' (expected a value"),
        ("a x user.k=0xabc", "value '0xabc'"),
        ("a x user.k=0t\\08a", "value '0t\\08a'"),
        ("a x user.k=0s*", "value '0s*'"),
        ("a x user.k=v", "'a' does not exist"),
        ("a/b d 1 1 1", "'a' does not exist"),
        ("a m 1 1 1\na/b d 1 1 1", "'a' does not exist"),
        ("a R 1 1 1 1 1 0 0", "line 2: 'R' without content"),
        (
            "a R 1 1 1 1 5 0 0\n# START OF DATA - DO NOT MODIFY\n#\nabc",
            "line 2: the content ends too early (expected 2 bytes more",
        ),
        ("a R 1 1 1 1 9223372036854775808 0 0", "size '9223372036854775808'"),
        ("# START OF DATA - DO NOT MODIFY\nabc", "a '#' alone"),
        ("a d 1 1 \0", "a NUL byte"),
    ] {
        let found = error(text);
        assert!(found.contains(part), "{text}: {found}");
    }
    let long = format!("a s 1 1 1 {}", "x".repeat(2 << 20));
    assert!(error(&long).contains("a line that is too long for a definition"));
}

#[test]
fn memory_for_a_deep_path_grows_with_its_text() {
    let deep = "a/".repeat(32_000);
    let refused = error(&format!("{deep}b d 1 1 1"));
    assert!(refused.contains("'a' does not exist"), "{refused}");
}

/// A path as unsquashfs writes it.
fn written(path: &str) -> String {
    path.chars().flat_map(|letter| ['\\', letter].into_iter().skip(usize::from(letter.is_alphanumeric()))).collect()
}

proptest::proptest! {
    #[test]
    fn any_text_gives_entries_or_an_error(text: Vec<u8>) {
        let _ = alone(&[b"/ d 755 0 0\n", &text[..]].concat());
    }

    #[test]
    fn lines_of_letters_of_the_language_give_entries_or_an_error(text in "([ab/\"\\\\]{1,3} [dmxlLhsiRDcf] [0-7 a=x]{0,12}\n){0,8}") {
        let _ = alone(format!("/ d 755 0 0\n{text}").as_bytes());
    }

    #[test]
    fn escaped_paths_and_values_come_back(path in "[ -~&&[^/]]{1,20}", value in proptest::collection::vec(0u8.., 1..40)) {
        let octal: String = value.iter().map(|byte| format!("\\{byte:03o}")).collect();
        let text = format!("/ d 755 0 0\nx{} d 755 0 0\n\"x{}\" x user.k=0t{octal}\n", written(&path), written(&path));
        let (found, _) = alone(text.as_bytes()).unwrap();
        let expected = format!("x{path}");
        proptest::prop_assert_eq!(&found[1].0.path, expected.as_bytes());
        proptest::prop_assert_eq!(&found[1].0.xattrs[0].value, &value);
    }
}
