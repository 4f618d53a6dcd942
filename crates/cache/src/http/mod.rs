//! A cache of compressed blocks that many machines share: entries on an HTTP server, by the protocol that Bazel, ccache and sccache speak to
//! servers such as bazel-remote.
//!
//! ```text
//! GET URL/ac/KEY     an entry: 200 with an `ActionResult` whose `stdout_raw` is the entry; 404 if there is none
//! PUT URL/ac/KEY     adds one
//! ```
//!
//! `KEY` is that of the entry, 64 hexadecimal digits. An entry is a valid `ActionResult` of Bazel's remote execution API, because servers
//! check that; and it is one request, where the usual way by the content-addressed part of the server would be two.
//!
//! Nothing that a server answers is trusted: [`crate::BlockEncoder`] checks each entry and decodes its block. A server costs a bounded time: see
//! [`health`]. Uploads go on beside the work, in threads of their own: see [`uploads`].

pub mod action_result;
mod client;
mod health;
mod resolver;
mod server;
mod uploads;
mod url;

pub use client::{Failure, ping};
pub use server::{Clock, Server};
pub use url::{Url, WrongUrl};
