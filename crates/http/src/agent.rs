//! Agents: connections, TLS and settings that all requests share.

use std::io::{self, Read};

use ureq::config::Config;
use ureq::http::Response;
use ureq::unversioned::transport::DefaultConnector;
use ureq::{Agent, Body};

use crate::resolver::Resolver;

/// Bytes of each of the two buffers of a connection.
const BUFFER: usize = 64 << 10;
/// Bytes of a connection: its buffers and TLS buffers.
pub const CONNECTION: usize = 4 * BUFFER;
/// Bytes read from an answer that is ignored, so that its connection can be reused.
const IGNORED: u64 = 4 << 10;

/// Settings of an agent.
pub type Builder = ureq::config::ConfigBuilder<ureq::typestate::AgentScope>;

/// Returns settings without proxy and without time limits. Each status is an answer and not an error, and no redirect is followed.
pub fn config() -> Builder {
    let config = Config::builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .proxy(None)
        .user_agent(concat!("packline/", env!("CARGO_PKG_VERSION")))
        .input_buffer_size(BUFFER)
        .output_buffer_size(BUFFER);
    with_tls(config)
}

/// Returns an agent. Without `threads`, looking up the name of a server has no time limit of ours.
pub fn agent(config: Builder, threads: bool) -> Agent {
    Agent::with_parts(config.build(), DefaultConnector::new(), Resolver::new(threads))
}

/// Reads the rest of a short answer, so that its connection is reused.
pub fn ignore(answer: &mut Response<Body>) {
    // After an error the connection is not reused.
    let _ = io::copy(&mut answer.body_mut().as_reader().take(IGNORED), &mut io::sink());
}

#[cfg(not(feature = "https"))]
fn with_tls(config: Builder) -> Builder {
    config
}

/// Servers must have certificates that this machine trusts.
#[cfg(feature = "https")]
fn with_tls(config: Builder) -> Builder {
    use ureq::tls::{RootCerts, TlsConfig};
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let tls = TlsConfig::builder().root_certs(RootCerts::PlatformVerifier);
    config.tls_config(tls.unversioned_rustls_crypto_provider(provider).build())
}
