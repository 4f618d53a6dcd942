//! A small registry of container images (Docker's HTTP API, version 2), which can be set to misbehave.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use crate::http::{Request, Server, locked, send, send_head};

const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";

/// What a client must show.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Login {
    /// Nothing.
    #[default]
    None,
    /// This value of the header `Authorization`.
    Header(String),
    /// A token, which `/token` gives to each client.
    Token,
    /// A token, which `/token` gives to clients with this value of the header `Authorization`.
    TokenFor(String),
    /// A token, which `/token` gives for this identity token, which is sent as a form.
    TokenForIdentity(String),
}

/// A request of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    pub path: String,
    pub authorization: Option<String>,
    pub range: Option<String>,
}

/// A registry with a separate address, in threads. Dropping it ends the registry.
pub struct Registry {
    server: Server,
    state: Arc<State>,
}

struct State {
    /// A directory with blobs in `sha256`, by the digits of their digests.
    blobs: PathBuf,
    settings: Mutex<Settings>,
}

#[derive(Default)]
struct Settings {
    address: String,
    /// Digests by paths: `NAME/manifests/TAG`.
    tags: BTreeMap<String, String>,
    login: Login,
    /// The number of tokens so far: only the last one is valid.
    tokens: u64,
    /// Requests after which the token expires, again and again.
    valid_for: Option<u64>,
    used: u64,
    /// The next answers with these statuses, and headers, each with a line end.
    statuses: Vec<(u16, String)>,
    /// Bytes after which a longer answer with a blob is cut, and the number of such answers.
    cut: Option<(usize, u64)>,
    /// Blobs are at this address, followed by the digits.
    redirect: Option<String>,
    /// Whether ranges are ignored.
    whole: bool,
    /// The type of all documents.
    media_type: Option<String>,
    asked: Vec<Asked>,
}

impl Registry {
    /// A registry of the blobs of an image layout.
    ///
    /// # Errors
    /// An error of the operating system.
    pub fn start(layout: &Path) -> io::Result<Registry> {
        let state = Arc::new(State { blobs: layout.join("blobs/sha256"), settings: Mutex::default() });
        let shared = state.clone();
        let answer = Box::new(move |request: &Request, stream: &mut TcpStream| shared.answer(request, stream));
        let server = Server::start(Arc::default(), answer)?;
        locked(&state.settings).address = server.address().to_string();
        Ok(Registry { server, state })
    }

    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// Gives a tag of a repository to a digest.
    pub fn tag(&self, repository: &str, tag: &str, digest: &str) {
        self.settings().tags.insert(format!("{repository}/manifests/{tag}"), digest.to_string());
    }

    pub fn set_login(&self, login: Login) {
        self.settings().login = login;
    }

    /// Lets each token expire after a number of requests.
    pub fn set_valid_for(&self, requests: u64) {
        self.settings().valid_for = Some(requests);
    }

    /// Answers the next requests with a status, the first of these first.
    pub fn set_statuses(&self, statuses: &[(u16, &str)]) {
        self.settings().statuses = statuses.iter().map(|(status, headers)| (*status, headers.to_string())).collect();
    }

    /// Cuts a number of answers with blobs after `bytes`.
    pub fn set_cut(&self, bytes: usize, times: u64) {
        self.settings().cut = Some((bytes, times));
    }

    /// Sends the whole blob if a range is requested.
    pub fn ignore_ranges(&self) {
        self.settings().whole = true;
    }

    /// Redirects requests for blobs to another server.
    pub fn redirect(&self, address: &str) {
        self.settings().redirect = Some(address.to_string());
    }

    /// Calls each document by this type.
    pub fn set_media_type(&self, media_type: &str) {
        self.settings().media_type = Some(media_type.to_string());
    }

    /// Returns the requests since the last call.
    pub fn take_asked(&self) -> Vec<Asked> {
        std::mem::take(&mut self.settings().asked)
    }

    fn settings(&self) -> MutexGuard<'_, Settings> {
        locked(&self.state.settings)
    }
}

impl State {
    /// Answers a request. Returns false if the connection is to be closed.
    fn answer(&self, request: &Request, stream: &mut TcpStream) -> io::Result<bool> {
        let mut settings = locked(&self.settings);
        let header = |name: &str| request.headers.get(name).cloned();
        let authorization = header("authorization");
        let range = header("range");
        let asked = Asked { path: request.path.clone(), authorization: authorization.clone(), range: range.clone() };
        settings.asked.push(asked);
        if !settings.statuses.is_empty() {
            let (status, headers) = settings.statuses.remove(0);
            return send_head(stream, status, &format!("Content-Length: 0\r\n{headers}")).map(|()| true);
        }
        let path = request.path.split('?').next().unwrap_or_default();
        if path == "/token" {
            return settings.send_token(request, stream);
        }
        if let Some(challenge) = settings.challenge(authorization) {
            let headers = format!("Content-Length: 0\r\nWWW-Authenticate: {challenge}\r\n");
            return send_head(stream, 401, &headers).map(|()| true);
        }
        let path = path.strip_prefix("/v2/").unwrap_or_default();
        if let Some(repository) = path.strip_suffix("/tags/list") {
            return send(stream, 200, settings.list(repository).as_bytes()).map(|()| true);
        }
        let digest = settings.tags.get(path).cloned().or_else(|| path.rsplit_once('/').map(|(_, end)| end.to_string()));
        let hex = digest.unwrap_or_default().trim_start_matches("sha256:").to_string();
        let Ok(bytes) = fs::read(self.blobs.join(&hex)) else { return send(stream, 404, b"{}").map(|()| true) };
        if path.contains("/manifests/") {
            let kind = if String::from_utf8_lossy(&bytes).contains("\"manifests\"") { INDEX } else { MANIFEST };
            let kind = settings.media_type.as_deref().unwrap_or(kind);
            send_head(stream, 200, &format!("Content-Type: {kind}; x=y\r\nContent-Length: {}\r\n", bytes.len()))?;
            return stream.write_all(&bytes).map(|()| true);
        }
        if let Some(location) = &settings.redirect {
            let headers = format!("Location: {location}{hex}\r\nContent-Length: 0\r\n");
            return send_head(stream, 307, &headers).map(|()| true);
        }
        settings.send_blob(stream, &bytes, range.as_deref())
    }
}

impl Settings {
    /// The header with which a request without a valid login is answered.
    fn challenge(&mut self, authorization: Option<String>) -> Option<String> {
        let expected = match &self.login {
            Login::None => return None,
            Login::Header(header) => header.clone(),
            _ => format!("Bearer token-{}", self.tokens),
        };
        if authorization.as_ref() != Some(&expected) {
            let realm = format!("http://{}/token", self.address);
            let is_basic = matches!(self.login, Login::Header(_));
            let bearer = format!("Bearer realm=\"{realm}\",service=\"a registry\"");
            return Some(if is_basic { "Basic realm=\"test\"".to_string() } else { bearer });
        }
        self.used += 1;
        if self.valid_for.is_some_and(|most| self.used >= most) {
            self.used = 0;
            self.tokens += 1;
        }
        None
    }

    fn send_token(&mut self, request: &Request, stream: &mut TcpStream) -> io::Result<bool> {
        let given = request.headers.get("authorization");
        let body = String::from_utf8_lossy(&request.body).into_owned();
        let is_known = match &self.login {
            Login::TokenFor(header) => given == Some(header),
            Login::TokenForIdentity(token) => {
                request.method == "POST" && body.split('&').any(|field| field == format!("refresh_token={token}"))
            }
            _ => true,
        };
        if !is_known {
            return send(stream, 401, b"{}").map(|()| true);
        }
        self.tokens += 1;
        self.used = 0;
        send(stream, 200, format!("{{\"token\":\"token-{}\"}}", self.tokens).as_bytes()).map(|()| true)
    }

    fn list(&self, repository: &str) -> String {
        let prefix = format!("{repository}/manifests/");
        let tags = self.tags.keys().filter_map(|path| path.strip_prefix(&prefix)).map(|tag| format!("\"{tag}\""));
        format!("{{\"name\":\"{repository}\",\"tags\":[{}]}}", tags.collect::<Vec<_>>().join(","))
    }

    fn send_blob(&mut self, stream: &mut TcpStream, bytes: &[u8], range: Option<&str>) -> io::Result<bool> {
        let start = range
            .filter(|_| !self.whole)
            .and_then(|range| range.strip_prefix("bytes=")?.split('-').next()?.parse().ok());
        let size = bytes.len();
        let rest = bytes.get(start.unwrap_or(0)..).unwrap_or_default();
        let part = start.map_or(String::new(), |start| format!("Content-Range: bytes {start}-{}/{size}\r\n", size - 1));
        let status = if start.is_some() { 206 } else { 200 };
        send_head(stream, status, &format!("{part}Content-Length: {}\r\n", rest.len()))?;
        let most = match &mut self.cut {
            Some((most, times)) if *times > 0 && *most < rest.len() => {
                *times -= 1;
                *most
            }
            _ => rest.len(),
        };
        stream.write_all(&rest[..most.min(rest.len())])?;
        Ok(most >= rest.len())
    }
}
