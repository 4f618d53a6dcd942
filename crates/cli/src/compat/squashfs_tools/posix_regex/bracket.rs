//! Translates bracket expressions to sets of bytes; in the C locale each character is a byte.

/// The test of a POSIX character class.
type IsMember = fn(&u8) -> bool;

const CLASSES: [(&str, IsMember); 12] = [
    ("alnum", u8::is_ascii_alphanumeric),
    ("alpha", u8::is_ascii_alphabetic),
    ("blank", |byte| matches!(byte, b' ' | b'\t')),
    ("cntrl", u8::is_ascii_control),
    ("digit", u8::is_ascii_digit),
    ("graph", u8::is_ascii_graphic),
    ("lower", u8::is_ascii_lowercase),
    ("print", |byte| matches!(byte, b' '..=b'~')),
    ("punct", u8::is_ascii_punctuation),
    ("space", |byte| matches!(byte, b' ' | 9..=13)),
    ("upper", u8::is_ascii_uppercase),
    ("xdigit", u8::is_ascii_hexdigit),
];

const UNCLOSED: &str = "'[' is not closed (expected ']')";

/// An element within brackets.
#[derive(Clone, Copy)]
enum Element<'e> {
    /// A byte, or `[.x.]`, or `[=x=]`; a range cannot begin with the last.
    Byte {
        byte: u8,
        in_ranges: bool,
    },
    Class(&'e str),
    /// A minus, which may be that of a range.
    Minus,
    /// The closing bracket.
    Close,
}

/// Translates a bracket expression, given after its `[`, to the syntax of the crate. Also returns the rest.
pub(super) fn translate(inside: &[u8]) -> Result<(String, &[u8]), String> {
    let (is_negated, mut rest) = match inside.strip_prefix(b"^") {
        Some(after) => (true, after),
        None => (false, inside),
    };
    let mut members = [false; 256];
    let mut is_first = true;
    loop {
        let (element, after) = element(rest)?;
        rest = after;
        match element {
            Element::Close if !is_first => break,
            Element::Close => rest = add(&mut members, b']', rest)?,
            Element::Minus if !is_first && !rest.starts_with(b"]") => {
                return Err("'-' is misplaced (expected it first, last, or in a range)".to_string());
            }
            Element::Minus => rest = add(&mut members, b'-', rest)?,
            Element::Byte { byte, in_ranges: true } => rest = add(&mut members, byte, rest)?,
            Element::Byte { byte, in_ranges: false } => members[usize::from(byte)] = true,
            Element::Class(name) => add_class(&mut members, name)?,
        }
        is_first = false;
    }
    Ok((written(&members, is_negated), rest))
}

/// Adds a byte, or the range that begins with it. Returns the rest.
fn add<'e>(members: &mut [bool; 256], start: u8, rest: &'e [u8]) -> Result<&'e [u8], String> {
    let (Element::Minus, after) = element(rest)? else {
        members[usize::from(start)] = true;
        return Ok(rest);
    };
    let (end, after) = match element(after)? {
        // The minus is the last element, and so a literal.
        (Element::Close, _) => {
            members[usize::from(start)] = true;
            members[usize::from(b'-')] = true;
            return Ok(after);
        }
        (Element::Minus, after) => (b'-', after),
        (Element::Byte { byte, in_ranges: true }, after) => (byte, after),
        (Element::Byte { .. } | Element::Class(_), _) => return Err("a range ends in a class".to_string()),
    };
    if end < start {
        let start = start.escape_ascii();
        let end = end.escape_ascii();
        return Err(format!("the range '{start}-{end}' is empty (expected the smaller character first)"));
    }
    members[usize::from(start)..=usize::from(end)].fill(true);
    Ok(after)
}

fn add_class(members: &mut [bool; 256], name: &str) -> Result<(), String> {
    let class = CLASSES.iter().find(|(known, _)| *known == name);
    let (_, is_member) = class.ok_or_else(|| format!("there is no class '[:{name}:]'"))?;
    (0..=255).filter(is_member).for_each(|byte| members[usize::from(byte)] = true);
    Ok(())
}

/// Returns the next element and the rest.
fn element(rest: &[u8]) -> Result<(Element<'_>, &[u8]), String> {
    match rest {
        [] => Err(UNCLOSED.to_string()),
        [b']', after @ ..] => Ok((Element::Close, after)),
        [b'-', after @ ..] => Ok((Element::Minus, after)),
        [b'[', kind @ (b'.' | b'=' | b':'), after @ ..] => {
            let length = after.windows(2).position(|end| end == [*kind, b']']).ok_or(UNCLOSED)?;
            let name = &after[..length];
            let after = &after[length + 2..];
            match (kind, name) {
                (b':', name) => {
                    let name = std::str::from_utf8(name).map_err(|_| "there is no such class".to_string())?;
                    Ok((Element::Class(name), after))
                }
                (_, &[byte]) => Ok((Element::Byte { byte, in_ranges: *kind == b'.' }, after)),
                _ => Err(format!("there is no character '{}'", name.escape_ascii())),
            }
        }
        [byte, after @ ..] => Ok((Element::Byte { byte: *byte, in_ranges: true }, after)),
    }
}

fn written(members: &[bool; 256], is_negated: bool) -> String {
    let mut out = if is_negated { "[^".to_string() } else { "[".to_string() };
    let mut byte = 0;
    while byte < members.len() {
        let run = members[byte..].iter().take_while(|&&is_member| is_member).count();
        if run > 0 {
            out.push_str(&format!(r"\x{byte:02x}-\x{:02x}", byte + run - 1));
        }
        byte += run + 1;
    }
    out.push(']');
    out
}
