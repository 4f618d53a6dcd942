//! Signatures compared with openssl, with keys that openssl generates.

use std::fs;
use std::path::Path;
use std::process::Command;

use cms::content_info::ContentInfo;
use cms::signed_data::{SignedData, SignerInfos};
use packline_runtime::hex;
use packline_testkit::tools;
use packline_verity::{Error, Signer};
use x509_cert::der::asn1::OctetString;
use x509_cert::der::{Decode as _, Encode as _};

const ROOT: [u8; 32] = [0xa5; 32];

/// The keys of RFC 6979, A.2.5 and A.2.6, and the numbers of their signatures of [`ROOT`]. Another implementation computed the numbers, by
/// HMAC of SHA-256 and of SHA-384; it computes the signatures of A.2.5 correctly.
const EC_KEYS: [(&str, [&str; 2]); 2] = [
    (
        "-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgya+p2EW6dRZrXCFX
Z7HWk05Qw9s26JsSe4piKxIPZyGhRANCAARg/tS6JVqdMclh63TGNW1owEm4kjth
+mzmaWIuYPKftnkD/hAIuLyZpBrp6VYovGTy8bIMLX6fUXejwpTURiKZ
-----END PRIVATE KEY-----
",
        [
            "658ba23567bae9eb4010e31cbae0d6de685e2ae7316a9c304ea0f92b187c0b15",
            "08138e97b76a497952da40a18c55afa3698251fafa1f3d8039fe195a714c747d",
        ],
    ),
    (
        "-----BEGIN PRIVATE KEY-----
MIG2AgEAMBAGByqGSM49AgEGBSuBBAAiBIGeMIGbAgEBBDBrnT2tLhuMHAWxmHW2
ZZ9N4jw7Znvyl7qapHdAeHE32JbVck5McKgl+HLJ6mDS7fWhZANiAATsOk5BW04Z
pFaGGAKfQn+l2pqLxK6S4C4GquUoazAMZN748OqQVYZgZKJUUVSAvBOAFdm3LX1X
JE6o75rAxiGJZwilk2f537n1TKhLPxydsSiLIxw64NT+c0T9JTMmRyA=
-----END PRIVATE KEY-----
",
        [
            "9ae6dd543eb43014a41f8406c984793d34036b235655cdaa5c9998f07cd8eab77eacdda5e07994664361c2b42e7e9088",
            "e2b09418a952034383bcfcbe2b22494f08cdb7bf2030a886b513b28413536d605ed43a2824a4b9617a1ce4e890573cf3",
        ],
    ),
];

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
fn openssl_writes_and_accepts_the_same_signature() {
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
        openssl_accepts(place, &signature);
        assert!(signed_by_openssl(place) == signature, "{bits} bits");
        openssl(place, "rsa -in key -traditional -out old");
        assert!(signer(place, "old", "cert").unwrap().sign(&ROOT).unwrap() == signature);
    }
}

/// The signature of `root` by `key`.
fn signed_by_openssl(place: &Path) -> Vec<u8> {
    openssl(place, "smime -sign -nocerts -noattr -binary -in root -inkey key -signer cert -outform der -out peer");
    fs::read(place.join("peer")).unwrap()
}

fn openssl_accepts(place: &Path, signature: &[u8]) {
    fs::write(place.join("signature"), signature).unwrap();
    for verify in ["smime", "cms"] {
        let certificate = "-certfile cert -CAfile cert -nointern";
        let line =
            format!("{verify} -verify -inform der -in signature -content root -binary {certificate} -out /dev/null");
        openssl(place, &line.replace("-nointern", if verify == "smime" { "-nointern" } else { "" }));
    }
}

#[test]
fn ecdsa_signatures_follow_rfc_6979_in_the_form_of_openssl() {
    if !tools::need(&["openssl"]) {
        return;
    }
    let top = tempfile::tempdir().unwrap();
    let place = top.path();
    fs::write(place.join("root"), hex(&ROOT)).unwrap();
    for (key, numbers) in EC_KEYS {
        fs::write(place.join("key"), key).unwrap();
        openssl(place, "req -x509 -new -key key -out cert -days 3650 -subj /O=Example/CN=images");
        let signature = signer(place, "key", "cert").unwrap().sign(&ROOT).unwrap();
        openssl_accepts(place, &signature);
        let ([ours, value], [peer, _]) = (split_signature(&signature), split_signature(&signed_by_openssl(place)));
        assert!(ours == peer);
        assert!(numbers.iter().all(|number| hex(&value).contains(number)), "{}", hex(&value));
        openssl(place, "ec -in key -out old");
        openssl(place, "ec -in key -out compressed -conv_form compressed");
        openssl(place, "req -x509 -new -key compressed -out cert -days 3650 -subj /O=Example/CN=images");
        let parameters = "-----BEGIN EC PARAMETERS-----\nBgUrgQQAIg==\n-----END EC PARAMETERS-----\n";
        fs::write(place.join("both"), [parameters, &read(place, "old")].concat()).unwrap();
        for kind in ["old", "compressed", "both"] {
            let again = signer(place, kind, "cert").unwrap().sign(&ROOT).unwrap();
            assert!(split_signature(&again)[1] == value, "{kind}");
        }
    }
}

/// Splits a signed text into the value of its signature and everything else.
fn split_signature(bytes: &[u8]) -> [Vec<u8>; 2] {
    let mut signed: SignedData = ContentInfo::from_der(bytes).unwrap().content.decode_as().unwrap();
    let mut signer = signed.signer_infos.0.as_slice()[0].clone();
    let value = signer.signature.into_bytes();
    signer.signature = OctetString::new([]).unwrap();
    signed.signer_infos = SignerInfos(vec![signer].try_into().unwrap());
    [signed.to_der().unwrap(), value]
}

#[test]
fn rejects_unusable_keys_with_the_reason() {
    if !tools::need(&["openssl"]) {
        return;
    }
    let top = tempfile::tempdir().unwrap();
    let place = top.path();
    openssl(place, "req -x509 -newkey rsa:2048 -nodes -keyout key -out cert -subj /CN=one");
    openssl(place, "genrsa -out other 2048");
    openssl(place, "ecparam -name prime256v1 -genkey -noout -out ec");
    openssl(place, "ec -in ec -aes128 -passout pass:x -out ec-locked");
    openssl(place, "ecparam -name secp384r1 -genkey -out ec384");
    openssl(place, "ecparam -name secp256k1 -genkey -out k1");
    openssl(place, "pkcs8 -topk8 -nocrypt -in k1 -out k1-pkcs8");
    openssl(place, "ecparam -name secp521r1 -genkey -noout -out ec521");
    openssl(place, "ecparam -name brainpoolP256r1 -genkey -noout -out brainpool");
    openssl(
        place,
        "genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -pkeyopt ec_param_enc:explicit -out explicit",
    );
    openssl(place, "genpkey -algorithm ed25519 -out ed25519");
    openssl(place, "genpkey -algorithm RSA-PSS -out pss");
    openssl(place, "pkcs8 -topk8 -in key -out locked -passout pass:x");
    fs::write(place.join("cut"), &EC_KEYS[0].0[..100]).unwrap();
    for (key, certificate, expected) in [
        ("other", "cert", "the certificate belongs to another key"),
        ("ec", "cert", "the certificate belongs to another key"),
        ("ec384", "cert", "the certificate belongs to another key"),
        ("k1", "cert", "the key is of an unsupported kind: secp256k1"),
        ("k1-pkcs8", "cert", "the key is of an unsupported kind: secp256k1"),
        ("ec521", "cert", "the key is of an unsupported kind: P-521"),
        ("brainpool", "cert", "the key is of an unsupported kind: 1.3.36.3.3.2.8.1.1.7"),
        ("explicit", "cert", "the key is of an unsupported kind: unnamed curve"),
        ("ed25519", "cert", "the key is of an unsupported kind: Ed25519"),
        ("pss", "cert", "the key is of an unsupported kind: RSASSA-PSS"),
        ("locked", "cert", "the key is encrypted"),
        ("ec-locked", "cert", "the key is encrypted"),
        ("cut", "cert", "no private key found"),
        ("cert", "cert", "no private key found"),
        ("key", "key", "no certificate found"),
    ] {
        let error = signer(place, key, certificate).unwrap_err().to_string();
        assert!(error.contains(expected) && error.contains("(expected "), "{key}: {error}");
    }
}
