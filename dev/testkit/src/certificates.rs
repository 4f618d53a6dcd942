//! An authority and the certificate of a server, made by openssl(1).

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::tools;

/// Files of certificates.
pub struct Certificates {
    /// The certificate of the authority that signed the certificate of the server.
    pub root: PathBuf,
    pub server: PathBuf,
    pub key: PathBuf,
}

impl Certificates {
    /// Makes the certificate of 127.0.0.1, for two days, in a directory.
    ///
    /// # Errors
    /// openssl fails, or a file cannot be written.
    pub fn make(directory: &Path) -> Result<Certificates, String> {
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
        let files =
            [("-in", &*request), ("-CA", &root), ("-CAkey", &root_key), ("-extfile", &about), ("-out", &server)];
        openssl(&["x509", "-req", "-CAcreateserial", "-days", "2"], &files)?;
        Ok(Certificates { root, server, key })
    }
}
