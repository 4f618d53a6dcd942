//! Asks the user for a passphrase, again if it is wrong.

use age::secrecy::SecretString;

use super::Identities;
use crate::Error;

/// Maximum number of prompts.
const ATTEMPTS: u32 = 3;

/// The result of asking.
pub(super) enum Asked<T> {
    Opened(T),
    /// No answer was right.
    Wrong,
    /// There was nobody to ask.
    NoAnswer,
}

/// Asks for a passphrase until `open` accepts it. `of` is added to the prompt, such as ` of the ssh key x`.
///
/// # Errors
/// Returns the errors of `open`.
pub(super) fn ask_for<T>(
    identities: &Identities,
    of: &str,
    open: &mut dyn FnMut(&SecretString) -> Result<Option<T>, Error>,
) -> Result<Asked<T>, Error> {
    let Some(ask) = &identities.ask else { return Ok(Asked::NoAnswer) };
    let mut prompt = format!("Passphrase{of}");
    for attempt in 0..ATTEMPTS {
        match ask(&prompt) {
            Some(answer) => {
                if let Some(found) = open(&answer)? {
                    return Ok(Asked::Opened(found));
                }
            }
            None if attempt == 0 => return Ok(Asked::NoAnswer),
            None => return Ok(Asked::Wrong),
        }
        prompt = format!("Wrong passphrase{of}. Try again");
    }
    Ok(Asked::Wrong)
}
