//! How a command ends when it does not succeed.

use std::io;

use crate::options::Applet;

/// Why a command ended without success.
#[derive(Debug)]
pub enum Failure {
    /// Wrong usage: the message, without the program's name.
    Usage(String),
    /// The work failed: the message, without the program's name.
    Failed(String),
    /// More memory is needed than was allowed: the message, without the program's name.
    Memory(String),
    /// Whoever read our output went away: nothing is said.
    BrokenPipe,
    /// Any of these, where a status of 1 has a meaning of its own: exits with 2.
    Trouble(Box<Failure>),
    /// All has been said already: exits with this status.
    Said(u8),
}

impl Failure {
    /// Failure of writing to standard output or standard error.
    pub fn printing(cause: io::Error) -> Failure {
        match cause.kind() {
            io::ErrorKind::BrokenPipe => Failure::BrokenPipe,
            _ => Failure::Failed(format!("cannot write to standard output: {cause}")),
        }
    }

    /// Wrong usage.
    pub fn usage(message: impl Into<String>) -> Failure {
        Failure::Usage(message.into())
    }

    /// The same with the way out, if the command has one.
    pub fn advised(self, applet: &Applet) -> Failure {
        let way_out = applet.all_options().find(|option| matches!(option.long, "mem" | "maxram"));
        match self {
            Failure::Memory(message) => match way_out {
                Some(option) => Failure::Failed(format!("{message}; --{} allows more", option.long)),
                None => Failure::Failed(message),
            },
            Failure::Trouble(failure) => Failure::Trouble(Box::new(failure.advised(applet))),
            other => other,
        }
    }

    /// The work failed.
    pub fn failed(message: impl ToString) -> Failure {
        Failure::Failed(message.to_string())
    }
}

impl From<packline::Error> for Failure {
    fn from(error: packline::Error) -> Failure {
        match &error {
            packline::Error::Output { cause, .. } if cause.kind() == io::ErrorKind::BrokenPipe => Failure::BrokenPipe,
            packline::Error::Memory { .. } => Failure::Memory(error.to_string()),
            _ => Failure::Failed(error.to_string()),
        }
    }
}
