//! A cache on a server: lookups, and the behaviour with a slow, unreachable or lying server.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use packline_cache::http::{Clock, Server, Url, ping};
use packline_cache::{BlockCache, BlockEncoder, Counts, Lookup};
use packline_codec::{Outcome, Spec};
use packline_testkit::http_cache::{Fault, HttpCache};
use packline_testkit::{Random, Stopwatch};

const BLOCK: usize = 16 << 10;
static START: LazyLock<Stopwatch> = LazyLock::new(Stopwatch::start);

fn clock() -> Duration {
    START.elapsed()
}

/// A clock for which no time passes, however slow this machine is.
fn no_time() -> Duration {
    Duration::ZERO
}

fn spec() -> Spec {
    Spec::parse("zstd:level=3").unwrap()
}

/// Blocks that compress, and one that does not.
fn blocks() -> Vec<Vec<u8>> {
    let prose = (0..40).map(|seed| Random::new(seed).prose(BLOCK - seed as usize));
    prose.chain([Random::new(99).noise(BLOCK)]).collect()
}

fn compressed(encoder: &mut BlockEncoder, block: &[u8]) -> Option<Vec<u8>> {
    let mut to = vec![0; block.len()];
    match encoder.compress(block, None, &mut to).unwrap() {
        Outcome::Smaller(size) => Some(to[..size].to_vec()),
        Outcome::NotSmaller => None,
    }
}

fn cache(url: &str, threads: bool) -> Arc<BlockCache> {
    cache_timed(url, threads, no_time)
}

fn cache_timed(url: &str, threads: bool, clock: Clock) -> Arc<BlockCache> {
    let server = Server::new(Url::parse(url).unwrap(), threads, clock);
    Arc::new(BlockCache::shared(Box::new(server)))
}

/// Compresses all blocks through a cache, and compares the results with the encoder's.
fn run(cache: Arc<BlockCache>) -> Counts {
    let encoder = |cache| BlockEncoder::new(&Lookup { known: Vec::new(), cache }, &spec(), BLOCK).unwrap();
    let mut cached = encoder(Some(cache.clone()));
    let mut plain = encoder(None);
    for block in blocks() {
        assert!(compressed(&mut cached, &block) == compressed(&mut plain, &block));
    }
    let counts = cache.finish();
    assert_eq!(cache.warnings(), Vec::from_iter(Some(warning(&counts)).filter(|line| !line.is_empty())));
    assert!(cache.warnings().is_empty(), "each is returned once");
    counts
}

fn run_at(url: &str) -> Counts {
    run(cache(url, true))
}

fn warning(counts: &Counts) -> String {
    counts.remote.as_ref().and_then(|remote| remote.warning.clone()).unwrap_or_default()
}

fn filled() -> HttpCache {
    let server = HttpCache::start().unwrap();
    assert_eq!(warning(&run_at(&server.url())), "");
    server
}

#[test]
fn each_block_is_one_request() {
    let all = blocks().len() as u64;
    for (threads, prefix) in [(true, "/a/b"), (false, "")] {
        let server = HttpCache::start().unwrap();
        let url = server.url() + prefix;
        let first = run(cache(&url, threads));
        assert_eq!((first.found, first.missed, warning(&first)), (0, all, String::new()));
        let remote = first.remote.unwrap();
        assert_eq!((remote.found, remote.added), (0, all));
        assert_eq!(server.requests(), (all, all));
        let second = run(cache(&url, threads));
        let remote = second.remote.as_ref().unwrap();
        assert_eq!((second.found, second.missed, remote.found, remote.added), (all, 0, all, 0));
        assert_eq!((warning(&second), server.requests()), (String::new(), (2 * all, all)));
        assert!(server.connections() <= 7, "{}", server.connections());
        let rest = format!("{prefix}/ac/");
        let is_key = |key: &str| key.len() == 64 && key.bytes().all(|byte| byte.is_ascii_hexdigit());
        assert!(server.entries().into_keys().all(|path| path.strip_prefix(&*rest).is_some_and(is_key)));
    }
}

#[test]
fn a_directory_comes_before_the_server() {
    let server = filled();
    let directory = tempfile::tempdir().unwrap();
    let all = blocks().len() as u64;
    for (found_remote, added) in [(all, all), (0, 0)] {
        let (gets, puts) = server.requests();
        let remote = Server::new(Url::parse(&server.url()).unwrap(), true, no_time);
        let local = BlockCache::open(directory.path(), 1 << 30, 0).unwrap();
        let counts = run(Arc::new(local.with_remote(Box::new(remote))));
        assert_eq!((counts.found, counts.added, counts.remote.unwrap().found), (all, added, found_remote));
        assert_eq!(server.requests(), (gets + found_remote, puts));
    }
}

#[test]
fn gives_up_a_failing_server_soon() {
    let server = filled();
    let entries = server.entries();
    let all = blocks().len() as u64;
    // Each fault, with words of its warning.
    let cases: [(Fault, &str); 8] = [
        (Fault::Cut, "cannot read an entry: "),
        (Fault::CutAtOnce, "cannot read an entry: "),
        (Fault::Nonsense, "cannot read an entry: "),
        (Fault::LongLength(10), "cannot read an entry: "),
        (Fault::Endless, "more than"),
        (Fault::Status(500), "500 Internal Server Error"),
        (Fault::Status(301), "301 Moved"),
        (Fault::Delay(Duration::from_secs(30)), "no complete answer in 3 s"),
    ];
    for (fault, words) in cases {
        server.set_entries(entries.clone());
        server.set_fault(fault);
        let ((gets, _), watch) = (server.requests(), Stopwatch::start());
        let counts = run(cache_timed(&server.url(), true, clock));
        let warning = warning(&counts);
        let time = watch.elapsed();
        let asked = server.requests().0 - gets;
        assert!(warning.starts_with(&server.url()) && warning.contains(words), "{fault:?}: {warning}");
        assert!(warning.ends_with("it was not used after that"), "{fault:?}: {warning}");
        assert!(time < Duration::from_secs(15) && asked <= 3, "{fault:?}: {time:?}, {asked} requests");
        assert_eq!((counts.found, counts.missed), (0, all), "{fault:?}");
    }
}

#[test]
fn replaces_all_wrong_entries_in_one_run() {
    let all = blocks().len();
    for wrong in [2, all / 2, all] {
        let server = filled();
        let mut entries = server.entries();
        for (number, entry) in entries.values_mut().take(wrong).enumerate() {
            match number % 2 {
                0 => entry.truncate(9),
                _ => *entry.last_mut().unwrap() ^= 1,
            }
        }
        server.set_entries(entries);
        let counts = run_at(&server.url());
        let wrong = wrong as u64;
        let line = warning(&counts);
        assert!(line.contains(&format!("{wrong} requests failed, the first: ")), "{line}");
        assert_eq!((counts.missed, counts.remote.unwrap().added), (wrong, wrong));
        let counts = run_at(&server.url());
        assert_eq!((counts.missed, warning(&counts)), (0, String::new()));
    }
}

/// A wrong answer costs the time of a miss and changes no byte of output.
#[test]
fn wrong_answers_do_not_end_the_use_of_a_server() {
    let server = filled();
    let entries = server.entries();
    let all = blocks().len() as u64;
    for (fault, words) in [
        (Fault::WrongBytes, "the answer is"),
        (Fault::OtherEntry, "damaged or of another block"),
        (Fault::Page, "is not an entry"),
        (Fault::ShortLength(10), "the answer is"),
    ] {
        server.set_entries(entries.clone());
        server.set_fault(fault);
        let gets = server.requests().0;
        let counts = run_at(&server.url());
        let line = warning(&counts);
        assert!(line.contains(words) && !line.contains("not used after that"), "{fault:?}: {line}");
        assert_eq!((counts.missed, server.requests().0 - gets), (all, all), "{fault:?}");
    }
}

#[test]
fn a_full_server_is_still_read() {
    let server = filled();
    let kept: BTreeMap<_, _> = server.entries().into_iter().step_by(2).collect();
    let all = blocks().len() as u64;
    let found = kept.len() as u64;
    server.set_entries(kept);
    for threads in [true, false] {
        server.set_fault(Fault::PutStatus(507));
        let puts = server.requests().1;
        let counts = run(cache(&server.url(), threads));
        let line = warning(&counts);
        assert!(line.contains("507 Insufficient Storage; nothing was added to it after that"), "{line}");
        assert_eq!((counts.found, counts.missed, counts.remote.unwrap().added), (found, all - found, 0));
        assert!(server.requests().1 - puts <= 7);
    }
}

/// Each answer comes within the time limit, but later than compressing.
#[test]
fn gives_up_a_server_that_is_slower_than_compressing() {
    let server = filled();
    server.set_fault(Fault::Delay(Duration::from_millis(500)));
    let watch = Stopwatch::start();
    let counts = run(cache_timed(&server.url(), true, clock));
    let line = warning(&counts);
    assert!(line.contains("its answers take longer than compression; it was not used after that"), "{line}");
    assert!(watch.elapsed() < Duration::from_secs(15) && (1..10).contains(&counts.found), "{counts:?}");
}

#[test]
fn does_not_wait_for_trickling_entries() {
    let server = filled();
    server.set_fault(Fault::Drip(Duration::from_millis(50)));
    let watch = Stopwatch::start();
    let line = warning(&run(cache_timed(&server.url(), true, clock)));
    assert!(line.contains("not used after that") && watch.elapsed() < Duration::from_secs(15), "{line}");
}

#[test]
fn an_unreachable_server_costs_no_time() {
    // The server has ended, so its address has no listener.
    let url = HttpCache::start().unwrap().url();
    for url in [url, "http://no-such-host.invalid".into()] {
        let watch = Stopwatch::start();
        let line = warning(&run_at(&url));
        assert!(line.starts_with(&format!("{url}: cannot read an entry: ")), "{line}");
        assert!(line.ends_with("it was not used after that") && watch.elapsed() < Duration::from_secs(15), "{line}");
        assert!(ping(&Url::parse(&url).unwrap()).is_err());
    }
}

#[test]
fn users_have_passwords() {
    let server = HttpCache::start().unwrap();
    // user:a%b
    server.set_authorization("Basic dXNlcjphJWI=");
    let line = warning(&run_at(&server.url()));
    assert!(line.contains("401 Unauthorized"), "{line}");
    let url = format!("http://user:a%25b@{}", server.address());
    let counts = run_at(&url);
    assert_eq!((counts.remote.as_ref().unwrap().added, warning(&counts)), (blocks().len() as u64, String::new()));
    ping(&Url::parse(&url).unwrap()).unwrap();
    server.set_fault(Fault::CutAtOnce);
    let line = warning(&run_at(&url));
    assert!(line.starts_with(&server.url()) && !line.contains("user"), "{line}");
}
