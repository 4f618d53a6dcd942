//! Files on nginx, with and without TLS.

use std::path::Path;

use packline_testkit::certificates::Certificates;
use packline_testkit::nginx::{Nginx, Sent};
use packline_testkit::snapshot::{self, Except};
use packline_testkit::{Ran, Sandbox, tools};

use super::{IMAGES, nodes, words};
use crate::sandbox;

/// Runs a command on a file of the server. Returns its output, and what nginx sent for it.
fn sent(sandbox: &Sandbox, nginx: &mut Nginx, name: &str, command: &str) -> (Vec<u8>, Sent) {
    let command = words(&format!("--log info {command}"), &nginx.http(&format!("/{name}")));
    let ran = sandbox.good(&command);
    // INFO ...: N requests, M of S bytes
    let line = ran.stderr.lines().find(|line| line.contains(" requests, ")).unwrap();
    let (before, after) = line.split_once(" requests, ").unwrap();
    let requests = before.rsplit(' ').next().unwrap().parse().unwrap();
    let bytes = after.split(' ').next().unwrap().parse().unwrap();
    let sent = nginx.take_sent(requests);
    assert_eq!(sent, Sent { requests, bytes }, "{line}");
    (ran.stdout, sent)
}

#[test]
fn nginx_sends_few_bytes() {
    if !tools::need(&["nginx"]) {
        return;
    }
    let sandbox = sandbox();
    sandbox.plant("tree", &nodes(24));
    sandbox.create_dir("files");
    for name in IMAGES {
        sandbox.good(&["pack", "-q", "tree", &format!("files/{name}")]);
    }
    let mut nginx = Nginx::start(&sandbox.at("nginx"), &sandbox.at("files"), None).unwrap();
    for name in IMAGES {
        let file = format!("files/{name}");
        let size = sandbox.read(&file).len() as u64;
        assert!(size > 7_000_000);
        for (command, requests, bytes) in [
            ("list -l @", 20, 300_000),
            ("cat @ etc/conf3", 20, 300_000),
            ("info --json @", 20, 300_000),
            ("unpack -q @ some --subdir etc", 30, 600_000),
            ("verify -q @", 20 + size / 200_000, size),
        ] {
            let (text, sent) = sent(&sandbox, &mut nginx, name, command);
            println!("{name}, {size} bytes, {command}: {sent:?}");
            assert!(sent.requests <= requests && sent.bytes <= bytes, "{name}, {command}: {sent:?}");
            if !command.starts_with("unpack") && !command.starts_with("info") {
                assert!(text == sandbox.good(&words(command, &file)).stdout, "{name}, {command}");
            }
        }
        snapshot::assert_same(name, &sandbox.snapshot("tree/etc"), &sandbox.snapshot("some"), Except::default());
        sandbox.remove("some");
        // The cache accepts the validators of nginx.
        sent(&sandbox, &mut nginx, name, "cat @ etc/conf3 --cache cache");
        let (_, again) = sent(&sandbox, &mut nginx, name, "cat @ etc/conf3 --cache cache");
        assert_eq!(again, Sent { requests: 1, bytes: 8 << 10 });
    }
}

#[test]
fn a_server_is_trusted_by_the_certificate_of_its_authority() {
    if !tools::need(&["nginx", "openssl"]) {
        return;
    }
    let sandbox = sandbox();
    sandbox.plant("tree", &nodes(2));
    sandbox.create_dir("files");
    sandbox.good(&["pack", "-q", "tree", "files/root.sqfs"]);
    let certificates = Certificates::make(&sandbox.create_dir("tls")).unwrap();
    let other = Certificates::make(&sandbox.create_dir("other")).unwrap();
    let nginx = Nginx::start(&sandbox.at("nginx"), &sandbox.at("files"), Some(&certificates)).unwrap();
    let url = nginx.https("/root.sqfs");
    let with = |words: &[&str], root: &Path| {
        let mut command = sandbox.command(words);
        command
            .env("SSL_CERT_FILE", root)
            .env_remove("SSL_CERT_DIR")
            .env_remove("https_proxy")
            .env_remove("HTTPS_PROXY");
        command
    };
    assert_eq!(Ran::good(&mut with(&["list", &url, "etc/conf1"], &certificates.root)).text(), "etc/conf1\n");
    Ran::good(&mut with(&["unpack", "-q", &url, "out"], &certificates.root));
    snapshot::assert_same("tls", &sandbox.snapshot("tree"), &sandbox.snapshot("out"), Except::default());
    // Another authority, and another name of the same server.
    let localhost = format!("https://localhost:{}/root.sqfs", nginx.tls_port());
    for (url, root, reason) in
        [(&url, &other.server, "UnknownIssuer"), (&localhost, &certificates.root, "not valid for name \"localhost\"")]
    {
        for words in [&["list", url][..], &["unpack", "-q", url, "none"], &["info", url]] {
            let line = sandbox.refusal(&mut with(words, root));
            let begin = format!("packline: {url}: cannot open: no secure connection to the server: ");
            assert!(line.starts_with(&begin) && line.contains(reason), "{line}");
        }
    }
    // Nothing is sent to a server without TLS.
    let plain = nginx.http("/root.sqfs").replace("http:", "https:");
    let line = sandbox.refusal(&mut with(&["list", &plain], &certificates.root));
    assert!(line.contains("no secure connection to the server: "), "{line}");
}
