//! Follows redirects, without the user and the password on another server.

use ureq::Body;
use ureq::http::Response;
use ureq::http::header::LOCATION;

use crate::file::text;
use crate::{Address, Fault, ignore};

/// Maximum number of redirects of a request.
const REDIRECTS: u32 = 10;

/// Calls `send` for an address and for each address that an answer redirects to. Returns the first other answer, and its address.
pub fn follow(
    start: &Address,
    mut send: impl FnMut(&Address) -> Result<Response<Body>, Fault>,
) -> Result<(Response<Body>, Address), Fault> {
    let mut address = start.clone();
    for _ in 0..=REDIRECTS {
        let mut answer = send(&address)?;
        let is_redirect = matches!(answer.status().as_u16(), 301 | 302 | 303 | 307 | 308);
        let Some(location) = text(answer.headers(), &LOCATION).filter(|_| is_redirect) else {
            return Ok((answer, address));
        };
        ignore(&mut answer);
        address = address.redirected(&location)?;
        log::debug!("{start}: redirected to {address}");
    }
    Err(Fault::Redirects(REDIRECTS))
}
