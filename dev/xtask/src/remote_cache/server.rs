//! bazel-remote, and the certificates with which it speaks https.

use packline_testkit::tools;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Tenths of a second within which the server must answer.
const PATIENCE: u32 = 200;

/// Files of certificates.
pub struct Certificates {
    /// The certificate of the authority that signed the certificate of the server.
    pub root: PathBuf,
    server: PathBuf,
    key: PathBuf,
}

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

/// An authority, and a certificate of 127.0.0.1, made by openssl(1).
pub fn certificates(directory: &Path) -> Result<Certificates, String> {
    let at = |name: &str| directory.join(name);
    let [root, root_key, request, server, key, about] =
        ["root.pem", "root.key", "server.csr", "server.pem", "server.key", "server.ext"].map(at);
    std::fs::write(&about, "subjectAltName=IP:127.0.0.1\nbasicConstraints=CA:FALSE\n")
        .map_err(|cause| cause.to_string())?;
    let openssl = |words: &[&str], files: &[(&str, &Path)]| {
        let mut command = Command::new("openssl");
        command.args(words);
        for (option, path) in files {
            command.arg(option).arg(path);
        }
        tools::run(&mut command).map(drop)
    };
    let new = ["req", "-newkey", "rsa:2048", "-nodes"];
    openssl(
        &[&new[..], &["-x509", "-days", "2", "-subj", "/CN=root"]].concat(),
        &[("-keyout", &root_key), ("-out", &root)],
    )?;
    openssl(&[&new[..], &["-subj", "/CN=server"]].concat(), &[("-keyout", &key), ("-out", &request)])?;
    let files = [("-in", &*request), ("-CA", &root), ("-CAkey", &root_key), ("-extfile", &about), ("-out", &server)];
    openssl(&["x509", "-req", "-CAcreateserial", "-days", "2"], &files)?;
    Ok(Certificates { root, server, key })
}
