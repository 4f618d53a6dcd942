//! The options that determine the bytes of a .lrz file.

use std::fmt;
use std::io;
use std::sync::Arc;

use packline_longrange::WINDOW_MOST;
use packline_runtime::Unsupported;

use crate::{BackEnd, Error};

/// A source of random bytes. It fills the complete slice, or returns an error.
pub type Randomness = Arc<dyn Fn(&mut [u8]) -> io::Result<()> + Send + Sync>;

/// The options for writing. The output is a function of the input and of these options.
#[derive(Debug, Clone)]
pub struct WriteOptions {
    /// The compressor of blocks. Default: LZMA.
    pub back_end: BackEnd,
    /// The level, 1 to 9. Default: 7.
    pub level: u32,
    /// The maximum distance of matches, which is also the size of a chunk. Default: [`WindowSize::Default`].
    pub window: WindowSize,
    /// Whether blocks that a cheap test finds incompressible are stored without trying the back end. The test is never used for lzo and gzip,
    /// which are fast. Default: yes.
    pub probe: bool,
    /// The password for encryption. Default: none.
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
    /// The default level of lrzip.
    pub const DEFAULT_LEVEL: u32 = 7;
}

/// The maximum distance of matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WindowSize {
    /// 4 GiB minus 64 KiB, so that distances have four bytes.
    #[default]
    Default,
    /// 1 byte to 64 GiB; larger values are clamped.
    Bytes(u64),
    /// The complete input, up to 64 GiB at a time.
    Whole,
}

impl WindowSize {
    /// Returns the size of a chunk in bytes.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the window has 0 bytes.
    pub(super) fn bytes(self) -> Result<u64, Error> {
        match self {
            WindowSize::Default => Ok((4 << 30) - (64 << 10)),
            WindowSize::Bytes(0) => Err(Unsupported::new("a window of 0 bytes", "at least 1 byte").into()),
            WindowSize::Bytes(bytes) => Ok(bytes.min(WINDOW_MOST)),
            WindowSize::Whole => Ok(WINDOW_MOST),
        }
    }
}

/// A password, and the source of salts.
#[derive(Clone)]
pub struct Password {
    /// The password as it was typed, without an end of line.
    pub bytes: Vec<u8>,
    /// The source of salts. It must be unpredictable.
    pub random: Randomness,
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password")
    }
}
