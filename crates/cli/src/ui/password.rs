//! Passwords of .lrz files, from the command line or from standard input; a terminal does not echo them.

use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use packline::{Error, StreamError};
use packline_lrz::{Error as LrzError, Password, Randomness};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

use crate::ui::failure::Failure;
use crate::ui::io::Io;

/// The longest password in bytes, as in lrzip.
const LONGEST: usize = 500;

/// A password, or the request to ask for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Secret {
    None,
    /// Read the password from the terminal or from standard input.
    Ask,
    Known(Vec<u8>),
}

/// Returns a password together with the system's random number generator.
pub fn for_writing(bytes: Vec<u8>) -> Password {
    let random: Randomness = Arc::new(|bytes: &mut [u8]| std::fs::File::open("/dev/urandom")?.read_exact(bytes));
    Password { bytes, random }
}

/// Asks for a password; twice where nothing would reveal a typing mistake.
///
/// # Errors
/// [`Failure::Failed`] if the password is empty or too long, if the two passwords differ, or if standard input was already used.
pub fn ask(io: &mut Io, twice: bool) -> Result<Vec<u8>, Failure> {
    let mut input = io.stdin.take().ok_or_else(|| Failure::failed("no password; use --encrypt=PASSWORD"))?;
    let hidden = io.in_terminal.then(Hidden::new).flatten();
    if let Some(hidden) = hidden.clone() {
        io.shutdown.set_first(move || hidden.restore());
    }
    let first = line("Enter passphrase: ", input.as_mut(), io);
    let second = if twice { line("Re-enter passphrase: ", input.as_mut(), io).map(Some) } else { Ok(None) };
    if let Some(hidden) = hidden {
        hidden.restore();
        io.shutdown.set_first(|| {});
    }
    io.stdin = Some(input);
    let first = first?;
    let second = second?;
    if second.is_some_and(|second| second != first) {
        return Err(Failure::failed("the two passphrases differ"));
    }
    check(&first).map(|()| first)
}

/// Checks the length of a password.
///
/// # Errors
/// [`Failure::Failed`] if the password is empty or too long.
pub fn check(password: &[u8]) -> Result<(), Failure> {
    match password.len() {
        0 => Err(Failure::failed("the passphrase is empty")),
        1..=LONGEST => Ok(()),
        length => Err(Failure::failed(format!("the passphrase has {length} bytes (expected at most {LONGEST})"))),
    }
}

/// Asks for the password of a file that is encrypted.
pub fn password_of(path: &Path, io: &mut Io) -> Result<Option<Vec<u8>>, Failure> {
    match packline::requests::lrz_open(path, None) {
        Err(error) if wants_password(&error) => ask(io, false).map(Some),
        opened => Ok(opened.map(|_| None)?),
    }
}

/// Returns whether a file was not opened because a password is missing.
pub fn wants_password(error: &Error) -> bool {
    matches!(error, Error::Stream { cause, .. } if matches!(&**cause, StreamError::Lrz(LrzError::Password(_))))
}

fn line(prompt: &str, input: &mut dyn Read, io: &mut Io) -> Result<Vec<u8>, Failure> {
    let _: std::io::Result<()> = write!(io.stderr, "{prompt}").and_then(|()| io.stderr.flush());
    let mut line = Vec::new();
    let mut byte = [0];
    loop {
        let read = input.read(&mut byte).map_err(|cause| Failure::failed(format!("standard input: {cause}")))?;
        if read == 0 || byte[0] == b'\n' || line.len() > LONGEST {
            io.eprintln("");
            return Ok(line);
        }
        line.push(byte[0]);
    }
}

/// The settings of the terminal before echo was turned off.
#[derive(Clone)]
struct Hidden(Termios);

impl Hidden {
    fn new() -> Option<Hidden> {
        let before = tcgetattr(std::io::stdin()).ok()?;
        let mut without = before.clone();
        without.local_modes.remove(LocalModes::ECHO);
        tcsetattr(std::io::stdin(), OptionalActions::Flush, &without).ok()?;
        Some(Hidden(before))
    }

    fn restore(&self) {
        let _: rustix::io::Result<()> = tcsetattr(std::io::stdin(), OptionalActions::Flush, &self.0);
    }
}
