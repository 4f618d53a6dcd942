//! Signatures of root hashes: detached PKCS#7 over the hexadecimal text, as the kernel and systemd check them.
//!
//! The same bytes as those of `openssl smime -sign -nocerts -noattr -binary -outform der`: RSA by PKCS#1 v1.5 with SHA-256, which has one
//! signature for each text and key. The arithmetic is blinded, since its time may depend on the key.

use cms::cert::IssuerAndSerialNumber;
use cms::content_info::{CmsVersion, ContentInfo};
use cms::signed_data::{EncapsulatedContentInfo, SignedData, SignerIdentifier, SignerInfo, SignerInfos};
use packline_runtime::escape::hex;
use rsa::pkcs1::DecodeRsaPrivateKey as _;
use rsa::pkcs8::{DecodePrivateKey as _, EncodePublicKey as _};
use rsa::rand_core::OsRng;
use rsa::traits::PublicKeyParts as _;
use rsa::{Pkcs1v15Sign, RsaPrivateKey};
use sha2::{Digest as _, Sha256};
use x509_cert::Certificate;
use x509_cert::der::asn1::{Any, ObjectIdentifier, OctetString, SetOfVec};
use x509_cert::der::{DecodePem as _, Encode as _};
use x509_cert::spki::AlgorithmIdentifierOwned;

use crate::{Digest, Error};

const DATA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.7.1");
const SIGNED_DATA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.7.2");
const SHA256: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.16.840.1.101.3.4.2.1");
const RSA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.1");
/// What stands before a SHA-256 in a signature of RSA: the DER of a `DigestInfo`.
const DIGEST_INFO: [u8; 19] =
    [0x30, 0x31, 0x30, 0x0d, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01, 0x05, 0x00, 0x04, 0x20];

/// A key and its certificate. The key is wiped when it is dropped.
pub struct Signer {
    key: RsaPrivateKey,
    certificate: Certificate,
}

impl std::fmt::Debug for Signer {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Signer").field("bits", &self.key.n().bits()).finish_non_exhaustive()
    }
}

impl Signer {
    /// A key (PKCS#8 or PKCS#1, not encrypted) and its certificate, both PEM.
    ///
    /// # Errors
    /// [`Error::Key`] and [`Error::Certificate`] for anything else than an RSA key and its certificate.
    pub fn from_pem(key: &str, certificate: &str) -> Result<Signer, Error> {
        let certificate = first_certificate(certificate)?;
        let key = private_key(key)?;
        let public = key.to_public_key().to_public_key_der();
        let of_certificate = certificate.tbs_certificate.subject_public_key_info.to_der();
        match (public, of_certificate) {
            (Ok(public), Ok(other)) if public.as_bytes() == other => Ok(Signer { key, certificate }),
            _ => Err(Error::Certificate {
                what: "the certificate is of another key".to_string(),
                expected: "that of the key that signs",
            }),
        }
    }

    /// The signature of a root hash, DER.
    ///
    /// # Errors
    /// [`Error::Internal`] if the key is too short or the machine has no random numbers.
    pub fn sign(&self, root_hash: &Digest) -> Result<Vec<u8>, Error> {
        let text = Sha256::digest(hex(root_hash));
        let padding = Pkcs1v15Sign { hash_len: Some(text.len()), prefix: DIGEST_INFO.into() };
        let signature = self.key.sign_with_rng(&mut OsRng, padding, &text);
        let signature = signature
            .map_err(|cause| wrong(format!("the key cannot sign: {cause}"), "an RSA key of 2048 bits or more"))?;
        self.signed_data(signature).map_err(|cause| Error::Internal(format!("DER: {cause}")))
    }

    fn signed_data(&self, signature: Vec<u8>) -> x509_cert::der::Result<Vec<u8>> {
        let algorithm = |oid| AlgorithmIdentifierOwned { oid, parameters: Some(Any::null()) };
        let digest_alg = algorithm(SHA256);
        let issued = &self.certificate.tbs_certificate;
        let signer = SignerInfo {
            version: CmsVersion::V1,
            sid: SignerIdentifier::IssuerAndSerialNumber(IssuerAndSerialNumber {
                issuer: issued.issuer.clone(),
                serial_number: issued.serial_number.clone(),
            }),
            digest_alg: digest_alg.clone(),
            signed_attrs: None,
            signature_algorithm: algorithm(RSA),
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

/// The first certificate of a PEM file, which may have text before it and others after it.
fn first_certificate(text: &str) -> Result<Certificate, Error> {
    const MARKS: [&str; 2] = ["-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"];
    let wrong = |what: String| Error::Certificate { what, expected: "an X.509 certificate in PEM" };
    let [start, end] = MARKS.map(|mark| text.find(mark));
    let part = start.zip(end).and_then(|(start, end)| text.get(start..end + MARKS[1].len()));
    let part = part.ok_or_else(|| wrong("there is no certificate in it".to_string()))?;
    Certificate::from_pem(part).map_err(|cause| wrong(format!("the certificate cannot be read: {cause}")))
}

fn private_key(text: &str) -> Result<RsaPrivateKey, Error> {
    const EXPECTED: &str = "an RSA key in PEM that is not encrypted; 'openssl pkey' decrypts one";
    let text = text.find("-----BEGIN").map(|start| &text[start..]);
    let text = text.ok_or_else(|| wrong("there is no key in it", EXPECTED))?;
    if text.contains("ENCRYPTED") {
        return Err(wrong("the key is encrypted", EXPECTED));
    }
    if text.contains("BEGIN EC ") {
        return Err(wrong("the key is one of an elliptic curve", EXPECTED));
    }
    let key =
        RsaPrivateKey::from_pkcs8_pem(text).or_else(|cause| RsaPrivateKey::from_pkcs1_pem(text).map_err(|_| cause));
    key.map_err(|cause| wrong(format!("the key cannot be read: {cause}"), EXPECTED))
}

fn wrong(what: impl Into<String>, expected: &'static str) -> Error {
    Error::Key { what: what.into(), expected }
}
