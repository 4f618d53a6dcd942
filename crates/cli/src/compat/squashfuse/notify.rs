//! The named pipe of `-o notify_pipe=`, on which a caller waits for the mount: one byte says whether the image can be used.
//!
//! A separate thread writes success, because a named pipe opens only when it has a reader, and the mount does not wait for one. A
//! failure is written before the process ends, because the byte would be lost with the process.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::FileTypeExt;
use std::path::PathBuf;
use std::thread;

use crate::ui::escape::Escape;
use crate::ui::io::Io;

const READY: &[u8] = b"s";
const FAILED: &[u8] = b"f";

/// A named pipe that a reader opens sooner or later.
pub struct NotifyPipe {
    /// An absolute path, because a background process leaves its working directory.
    path: PathBuf,
}

impl NotifyPipe {
    pub fn new(path: &str) -> NotifyPipe {
        NotifyPipe { path: std::path::absolute(path).unwrap_or_else(|_| PathBuf::from(path)) }
    }

    /// Reports that the image can be used. The image stays mounted, whatever is wrong with the pipe.
    pub fn ready(self, called: &str, io: &mut Io) {
        let outcome = self.check().and_then(|()| {
            // After the check a write can fail only because the reader is gone.
            let write = move || drop(self.write(READY));
            thread::Builder::new().name("notify".to_string()).spawn(write).map_err(|cause| cause.to_string())
        });
        if let Err(what) = outcome {
            io.eprintln(&format!("{called}: {what}"));
        }
    }

    /// Reports that the image is not mounted.
    pub fn failed(self, called: &str, io: &mut Io) {
        let written = self.check().and_then(|()| self.write(FAILED).map_err(|cause| self.refused(&cause.to_string())));
        if let Err(what) = written {
            io.eprintln(&format!("{called}: {what}"));
        }
    }

    fn check(&self) -> Result<(), String> {
        match fs::metadata(&self.path) {
            Ok(about) if about.file_type().is_fifo() => Ok(()),
            Ok(_) => Err(self.refused("not a named pipe (expected a pipe created by mkfifo)")),
            Err(cause) => Err(self.refused(&cause.to_string())),
        }
    }

    fn refused(&self, what: &str) -> String {
        format!("notify_pipe: {}: {what}", self.path.escaped())
    }

    fn write(&self, byte: &[u8]) -> io::Result<()> {
        OpenOptions::new().write(true).open(&self.path)?.write_all(byte)
    }
}
