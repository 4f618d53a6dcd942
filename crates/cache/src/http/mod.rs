//! A cache of compressed blocks that many machines share: entries on an HTTP server, with the protocol of Bazel, ccache and
//! sccache for servers such as bazel-remote.
//!
//! ```text
//! GET URL/ac/KEY     an entry: 200 with an `ActionResult` whose `stdout_raw` is the entry; 404 if there is none
//! PUT URL/ac/KEY     adds one
//! ```
//!
//! `KEY` is the entry's key in 64 hexadecimal digits. An entry is a valid `ActionResult` of Bazel's remote execution API, because
//! servers check this. It needs one request; the usual way, by the content-addressed part of the server, needs two.
//!
//! No answer of a server is trusted: [`crate::BlockEncoder`] checks each entry and decodes its block. A server costs a bounded
//! time: see [`health`]. Uploads run in the background, in threads of their own: see [`uploads`].

pub mod action_result;
mod client;
mod health;
mod server;
mod uploads;
mod url;

pub use client::{Failure, ping};
pub use packline_http::WrongUrl;
pub use server::{Clock, Server};
pub use url::Url;
