//! Signatures beside openssl, with keys that it makes.

use std::fs;
use std::path::Path;
use std::process::Command;

use packline_runtime::escape::hex;
use packline_testkit::tools;
use packline_verity::{Error, Signer};

const ROOT: [u8; 32] = [0xa5; 32];

fn openssl(place: &Path, line: &str) {
    tools::run(Command::new("openssl").args(line.split_whitespace()).current_dir(place)).unwrap();
}

fn read(place: &Path, name: &str) -> String {
    fs::read_to_string(place.join(name)).unwrap()
}

fn signer(place: &Path, key: &str, certificate: &str) -> Result<Signer, Error> {
    Signer::from_pem(&read(place, key), &read(place, certificate))
}

#[test]
fn openssl_makes_and_accepts_the_same_signature() {
    if !tools::need(&["openssl"]) {
        return;
    }
    let top = tempfile::tempdir().unwrap();
    let place = top.path();
    fs::write(place.join("root"), hex(&ROOT)).unwrap();
    for bits in [2048, 3072] {
        let subject = "-subj /O=Example/CN=images";
        openssl(place, &format!("req -x509 -newkey rsa:{bits} -nodes -keyout key -out cert -days 3650 {subject}"));
        let signature = signer(place, "key", "cert").unwrap().sign(&ROOT).unwrap();
        fs::write(place.join("signature"), &signature).unwrap();
        openssl(place, "smime -sign -nocerts -noattr -binary -in root -inkey key -signer cert -outform der -out peer");
        assert!(fs::read(place.join("peer")).unwrap() == signature, "{bits} bits");
        for verify in ["smime", "cms"] {
            let certificate = "-certfile cert -CAfile cert -nointern";
            let line = format!(
                "{verify} -verify -inform der -in signature -content root -binary {certificate} -out /dev/null"
            );
            openssl(place, &line.replace("-nointern", if verify == "smime" { "-nointern" } else { "" }));
        }
        openssl(place, "rsa -in key -traditional -out old");
        assert!(signer(place, "old", "cert").unwrap().sign(&ROOT).unwrap() == signature);
    }
}

#[test]
fn keys_that_cannot_sign_are_refused_with_the_reason() {
    if !tools::need(&["openssl"]) {
        return;
    }
    let top = tempfile::tempdir().unwrap();
    let place = top.path();
    openssl(place, "req -x509 -newkey rsa:2048 -nodes -keyout key -out cert -subj /CN=one");
    openssl(place, "genrsa -out other 2048");
    openssl(place, "ecparam -name prime256v1 -genkey -noout -out ec");
    openssl(place, "pkcs8 -topk8 -nocrypt -in ec -out ec8");
    openssl(place, "pkcs8 -topk8 -in key -out locked -passout pass:x");
    for (key, certificate, expected) in [
        ("other", "cert", "the certificate is of another key"),
        ("ec", "cert", "elliptic curve"),
        ("ec8", "cert", "cannot be read"),
        ("locked", "cert", "the key is encrypted"),
        ("cert", "cert", "the key cannot be read"),
        ("key", "key", "there is no certificate in it"),
    ] {
        let error = signer(place, key, certificate).unwrap_err().to_string();
        assert!(error.contains(expected) && error.contains("(expected "), "{key}: {error}");
    }
}
