//! Registries that misbehave, with short pauses.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::Read;
use std::time::Duration;

use packline_http::{Credentials, Fault, HttpOptions, Reference, Registry, RegistryOptions};
use packline_testkit::registry::{Login, Registry as Server};
use packline_testkit::{Random, Sandbox};

const SIZE: u64 = 300_000;

/// A registry with an image `app:1`, and a content with the digest `sha256:content`.
struct Published {
    server: Server,
    bytes: Vec<u8>,
    /// Removed when it goes out of scope.
    _sandbox: Sandbox,
}

impl Published {
    fn new() -> Published {
        let sandbox = Sandbox::new("");
        let bytes = Random::new(3).noise(SIZE as usize);
        sandbox.write("blobs/sha256/root", "{}");
        sandbox.write("blobs/sha256/content", &bytes);
        let server = Server::start(sandbox.path()).unwrap();
        server.tag("app", "1", "root");
        Published { server, bytes, _sandbox: sandbox }
    }

    fn open(&self, credentials: Option<Credentials>) -> Result<Registry, Fault> {
        let reference = Reference::parse(&format!("{}/app:1", self.server.address())).unwrap();
        let mut http = HttpOptions::default();
        http.pause = Duration::from_millis(1);
        let credentials = Box::new(move || Ok(credentials.clone()));
        Registry::open(reference, RegistryOptions { insecure: true, http, credentials })
    }

    /// Reads the content, and returns the ranges that were requested.
    #[track_caller]
    fn ranges(&self, registry: &Registry) -> Vec<Option<String>> {
        self.server.take_asked();
        let mut found = Vec::new();
        registry.blob("sha256:content", SIZE, 0).read_to_end(&mut found).unwrap();
        assert!(found == self.bytes);
        self.server.take_asked().into_iter().map(|asked| asked.range).collect()
    }
}

#[test]
fn a_cut_content_is_continued() {
    let published = Published::new();
    let registry = published.open(None).unwrap();
    assert_eq!(registry.root().bytes, b"{}");
    assert_eq!(published.ranges(&registry), [None]);
    let range = |start: u64| Some(format!("bytes={start}-299999"));
    published.server.set_cut(70_000, 4);
    assert_eq!(published.ranges(&registry), [None, range(70_000), range(140_000), range(210_000), range(280_000)]);
    let mut rest = Vec::new();
    published.server.take_asked();
    registry.blob("sha256:content", SIZE, 100_000).read_to_end(&mut rest).unwrap();
    assert!(rest == published.bytes[100_000..]);
    assert_eq!(published.server.take_asked()[0].range, range(100_000));
    published.server.ignore_ranges();
    published.server.set_cut(70_000, 3);
    assert_eq!(published.ranges(&registry), [None, range(70_000), range(70_000), range(70_000)]);
}

#[test]
fn a_content_that_is_always_cut_is_an_error() {
    let published = Published::new();
    let registry = published.open(None).unwrap();
    published.server.set_cut(10, u64::MAX);
    published.server.take_asked();
    let mut content = registry.blob("sha256:content", SIZE, 0);
    let error = content.read_to_end(&mut Vec::new()).unwrap_err();
    assert!(error.to_string().starts_with("the connection to the server failed: "), "{error}");
    assert!(content.read(&mut [0]).is_err());
    assert_eq!(published.server.take_asked().len(), 5, "nothing is requested after the error");
    let mut wrong = registry.blob("sha256:content", SIZE + 1, 0);
    let error = wrong.read_to_end(&mut Vec::new()).unwrap_err();
    assert_eq!(error.to_string(), "the server sends 300000 bytes (expected 300001, as the manifest says)");
}

#[test]
fn tokens_expire() {
    let published = Published::new();
    let basic = Credentials::password("me", "secret");
    for login in [Login::Token, Login::TokenFor("Basic bWU6c2VjcmV0".to_string())] {
        published.server.set_login(login);
        published.server.set_valid_for(1);
        let registry = published.open(Some(basic.clone())).unwrap();
        published.server.set_cut(70_000, 4);
        let ranges = published.ranges(&registry);
        // The registry first answers each of the five requests with 401, and the client requests a token.
        assert_eq!(ranges.len(), 15, "{ranges:?}");
    }
    let error = published.open(None).unwrap_err().to_string();
    assert!(error.starts_with("the server answers 401 Unauthorized; check the name, or log in"), "{error}");
    published.server.set_login(Login::Header("Basic bWU6c2VjcmV0".to_string()));
    published.ranges(&published.open(Some(basic)).unwrap());
    assert!(published.open(Some(Credentials::identity_token("secret"))).is_err());
}

#[test]
fn statuses_that_pass_cost_time_only() {
    let published = Published::new();
    published.server.set_statuses(&[(503, ""), (429, "Retry-After: 0\r\n"), (500, ""), (408, "")]);
    let registry = published.open(None).unwrap();
    published.server.set_statuses(&[(504, ""), (502, "")]);
    assert_eq!(published.ranges(&registry).len(), 3);
    published.server.set_statuses(&[(503, ""); 5]);
    assert_eq!(published.open(None).unwrap_err().to_string(), "the server answers 503 Service Unavailable");
    published.server.set_statuses(&[(403, "")]);
    assert!(published.open(None).unwrap_err().to_string().contains("403 Forbidden; check the name, or log in"));
}
