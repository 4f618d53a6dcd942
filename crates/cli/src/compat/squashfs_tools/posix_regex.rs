//! POSIX extended regular expressions, translated for the `regex` crate.
//!
//! Outside of brackets both languages agree on what scripts use; in brackets a backslash is literal in POSIX. Escapes of letters and digits
//! are refused, except those of the GNU library that the crate has too: POSIX gives them no meaning. Back references do not exist here.
//! Of several matches the crate does not find the longest, which makes no difference to whether there is one.

use regex::bytes::{Regex, RegexBuilder};

/// The classes of POSIX, which the crate has too.
const CLASSES: [&str; 12] =
    ["alnum", "alpha", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space", "upper", "xdigit"];

/// Compiles an expression; it is searched for anywhere in a text.
///
/// # Errors
/// The syntax error, or an escape without a meaning.
pub fn compile(expression: &[u8]) -> Result<Regex, String> {
    let translated = translate(expression)?;
    let regex = RegexBuilder::new(&translated).unicode(false).dot_matches_new_line(true).build();
    regex.map_err(|error| match error {
        regex::Error::Syntax(text) => text.lines().last().unwrap_or_default().trim_start_matches("error: ").to_string(),
        other => other.to_string(),
    })
}

fn translate(expression: &[u8]) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = expression;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        match (byte, after) {
            (b'\\', [escaped, after @ ..]) => {
                rest = after;
                match escaped {
                    b'w' | b'W' | b's' | b'S' | b'b' | b'B' => out.extend(['\\', char::from(*escaped)]),
                    b'<' => out.push_str(r"\b{start}"),
                    b'>' => out.push_str(r"\b{end}"),
                    byte if byte.is_ascii_alphanumeric() => {
                        return Err(format!("'\\{}' has no meaning", char::from(*byte)));
                    }
                    byte => push_literal(&mut out, *byte),
                }
            }
            (b'\\', []) => return Err("it ends in a backslash".to_string()),
            (b'[', _) => rest = bracket(after, &mut out)?,
            // No count: literal.
            (b'{', _) if !after.first().is_some_and(u8::is_ascii_digit) => out.push_str(r"\{"),
            (b'}', _) if !counts(&out) => out.push_str(r"\}"),
            // Groups have no flags in POSIX.
            (b'(', [b'?', ..]) => return Err("'?' follows nothing that it could repeat".to_string()),
            (b'.' | b'*' | b'+' | b'?' | b'(' | b')' | b'|' | b'^' | b'$' | b'{' | b'}', _) => {
                out.push(char::from(byte))
            }
            _ => push_literal(&mut out, byte),
        }
    }
    Ok(out)
}

/// Whether the text so far ends inside of a count: `{2,`.
fn counts(out: &str) -> bool {
    let digits = out.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == ',');
    digits.ends_with('{') && !digits.ends_with(r"\{")
}

fn push_literal(out: &mut String, byte: u8) {
    match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => out.push(char::from(byte)),
        _ => out.push_str(&format!(r"(?-u:\x{byte:02x})")),
    }
}

/// A bracket expression, after its `[`; returns what follows it.
fn bracket<'e>(inside: &'e [u8], out: &mut String) -> Result<&'e [u8], String> {
    out.push('[');
    let mut rest = inside;
    if let Some(after) = rest.strip_prefix(b"^") {
        out.push('^');
        rest = after;
    }
    let start = rest.len();
    loop {
        let (&byte, after) = rest.split_first().ok_or("'[' is not closed (expected ']')")?;
        rest = match (byte, after) {
            (b']', _) if rest.len() < start => {
                out.push(']');
                return Ok(after);
            }
            (b'[', [b':', name @ ..]) => {
                let length =
                    name.windows(2).position(|end| end == b":]").ok_or("'[:' is not closed (expected ':]')")?;
                let class = String::from_utf8_lossy(&name[..length]);
                if !CLASSES.contains(&&*class) {
                    return Err(format!("there is no class '[:{class}:]'"));
                }
                out.push_str(&format!("[:{class}:]"));
                &name[length + 2..]
            }
            (b'[', [b'.' | b'=', ..]) => return Err("'[.' and '[=' are not supported".to_string()),
            (b'-', [next, ..]) if *next != b']' && rest.len() < start => {
                out.push('-');
                after
            }
            _ => {
                out.push_str(&format!(r"\x{byte:02x}"));
                after
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_match_as_in_posix() {
        for (expression, text, matches) in [
            ("^a", "ab", true),
            ("b$", "ab", true),
            ("^[^d].*$|^d[^e].*$", "dev", false),
            ("^[^d].*$|^d[^e].*$", "etc", true),
            (r"[\d]", "\\", true),
            (r"[\d]", "5", false),
            ("[]a]", "]", true),
            ("[a-]", "-", true),
            ("[[:digit:]]{2}", "x12", true),
            ("a{,2}", "a{,2}", true),
            ("a{2", "aa", false),
            (r"\.ko", "xko", false),
            (r"x\<b", "xb", false),
            ("[&&~~]", "&", true),
            ("#a b", "#a b", true),
        ] {
            let found = compile(expression.as_bytes()).map(|regex| regex.is_match(text.as_bytes()));
            assert_eq!(found.unwrap_or(false), matches, "{expression} {text}");
        }
        assert!(compile(b"\xff").unwrap().is_match(b"a\xff"));
    }

    #[test]
    fn malformed_expressions_are_refused() {
        for expression in ["(", "a)", "[a", r"a\", r"\1", "(?i)a", "[[:nope:]]", "[[.a.]]"] {
            assert!(compile(expression.as_bytes()).is_err(), "{expression}");
        }
    }
}
