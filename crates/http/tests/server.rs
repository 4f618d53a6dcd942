//! Files on a server that is slow, cuts, lies and changes: the right bytes, or one clear error within a limited time.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use packline_http::{Address, Fault as HttpFault, HttpFile, HttpOptions, Netrc, PartStore, Proxies};
use packline_runtime::Input;
use packline_testkit::http_files::{Fault, HttpFiles, Served};
use packline_testkit::{Random, Stopwatch};

const SIZE: usize = 3_000_000;

fn content() -> Vec<u8> {
    Random::new(46).noise(SIZE)
}

/// Options with short times.
fn quick() -> HttpOptions {
    let mut options = HttpOptions::default();
    options.pause = Duration::from_millis(5);
    options.answer = Duration::from_millis(600);
    options.body = Duration::from_millis(600);
    options
}

fn server() -> (HttpFiles, Vec<u8>) {
    let server = HttpFiles::start().unwrap();
    let content = content();
    server.serve("/image", content.clone());
    (server, content)
}

fn open(server: &HttpFiles, path: &str) -> Result<HttpFile, HttpFault> {
    HttpFile::open(Address::parse(&server.url(path)).unwrap(), quick())
}

/// Reads parts of the file in an order of its own, and compares them. Returns the first error.
fn compare(file: &HttpFile, content: &[u8]) -> Result<(), String> {
    assert_eq!(file.size(), content.len() as u64);
    let mut random = Random::new(7);
    for _ in 0..40 {
        let at = random.below(content.len() as u64 - 60_000) as usize;
        let mut part = vec![0; 1 + random.below(60_000) as usize];
        file.read_at(at as u64, &mut part).map_err(|error| error.to_string())?;
        assert!(part == content[at..at + part.len()], "{at}");
    }
    let mut all = vec![0; content.len()];
    file.read_at(0, &mut all).map_err(|error| error.to_string())?;
    assert!(all == content);
    Ok(())
}

#[test]
fn many_threads_read_the_right_bytes() {
    let (server, content) = server();
    let file = Arc::new(open(&server, "/image?X-Signature=secret").unwrap());
    std::thread::scope(|scope| {
        for _ in 0..8 {
            let file = file.clone();
            let content = &content;
            let read = std::thread::Builder::new().spawn_scoped(scope, move || compare(&file, content).unwrap());
            read.unwrap();
        }
    });
    let (seen, bytes) = server.take_seen();
    assert!(seen.iter().all(|request| request.path.ends_with("?X-Signature=secret")));
    assert!(seen[1..].iter().all(|request| request.conditional) && !seen[0].conditional);
    assert_eq!((file.counts().requests, file.counts().bytes), (seen.len() as u64, bytes));
    // Everything fits into memory, so nothing is read twice.
    assert_eq!(bytes, SIZE as u64);
    let mut end = [0; 10];
    assert!(file.read_at(SIZE as u64 - 5, &mut end).is_err() && file.read_at(u64::MAX - 5, &mut end).is_err());
}

#[test]
fn empty_and_short_files() {
    let (server, _) = server();
    server.serve("/empty", Vec::new());
    server.serve("/short", *b"packline");
    assert_eq!(open(&server, "/empty").unwrap().size(), 0);
    let short = open(&server, "/short").unwrap();
    let mut bytes = [0; 8];
    short.read_at(0, &mut bytes).unwrap();
    assert_eq!((&bytes, short.counts().requests), (b"packline", 1));
}

#[test]
fn faults_that_pass_cost_time_only() {
    let pause = Duration::from_millis(20);
    for (fault, times) in [
        (Fault::CutAtOnce, 3),
        (Fault::Cut(5_000), 4),
        (Fault::Cut(70_000), 1_000),
        (Fault::Delay(pause), 1_000),
        (Fault::Drip(100_000, pause), 1_000),
        (Fault::LongLength(0), 1_000),
        (Fault::Status(503, String::new()), 3),
        (Fault::Status(429, "Retry-After: 0\r\n".to_string()), 3),
        (Fault::Status(500, "Retry-After: Fri, 27 Nov 2026 00:00:00 GMT\r\n".to_string()), 3),
        (Fault::Nonsense, 2),
    ] {
        let (server, content) = server();
        server.set_fault(fault.clone(), 1, times);
        let file = open(&server, "/image").unwrap();
        compare(&file, &content).unwrap_or_else(|error| panic!("{fault:?}: {error}"));
    }
    // An answer that takes too long is continued.
    let (server, content) = server();
    server.set_fault(Fault::Drip(100_000, Duration::from_millis(300)), 3, 2);
    compare(&open(&server, "/image").unwrap(), &content).unwrap();
}

#[test]
fn faults_that_stay_are_one_clear_error() {
    let wrong_range = "the server sent another part of the file";
    let text = |text: &str| Fault::ContentRange(Some(text.to_string()));
    let mut wrong = Vec::new();
    for (fault, expected) in [
        (Fault::CutAtOnce, "the connection to the server failed"),
        (Fault::Cut(100), "the connection to the server failed"),
        (Fault::Delay(Duration::from_secs(2)), "no complete answer of the server"),
        (Fault::Drip(1, Duration::from_millis(50)), "no complete answer of the server"),
        (Fault::Status(503, String::new()), "the server answers 503"),
        (Fault::Status(503, "Retry-After: 86400\r\n".to_string()), "asks to wait 86400 s; try again later"),
        (Fault::Status(404, String::new()), "the server answers 404"),
        (Fault::Status(403, String::new()), "; give a user and a password in the address or in .netrc"),
        (Fault::Status(412, String::new()), "the file changed on the server"),
        (Fault::Status(204, String::new()), "the server answers 204"),
        (Fault::LaterRange(1), wrong_range),
        (Fault::LaterRange(4096), wrong_range),
        (Fault::ShorterRange(1), wrong_range),
        (Fault::ContentRange(None), "without a valid Content-Range"),
        (text("bytes 0-0/*"), "without a valid Content-Range"),
        (text("bytes 0-9/3000001"), "(expected the same size in each answer); start again"),
        (Fault::LongLength(1), wrong_range),
        (Fault::ShortLength(1), wrong_range),
        (Fault::Endless, "more than"),
        (Fault::Whole, "does not support range requests; download the file, or pipe it to the command"),
        (Fault::Encoded, "another encoding: gzip"),
        (Fault::Nonsense, "the server"),
    ] {
        let (server, content) = server();
        let stopwatch = Stopwatch::start();
        let file = open(&server, "/image").unwrap();
        server.set_fault(fault.clone(), 2, u64::MAX);
        let error = compare(&file, &content).expect_err(&format!("{fault:?}"));
        if !error.contains(expected) {
            wrong.push(format!("{fault:?}: {error}"));
        }
        // The first request fails alike, except that it knows no earlier version.
        let error = open(&server, "/image").expect_err(&format!("{fault:?}")).to_string();
        assert!(!error.is_empty() && error.lines().count() == 1, "{error}");
        assert!(stopwatch.elapsed() < Duration::from_secs(40), "{fault:?}: {:?}", stopwatch.elapsed());
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_file_that_changes_is_an_error_and_never_a_mix() {
    let served = |bytes: Vec<u8>, etag: Option<&str>, modified: Option<&str>| Served {
        bytes: Arc::new(bytes),
        etag: etag.map(str::to_string),
        modified: modified.map(str::to_string),
    };
    let other: Vec<u8> = content().iter().map(|byte| !byte).collect();
    let longer = [&other[..], b"!"].concat();
    let monday = "Mon, 23 Nov 2026 10:00:00 GMT";
    let tuesday = "Tue, 24 Nov 2026 10:00:00 GMT";
    for (before, after, what) in [
        (served(content(), Some("\"a\""), None), served(other.clone(), Some("\"b\""), None), "ETag"),
        (served(content(), Some("\"a\""), Some(monday)), served(other.clone(), None, Some(monday)), "ETag"),
        (served(content(), Some("W/\"a\""), None), served(other.clone(), Some("W/\"b\""), None), "ETag"),
        (served(content(), None, Some(monday)), served(other.clone(), None, Some(tuesday)), "Last-Modified"),
        (served(content(), None, None), served(longer, None, None), "size"),
    ] {
        let server = HttpFiles::start().unwrap();
        server.serve_as("/image", before);
        server.change_after(4, "/image", after);
        let file = open(&server, "/image").unwrap();
        let error = compare(&file, &content()).unwrap_err();
        assert!(error.contains(&format!("(expected the same {what} in each answer)")), "{error}");
        // Nothing is read any more, not even what is in memory.
        assert!(file.read_at(0, &mut [0; 10]).unwrap_err().to_string().contains("changed on the server"));
    }
}

/// A store in memory.
#[derive(Debug, Default)]
struct Memory(Mutex<BTreeMap<Vec<u8>, Vec<u8>>>);

impl PartStore for Memory {
    fn get(&self, name: &[u8]) -> Option<Vec<u8>> {
        self.0.lock().unwrap().get(name).cloned()
    }

    fn put(&self, name: &[u8], bytes: &[u8]) {
        self.0.lock().unwrap().insert(name.to_vec(), bytes.to_vec());
    }
}

impl Memory {
    /// Opens a file, which keeps what it reads.
    fn open(self: &Arc<Memory>, server: &HttpFiles, path: &str) -> HttpFile {
        let mut options = quick();
        options.store = Some(self.clone());
        HttpFile::open(Address::parse(&server.url(path)).unwrap(), options).unwrap()
    }
}

#[test]
fn what_is_kept_is_not_requested_again() {
    let (server, content) = server();
    let store = Arc::new(Memory::default());
    let mut part = vec![0; 100_000];
    store.open(&server, "/image").read_at(1_000_000, &mut part).unwrap();
    assert!(part == content[1_000_000..1_100_000]);
    let all = store.open(&server, "/image");
    compare(&all, &content).unwrap();
    // The first request of each run has 8 KiB, of which nothing is kept, and pages are requested as a whole.
    assert!(all.counts().bytes <= SIZE as u64 - 100_000 + 2 * 4096, "{:?}", all.counts());
    server.take_seen();
    let again = store.open(&server, "/image");
    compare(&again, &content).unwrap();
    let (seen, bytes) = server.take_seen();
    assert!(seen.len() <= 2 && bytes <= 2 * 8192, "{seen:?}, {bytes} bytes");
    // Damage is found, and repaired.
    store.0.lock().unwrap().values_mut().for_each(|bytes| bytes.truncate(bytes.len() / 2));
    compare(&store.open(&server, "/image"), &content).unwrap();
    server.take_seen();
    compare(&store.open(&server, "/image"), &content).unwrap();
    assert!(server.take_seen().1 <= 2 * 8192);
}

#[test]
fn nothing_is_kept_of_another_version_or_address() {
    let store = Arc::new(Memory::default());
    let other: Vec<u8> = content().iter().map(|byte| !byte).collect();
    let served = |bytes: &[u8], etag: Option<&str>, modified: Option<&str>| Served {
        bytes: Arc::new(bytes.to_vec()),
        etag: etag.map(str::to_string),
        modified: modified.map(str::to_string),
    };
    let (server, _) = server();
    for (etag, bytes) in [("\"a\"", content()), ("\"b\"", other.clone()), ("\"a\"", content())] {
        server.serve_as("/image", served(&bytes, Some(etag), None));
        compare(&store.open(&server, "/image"), &bytes).unwrap();
    }
    // Another address with the same validator, and another query.
    for path in ["/other", "/image?other"] {
        server.serve_as(path.split('?').next().unwrap(), served(&other, Some("\"a\""), None));
        compare(&store.open(&server, path), &other).unwrap();
    }
    // A change while it is read is still an error, and later runs read no mix.
    server.change_after(3, "/image", served(&content(), Some("\"c\""), None));
    let fresh = Arc::new(Memory::default());
    assert!(compare(&fresh.open(&server, "/image"), &other).unwrap_err().contains("changed on the server"));
    compare(&fresh.open(&server, "/image"), &content()).unwrap();
    // Without a strong validator nothing is kept. The server sends no date, so that a change in the same second cannot be excluded.
    let none = Arc::new(Memory::default());
    for (etag, modified) in [(None, None), (Some("W/\"a\""), None), (None, Some("Mon, 23 Nov 2026 10:00:00 GMT"))] {
        server.serve_as("/image", served(&content(), etag, modified));
        compare(&none.open(&server, "/image"), &content()).unwrap();
    }
    assert!(none.0.lock().unwrap().is_empty());
}

#[test]
fn redirects_are_followed_once_and_never_get_credentials() {
    let (origin, content) = server();
    let (mirror, _) = server();
    mirror.serve("/real", content.clone());
    origin.redirect("/moved", &mirror.url("/real?token=secret"));
    origin.redirect("/relative", "image");
    let address = |path: &str| format!("http://me:password@{}{path}", origin.address());
    let open = |path: &str| HttpFile::open(Address::parse(&address(path)).unwrap(), quick());
    compare(&open("/moved").unwrap(), &content).unwrap();
    let at_origin = origin.take_seen().0;
    let at_mirror = mirror.take_seen().0;
    assert_eq!(at_origin.len(), 1, "later requests go to the mirror at once");
    assert!(at_origin[0].authorization.is_some());
    assert!(at_mirror.len() > 10 && at_mirror.iter().all(|request| request.authorization.is_none()));
    compare(&open("/relative").unwrap(), &content).unwrap();
    assert!(origin.take_seen().0.iter().all(|request| request.authorization.is_some()));
    // An address that is valid for a short time is asked for again.
    let file = open("/moved").unwrap();
    mirror.set_fault(Fault::Status(403, String::new()), 0, 1);
    compare(&file, &content).unwrap();
    assert_eq!(origin.take_seen().0.len(), 2);
    origin.redirect("/circle", "/circle?secret");
    let error = open("/circle").unwrap_err().to_string();
    assert!(error.contains("redirects more than 10 times") && !error.contains("secret"), "{error}");
    origin.redirect("/elsewhere", "ftp://secret@host/x?secret");
    let error = open("/elsewhere").unwrap_err().to_string();
    assert!(error.contains("unknown kind") && !error.contains("secret"), "{error}");
}

#[test]
fn credentials_come_from_the_address_or_from_netrc() {
    let (server, content) = server();
    // me:secret
    server.set_authorization("Basic bWU6c2VjcmV0");
    let error = open(&server, "/image").unwrap_err().to_string();
    assert!(error.contains("401"), "{error}");
    let mut options = quick();
    options.netrc = Netrc::parse("machine 127.0.0.1 login me password secret");
    let file = HttpFile::open(Address::parse(&server.url("/image")).unwrap(), options.clone()).unwrap();
    compare(&file, &content).unwrap();
    let address = format!("http://me:wrong@{}/image?key=secret", server.address());
    let error = HttpFile::open(Address::parse(&address).unwrap(), options).unwrap_err().to_string();
    assert!(error.contains("401") && !error.contains("secret") && !error.contains("wrong"), "{error}");
    let file = HttpFile::open(Address::parse(&address.replace("wrong", "secret")).unwrap(), quick()).unwrap();
    assert!(!format!("{file:?} {}", file.address()).contains("secret"));
}

#[test]
fn a_server_that_is_not_there_fails_at_once() {
    let server = HttpFiles::start().unwrap();
    let url = server.url("/image");
    drop(server);
    let stopwatch = Stopwatch::start();
    let error = HttpFile::open(Address::parse(&url).unwrap(), HttpOptions::default()).unwrap_err().to_string();
    assert!(error.contains("the connection to the server failed"), "{error}");
    assert!(stopwatch.elapsed() < Duration::from_secs(20));
    // So does a proxy that is not there, although the server is.
    let (server, _) = self::server();
    let mut options = quick();
    options.proxies = Proxies { http: Some(url.replace("/image", "")), ..Proxies::default() };
    assert!(HttpFile::open(Address::parse(&server.url("/image")).unwrap(), options).is_err());
    assert!(server.take_seen().0.is_empty());
}

#[test]
fn a_small_memory_reads_all_bytes() {
    let (server, content) = server();
    let mut options = quick();
    options.memory = 0;
    let file = HttpFile::open(Address::parse(&server.url("/image")).unwrap(), options).unwrap();
    compare(&file, &content).unwrap();
}
