//! Debian's registry, filled by skopeo.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use packline_testkit::certificates::Certificates;
use packline_testkit::{Ran, Sandbox, tools};

use super::{command, isolated, layers};
use crate::sandbox;
use crate::stack::support::{Layout, shell, tagged};

/// `me:secret`, as htpasswd -B writes it.
const PASSWORDS: &str = "me:$2b$05$abcdefghijklmnopqrstuuOQiyCxlgf/oeuTqixKmWdcYUh4Hjl0a\n";

/// A registry on a port of its own, which ends when it goes out of scope.
struct Running {
    process: Child,
    address: String,
}

impl Running {
    /// Starts a registry with further lines of its configuration.
    fn start(sandbox: &Sandbox, more: &str) -> Running {
        let directory = sandbox.arg("registry");
        let config = format!(
            "version: 0.1\nlog:\n  formatter: text\nstorage:\n  filesystem:\n    rootdirectory: {directory}\n\
             http:\n  addr: 127.0.0.1:0\n{more}"
        );
        sandbox.write("config.yml", config);
        let mut program = sandbox.program("docker-registry", &["serve", "config.yml"]);
        let mut process = program.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(process.stderr.take().unwrap()).lines();
        let line = lines.find_map(|line| line.ok().filter(|line| line.contains("listening on "))).unwrap();
        let (_, rest) = line.split_once("listening on ").unwrap();
        let address =
            rest.chars().take_while(|letter| letter.is_ascii_digit() || matches!(letter, '.' | ':')).collect();
        // The registry writes on.
        std::thread::Builder::new().spawn(move || lines.for_each(drop)).unwrap();
        Running { process, address }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It has ended already if this fails.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn images_of_a_real_registry_are_read() {
    if !tools::need(&["docker-registry", "skopeo", "gzip"]) {
        return;
    }
    let sandbox = sandbox();
    let layout = Layout::new(&sandbox, "oci");
    // Docker's manifests have no layers in zstd.
    layout.index(&[tagged(layout.manifest(&layers()[..2], "linux", "amd64"), "1")]);
    sandbox.good(&["pack", "-q", "oci:oci:1", "layout.sqfs"]);
    let htpasswd = format!("auth:\n  htpasswd:\n    realm: test\n    path: {}\n", sandbox.arg("passwords"));
    sandbox.write("passwords", PASSWORDS);
    for (login, credentials) in [("", ""), (&*htpasswd, "--dest-creds me:secret")] {
        let registry = Running::start(&sandbox, login);
        let image = format!("docker://{}/team/app:1", registry.address);
        for options in ["--format oci", "--format v2s2"] {
            shell(
                &sandbox,
                &format!(
                    "skopeo --insecure-policy copy -q --dest-tls-verify=false {options} {credentials} oci:oci:1 {image}"
                ),
            );
            if !login.is_empty() {
                let line = sandbox.refusal(&mut command(&sandbox, &["list", &image]));
                assert!(line.contains("401 Unauthorized; check the name, or log in"), "{line}");
                let auths = format!(r#"{{"auths":{{"{}":{{"auth":"bWU6c2VjcmV0"}}}}}}"#, registry.address);
                sandbox.write("docker/config.json", auths);
            }
            for workers in ["0", "4"] {
                Ran::good(&mut command(&sandbox, &["pack", "-q", "-f", "-j", workers, &image, "x.sqfs"]));
                assert!(sandbox.read("x.sqfs") == sandbox.read("layout.sqfs"), "{options}");
            }
            let none = image.replace("app:1", "app:2");
            let line = sandbox.refusal(&mut command(&sandbox, &["list", &none]));
            assert!(line.ends_with("the registry has no image with '2' (expected 1)"), "{line}");
            sandbox.remove("docker");
        }
        let line = sandbox.refused(&["list", &image]);
        let hint = "; --registry-insecure reaches a registry without encryption";
        assert!(line.contains("cannot open: no secure connection to the server: ") && line.ends_with(hint), "{line}");
        sandbox.remove("registry");
    }
}

#[test]
fn a_registry_with_tls_is_trusted_by_the_certificate_of_its_authority() {
    if !tools::need(&["docker-registry", "skopeo", "gzip", "openssl"]) {
        return;
    }
    let sandbox = sandbox();
    let layout = Layout::new(&sandbox, "oci");
    layout.index(&[tagged(layout.manifest(&layers()[..2], "linux", "amd64"), "1")]);
    let certificates = Certificates::make(&sandbox.create_dir("tls")).unwrap();
    let other = Certificates::make(&sandbox.create_dir("other")).unwrap();
    let Certificates { server, key, .. } = &certificates;
    let tls = format!("  tls:\n    certificate: {}\n    key: {}\n", server.display(), key.display());
    let registry = Running::start(&sandbox, &tls);
    let image = format!("docker://{}/app:1", registry.address);
    shell(&sandbox, &format!("skopeo --insecure-policy copy -q --dest-tls-verify=false oci:oci:1 {image}"));
    let list = |root: &std::path::Path| {
        let mut command = sandbox.command(&["list", &image]);
        isolated(&sandbox, &mut command).env("SSL_CERT_FILE", root).env_remove("SSL_CERT_DIR");
        command
    };
    assert_eq!(Ran::good(&mut list(&certificates.root)).text(), sandbox.good(&["list", "oci:oci"]).text());
    let line = sandbox.refusal(&mut list(&other.server));
    assert!(line.contains(&registry.address) && line.contains("UnknownIssuer"), "{line}");
    assert!(line.ends_with("; --registry-insecure reaches a registry without encryption"), "{line}");
}
