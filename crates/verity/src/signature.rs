//! Signatures of root hashes: detached PKCS#7 over the hexadecimal text, as the kernel and systemd check them.
//!
//! The bytes are those of `openssl smime -sign -nocerts -noattr -binary -outform der`. RSA by PKCS#1 v1.5 with SHA-256 has one signature
//! for each text and key. The arithmetic is blinded, because its time may depend on the key. ECDSA has many signatures for a text and a
//! key. Ours has the nonce of RFC 6979, section 3.2, by HMAC of SHA-256 on P-256 and of SHA-384 on P-384.

use cms::cert::IssuerAndSerialNumber;
use cms::content_info::{CmsVersion, ContentInfo};
use cms::signed_data::{EncapsulatedContentInfo, SignedData, SignerIdentifier, SignerInfo, SignerInfos};
use p256::ecdsa::signature::hazmat::PrehashSigner as _;
use packline_runtime::{TaskError, hex};
use rsa::pkcs8::{DecodePublicKey as _, PrivateKeyInfo};
use rsa::rand_core::OsRng;
use rsa::{Pkcs1v15Sign, RsaPrivateKey, RsaPublicKey, pkcs1, signature};
use sec1::EcPrivateKey;
use sha2::{Digest as _, Sha256};
use x509_cert::Certificate;
use x509_cert::der::asn1::{Any, ObjectIdentifier, OctetString, SetOfVec};
use x509_cert::der::{Decode as _, DecodePem as _, Encode as _, SecretDocument};
use x509_cert::spki::{AlgorithmIdentifierOwned, AlgorithmIdentifierRef};
use zeroize::Zeroizing;

use crate::{Digest, Error};

/// Characters of a line of PEM.
const PEM_LINE: usize = 64;
const DATA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.7.1");
const SIGNED_DATA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.7.2");
const SHA256: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.16.840.1.101.3.4.2.1");
const RSA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.1");
const ECDSA_WITH_SHA256: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.4.3.2");
const P256: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.3.1.7");
const P384: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.132.0.34");
/// Names of rejected keys. P-521 is rejected because `ecdsa` does not accept a digest of less than half of the curve's bits, such as
/// SHA-256.
const REFUSED: [(&str, &str); 7] = [
    ("1.3.132.0.35", "P-521"),
    ("1.3.132.0.33", "P-224"),
    ("1.3.132.0.10", "secp256k1"),
    ("1.3.101.112", "Ed25519"),
    ("1.3.101.113", "Ed448"),
    ("1.2.840.113549.1.1.10", "RSASSA-PSS"),
    ("1.2.840.10045.2.1", "unnamed curve"),
];
/// The DER of a `DigestInfo`, which precedes a SHA-256 in an RSA signature.
const DIGEST_INFO: [u8; 19] =
    [0x30, 0x31, 0x30, 0x0d, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01, 0x05, 0x00, 0x04, 0x20];

/// A key and its certificate. The key is wiped when it is dropped.
pub struct Signer {
    key: Key,
    certificate: Certificate,
}

impl std::fmt::Debug for Signer {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kind = match self.key {
            Key::Rsa(_) => "RSA",
            Key::P256(_) => "P-256",
            Key::P384(_) => "P-384",
        };
        out.debug_struct("Signer").field("key", &kind).finish_non_exhaustive()
    }
}

enum Key {
    Rsa(Box<RsaPrivateKey>),
    P256(p256::ecdsa::SigningKey),
    P384(p384::ecdsa::SigningKey),
}

impl Key {
    /// Whether a public key (DER of a `SubjectPublicKeyInfo`) belongs to this key.
    fn has_public(&self, public: &[u8]) -> bool {
        match self {
            Key::Rsa(key) => RsaPublicKey::from_public_key_der(public).is_ok_and(|other| other == key.to_public_key()),
            Key::P256(key) => {
                p256::ecdsa::VerifyingKey::from_public_key_der(public).as_ref() == Ok(key.verifying_key())
            }
            Key::P384(key) => {
                p384::ecdsa::VerifyingKey::from_public_key_der(public).as_ref() == Ok(key.verifying_key())
            }
        }
    }

    /// The signature of a SHA-256.
    fn sign(&self, digest: &[u8]) -> Result<Vec<u8>, Error> {
        let signature = match self {
            Key::Rsa(key) => {
                let padding = Pkcs1v15Sign { hash_len: Some(digest.len()), prefix: DIGEST_INFO.into() };
                return key.sign_with_rng(&mut OsRng, padding, digest).map_err(|cause| {
                    wrong(format!("the key cannot sign: {cause}"), "an RSA key of 2048 bits or more")
                });
            }
            Key::P256(key) => {
                key.sign_prehash(digest).map(|signature: p256::ecdsa::DerSignature| signature.as_bytes().to_vec())
            }
            Key::P384(key) => {
                key.sign_prehash(digest).map(|signature: p384::ecdsa::DerSignature| signature.as_bytes().to_vec())
            }
        };
        signature.map_err(|cause: signature::Error| Error::internal(format!("ECDSA: {cause}")))
    }
}

impl Signer {
    /// Parses a key (PKCS#8, PKCS#1 or SEC 1, not encrypted) and its certificate, both in PEM.
    ///
    /// # Errors
    /// [`Error::Key`] if the key is not an RSA, P-256 or P-384 key; [`Error::Certificate`] if the certificate does not belong to it.
    pub fn from_pem(key: &str, certificate: &str) -> Result<Signer, Error> {
        let certificate = first_certificate(certificate)?;
        let key = private_key(key)?;
        match certificate.tbs_certificate.subject_public_key_info.to_der() {
            Ok(public) if key.has_public(&public) => Ok(Signer { key, certificate }),
            _ => Err(Error::Certificate {
                what: "the certificate belongs to another key".to_string(),
                expected: "the certificate of the signing key",
            }),
        }
    }

    /// Returns the signature of a root hash in DER.
    ///
    /// # Errors
    /// [`Error::Key`] if an RSA key is too short, or the system returns no random bytes.
    pub fn sign(&self, root_hash: &Digest) -> Result<Vec<u8>, Error> {
        let signature = self.key.sign(&Sha256::digest(hex(root_hash)))?;
        self.signed_data(signature).map_err(|cause| Error::internal(format!("DER: {cause}")))
    }

    fn signed_data(&self, signature: Vec<u8>) -> x509_cert::der::Result<Vec<u8>> {
        let algorithm = |oid| AlgorithmIdentifierOwned { oid, parameters: Some(Any::null()) };
        let digest_alg = algorithm(SHA256);
        let signature_algorithm = match self.key {
            Key::Rsa(_) => algorithm(RSA),
            Key::P256(_) | Key::P384(_) => AlgorithmIdentifierOwned { oid: ECDSA_WITH_SHA256, parameters: None },
        };
        let issued = &self.certificate.tbs_certificate;
        let signer = SignerInfo {
            version: CmsVersion::V1,
            sid: SignerIdentifier::IssuerAndSerialNumber(IssuerAndSerialNumber {
                issuer: issued.issuer.clone(),
                serial_number: issued.serial_number.clone(),
            }),
            digest_alg: digest_alg.clone(),
            signed_attrs: None,
            signature_algorithm,
            signature: OctetString::new(signature)?,
            unsigned_attrs: None,
        };
        let data = SignedData {
            version: CmsVersion::V1,
            digest_algorithms: SetOfVec::try_from(vec![digest_alg])?,
            encap_content_info: EncapsulatedContentInfo { econtent_type: DATA, econtent: None },
            certificates: None,
            crls: None,
            signer_infos: SignerInfos(SetOfVec::try_from(vec![signer])?),
        };
        ContentInfo { content_type: SIGNED_DATA, content: Any::encode_from(&data)? }.to_der()
    }
}

/// The first certificate of a PEM file. Text may precede it, and other certificates may follow it.
fn first_certificate(text: &str) -> Result<Certificate, Error> {
    let wrong = |what: String| Error::Certificate { what, expected: "an X.509 certificate in PEM" };
    let part = block(text, "CERTIFICATE-----").ok_or_else(|| wrong("no certificate found".to_string()))?;
    Certificate::from_pem(wrapped(part)).map_err(|cause| wrong(format!("the certificate cannot be read: {cause}")))
}

/// The first block of a PEM file whose first line ends with `mark`. `EC PARAMETERS` may precede a key.
fn block<'a>(text: &'a str, mark: &str) -> Option<&'a str> {
    let mut blocks = text.match_indices("-----BEGIN ").map(|(at, _)| &text[at..]);
    let block = blocks.find(|block| block.lines().next().is_some_and(|line| line.trim_end().ends_with(mark)))?;
    let end = block.find("-----END ")?;
    Some(&block[..end + block[end..].find(mark)? + mark.len()])
}

/// Wraps a block of a PEM file to lines of 64 characters. RFC 7468 tells programs to write no other lines, and to read any.
fn wrapped(block: &str) -> Zeroizing<String> {
    let mut lines = block.lines().map(str::trim);
    let first = lines.next().unwrap_or_default();
    let mut rest = lines.filter(|line| !line.is_empty());
    // The buffer is large enough, so that no copy of a key is left behind by growing.
    let mut body = Zeroizing::new(String::with_capacity(block.len()));
    let last = rest.try_fold((), |(), line| {
        if line.starts_with("-----END ") {
            Err(line)
        } else {
            body.push_str(line);
            Ok(())
        }
    });
    let mut text = Zeroizing::new(String::with_capacity(2 * block.len()));
    text.push_str(first);
    for (number, character) in body.chars().enumerate() {
        if number.is_multiple_of(PEM_LINE) {
            text.push('\n');
        }
        text.push(character);
    }
    text.push('\n');
    text.push_str(last.err().unwrap_or_default());
    text.push('\n');
    text
}

fn private_key(text: &str) -> Result<Key, Error> {
    const EXPECTED: &str = "an unencrypted RSA, P-256 or P-384 key in PEM; 'openssl pkey' decrypts a key";
    let text = block(text, "PRIVATE KEY-----").ok_or_else(|| wrong("no private key found", EXPECTED))?;
    if text.contains("ENCRYPTED") {
        return Err(wrong("the key is encrypted", EXPECTED));
    }
    let unreadable = |cause: &dyn std::fmt::Display| wrong(format!("the key cannot be read: {cause}"), EXPECTED);
    let wrapped = wrapped(text);
    let (label, document) = SecretDocument::from_pem(&wrapped).map_err(|cause| unreadable(&cause))?;
    let curve;
    // Keys of the older formats are converted to PKCS#8.
    let info = match label {
        "RSA PRIVATE KEY" => PrivateKeyInfo::new(pkcs1::ALGORITHM_ID, document.as_bytes()),
        "EC PRIVATE KEY" => {
            let key = EcPrivateKey::from_der(document.as_bytes()).map_err(|cause| unreadable(&cause))?;
            curve = key.parameters.and_then(|parameters| parameters.named_curve());
            let parameters = curve.as_ref().map(Into::into);
            let algorithm = AlgorithmIdentifierRef { oid: p256::elliptic_curve::ALGORITHM_OID, parameters };
            PrivateKeyInfo::new(algorithm, document.as_bytes())
        }
        _ => PrivateKeyInfo::from_der(document.as_bytes()).map_err(|cause| unreadable(&cause))?,
    };
    let kind = info.algorithm.parameters_oid().unwrap_or(info.algorithm.oid);
    let key = match kind {
        RSA => RsaPrivateKey::try_from(info).map(|key| Key::Rsa(Box::new(key))),
        P256 => p256::ecdsa::SigningKey::try_from(info).map(Key::P256),
        P384 => p384::ecdsa::SigningKey::try_from(info).map(Key::P384),
        other => {
            let other = other.to_string();
            let name = REFUSED.iter().find(|(number, _)| *number == other).map_or(&*other, |(_, name)| name);
            return Err(wrong(format!("the key is of an unsupported kind: {name}"), EXPECTED));
        }
    };
    key.map_err(|cause| unreadable(&cause))
}

fn wrong(what: impl Into<String>, expected: &'static str) -> Error {
    Error::Key { what: what.into(), expected }
}
