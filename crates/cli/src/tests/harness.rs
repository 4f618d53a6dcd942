//! Runs a command in this process, on a sample on which every option has an effect.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::{self, Cursor, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use packline_engine::{CpuLocation, QueueDomain, Topology};
use packline_runtime::Temporaries;
use packline_testkit::Sandbox;
use packline_testkit::model::{Content, Node, NodeKind};

use crate::args::parser::parser_of;
use crate::args::{Command, Entry, Invocation};
use crate::dispatch::{self, with_name};
use crate::host::Host;
use crate::host::names::Names;
use crate::host::signals::ShutdownHook;
use crate::host::streams::Streams;
use crate::ui::io::Io;
use crate::ui::progress::DrawnBar;

/// Outcome of a command.
#[derive(Debug)]
pub struct Ran {
    pub status: u8,
    pub out: String,
    pub err: String,
}

/// A stream that stores the bytes written to it.
#[derive(Clone, Default)]
pub struct SharedBuffer(Arc<Mutex<Vec<u8>>>);

impl SharedBuffer {
    pub fn text(&self) -> String {
        String::from_utf8(self.bytes()).unwrap()
    }

    pub fn bytes(&self) -> Vec<u8> {
        self.0.lock().unwrap().clone()
    }
}

impl Write for SharedBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A stream whose reader is gone.
pub struct ClosedPipe;

impl Write for ClosedPipe {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::BrokenPipe.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Err(io::ErrorKind::BrokenPipe.into())
    }
}

thread_local! {
    static SECONDS: Cell<u64> = const { Cell::new(0) };
}

/// A clock that advances two seconds with each call.
fn wall_time() -> Duration {
    Duration::from_secs(SECONDS.replace(SECONDS.get() + 2))
}

/// A machine with two processors and no limits, at second 77.
pub fn host() -> Host {
    Host {
        topology: |_| Topology::default(),
        processors: || 2,
        memory_limit: |_| None,
        machine_memory: || None,
        source_date_epoch: None,
        scratch: std::env::temp_dir(),
        cache: None,
        log: None,
        home: None,
        netrc: None,
        registry_files: Vec::new(),
        proxies: packline_http::Proxies::default(),
        held: 0,
        no_lrzip_conf: true,
        is_static: false,
        fake_root: None,
        now: 77,
        utc_offset: |_| 0,
        columns: 1000,
        names: || Names::parse(b"root:x:0:0::/:\nann:x:3:4::/:\n", b"wheel:x:0:\nstaff:x:4:\n"),
        program: None,
        wall_time,
        umask: || 0o022,
        peak_memory: || Some(12_345),
        ask_hidden: |_, _| None,
    }
}

/// Four processors, two at each of two caches.
pub fn two_caches(_: QueueDomain) -> Topology {
    Topology::new([0, 1, 0, 1].map(|first| CpuLocation { core: first, cache: first, package: first }).to_vec())
}

pub fn io(stdin: Vec<u8>, out: Box<dyn Write + Send>, err: Box<dyn Write + Send>, host: Host) -> Io {
    let stdin = Some(Box::new(Cursor::new(stdin)) as Box<dyn io::Read + Send>);
    Io {
        called: "packline",
        stdin,
        stdout: out,
        stderr: err,
        terminal: false,
        colour: false,
        in_terminal: false,
        out_terminal: false,
        streams: Streams::default(),
        host,
        temporaries: Temporaries::default(),
        shutdown: ShutdownHook::default(),
        drawn: DrawnBar::default(),
        parts: None,
    }
}

/// Runs `packline ARGUMENTS...`.
pub fn run_on(arguments: &[&str], stdin: &[u8], host: Host) -> Ran {
    let out = SharedBuffer::default();
    let err = SharedBuffer::default();
    let mut io = io(stdin.to_vec(), Box::new(out.clone()), Box::new(err.clone()), host);
    let arguments: Vec<OsString> =
        std::iter::once("packline").chain(arguments.iter().copied()).map(OsString::from).collect();
    let status = dispatch::run(&arguments, &mut io);
    Ran { status, out: out.text(), err: err.text() }
}

pub fn run(arguments: &[&str]) -> Ran {
    run_on(arguments, b"", host())
}

/// An empty directory. Commands run in this process, so it contains no program.
pub fn sandbox() -> Sandbox {
    Sandbox::new("")
}

/// Compressible bytes.
fn prose(length: usize) -> Vec<u8> {
    let words = (0u32..).map(|number| format!("{} ", number.wrapping_mul(2_654_435_761) >> 20));
    words.flat_map(String::into_bytes).take(length).collect()
}

/// A tree on which every option has an effect.
pub fn sample() -> Vec<Node> {
    let big = prose(300_000);
    let holes = Content::sparse(500_000, vec![(450_000, prose(3_000))]);
    vec![
        Node::dir(""),
        Node::dir("a"),
        Node::file("a/big", big.clone()),
        Node::new("a/link", NodeKind::HardLink(b"a/big".to_vec())),
        Node::file("a/same", big).owner(3, 4),
        Node::file("a/small", prose(99)).xattr("user.note", *b"value"),
        Node::new("a/sym", NodeKind::Symlink(b"/a/big".to_vec())),
        Node::new("a/zeros", NodeKind::File(holes)).owner(5, 6),
        Node::dir("b").time(900_000_000),
        Node::file("b/tail", prose(140_000)[1..].to_vec()),
    ]
}

/// The sample as a tar.
pub fn sample_tar() -> Vec<u8> {
    packline_testkit::tar::to_bytes(&sample())
}

/// Parses the arguments of a command.
pub fn parse<C: Command>(words: &[&str]) -> (C, Invocation) {
    let words: Vec<OsString> = words.iter().map(Into::into).collect();
    let mut parser = parser_of(&Entry::of::<C>());
    let matches = parser.try_get_matches_from_mut(with_name(C::NAME, &words)).unwrap();
    (C::from_arg_matches(&matches).unwrap(), Invocation::new(C::NAME, &words, &parser, matches))
}

/// Long names of a command's own options.
pub fn options_of(name: &str) -> Vec<String> {
    let parser = parser_of(dispatch::table::find(name.as_ref()).unwrap());
    let longs = parser.get_arguments().filter_map(|argument| argument.get_long());
    longs.filter(|long| !["help", "help-advanced", "version", "log"].contains(long)).map(str::to_string).collect()
}

/// Asserts that a command has exactly these options, by long names.
pub fn assert_options_are<'a>(name: &str, names: impl Iterator<Item = &'a str>) {
    let there = options_of(name);
    let there: BTreeSet<&str> = there.iter().map(String::as_str).collect();
    assert_eq!(names.collect::<BTreeSet<&str>>(), there);
}

/// Asserts that each command line is wrong usage, with this part in its message.
pub fn assert_misuse(cases: &[(&[&str], &str)]) {
    for (words, message) in cases {
        let ran = run(words);
        assert!(ran.status == 2 && ran.err.contains(message), "{words:?}: {ran:?}");
    }
}
