//! Symbolic links that a directory source follows.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use crate::directory_common::{drain, options};
use packline_tree::{DirectoryOptions, DirectorySource, Kind, NotFollowed, Source, Symlinks, scan};

fn following(readers: usize) -> DirectoryOptions {
    let mut options = options(readers);
    options.symlinks = Symlinks::Followed(NotFollowed::LeftOut);
    options
}

/// Paths with contents, and the warnings.
fn found(root: &Path, options: DirectoryOptions) -> (Vec<String>, Vec<String>) {
    let mut source = DirectorySource::open(root, options).unwrap();
    let show = |(entry, content): (packline_tree::Entry, Option<Vec<u8>>)| {
        let rest = match entry.kind {
            Kind::HardLink(target) => format!(" = {}", String::from_utf8(target).unwrap()),
            _ => content.map_or(String::new(), |content| format!(": {}", content.len())),
        };
        String::from_utf8(entry.path).unwrap() + &rest
    };
    let entries = drain(&mut source, 1 << 16).unwrap().into_iter().map(show).collect();
    (entries, source.take_warnings())
}

#[test]
fn links_are_replaced_by_their_targets() {
    let temp = tempfile::tempdir().unwrap();
    let at = |name: &str| temp.path().join(name);
    fs::create_dir_all(at("root/a")).unwrap();
    fs::create_dir_all(at("beside/b")).unwrap();
    fs::write(at("root/a/small"), [1; 10]).unwrap();
    fs::write(at("beside/b/large"), vec![2; 400_000]).unwrap();
    fs::write(at("beside/other"), [3; 5]).unwrap();
    for (target, name) in [
        ("../beside/b", "root/dir"),
        ("../beside/b/large", "root/file"),
        ("a/small", "root/again"),
        ("nothing", "root/none"),
        ("..", "root/a/up"),
        ("../../root/a", "beside/b/back"),
        ("../other", "beside/b/other"),
    ] {
        symlink(target, at(name)).unwrap();
    }
    let entries = [
        "",
        "a",
        "a/small: 10",
        "again = a/small",
        "dir",
        "dir/back",
        "dir/back/small = a/small",
        "dir/large: 400000",
        "dir/other: 5",
        "file = dir/large",
    ];
    let mut warned = None;
    for readers in [0, 1, 3] {
        let (found, warnings) = found(&at("root"), following(readers));
        assert_eq!(found, entries, "{readers}");
        assert_eq!(warnings.len(), 3, "{warnings:?}");
        assert_eq!(*warned.get_or_insert_with(|| warnings.clone()), warnings);
    }
    let mut lone = following(0);
    lone.hard_links = false;
    lone.symlinks = Symlinks::Followed(NotFollowed::Kept);
    let mut warnings = Vec::new();
    let list = scan(&at("root"), lone, &mut |warning| warnings.push(warning)).unwrap();
    let kept = list.iter().filter(|(entry, _)| matches!(entry.kind, Kind::Symlink(_))).count();
    assert_eq!((list.len(), kept, warnings.len()), (entries.len() + 3, 3, 3));
    let mut above = following(0);
    above.above = std::iter::once(id(&at("beside/b"))).collect();
    assert!(found(&at("root"), above).0.iter().all(|path| !path.starts_with("dir")));
}

fn id(path: &Path) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt;
    let found = fs::metadata(path).unwrap();
    (found.dev(), found.ino())
}

/// More directories than are kept open, with a link in the middle; and more links, one below another, than a path may have.
#[test]
fn the_way_back_through_links_is_found() {
    let temp = tempfile::tempdir().unwrap();
    let deep = |start: &str| (0..70).fold(temp.path().join(start), |path, _| path.join("d"));
    for start in ["root", "beside"] {
        fs::create_dir_all(deep(start)).unwrap();
        deep(start).ancestors().take(71).for_each(|directory| fs::write(directory.join("z"), [7; 3]).unwrap());
    }
    symlink(temp.path().join("beside"), deep("root").join("link")).unwrap();
    assert_eq!(found(&temp.path().join("root"), following(2)).0.len(), 4 * 71);
    for n in 0..60 {
        fs::create_dir(temp.path().join(format!("{n}"))).unwrap();
        symlink(format!("../{}", n + 1), temp.path().join(format!("{n}/n"))).unwrap();
    }
    let (found, warnings) = found(&temp.path().join("0"), following(0));
    assert!(found.len() > 30 && found.len() < 45 && warnings.len() == 1, "{found:?} {warnings:?}");
}
