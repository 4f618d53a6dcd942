//! Reads a content of a registry from its start to its end, and continues after a cut.

use std::io::{self, Read};
use std::sync::Arc;

use ureq::http::header::{CONTENT_ENCODING, CONTENT_LENGTH};
use ureq::http::{Response, StatusCode};
use ureq::{Body, BodyReader};

use super::client::{Ask, Client};
use crate::Fault;
use crate::file::{ContentRange, PROGRESS, text};
use crate::refusal::Refusal;

/// A content of a known size.
pub struct BlobReader {
    client: Arc<Client>,
    digest: String,
    size: u64,
    at: u64,
    answer: Option<BodyReader<'static>>,
    /// Tries without progress, and the position at the last one.
    tries: u32,
    tried_at: u64,
    /// Nothing is requested after this fault.
    failed: Option<Fault>,
}

impl BlobReader {
    /// A reader that begins with the byte `from`, which is at most `size`.
    pub fn new(client: Arc<Client>, digest: &str, size: u64, from: u64) -> BlobReader {
        let digest = digest.to_string();
        BlobReader { client, digest, size, at: from, answer: None, tries: 0, tried_at: from, failed: None }
    }

    /// Requests what was not read yet.
    fn open(&self) -> Result<BodyReader<'static>, Refusal> {
        let rest = (self.at > 0).then_some((self.at, self.size));
        let mut answer = self.client.get(&format!("blobs/{}", self.digest), Ask::content(rest))?;
        let is_part = match answer.status() {
            StatusCode::OK => false,
            StatusCode::PARTIAL_CONTENT if self.at > 0 => true,
            _ => return Err(self.client.refused(&mut answer)),
        };
        if let Some(encoding) = text(answer.headers(), &CONTENT_ENCODING).filter(|encoding| encoding != "identity") {
            return Err(Fault::Encoded(encoding).into());
        }
        self.check_size(&answer, is_part)?;
        let mut reader = answer.into_body().into_reader();
        if !is_part && self.at > 0 {
            // The server ignores ranges.
            let skipped = io::copy(&mut (&mut reader).take(self.at), &mut io::sink());
            let skipped = skipped.map_err(|cause| self.client.options.http.fault(cause.into()))?;
            if skipped < self.at {
                return Err(Fault::Cut { received: skipped, expected: self.size }.into());
            }
        }
        Ok(reader)
    }

    /// Checks what the answer announces.
    fn check_size(&self, answer: &Response<Body>, is_part: bool) -> Result<(), Fault> {
        if is_part {
            let found = ContentRange::of(answer.headers());
            let is_rest = found
                .as_ref()
                .is_some_and(|found| found.size == self.size && found.range == Some((self.at, self.size)));
            let expected = format!("bytes {} to {}", self.at, self.size);
            let shown = || match found.and_then(|found| found.range) {
                Some((start, end)) => format!("bytes {start} to {end}"),
                None => "an answer without a valid Content-Range".to_string(),
            };
            return if is_rest { Ok(()) } else { Err(Fault::WrongRange { found: shown(), expected }) };
        }
        let announced = text(answer.headers(), &CONTENT_LENGTH).and_then(|length| length.parse().ok());
        match announced.filter(|found| *found != self.size) {
            Some(found) => Err(Fault::Size { found, expected: self.size }),
            None => Ok(()),
        }
    }

    /// Reads the next bytes of the answer, after a request if there is none.
    fn read_some(&mut self, buffer: &mut [u8]) -> Result<usize, Refusal> {
        let answer = match &mut self.answer {
            Some(answer) => answer,
            None => self.answer.insert(self.open()?),
        };
        match answer.read(buffer) {
            Ok(0) => Err(Fault::Cut { received: self.at, expected: self.size }.into()),
            Ok(count) => Ok(count),
            Err(cause) => Err(self.client.options.http.fault(cause.into()).into()),
        }
    }
}

impl Read for BlobReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.size - self.at).unwrap_or(usize::MAX);
        let wanted = buffer.len().min(left);
        if wanted == 0 {
            return Ok(0);
        }
        loop {
            if let Some(fault) = &self.failed {
                return Err(fault.clone().into());
            }
            let refusal = match self.read_some(&mut buffer[..wanted]) {
                Ok(count) => {
                    self.at += count as u64;
                    return Ok(count);
                }
                Err(refusal) => refusal,
            };
            self.answer = None;
            let progress = self.at - self.tried_at >= PROGRESS as u64;
            self.tries = if progress { 1 } else { self.tries + 1 };
            self.tried_at = self.at;
            self.failed = self.client.pause(refusal, self.tries).err();
        }
    }
}
