//! A try of a request that failed, and the pause before the next one.

use std::time::Duration;

use ureq::Body;
use ureq::http::Response;
use ureq::http::header::RETRY_AFTER;

use crate::file::text;
use crate::{Fault, HttpOptions};

/// A try that failed.
pub struct Refusal {
    pub fault: Fault,
    /// How long the server asks to wait.
    wait: Option<Duration>,
}

impl Refusal {
    /// The refusal of an answer with a status that is an error, which is `fault`.
    pub fn of_answer(answer: &Response<Body>, fault: Fault, options: &HttpOptions) -> Refusal {
        let wait = text(answer.headers(), &RETRY_AFTER).and_then(|seconds| seconds.parse().ok());
        match wait {
            Some(seconds) if fault.is_transient() && seconds > options.longest_wait.as_secs() => {
                Fault::Busy { status: answer.status(), seconds }.into()
            }
            wait => Refusal { fault, wait: wait.map(Duration::from_secs) },
        }
    }

    /// The pause after the try with number `tries`, from 1.
    pub fn pause(&self, tries: u32, options: &HttpOptions) -> Duration {
        self.wait.unwrap_or_else(|| options.pause.saturating_mul(1 << (tries.max(1) - 1).min(4)))
    }
}

impl From<Fault> for Refusal {
    fn from(fault: Fault) -> Refusal {
        Refusal { fault, wait: None }
    }
}
