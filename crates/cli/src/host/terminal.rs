//! Asks for secrets on the terminal of the process, whatever the standard streams are.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use zeroize::Zeroizing;

use super::signals::ShutdownHook;

/// The longest answer in bytes.
const LONGEST: usize = 4096;

/// Asks a question and reads a line without echo. Returns `None` without a terminal, and for an answer that is empty or too long.
pub fn ask_hidden(prompt: &str, shutdown: &ShutdownHook) -> Option<Zeroizing<Vec<u8>>> {
    let mut terminal = OpenOptions::new().read(true).write(true).open("/dev/tty").ok()?;
    let hidden = Hidden::new(&terminal)?;
    let restored = hidden.clone();
    shutdown.set_first(move || restored.restore());
    // Whoever answers as soon as the question appears is not shown either.
    let asked = terminal.write_all(format!("{prompt}: ").as_bytes());
    let answer = asked.and_then(|()| line(&mut terminal));
    hidden.restore();
    shutdown.set_first(|| {});
    let _: io::Result<()> = writeln!(terminal);
    answer.ok().filter(|answer| !answer.is_empty())
}

fn line(terminal: &mut File) -> io::Result<Zeroizing<Vec<u8>>> {
    // The buffer never grows, because moving it would leave copies of the secret.
    let mut line = Zeroizing::new(Vec::with_capacity(LONGEST));
    let mut byte = Zeroizing::new([0]);
    while terminal.read(&mut byte[..])? == 1 && byte[0] != b'\n' {
        if line.len() == LONGEST {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        line.push(byte[0]);
    }
    Ok(line)
}

/// The settings of a terminal before its echo was turned off.
#[derive(Clone)]
struct Hidden {
    terminal: Arc<OwnedFd>,
    before: Termios,
}

impl Hidden {
    fn new(terminal: &File) -> Option<Hidden> {
        let terminal = Arc::new(terminal.as_fd().try_clone_to_owned().ok()?);
        let before = tcgetattr(&terminal).ok()?;
        let mut without = before.clone();
        without.local_modes.remove(LocalModes::ECHO);
        tcsetattr(&terminal, OptionalActions::Now, &without).ok()?;
        Some(Hidden { terminal, before })
    }

    fn restore(&self) {
        let _: rustix::io::Result<()> = tcsetattr(&self.terminal, OptionalActions::Now, &self.before);
    }
}
