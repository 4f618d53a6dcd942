//! Why a file on a server cannot be read.

use std::io;
use std::time::Duration;

use ureq::http::StatusCode;

use crate::WrongUrl;

/// Why a file on a server cannot be read. No text shows a user, a password or a query.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// The address, or the target of a redirect, cannot be used.
    #[error(transparent)]
    Url(#[from] WrongUrl),
    /// There is no connection, or it failed.
    #[error("the connection to the server failed: {0}")]
    Connection(String),
    /// The certificate of the server is not trusted, or TLS failed in another way.
    #[error("no secure connection to the server: {0}")]
    Tls(String),
    #[error("no complete answer of the server in {0} s")]
    Late(u64),
    /// The server sent something other than HTTP.
    #[error("the answer of the server is not valid HTTP: {0}")]
    Nonsense(String),
    #[error("the server answers {status}{hint}")]
    Status {
        status: StatusCode,
        /// Empty, or begins with a semicolon.
        hint: &'static str,
    },
    #[error("the server answers {status} and asks to wait {seconds} s; try again later")]
    Busy { status: StatusCode, seconds: u64 },
    #[error("the server does not support range requests; download the file, or pipe it to the command")]
    NoRanges,
    #[error("the file changed on the server while it was read (expected the same {0} in each answer); start again")]
    Changed(&'static str),
    #[error("the server sent another part of the file: {found} (expected {expected})")]
    WrongRange { found: String, expected: String },
    #[error("the server sent the file in another encoding: {0} (expected its bytes)")]
    Encoded(String),
    #[error("the server sent {received} of {expected} bytes")]
    Cut { received: u64, expected: u64 },
    #[error("the server sent more than {0} bytes (expected as many as it announced)")]
    Long(u64),
    #[error("the server redirects more than {0} times")]
    Redirects(u32),
    /// A registry has no image with a tag or a digest.
    #[error("the registry has no image with '{wanted}'{expected}")]
    NoImage {
        wanted: String,
        /// Empty, or an expectation in parentheses, or a hint after a semicolon.
        expected: String,
    },
    #[error("the server sends {found} bytes (expected {expected}, as the manifest says)")]
    Size { found: u64, expected: u64 },
    #[error("no credentials for the registry: {0}")]
    Credentials(String),
    #[error("the registry asks for authentication by '{0}' (expected Basic or Bearer)")]
    Challenge(String),
    #[error("the answer of the server of tokens has no valid token")]
    Token,
}

impl Fault {
    /// The fault of an answer with a status that is not about the range.
    pub(crate) fn of_status(status: StatusCode) -> Fault {
        let hint = match status.as_u16() {
            401 | 403 => "; give a user and a password in the address or in .netrc",
            407 => "; give a user and a password in the address of the proxy",
            _ => "",
        };
        Fault::Status { status, hint }
    }

    /// Whether another try may succeed.
    pub(crate) fn is_transient(&self) -> bool {
        match self {
            Fault::Connection(_) | Fault::Late(_) | Fault::Nonsense(_) | Fault::Cut { .. } => true,
            Fault::Status { status, .. } => matches!(status.as_u16(), 408 | 429 | 500 | 502 | 503 | 504),
            _ => false,
        }
    }

    /// The fault of a request or of reading its answer. `limit` returns the time limit of a part of the request.
    pub(crate) fn of_client(error: ureq::Error, limit: impl FnOnce(ureq::Timeout) -> Duration) -> Fault {
        match error {
            ureq::Error::Timeout(part) => Fault::Late(limit(part).as_secs()),
            ureq::Error::Io(cause) if cause.kind() == io::ErrorKind::InvalidData => Fault::Tls(cause.to_string()),
            ureq::Error::Io(cause) => Fault::Connection(cause.to_string()),
            error @ (ureq::Error::HostNotFound | ureq::Error::ConnectionFailed) => Fault::Connection(error.to_string()),
            #[cfg(feature = "https")]
            ureq::Error::Rustls(cause) => Fault::Tls(cause.to_string()),
            ureq::Error::Tls(cause) => Fault::Tls(cause.to_string()),
            ureq::Error::BadUri(_) | ureq::Error::Http(_) => Fault::Nonsense("an invalid address".to_string()),
            error => Fault::Nonsense(error.to_string()),
        }
    }
}

impl From<Fault> for io::Error {
    fn from(fault: Fault) -> io::Error {
        io::Error::other(fault)
    }
}
