//! bazel-remote.

use packline_testkit::certificates::Certificates;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Tenths of a second within which the server must answer.
const PATIENCE: u32 = 200;

/// A server that runs until this is dropped.
pub struct BazelRemote {
    child: Child,
    url: String,
}

impl BazelRemote {
    /// Starts it with an empty directory below `directory`.
    pub fn start(program: &Path, directory: &Path, tls: Option<&Certificates>) -> Result<BazelRemote, String> {
        let free = TcpListener::bind(("127.0.0.1", 0)).and_then(|listener| listener.local_addr());
        let address = free.map_err(|cause| cause.to_string())?;
        let scheme = if tls.is_some() { "https" } else { "http" };
        let mut command = Command::new(program);
        command.arg("--dir").arg(directory.join(format!("server-{scheme}"))).args(["--max_size", "10"]);
        command.args(["--http_address", &address.to_string(), "--grpc_address", "none", "--access_log_level", "none"]);
        if let Some(tls) = tls {
            command.arg("--tls_cert_file").arg(&tls.server).arg("--tls_key_file").arg(&tls.key);
        }
        let started = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let child = started.map_err(|cause| format!("{}: {cause}", program.display()))?;
        let mut server = BazelRemote { child, url: format!("{scheme}://{address}") };
        for _ in 0..PATIENCE {
            if let Ok(Some(status)) = server.child.try_wait() {
                return Err(format!("{}: {status}", program.display()));
            }
            if TcpStream::connect(address).is_ok() {
                return Ok(server);
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        Err(format!("{}: does not answer at {address}", program.display()))
    }

    pub fn url(&self) -> &str {
        &self.url
    }
}

impl Drop for BazelRemote {
    fn drop(&mut self) {
        // The server may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
