//! What a caller chooses of a .lrz file, each of it a part of what the bytes depend on.

use std::fmt;
use std::io;
use std::sync::Arc;

use packline_longrange::WINDOW_MOST;

use crate::{BackEnd, Error};

/// Where random bytes come from: fills the whole slice, or says why it cannot.
pub type Randomness = Arc<dyn Fn(&mut [u8]) -> io::Result<()> + Send + Sync>;

/// How a file is written. The bytes are a function of the input and of these options.
#[derive(Debug, Clone)]
pub struct WriteOptions {
    /// The compressor of blocks. Default: LZMA.
    pub back_end: BackEnd,
    /// Effort, 1 to 9. Default 7.
    pub level: u32,
    /// How far matches may reach back, which is also the size of a chunk. Default: [`WindowSize::Default`].
    pub window: WindowSize,
    /// Whether blocks that a cheap test finds incompressible are stored without trying the back end. Never asked of lzo and
    /// gzip, which are quick themselves. Default: yes.
    pub probe: bool,
    /// Encrypts contents. Default: no.
    pub password: Option<Password>,
}

impl Default for WriteOptions {
    fn default() -> Self {
        WriteOptions {
            back_end: BackEnd::Lzma,
            level: WriteOptions::DEFAULT_LEVEL,
            window: WindowSize::Default,
            probe: true,
            password: None,
        }
    }
}

impl WriteOptions {
    /// Level when none is chosen, as lrzip's.
    pub const DEFAULT_LEVEL: u32 = 7;
}

/// How far matches reach back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WindowSize {
    /// 4 GiB less 64 KiB, so that distances take four bytes.
    #[default]
    Default,
    /// So many bytes, 1 at least, and 64 GiB at most: more is taken for that.
    Bytes(u64),
    /// The whole input, up to 64 GiB at a time.
    Whole,
}

impl WindowSize {
    /// Bytes of a chunk.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a window without a byte.
    pub(super) fn bytes(self) -> Result<u64, Error> {
        match self {
            WindowSize::Default => Ok((4 << 30) - (64 << 10)),
            WindowSize::Bytes(0) => {
                Err(Error::Unsupported { what: "a window of 0 bytes".into(), expected: "1 byte at least".into() })
            }
            WindowSize::Bytes(bytes) => Ok(bytes.min(WINDOW_MOST)),
            WindowSize::Whole => Ok(WINDOW_MOST),
        }
    }
}

/// Encryption of a file.
#[derive(Clone)]
pub struct Password {
    /// The password as it was typed, without an end of line.
    pub bytes: Vec<u8>,
    /// Salts come from here; they must be hard to guess.
    pub random: Randomness,
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password")
    }
}
