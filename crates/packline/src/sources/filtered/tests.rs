//! The file among a file's names, and its content, where some names are left out.

use std::io::Cursor;

use packline_archives::tar::{TarOptions, TarSource, TarWriter, end_of_archive, padding};

use super::*;
use crate::sources::changes::{Changes, NewRoot};

/// Source of the tar: a file, or a pipe with this memory and with or without a directory for a file.
#[derive(Debug, Clone, Copy)]
enum From {
    File,
    Pipe,
    Spilled,
    Nowhere,
}

/// An entry with its content.
type Node = (Entry, &'static str);

fn node(path: &str, kind: Kind, content: &'static str) -> Node {
    (Entry { path: path.into(), kind, meta: DEFAULT_META, xattrs: Vec::new() }, content)
}

fn file(path: &str, content: &'static str) -> Node {
    node(path, Kind::File { size: content.len() as u64 }, content)
}

fn linked(path: &str, target: &str) -> Node {
    node(path, Kind::HardLink(target.into()), "")
}

fn dir(path: &str) -> Node {
    node(path, Kind::Dir, "")
}

fn tar(nodes: &[Node]) -> Vec<u8> {
    let mut writer = TarWriter::new("");
    let mut bytes = Vec::new();
    for (entry, content) in nodes {
        writer.entry(&mut bytes, entry).unwrap();
        bytes.extend_from_slice(content.as_bytes());
        bytes.resize(bytes.len() + padding(content.len() as u64), 0);
    }
    bytes.resize(bytes.len() + end_of_archive(bytes.len() as u64), 0);
    bytes
}

fn below(path: &str) -> Changes {
    Changes { root: Some(NewRoot::new(path.as_bytes(), true).unwrap()), ..Changes::default() }
}

fn without(pattern: &str) -> Changes {
    let mut changes = Changes::default();
    changes.exclude.add(pattern.as_bytes()).unwrap();
    changes
}

fn filtered(nodes: &[Node], changes: Changes, from: From) -> Filtered {
    let bytes = tar(nodes);
    let options = TarOptions::named("in.tar");
    let source: Box<dyn Source> = match from {
        From::File => Box::new(TarSource::seekable(Cursor::new(bytes), options).unwrap()),
        _ => Box::new(TarSource::new(Cursor::new(bytes), options)),
    };
    let scratch = matches!(from, From::Spilled).then(std::env::temp_dir);
    let keeps = Box::new(move |path: &[u8], is_directory: bool| changes.keeps(path, is_directory));
    let mut filtered = Filtered::new(source, keeps, "in.tar".to_string(), None, scratch.clone());
    if matches!(from, From::Spilled | From::Nowhere) {
        filtered.contents = Contents::new(1, scratch);
    }
    filtered
}

/// The result, a line an entry: `path=content`, or `path->target`, or `path` alone.
fn lines(nodes: &[Node], changes: Changes, from: From) -> Result<Vec<String>, String> {
    let mut source = filtered(nodes, changes, from);
    let mut lines = Vec::new();
    while let Some(entry) = source.next_entry().map_err(|error| error.to_string())? {
        let path = String::from_utf8(entry.path).unwrap();
        let mut content = Vec::new();
        let mut buffer = [0; 7];
        loop {
            match source.read(&mut buffer).unwrap() {
                Extent::Data(count) => content.extend_from_slice(&buffer[..count]),
                Extent::Hole(count) => content.extend(std::iter::repeat_n(b'.', count as usize)),
                Extent::End => break,
            }
        }
        lines.push(match entry.kind {
            Kind::HardLink(target) => format!("{path}->{}", String::from_utf8(target).unwrap()),
            Kind::File { size } => {
                assert_eq!(size, content.len() as u64, "{path}");
                format!("{path}={}", String::from_utf8(content).unwrap())
            }
            _ => path,
        });
    }
    Ok(lines)
}

/// Checks that all kinds of sources give the same.
fn check(nodes: &[Node], changes: &Changes, expected: &[&str]) {
    for from in [From::File, From::Pipe, From::Spilled] {
        assert_eq!(lines(nodes, changes.clone(), from).unwrap(), expected, "{from:?}");
    }
}

fn refusal(nodes: &[Node], changes: &Changes) -> String {
    let [file, pipe] = [From::File, From::Pipe].map(|from| lines(nodes, changes.clone(), from).unwrap_err());
    assert_eq!(file, pipe);
    file
}

#[test]
fn the_first_kept_name_becomes_the_file() {
    let nodes = [
        file("a", "secret content"),
        file("other", "beside"),
        dir("p"),
        file("p/a", "other"),
        linked("p/c", "a"),
        linked("b", "p/c"),
        linked("p/d", "b"),
        linked("p/e", "a"),
        file("p/f", "last"),
    ];
    check(&nodes, &below("p"), &["p", "p/a=other", "p/c=secret content", "p/d->p/c", "p/e->p/c", "p/f=last"]);
    check(&nodes[..5], &without("/a"), &["other=beside", "p", "p/a=other", "p/c=secret content"]);
}

#[test]
fn links_may_come_before_their_targets() {
    let nodes =
        [dir("p"), linked("p/c", "b"), linked("p/d", "b"), file("p/f", "f"), linked("b", "a"), file("a", "late")];
    check(&nodes, &below("p"), &["p", "p/f=f", "p/c=late", "p/d->p/c"]);
}

#[test]
fn links_refer_to_inodes_and_not_to_replaced_names() {
    // The first `a` is still p/c's, the second one p/d's.
    let twice = [file("a", "one"), linked("p/c", "a"), file("a", "two"), linked("p/d", "a")];
    check(&twice, &below("p"), &["p/c=one", "p/d=two"]);
    // A link refers to the inode, even if its names are replaced.
    let gone = [file("a", "one"), linked("p/c", "a"), file("p/c", "two"), linked("p/d", "a"), linked("p/e", "a")];
    check(&gone, &below("p"), &["p/c=one", "p/c=two", "p/d=one", "p/e->p/d"]);
    let stays = [file("a", "one"), linked("p/c", "a"), linked("p/d", "a"), file("p/c", "two"), linked("p/e", "a")];
    check(&stays, &below("p"), &["p/c=one", "p/d->p/c", "p/c=two", "p/e->p/d"]);
    // A waiting link that is replaced does not wait any longer.
    let replaced = [linked("p/c", "a"), file("p/c", "own"), file("a", "late")];
    check(&replaced, &below("p"), &["p/c=own"]);
    let again = [file("a", "one"), linked("p/c", "a"), linked("p/c", "a")];
    check(&again, &below("p"), &["p/c=one", "p/c->p/c"]);
}

#[test]
fn links_through_omitted_names_lead_to_the_kept_entry() {
    let nodes = [file("p/c", "in"), linked("b", "p/c"), linked("p/d", "b")];
    check(&nodes, &below("p"), &["p/c=in", "p/d->p/c"]);
    let replaced = [file("p/c", "in"), linked("b", "p/c"), file("p/c", "new"), linked("p/d", "b")];
    let refused = refusal(&replaced, &below("p"));
    assert!(
        refused.contains("in.tar: p/d: hard link to b, which stands for a file that has been replaced"),
        "{refused}"
    );
}

#[test]
fn special_files_have_several_names_too() {
    let nodes =
        [node("a", Kind::Fifo, ""), file("empty", ""), linked("p/c", "a"), linked("p/d", "a"), linked("p/e", "empty")];
    check(&nodes, &below("p"), &["p/c", "p/d->p/c", "p/e="]);
}

#[test]
fn rejects_links_without_target() {
    let nodes = [file("p/a", "not this"), linked("p/c", "a")];
    assert_eq!(
        refusal(&nodes, &below("p")),
        "in.tar: p/c: hard link to a, which is missing (expected the path of a file, device or link in the same input)"
    );
    let directory = [dir("a"), linked("p/c", "a")];
    assert!(refusal(&directory, &below("p")).contains("hard link to a"));
}

#[test]
fn rejects_only_links_that_need_a_copy_without_space() {
    let nodes = [file("a", "secret content"), file("p/f", "f"), linked("p/c", "a")];
    assert_eq!(lines(&nodes[..2], below("p"), From::Nowhere).unwrap(), ["p/f=f"]);
    let refused = lines(&nodes, below("p"), From::Nowhere).unwrap_err();
    assert!(
        refused.contains("p/c: hard link to a, which is left out and whose content could not be kept"),
        "{refused}"
    );
}

#[test]
fn names_beyond_the_memory_limit_never_refer_to_another_entry() {
    let nodes = [file("a", "one"), file("b", "b"), file("a", "two"), linked("p/c", "a")];
    for memory in 0..3000 {
        let mut source = filtered(&nodes, below("p"), From::File);
        source.names = names::OmittedNames::new(memory);
        match source.next_entry() {
            Ok(entry) => {
                let mut content = [0; 9];
                assert_eq!(entry.unwrap().path, b"p/c");
                assert_eq!(source.read(&mut content).unwrap(), Extent::Data(3));
                assert_eq!(&content[..3], b"two");
            }
            Err(error) => assert!(error.to_string().contains("which does not fit the memory limit"), "{error}"),
        }
    }
}
