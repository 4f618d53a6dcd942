//! Malformed tars: each gives one line that names the entry and the offset, exit status 1, and no image.

use packline_testkit::model::{Node, NodeKind};
use packline_testkit::tar::{BLOCK, Header, pax_record, to_bytes};
use packline_testkit::{Ran, tools};

use crate::sandbox;

/// A tar that must be refused.
struct Bad {
    /// The fault.
    name: &'static str,
    bytes: Vec<u8>,
    /// Required parts of the message: the entry, if known at the fault; the fault's offset.
    says: Vec<String>,
}

fn bad(name: &'static str, bytes: Vec<u8>, entry: &str, offset: Option<u64>) -> Bad {
    let place = offset.map(|offset| format!("at byte {offset}"));
    let says = [entry.to_owned()].into_iter().filter(|entry| !entry.is_empty()).chain(place).collect();
    Bad { name, bytes, says }
}

/// A sound entry ahead of the fault: header and one block of content, 1024 bytes.
fn ahead() -> Vec<u8> {
    let mut bytes = to_bytes(&[Node::file("ahead", "fine")]);
    bytes.truncate(2 * BLOCK);
    bytes
}

/// The sound entry, then `parts`, then the end of a tar.
fn after(parts: &[&[u8]]) -> Vec<u8> {
    [&ahead(), parts.concat().as_slice(), &[0; 2 * BLOCK]].concat()
}

fn header(path: &str, kind: u8, size: u64) -> Header {
    let mut header = Header::new(path.as_bytes(), 0o644, kind);
    header.number(124..135, size);
    header
}

fn block(bytes: &[u8]) -> Vec<u8> {
    let mut block = bytes.to_vec();
    block.resize(bytes.len().next_multiple_of(BLOCK), 0);
    block
}

/// A pax header with this body, then a file of `size` bytes.
fn with_pax(body: &[u8], path: &str, size: u64) -> Vec<u8> {
    let file = header(path, b'0', size).sealed();
    let content = vec![b'c'; (size as usize).next_multiple_of(BLOCK)];
    let pax = header(&format!("./PaxHeaders/{path}"), b'x', body.len() as u64).sealed();
    after(&[&pax, &block(body), &file, &content])
}

fn refuse_all(zoo: Vec<Bad>) {
    let sandbox = sandbox();
    let mut wrong = Vec::new();
    for tar in zoo {
        sandbox.write("bad.tar", &tar.bytes);
        let line = sandbox.refused(&["pack", "bad.tar", "refused.sqfs", "-j", "2"]);
        let mut missing = tar.says;
        missing.push("bad.tar".into());
        missing.retain(|word| !line.contains(word));
        if !missing.is_empty() {
            wrong.push(format!("{}: {line:?} does not say {missing:?}", tar.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn truncated_or_damaged() {
    let mut damaged = header("damaged", b'0', 0).sealed();
    damaged[0] ^= 1;
    let long = after(&[&header("long", b'0', 5000).sealed(), &[b'c'; 5120]]);
    let huge = header("huge", b'0', 0o7_7777_7777).sealed();
    refuse_all(vec![
        bad("cut in a header", [&ahead(), &ahead()[..300]].concat(), "", Some(1024)),
        bad("cut in a content", long[..3 * BLOCK + 700].to_vec(), "long", None),
        bad("checksum", after(&[&damaged]), "", Some(1024)),
        bad("a content that is not there", after(&[&huge]), "huge", None),
        bad("an x that nothing follows", after(&[&header("pax", b'x', 10).sealed(), &block(b"10 a=bcde\n")]), "", None),
    ]);
}

#[test]
fn numbers() {
    let numbered = |field: std::ops::Range<usize>, text: &[u8]| {
        let mut header = header("number", b'0', 0);
        header.0[field.clone()].fill(0);
        header.text(field.start, text, field.len());
        after(&[&header.sealed()])
    };
    refuse_all(vec![
        bad("negative size", numbered(124..136, &[0xff; 12]), "number", Some(1024)),
        bad(
            "size beyond 2^63",
            numbered(124..136, &[0x80, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]),
            "number",
            Some(1024),
        ),
        bad("letters in a size", numbered(124..136, b"12ab"), "number", Some(1024)),
        bad("letters in a mode", numbered(100..108, b"rwxr-x"), "number", Some(1024)),
    ]);
}

#[test]
fn pax_headers() {
    let one_gigabyte = after(&[&header("pax", b'x', 1 << 30).sealed(), &[b'1'; BLOCK]]);
    let long_name = after(&[&header("././@LongLink", b'L', 1 << 30).sealed(), &[b'n'; BLOCK]]);
    refuse_all(vec![
        bad("length too long", with_pax(b"99 path=x\n", "file", 0), "", Some(1536)),
        bad("length too short", with_pax(b"5 path=x\n", "file", 0), "", Some(1536)),
        bad("length 0", with_pax(b"0 path=x\n", "file", 0), "", Some(1536)),
        bad("no length", with_pax(b"path=x\n", "file", 0), "", Some(1536)),
        bad("length beyond 2^64", with_pax(b"99999999999999999999999 path=x\n", "file", 0), "", Some(1536)),
        bad("no line end", with_pax(b"9 path=xy", "file", 0), "", Some(1536)),
        bad("no equals sign", with_pax(b"9 pathxy\n", "file", 0), "", Some(1536)),
        bad("negative size", with_pax(&pax_record(b"size", b"-1"), "file", 0), "", Some(1536)),
        bad("no number", with_pax(&pax_record(b"uid", b"root"), "file", 0), "", Some(1536)),
        bad("a gigabyte of pax header", one_gigabyte, "", Some(1024)),
        bad("a gigabyte of name", long_name, "", Some(1024)),
    ]);
}

/// A pax 1.0 sparse file with this map.
fn sparse_1_0(map: &str, real_size: u64) -> Vec<u8> {
    let body = [
        pax_record(b"GNU.sparse.major", b"1"),
        pax_record(b"GNU.sparse.minor", b"0"),
        pax_record(b"GNU.sparse.name", b"holey"),
        pax_record(b"GNU.sparse.realsize", real_size.to_string().as_bytes()),
    ]
    .concat();
    let map = block(map.as_bytes());
    let file = header("GNUSparseFile.0/holey", b'0', (map.len() + 1024) as u64).sealed();
    after(&[&header("./PaxHeaders/holey", b'x', body.len() as u64).sealed(), &block(&body), &file, &map, &[b'c'; 1024]])
}

/// A pax 0.1 sparse file with this map.
fn sparse_0_1(map: &str, real_size: u64) -> Vec<u8> {
    let body = [
        pax_record(b"GNU.sparse.size", real_size.to_string().as_bytes()),
        pax_record(b"GNU.sparse.numblocks", b"2"),
        pax_record(b"GNU.sparse.map", map.as_bytes()),
    ]
    .concat();
    with_pax(&body, "holey", 1024)
}

/// An old GNU sparse file with this map of two pieces.
fn sparse_old(map: [(u64, u64); 2], real_size: u64) -> Vec<u8> {
    let mut file = header("holey", b'S', 1024);
    file.text(257, b"ustar  \0", 8);
    for (index, (offset, length)) in map.into_iter().enumerate() {
        let at = 386 + 24 * index;
        file.number(at..at + 11, offset);
        file.number(at + 12..at + 23, length);
    }
    file.number(483..494, real_size);
    after(&[&file.sealed(), &[b'c'; 1024]])
}

#[test]
fn sparse_maps() {
    let zoo = [
        ("overlapping", [(0, 512), (256, 512)], 4096),
        ("descending", [(2048, 512), (0, 512)], 4096),
        ("past the end", [(0, 512), (4000, 512)], 4096),
        ("more than is stored", [(0, 512), (1024, 2048)], 4096),
        ("less than is stored", [(0, 512), (1024, 12)], 4096),
    ];
    for (name, map, size) in zoo {
        let [(a, b), (c, d)] = map;
        refuse_all(vec![
            bad(name, sparse_1_0(&format!("2\n{a}\n{b}\n{c}\n{d}\n"), size), "holey", None),
            bad(name, sparse_0_1(&format!("{a},{b},{c},{d}"), size), "holey", None),
            bad(name, sparse_old(map, size), "holey", None),
        ]);
    }
    refuse_all(vec![
        bad("beyond 2^63", sparse_1_0("1\n9223372036854775807\n10\n", 4096), "holey", None),
        bad("a number too long", sparse_1_0("1\n99999999999999999999999\n10\n", 4096), "holey", None),
        bad("letters", sparse_1_0("1\nx\n10\n", 4096), "holey", None),
        bad("more pieces than there is map", sparse_1_0("900\n0\n512\n", 4096), "holey", None),
        bad("a count of 2^62", sparse_1_0("4611686018427387904\n0\n512\n", 4096), "holey", None),
        bad("an odd list", sparse_0_1("0,512,1024", 4096), "holey", None),
    ]);
}

/// Runs a command on a tar on standard input: standard error and the names in the image, or the error.
fn run_on(tar: &[u8], arguments: &[&str]) -> Result<(String, Vec<String>), String> {
    let sandbox = sandbox();
    sandbox.write("odd.tar", tar);
    let ran = Ran::of(sandbox.command(&[arguments, &["odd.sqfs"]].concat()).stdin(sandbox.open("odd.tar")));
    if ran.status != 0 {
        assert!(!sandbox.at("odd.sqfs").exists(), "{ran:?}");
        return Err(ran.stderr);
    }
    let listed = sandbox.run(&["list", "odd.sqfs"]).text();
    Ok((ran.stderr, listed.lines().filter(|name| *name != ".").map(str::to_owned).collect()))
}

/// The names that another program extracts; its exit status is ignored.
fn extracted(program: &str, tar: &[u8]) -> Vec<String> {
    let sandbox = sandbox();
    sandbox.write("odd.tar", tar);
    sandbox.create_dir("out");
    Ran::of(&mut sandbox.program(program, &["-C", "out", "-xf", "odd.tar"]));
    sandbox.names_in("out")
}

/// Faults that lose no data are rejected; `--lenient` and tar2sqfs skip them with a warning, like GNU tar.
#[test]
fn faults_that_a_lenient_pack_skips() {
    let pax = |body: &[u8]| [header("./PaxHeaders/f", b'x', body.len() as u64).sealed().to_vec(), block(body)].concat();
    let mut odd_time = header("file", b'0', 0);
    odd_time.text(136, b"soon", 12);
    for (tar, warning, names) in [
        (after(&[&pax(&pax_record(b"path", b"gone"))]), "extended header at the end", &["ahead"][..]),
        (with_pax(&pax_record(b"mtime", b"soon"), "file", 0), "mtime is 'soon'", &["ahead", "file"]),
        (after(&[&odd_time.sealed()]), "mtime field 'soon", &["ahead", "file"]),
        (after(&[&header("", b'5', 0).sealed()]), "a directory without a name", &["ahead"]),
    ] {
        refuse_all(vec![bad(warning, tar.clone(), "", None)]);
        for arguments in [&["pack", "-q", "--lenient", "-"][..], &["tar2sqfs", "-q"]] {
            let (message, found) = run_on(&tar, arguments).unwrap();
            let start = format!("packline: warning: standard input: {warning}");
            assert!(message.starts_with(&start) && message.lines().count() == 1, "{arguments:?}: {message}");
            assert_eq!(found, names, "{warning}");
        }
        for program in ["tar", "bsdtar"] {
            if tools::need(&[program]) {
                assert_eq!(extracted(program, &tar), names, "{program}: {warning}");
            }
        }
        assert!(run_on(&tar, &["tar2sqfs", "-q", "--no-skip"]).unwrap_err().contains("at byte"));
    }
}

/// Faults that any pack skips with a warning; refused by `tar2sqfs --no-skip` alone.
#[test]
fn faults_that_every_pack_skips() {
    let acl = [header("acl", b'A', 600).sealed().to_vec(), block(&[b'a'; 600])].concat();
    let mut cut = after(&[&header("file", b'0', 3).sealed(), b"abc"]);
    cut.truncate(3 * BLOCK + 3);
    let zeros = vec![0; BLOCK];
    for (tar, warning, names) in [
        (
            after(&[&acl, &header("file", b'0', 0).sealed()]),
            "unknown entry type 'A' at byte 1024 in entry acl",
            &["ahead", "file"][..],
        ),
        ([&ahead(), &zeros[..], &b"junk".repeat(1000)].concat(), "no header after a single block of zeros", &["ahead"]),
        (cut, "the archive ends 509 bytes before the padding", &["ahead", "file"]),
        (with_pax(&pax_record(b"mtime", b"12s"), "file", 0), "mtime is '12s'", &["ahead", "file"]),
    ] {
        for arguments in
            [&["pack", "-q", "-"][..], &["pack", "-q", "--lenient", "-"], &["tar2sqfs", "-q"], &["sqfstar", "-quiet"]]
        {
            let (message, found) = run_on(&tar, arguments).unwrap();
            assert!(message.contains(&format!("standard input: {warning}")), "{arguments:?}: {message}");
            assert!(message.contains("warning") && message.lines().count() == 1, "{arguments:?}: {message}");
            assert_eq!(found, names, "{warning}");
        }
        assert!(run_on(&tar, &["tar2sqfs", "-q", "--no-skip"]).unwrap_err().contains(warning));
        let sandbox = sandbox();
        sandbox.write("odd.tar", &tar);
        sandbox.good(&["pack", "-q", "odd.tar", "odd.lrz"]);
        for arguments in [
            &["list", "odd.tar"][..],
            &["cat", "odd.tar", "ahead"],
            &["info", "odd.tar"],
            &["list", "odd.lrz"],
            &["unpack", "-q", "odd.lrz", "out"],
            &["pack", "-q", "odd.tar", "odd.tar", "twice.sqfs"],
        ] {
            let message = sandbox.good(arguments).stderr;
            assert!(message.contains(warning), "{arguments:?}: {message}");
        }
    }
}

/// Faults that lose data are rejected even with `--lenient`.
#[test]
fn faults_that_are_never_skipped() {
    for (tar, what) in [
        (after(&[&header("", b'0', 0).sealed()]), "the name is empty"),
        (with_pax(&pax_record(b"path", b"a\0b"), "file", 0), "the name holds a NUL byte"),
        (with_pax(&pax_record(b"uid", b"root"), "file", 0), "uid is 'root'"),
        (Vec::new(), "standard input: is empty (expected a tar)"),
        (b"\x1f\x8b\x08\0\0\0\0\0\0\x03\x03\0\0\0\0\0\0\0\0\0".to_vec(), "standard input: is empty"),
    ] {
        for arguments in [&["pack", "--lenient", "-"][..], &["pack", "-"], &["tar2sqfs"], &["tar2sqfs", "-s"]] {
            let message = run_on(&tar, arguments).unwrap_err();
            assert!(message.contains(what), "{arguments:?}: {message}");
        }
    }
    let empty = run_on(b"", &["pack", "--format", "lrz", "-"]).unwrap_err();
    assert!(empty.contains("standard input: is empty"), "{empty}");
    let (_, found) = run_on(&[0; 2 * BLOCK], &["pack", "-q", "-"]).unwrap();
    assert_eq!(found, Vec::<String>::new(), "a tar without entries");
}

#[test]
fn only_a_tar_is_packed_leniently() {
    let sandbox = sandbox();
    for output in ["odd.sqfs", "odd.lrz"] {
        assert!(sandbox.bad(2, &["pack", "--lenient", ".", output]).contains("--lenient"), "{output}");
    }
}

fn linked(entries: &[(&str, &str)]) -> Vec<u8> {
    let link = |(path, target): &(&str, &str)| Node::new(*path, NodeKind::HardLink((*target).into()));
    let nodes: Vec<Node> =
        [Node::file("ahead", "fine"), Node::dir("dir")].into_iter().chain(entries.iter().map(link)).collect();
    to_bytes(&nodes)
}

#[test]
fn hard_links() {
    refuse_all(vec![
        bad("to nothing", linked(&[("name", "nowhere")]), "name", None),
        bad("to a directory", linked(&[("name", "dir")]), "name", None),
        bad("to itself", linked(&[("name", "name")]), "name", None),
        bad("in a circle", linked(&[("name", "other"), ("other", "name")]), "name", None),
        bad("in a long circle", linked(&[("a1", "a2"), ("a2", "a3"), ("a3", "a1")]), "a1", None),
        bad("out of the tree", linked(&[("name", "../../etc/passwd")]), "name", None),
    ]);
}

#[test]
fn names() {
    let long = "n".repeat(256);
    refuse_all(vec![
        bad("a name of 256 bytes", to_bytes(&[Node::file(long.as_str(), "x")]), &long, None),
        bad("a long name below", to_bytes(&[Node::dir("d"), Node::file(format!("d/{long}/f"), "x")]), &long, None),
        bad("out of the tree", to_bytes(&[Node::file("a/../../up", "x")]), "a/../../up", None),
        bad("a NUL in a path", with_pax(&pax_record(b"path", b"a\0b"), "file", 0), "", Some(2048)),
        bad("a file with children", to_bytes(&[Node::file("f", "x"), Node::file("f/g", "y")]), "f/g", None),
    ]);
}

#[test]
fn compressed() {
    let sandbox = sandbox();
    sandbox.write("plain.tar", after(&[]));
    for program in ["gzip", "xz", "zstd", "bzip2", "lz4"] {
        if !tools::need(&[program]) {
            return;
        }
        let packed = sandbox.peer(program, &["-c", "plain.tar"]).stdout;
        let mut flipped = packed.clone();
        let middle = packed.len() / 2;
        flipped[middle] ^= 0x10;
        flipped[middle + 1] ^= 0xff;
        refuse_all(vec![bad(program, packed[..packed.len() - 9].to_vec(), "", None), bad(program, flipped, "", None)]);
    }
}
