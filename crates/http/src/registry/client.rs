//! Requests to a registry: tokens, redirects and further tries.

use std::io::Read;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;
use ureq::http::header::CONTENT_TYPE;
use ureq::http::{Response, StatusCode};
use ureq::{Agent, Body};

use super::challenge::Challenge;
use super::credentials::Credentials;
use super::reference::Reference;
use super::{DOCUMENT_MOST, Document, RegistryOptions, address_of};
use crate::file::text;
use crate::redirects::follow;
use crate::refusal::Refusal;
use crate::{Address, Fault, WrongUrl, ignore};

/// The types of documents that are read.
const ACCEPTED: &str = "application/vnd.oci.image.index.v1+json, application/vnd.oci.image.manifest.v1+json, \
                        application/vnd.docker.distribution.manifest.list.v2+json, \
                        application/vnd.docker.distribution.manifest.v2+json";
/// Maximum number of tags in a message.
const TAGS: usize = 10;

/// A client of one image.
pub struct Client {
    agent: Agent,
    reference: Reference,
    pub(super) options: RegistryOptions,
    /// Value of the header `Authorization` that the registry accepted last.
    authorization: Mutex<Option<String>>,
    /// Whether a server has answered. One that refuses the first connection is probably not there.
    answered: AtomicBool,
}

/// What a request asks for.
#[derive(Clone, Copy)]
pub struct Ask {
    /// The accepted types.
    accept: &'static str,
    /// First byte and the byte after the last one, for a part of a content.
    range: Option<(u64, u64)>,
}

impl Ask {
    const DOCUMENT: Ask = Ask { accept: ACCEPTED, range: None };
    const JSON: Ask = Ask { accept: "application/json", range: None };

    /// A content, or a part of it.
    pub fn content(range: Option<(u64, u64)>) -> Ask {
        Ask { accept: "*/*", range }
    }
}

impl Client {
    pub fn new(reference: Reference, options: RegistryOptions) -> Result<Client, Fault> {
        // An address that cannot be used is an error before anything is sent.
        address_of(&reference, options.insecure, "")?;
        let agent = options.http.agent();
        Ok(Client { agent, reference, options, authorization: Mutex::new(None), answered: AtomicBool::new(false) })
    }

    pub fn reference(&self) -> &Reference {
        &self.reference
    }

    /// Reads a document of at most [`DOCUMENT_MOST`] bytes.
    pub fn document(&self, path: &str) -> Result<Document, Fault> {
        let mut tries = 0;
        loop {
            match self.try_document(path, Ask::DOCUMENT) {
                Ok(document) => return Ok(document),
                Err(refusal) => {
                    tries += 1;
                    self.pause(refusal, tries)?;
                }
            }
        }
    }

    fn try_document(&self, path: &str, ask: Ask) -> Result<Document, Refusal> {
        let mut answer = self.get(path, ask)?;
        if answer.status() != StatusCode::OK {
            return Err(self.refused(&mut answer));
        }
        let media_type = text(answer.headers(), &CONTENT_TYPE).unwrap_or_default();
        let media_type = media_type.split(';').next().unwrap_or_default().trim().to_string();
        Ok(Document { media_type, bytes: self.body(&mut answer)? })
    }

    fn body(&self, answer: &mut Response<Body>) -> Result<Vec<u8>, Fault> {
        let mut bytes = Vec::new();
        let read = answer.body_mut().as_reader().take(DOCUMENT_MOST + 1).read_to_end(&mut bytes);
        read.map_err(|cause| self.options.http.fault(cause.into()))?;
        if bytes.len() as u64 > DOCUMENT_MOST { Err(Fault::Long(DOCUMENT_MOST)) } else { Ok(bytes) }
    }

    /// Waits before the next try, unless the refusal is final. `tries` were without progress.
    pub fn pause(&self, refusal: Refusal, tries: u32) -> Result<(), Fault> {
        let options = &self.options.http;
        let is_absent = matches!(refusal.fault, Fault::Connection(_)) && !self.answered.load(Ordering::Relaxed);
        let most = if is_absent { options.tries.min(2) } else { options.tries };
        if !refusal.fault.is_transient() || tries >= most {
            return Err(refusal.fault);
        }
        log::info!("{}: {}; trying again", self.reference, refusal.fault);
        thread::sleep(refusal.pause(tries, options));
        Ok(())
    }

    /// The refusal of an answer with a status that is an error.
    pub fn refused(&self, answer: &mut Response<Body>) -> Refusal {
        ignore(answer);
        Refusal::of_answer(answer, fault_of(answer.status()), &self.options.http)
    }

    /// Sends a request for a path of the image. If the registry answers 401, asks once for a token, or shows the password.
    pub fn get(&self, path: &str, ask: Ask) -> Result<Response<Body>, Refusal> {
        let address = address_of(&self.reference, self.options.insecure, path)?;
        let used = self.authorization.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let send = |authorization: Option<String>| {
            follow(&address.clone().authorized(authorization), |address| self.send(address, ask))
        };
        let (mut answer, from) = send(used.clone())?;
        if answer.status() != StatusCode::UNAUTHORIZED || !from.is_same_server(&address) {
            return Ok(answer);
        }
        let challenge = Challenge::of(answer.headers());
        ignore(&mut answer);
        let authorization = self.renewed(used.as_deref(), &challenge?)?;
        Ok(send(Some(authorization))?.0)
    }

    fn send(&self, address: &Address, ask: Ask) -> Result<Response<Body>, Fault> {
        let proxy = self.options.http.proxies.of(address);
        let mut request = self.agent.get(address.uri()).config().proxy(proxy).build().header("accept", ask.accept);
        if let Some((start, end)) = ask.range {
            request = request.header("range", format!("bytes={start}-{}", end - 1));
        }
        if let Some(authorization) = address.authorization() {
            request = request.header("authorization", authorization);
        }
        let answer = request.call().map_err(|error| self.options.http.fault(error))?;
        self.answered.store(true, Ordering::Relaxed);
        Ok(answer)
    }

    /// Returns a new value of the header `Authorization`, or the value with which another thread has replaced `used`.
    fn renewed(&self, used: Option<&str>, challenge: &Challenge) -> Result<String, Refusal> {
        let mut current = self.authorization.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(newer) = current.as_ref().filter(|newer| Some(newer.as_str()) != used) {
            return Ok(newer.clone());
        }
        let credentials = (self.options.credentials)().map_err(Fault::Credentials)?;
        let value = match challenge {
            Challenge::Basic => {
                let missing = || fault_of(StatusCode::UNAUTHORIZED);
                credentials.as_ref().and_then(Credentials::basic).ok_or_else(missing)?.to_string()
            }
            Challenge::Bearer { realm, service, scope } => {
                let pull = format!("repository:{}:pull", self.reference.repository());
                let mut fields = vec![("scope", scope.as_deref().unwrap_or(&pull))];
                fields.extend(service.iter().map(|service| ("service", service.as_str())));
                format!("Bearer {}", self.token(realm, &fields, credentials.as_ref())?)
            }
        };
        log::debug!("{}: the registry asked for authentication", self.reference);
        Ok(current.insert(value).clone())
    }

    /// Requests a token for the image.
    fn token(
        &self,
        realm: &str,
        fields: &[(&str, &str)],
        credentials: Option<&Credentials>,
    ) -> Result<String, Refusal> {
        let form = |fields: &[(&str, &str)]| {
            let encoded = |text| utf8_percent_encode(text, NON_ALPHANUMERIC);
            fields.iter().map(|(name, value)| format!("{name}={}", encoded(value))).collect::<Vec<_>>().join("&")
        };
        let mut answer = if let Some(token) = credentials.and_then(Credentials::identity) {
            let more = [("grant_type", "refresh_token"), ("client_id", "packline"), ("refresh_token", token)];
            self.post(&self.realm(realm)?, form(&[fields, &more].concat()))?
        } else {
            let sign = if realm.contains('?') { '&' } else { '?' };
            let address = self.realm(&format!("{realm}{sign}{}", form(fields)))?;
            let basic = credentials.and_then(Credentials::basic).map(str::to_string);
            follow(&address.authorized(basic), |address| self.send(address, Ask::JSON))?.0
        };
        if answer.status() != StatusCode::OK {
            return Err(self.refused(&mut answer));
        }
        let found: Option<Value> = serde_json::from_slice(&self.body(&mut answer)?).ok();
        let token = ["token", "access_token"].iter().find_map(|name| found.as_ref()?.get(name)?.as_str());
        // It becomes a part of a header.
        let token = token.filter(|token| !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic()));
        token.map(str::to_string).ok_or_else(|| Fault::Token.into())
    }

    fn post(&self, address: &Address, form: String) -> Result<Response<Body>, Fault> {
        let proxy = self.options.http.proxies.of(address);
        let request = self.agent.post(address.uri()).config().proxy(proxy).build();
        let request = request.header("content-type", "application/x-www-form-urlencoded");
        request.send(form).map_err(|error| self.options.http.fault(error))
    }

    /// The address of the server of tokens. A registry by `https` cannot have passwords sent by `http`.
    fn realm(&self, text: &str) -> Result<Address, Fault> {
        let address = Address::parse(text)?;
        if address.is_https() || self.options.insecure {
            return Ok(address);
        }
        let what = "is the address of the server of tokens, without encryption (expected https://)";
        Err(WrongUrl { shown: address.to_string(), what }.into())
    }

    /// The fault of the first request: for an image that does not exist, with the tags that do.
    pub fn explained(&self, fault: Fault) -> Fault {
        if !matches!(fault, Fault::Status { status: StatusCode::NOT_FOUND, .. }) {
            return fault;
        }
        let tags = if self.reference.digest().is_none() { self.tags() } else { Vec::new() };
        let expected = match tags.len() {
            0 => "; check the name and the tag".to_string(),
            TAGS.. => format!(" (expected a tag of the image, such as {})", tags[..TAGS].join(", ")),
            _ => format!(" (expected {})", tags.join(", ")),
        };
        Fault::NoImage { wanted: self.reference.wanted().to_string(), expected }
    }

    /// Some tags of the image; none if the registry does not list them.
    fn tags(&self) -> Vec<String> {
        let list = self.try_document(&format!("tags/list?n={}", TAGS + 1), Ask::JSON).ok();
        let list: Option<Value> = list.and_then(|list| serde_json::from_slice(&list.bytes).ok());
        let tags = list.as_ref().and_then(|list| list.get("tags")?.as_array());
        let names = tags.into_iter().flatten().filter_map(Value::as_str);
        names
            .filter(|name| name.bytes().all(|byte| byte.is_ascii_graphic()))
            .take(TAGS + 1)
            .map(str::to_string)
            .collect()
    }
}

/// The fault of an answer of a registry.
fn fault_of(status: StatusCode) -> Fault {
    match (status.as_u16(), Fault::of_status(status)) {
        (401 | 403, Fault::Status { status, .. }) => {
            let hint = "; check the name, or log in with docker login, podman login or skopeo login";
            Fault::Status { status, hint }
        }
        (_, fault) => fault,
    }
}
