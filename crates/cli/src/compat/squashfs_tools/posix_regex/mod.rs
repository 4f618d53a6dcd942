//! Translates POSIX extended regular expressions, as the GNU library compiles them (`regcomp` with `REG_EXTENDED`), for the `regex`
//! crate.
//!
//! Every repeated atom becomes a group, because a second operator repeats the result of the first: `a+?` may be absent, and is not lazy.
//! Expressions that the library rejects are errors, and so are back references, which the crate does not have. As in the library, a
//! letter or digit after a backslash without a meaning is that letter or digit. The crate does not find the longest match, which makes
//! no difference to whether there is a match.

mod bracket;
#[cfg(test)]
mod tests;

use regex::bytes::{Regex, RegexBuilder};

/// The description of the differences, for the documents.
pub const DIFFERENCE: &str = r"A back reference in a regular expression (`\1`) is an error.";

/// The largest count of a repetition.
const COUNT_MOST: u32 = 0x7fff;

/// Compiles an expression that may match anywhere in a text.
///
/// # Errors
/// The syntax error, or a back reference.
pub fn compile(expression: &[u8]) -> Result<Regex, String> {
    let translated = Translator::default().run(expression)?;
    let regex = RegexBuilder::new(&translated).unicode(false).dot_matches_new_line(true).build();
    regex.map_err(|error| match error {
        regex::Error::Syntax(text) => text.lines().last().unwrap_or_default().trim_start_matches("error: ").to_string(),
        other => other.to_string(),
    })
}

/// The count of a repetition.
struct Count {
    least: u32,
    /// `None` for any number.
    most: Option<u32>,
}

#[derive(Default)]
struct Translator {
    out: String,
    /// The start of the last atom in the output; `None` if nothing can be repeated.
    atom: Option<usize>,
    /// The starts of the open groups.
    groups: Vec<usize>,
}

impl Translator {
    fn run(mut self, expression: &[u8]) -> Result<String, String> {
        let mut rest = expression;
        while let Some((&byte, after)) = rest.split_first() {
            rest = match byte {
                b'\\' => self.escape(after)?,
                b'[' => {
                    let (class, after) = bracket::translate(after)?;
                    self.atom(&class);
                    after
                }
                b'{' => {
                    let (count, after) = count(after)?;
                    self.repeat(&count)?;
                    after
                }
                _ => {
                    self.plain(byte)?;
                    after
                }
            };
        }
        if self.groups.is_empty() { Ok(self.out) } else { Err("'(' is not closed (expected ')')".to_string()) }
    }

    /// Translates a byte that does not depend on the following bytes.
    fn plain(&mut self, byte: u8) -> Result<(), String> {
        match byte {
            b'*' => self.repeat(&Count { least: 0, most: None })?,
            b'+' => self.repeat(&Count { least: 1, most: None })?,
            b'?' => self.repeat(&Count { least: 0, most: Some(1) })?,
            b'^' => self.anchor("^"),
            b'$' => self.anchor("$"),
            b'.' => self.atom("."),
            b'|' => self.anchor("|"),
            b'(' => {
                self.groups.push(self.out.len());
                self.anchor("(?:");
            }
            b')' => match self.groups.pop() {
                Some(start) => {
                    self.out.push(')');
                    self.atom = Some(start);
                }
                None => self.atom(&literal(byte)),
            },
            _ => self.atom(&literal(byte)),
        }
        Ok(())
    }

    /// Translates the byte after a backslash. Returns the rest.
    fn escape<'e>(&mut self, after: &'e [u8]) -> Result<&'e [u8], String> {
        let (&escaped, after) = after.split_first().ok_or("it ends in a backslash")?;
        match escaped {
            b'w' | b'W' | b's' | b'S' => self.atom(&format!(r"\{}", char::from(escaped))),
            b'b' | b'B' => self.anchor(&format!(r"\{}", char::from(escaped))),
            b'<' => self.anchor(r"\b{start}"),
            b'>' => self.anchor(r"\b{end}"),
            b'`' => self.anchor(r"\A"),
            b'\'' => self.anchor(r"\z"),
            b'1'..=b'9' => {
                return Err(format!("back references such as '\\{}' are not supported", char::from(escaped)));
            }
            byte => self.atom(&literal(byte)),
        }
        Ok(after)
    }

    fn atom(&mut self, text: &str) {
        self.atom = Some(self.out.len());
        self.out.push_str(text);
    }

    /// Adds an anchor. A repetition cannot follow it, and does not reach what comes before it.
    fn anchor(&mut self, text: &str) {
        self.atom = None;
        self.out.push_str(text);
    }

    fn repeat(&mut self, count: &Count) -> Result<(), String> {
        let start = self
            .atom
            .ok_or("there is nothing to repeat (expected a character, a group or brackets before the operator)")?;
        if count.most == Some(0) {
            self.out.truncate(start);
            self.out.push_str("(?:)");
            return Ok(());
        }
        self.out.insert_str(start, "(?:");
        let operator = match *count {
            Count { least: 0, most: None } => "*".to_string(),
            Count { least: 1, most: None } => "+".to_string(),
            Count { least: 0, most: Some(1) } => "?".to_string(),
            Count { least, most: None } => format!("{{{least},}}"),
            Count { least, most: Some(most) } => format!("{{{least},{most}}}"),
        };
        self.out.push_str(&format!("){operator}"));
        Ok(())
    }
}

/// Parses the count of a repetition, after its `{`. Also returns the rest. `{,n}` is `{0,n}`.
fn count(inside: &[u8]) -> Result<(Count, &[u8]), String> {
    let end = inside.iter().position(|&byte| byte == b'}').ok_or("'{' is not closed (expected '}')")?;
    let wrong =
        || format!("'{{{}}}' is not a count (expected {{n}}, {{n,}}, {{,m}} or {{n,m}})", inside[..end].escape_ascii());
    let text = std::str::from_utf8(&inside[..end]).map_err(|_| wrong())?;
    let number = |text: &str| -> Result<Option<u32>, String> {
        if text.is_empty() {
            return Ok(None);
        }
        if !text.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(wrong());
        }
        text.parse()
            .ok()
            .filter(|&number| number <= COUNT_MOST)
            .map(Some)
            .ok_or_else(|| format!("'{text}' is too large a count (expected {COUNT_MOST} at most)"))
    };
    let count = match text.split_once(',') {
        None => {
            let exact = number(text)?.ok_or_else(wrong)?;
            Count { least: exact, most: Some(exact) }
        }
        Some((least, most)) => Count { least: number(least)?.unwrap_or(0), most: number(most)? },
    };
    if count.most.is_some_and(|most| most < count.least) {
        return Err(wrong());
    }
    Ok((count, &inside[end + 1..]))
}

fn literal(byte: u8) -> String {
    match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => char::from(byte).to_string(),
        _ => format!(r"\x{byte:02x}"),
    }
}
