//! nginx, which serves the files of a directory and counts what it sends.

use std::fs;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::certificates::Certificates;
use crate::tools;

/// Times that the server is given to answer, or to write a line to its log, and the pause between two of them.
const TRIES: u32 = 200;
const PAUSE: Duration = Duration::from_millis(25);

/// nginx in a directory, on addresses of its own. Dropping it ends nginx.
pub struct Nginx {
    process: Child,
    directory: PathBuf,
    http: SocketAddr,
    https: SocketAddr,
    /// Lines of the log that were read.
    read: usize,
}

/// What nginx sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sent {
    pub requests: u64,
    /// Bytes of the contents of all answers.
    pub bytes: u64,
}

impl Nginx {
    /// Serves the files in `files`, also by `https` if there are certificates. `directory` is for the files of nginx itself.
    ///
    /// # Errors
    /// nginx does not start.
    pub fn start(directory: &Path, files: &Path, certificates: Option<&Certificates>) -> Result<Nginx, String> {
        let failed = |cause: io::Error| format!("nginx: {cause}");
        fs::create_dir_all(directory).map_err(failed)?;
        // Of an earlier server in this directory.
        let _ = fs::remove_file(directory.join("sent.log"));
        let free = || TcpListener::bind(("127.0.0.1", 0)).and_then(|listener| Ok((listener.local_addr()?, listener)));
        // Both are open until both are known, so that they differ.
        let (http, first) = free().map_err(failed)?;
        let (https, second) = free().map_err(failed)?;
        drop((first, second));
        let tls = certificates.map_or(String::new(), |files| {
            let Certificates { server, key, .. } = files;
            format!("listen {https} ssl; ssl_certificate {}; ssl_certificate_key {};", server.display(), key.display())
        });
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(|of| format!("{of}_temp_path {of};"));
        let config = format!(
            "daemon off; master_process off; pid nginx.pid; error_log error.log; events {{}}\n\
             http {{\n\
             log_format sent '$status $body_bytes_sent'; access_log sent.log sent; {}\n\
             server {{ listen {http}; {tls} root {}; }}\n\
             }}\n",
            temporary.concat(),
            files.display()
        );
        let path = directory.join("nginx.conf");
        fs::write(&path, config).map_err(failed)?;
        let program = tools::find("nginx").ok_or("nginx is not installed")?;
        let mut command = Command::new(program);
        command.arg("-p").arg(directory).arg("-c").arg(&path).args(["-e", "error.log"]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let process = command.spawn().map_err(failed)?;
        let nginx = Nginx { process, directory: directory.to_path_buf(), http, https, read: 0 };
        for _ in 0..TRIES {
            if TcpStream::connect(http).is_ok() {
                return Ok(nginx);
            }
            thread::sleep(PAUSE);
        }
        let log = fs::read_to_string(directory.join("error.log")).unwrap_or_default();
        Err(format!("nginx does not answer at {http}: {log}"))
    }

    /// `http://ADDRESS` and a path.
    pub fn http(&self, path: &str) -> String {
        format!("http://{}{path}", self.http)
    }

    /// `https://ADDRESS` and a path.
    pub fn https(&self, path: &str) -> String {
        format!("https://{}{path}", self.https)
    }

    /// The port of `https`.
    pub fn tls_port(&self) -> u16 {
        self.https.port()
    }

    /// Returns what was sent since the last call. Waits until all of `expected` requests are in the log, which is written after an answer.
    pub fn take_sent(&mut self, expected: u64) -> Sent {
        let mut sent = Sent::default();
        for _ in 0..TRIES {
            let log = fs::read_to_string(self.directory.join("sent.log")).unwrap_or_default();
            let lines: Vec<&str> = log.lines().skip(self.read).collect();
            let bytes = lines.iter().filter_map(|line| line.split(' ').nth(1)?.parse::<u64>().ok()).sum();
            sent = Sent { requests: lines.len() as u64, bytes };
            if sent.requests >= expected {
                self.read += lines.len();
                break;
            }
            thread::sleep(PAUSE);
        }
        sent
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
