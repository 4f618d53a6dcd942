//! Tokens and passwords, and who gets them.

use std::fs;

use packline_testkit::Ran;
use packline_testkit::http_files::HttpFiles;
use packline_testkit::registry::Login;

use super::{Published, layers};
use crate::stack::support::tar;

/// `me:secret` in Base64.
const ENCODED: &str = "bWU6c2VjcmV0";

fn published() -> Published {
    Published::new(&[(tar(&[("a", "1")]), ""), (tar(&[("b", "2")]), "+gzip")])
}

impl Published {
    /// Writes Docker's file, with the address of the registry for `@`.
    fn config(&self, text: &str) {
        let address = self.registry.address().to_string();
        self.sandbox.write("docker/config.json", text.replace('@', &address));
    }

    #[track_caller]
    fn lists(&self) {
        assert_eq!(self.good(&["list", "@"]).text(), ".\na\nb\n");
    }
}

#[test]
fn a_token_is_requested_once_and_again_after_it_expired() {
    let published = published();
    published.registry.set_login(Login::Token);
    published.lists();
    let asked = published.registry.take_asked();
    let tokens: Vec<&str> =
        asked.iter().filter(|asked| asked.path.starts_with("/token")).map(|asked| &*asked.path).collect();
    assert_eq!(tokens, ["/token?scope=repository%3Ateam%2Fapp%3Apull&service=a%20registry"]);
    assert_eq!(asked.len(), 1 + 1 + 4, "the first request is answered with 401: {asked:?}");
    for (workers, valid_for) in [("0", 1), ("4", 3)] {
        published.registry.set_valid_for(valid_for);
        published.good(&["pack", "-q", "-f", "-j", workers, "@", "x.sqfs"]);
        assert_eq!(published.sandbox.good(&["list", "x.sqfs"]).text(), ".\na\nb\n");
    }
}

#[test]
fn passwords_come_from_the_files_and_programs_of_docker() {
    let published = published();
    let sandbox = &published.sandbox;
    let basic = format!("Basic {ENCODED}");
    let refused = "IMAGE: cannot open: the server answers 401 Unauthorized; check the name, or log in with docker login, \
                   podman login or skopeo login";
    for login in [Login::Header(basic.clone()), Login::TokenFor(basic.clone())] {
        published.registry.set_login(login);
        published.config("{}");
        assert_eq!(published.refused(), refused);
        published.config(r#"{"auths":{"@":{"auth":"d3Jvbmc6c2VjcmV0"}}}"#);
        assert_eq!(published.refused(), refused);
        published.config(&format!(r#"{{"auths":{{"http://@/v2/":{{"auth":"{ENCODED}"}}}}}}"#));
        published.lists();
        published.config(r#"{"auths":{"@/team":{"username":"me","password":"secret"}}}"#);
        published.lists();
        published.config(r#"{"credHelpers":{"@":"of-test"}}"#);
        let line = published.refused();
        assert!(line.contains("docker/config.json: docker-credential-of-test: No such file"), "{line}");
        let address = published.registry.address();
        sandbox.script(
            "docker-credential-of-test",
            &format!("[ \"$1 $(cat)\" = 'get {address}' ] && echo '{{\"Username\":\"me\",\"Secret\":\"secret\"}}'"),
        );
        let path = format!("{}:/usr/bin:/bin", sandbox.path().display());
        for text in [r#"{"credHelpers":{"@":"of-test"}}"#, r#"{"auths":{"@":{}},"credsStore":"of-test"}"#] {
            published.config(text);
            Ran::good(published.command(&["list", &published.image(":1")]).env("PATH", &path));
        }
        sandbox.script("docker-credential-of-test", "echo credentials not found in native keychain; exit 1");
        let mut command = published.command(&["list", &published.image(":1")]);
        assert!(sandbox.refusal(command.env("PATH", &path)).contains("401 Unauthorized"));
        sandbox.script("docker-credential-of-test", "echo the keyring is locked; exit 1");
        let line = sandbox.refusal(published.command(&["list", &published.image(":1")]).env("PATH", &path));
        assert!(line.contains("docker-credential-of-test: the keyring is locked"), "{line}");
        sandbox.remove("docker-credential-of-test");
    }
    published.config("{}");
    let address = published.registry.address();
    sandbox.write("auth.json", format!(r#"{{"auths":{{"{address}":{{"auth":"{ENCODED}"}}}}}}"#));
    Ran::good(published.command(&["list", &published.image(":1")]).env("REGISTRY_AUTH_FILE", sandbox.at("auth.json")));
    sandbox.create_dir("run/containers");
    fs::rename(sandbox.at("auth.json"), sandbox.at("run/containers/auth.json")).unwrap();
    Ran::good(published.command(&["list", &published.image(":1")]).env("XDG_RUNTIME_DIR", sandbox.at("run")));
    published.config("{\"auths\":");
    let line = published.refused();
    assert!(line.contains("no credentials for the registry: ") && line.contains("config.json: EOF while"), "{line}");
}

#[test]
fn an_identity_token_is_exchanged_for_a_token() {
    let published = published();
    published.registry.set_login(Login::TokenForIdentity("identity".to_string()));
    published.config(r#"{"auths":{"@":{"auth":"bWU6","identitytoken":"identity"}}}"#);
    published.lists();
    published.config(r#"{"auths":{"@":{"identitytoken":"other"}}}"#);
    assert!(published.refused().contains("401 Unauthorized"));
}

#[test]
fn another_server_gets_no_token_and_no_password() {
    let published = Published::new(&layers());
    let other = HttpFiles::start().unwrap();
    for name in published.sandbox.names_in("oci/blobs/sha256") {
        let bytes = published.sandbox.read(format!("oci/blobs/sha256/{name}"));
        other.serve(&format!("/blobs/{name}"), bytes);
    }
    published.registry.redirect(&other.url("/blobs/"));
    for login in [Login::Token, Login::Header(format!("Basic {ENCODED}"))] {
        published.registry.set_login(login);
        published.config(&format!(r#"{{"auths":{{"@":{{"auth":"{ENCODED}"}}}}}}"#));
        published.good(&["pack", "-q", "-f", "@", "x.sqfs"]);
        let (seen, _) = other.take_seen();
        assert!(seen.len() == 4 && seen.iter().all(|seen| seen.authorization.is_none()), "{seen:?}");
        let asked = published.blobs_asked();
        assert!(asked.iter().any(|asked| asked.authorization.is_some()), "{asked:?}");
    }
    // A server to which the registry redirects cannot ask for a password.
    other.set_authorization("Basic other");
    assert!(published.refused().contains("cannot read: the server answers 401"), "{}", published.refused());
    assert!(other.take_seen().0.iter().all(|seen| seen.authorization.is_none()));
}
