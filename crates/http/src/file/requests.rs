//! Requests for ranges of one version of a file: redirects, checks of the answers, and further tries.

use std::io::Read;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread;

use ureq::http::header::{CONTENT_ENCODING, CONTENT_LENGTH};
use ureq::http::{Response, StatusCode};
use ureq::{Agent, Body};

use super::version::{ContentRange, Version, text};
use super::{Counts, HttpOptions};
use crate::redirects::follow;
use crate::refusal::Refusal;
use crate::{Address, Fault, ignore};

/// Bytes that a try must bring to count as progress, so that a server that cuts each answer cannot keep a reader for ever.
pub(crate) const PROGRESS: usize = 64 << 10;

/// A file on a server.
pub(super) struct Requests {
    agent: Agent,
    options: HttpOptions,
    original: Address,
    /// The address after all redirects.
    current: Mutex<Address>,
    /// The version that the first answer was about.
    version: OnceLock<Version>,
    /// Whether the last request failed after all its tries. The next ones then have one try, until one succeeds.
    failed: AtomicBool,
    requests: AtomicU64,
    bytes: AtomicU64,
}

impl Requests {
    pub(super) fn new(address: Address, options: HttpOptions) -> Requests {
        let authorization = options.netrc.authorization(address.host());
        let original = address.authorized(authorization);
        Requests {
            agent: options.agent(),
            current: Mutex::new(original.clone()),
            original,
            options,
            version: OnceLock::new(),
            failed: AtomicBool::new(false),
            requests: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
        }
    }

    /// The version of the file; `None` before the first answer.
    pub(super) fn version(&self) -> Option<&Version> {
        self.version.get()
    }

    /// A name of this version of the file that is valid after this run; it has the query, which may be a secret. `None` if the server does not tell
    /// versions apart.
    pub(super) fn lasting_name(&self) -> Option<String> {
        let version = self.version.get()?;
        let validator = version.lasting()?;
        let current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        Some(format!("{}\n{current}\n{}\n{validator}", self.original.uri(), version.size))
    }

    pub(super) fn counts(&self) -> Counts {
        Counts { requests: self.requests.load(Ordering::Relaxed), bytes: self.bytes.load(Ordering::Relaxed) }
    }

    /// Reads a range, which is cut at the end of the file. A cut answer is continued, and faults that may pass are followed by further
    /// tries.
    pub(super) fn fetch(&self, range: Range<u64>) -> Result<Vec<u8>, Fault> {
        let mut bytes = Vec::new();
        let mut tries = 0;
        loop {
            let before = bytes.len();
            let refusal = match self.attempt(&range, &mut bytes) {
                Ok(()) => {
                    self.failed.store(false, Ordering::Relaxed);
                    return Ok(bytes);
                }
                Err(refusal) => refusal,
            };
            let fault = &refusal.fault;
            tries = if bytes.len() - before >= PROGRESS { 1 } else { tries + 1 };
            if !fault.is_transient() || tries >= self.tries(fault) {
                self.failed.store(fault.is_transient(), Ordering::Relaxed);
                return Err(refusal.fault);
            }
            log::info!("{}: {fault}; trying again", self.original);
            thread::sleep(refusal.pause(tries, &self.options));
        }
    }

    /// The number of tries. A server that refuses the first connection is probably not there.
    fn tries(&self, fault: &Fault) -> u32 {
        match fault {
            _ if self.failed.load(Ordering::Relaxed) => 1,
            Fault::Connection(_) if self.version.get().is_none() => self.options.tries.min(2),
            _ => self.options.tries,
        }
    }

    /// Sends a request for what is missing of a range, and appends the bytes of its answer, even if they are not all.
    fn attempt(&self, range: &Range<u64>, bytes: &mut Vec<u8>) -> Result<(), Refusal> {
        let from = range.start + bytes.len() as u64;
        let mut answer = self.answer(from..range.end)?;
        let status = answer.status();
        if status != StatusCode::PARTIAL_CONTENT {
            return self.refused(&mut answer, from);
        }
        if let Some(encoding) = text(answer.headers(), &CONTENT_ENCODING).filter(|encoding| encoding != "identity") {
            return Err(Fault::Encoded(encoding).into());
        }
        let end = self.check_range(&answer, from..range.end)?;
        let expected = end - from;
        let announced = text(answer.headers(), &CONTENT_LENGTH);
        if announced.as_ref().is_some_and(|length| length.parse() != Ok(expected)) {
            let found = format!("{} bytes", announced.unwrap_or_default());
            return Err(Fault::WrongRange { found, expected: format!("{expected} bytes") }.into());
        }
        self.read(&mut answer, expected, bytes)
    }

    /// Appends the bytes of an answer.
    fn read(&self, answer: &mut Response<Body>, expected: u64, bytes: &mut Vec<u8>) -> Result<(), Refusal> {
        let before = bytes.len();
        // At most the bytes that were requested, whatever the server says.
        bytes.reserve_exact(expected as usize);
        let read = answer.body_mut().as_reader().take(expected + 1).read_to_end(bytes);
        let received = (bytes.len() - before) as u64;
        self.bytes.fetch_add(received, Ordering::Relaxed);
        if received > expected {
            return Err(Fault::Long(expected).into());
        }
        match read {
            // Everything is here; a fault of the connection after it does no harm.
            _ if received == expected => Ok(()),
            Ok(_) => Err(Fault::Cut { received, expected }.into()),
            Err(cause) => Err(self.options.fault(cause.into()).into()),
        }
    }

    /// Checks which bytes of which version an answer has. Returns the byte after the last one.
    fn check_range(&self, answer: &Response<Body>, wanted: Range<u64>) -> Result<u64, Fault> {
        let Some(found) = ContentRange::of(answer.headers()) else {
            let found = "an answer without a valid Content-Range".to_string();
            return Err(Fault::WrongRange { found, expected: shown(&wanted) });
        };
        let later = Version::of(answer.headers(), found.size);
        self.version.get_or_init(|| later.clone()).check(&later)?;
        let wanted = wanted.start..wanted.end.min(found.size);
        match found.range {
            Some((start, end)) if (start, end) == (wanted.start, wanted.end) => Ok(end),
            range => {
                let found = range.map_or("no bytes".to_string(), |(start, end)| shown(&(start..end)));
                Err(Fault::WrongRange { found, expected: shown(&wanted) })
            }
        }
    }

    /// Returns why an answer has no range. An empty file has none, and is read without an error.
    fn refused(&self, answer: &mut Response<Body>, from: u64) -> Result<(), Refusal> {
        let status = answer.status();
        let known = self.version.get();
        if status == StatusCode::OK {
            // The whole file follows, which is not read.
            return Err(Version::of_whole_answer(known, answer).into());
        }
        ignore(answer);
        if status == StatusCode::RANGE_NOT_SATISFIABLE {
            let size = ContentRange::of(answer.headers()).map(|found| found.size);
            return match (known, size) {
                (None, Some(0)) if from == 0 => {
                    self.version.get_or_init(|| Version::of(answer.headers(), 0));
                    Ok(())
                }
                (Some(known), Some(size)) if size != known.size => Err(Fault::Changed("size").into()),
                _ => Err(Fault::of_status(status).into()),
            };
        }
        if status == StatusCode::PRECONDITION_FAILED && known.is_some() {
            return Err(Fault::Changed("version").into());
        }
        Err(Refusal::of_answer(answer, Fault::of_status(status), &self.options))
    }

    /// Sends a request, and follows redirects. The next request begins where this one ended.
    fn answer(&self, range: Range<u64>) -> Result<Response<Body>, Fault> {
        let start = self.current.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let answer = self.follow(start.clone(), &range)?;
        // The address that a server redirected to may be valid for a short time only.
        if start != self.original && matches!(answer.status().as_u16(), 400 | 401 | 403 | 404 | 410) {
            return self.follow(self.original.clone(), &range);
        }
        Ok(answer)
    }

    fn follow(&self, address: Address, range: &Range<u64>) -> Result<Response<Body>, Fault> {
        let (answer, last) = follow(&address, |address| self.send(address, range))?;
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = last;
        Ok(answer)
    }

    fn send(&self, address: &Address, range: &Range<u64>) -> Result<Response<Body>, Fault> {
        self.requests.fetch_add(1, Ordering::Relaxed);
        let request = self.agent.get(address.uri()).config().proxy(self.options.proxies.of(address)).build();
        let mut request = request.header("range", format!("bytes={}-{}", range.start, range.end - 1));
        if let Some(validator) = self.version.get().and_then(Version::validator) {
            request = request.header("if-range", validator);
        }
        if let Some(authorization) = address.authorization() {
            request = request.header("authorization", authorization);
        }
        request.call().map_err(|error| self.options.fault(error))
    }
}

fn shown(range: &Range<u64>) -> String {
    format!("bytes {} to {}", range.start, range.end)
}
