//! Sets of bytes in patterns: `[a-z]`, `[!a-z]`, `[[:digit:]_]`.

/// One bit for each of the 256 bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Set([u64; 4]);

/// Tests whether a byte belongs to a class.
type Holds = fn(&u8) -> bool;

impl Set {
    /// Parses a set after its `[`. Returns the set and the text after its `]`; `None` if there is no `]`.
    pub(crate) fn read(mut rest: &[u8]) -> Option<(Set, &[u8])> {
        let inverted = matches!(rest.first(), Some(b'!' | b'^'));
        rest = &rest[usize::from(inverted)..];
        let mut set = Set::default();
        let mut first = true;
        loop {
            if let ([b']', after @ ..], false) = (rest, first) {
                if inverted {
                    set.invert();
                }
                return Some((set, after));
            }
            rest = member(&mut set, rest)?;
            first = false;
        }
    }

    pub(crate) fn contains(&self, byte: u8) -> bool {
        self.0[usize::from(byte >> 6)] >> (byte & 63) & 1 == 1
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0 == [0; 4]
    }

    fn insert(&mut self, byte: u8) {
        self.0[usize::from(byte >> 6)] |= 1 << (byte & 63);
    }

    fn invert(&mut self) {
        self.0 = self.0.map(|word| !word);
    }
}

/// Parses one byte, range or class of a set. Returns the text after it.
fn member<'a>(set: &mut Set, rest: &'a [u8]) -> Option<&'a [u8]> {
    if let Some((name, after)) = class(rest) {
        let holds = class_named(name).unwrap_or(|_| false);
        (0..=255).filter(holds).for_each(|byte| set.insert(byte));
        return Some(after);
    }
    let (low, after) = set_byte(rest)?;
    match after {
        [b'-', end, ..] if *end != b']' => {
            let (high, after) = set_byte(&after[1..])?;
            (low..=high).for_each(|byte| set.insert(byte));
            Some(after)
        }
        _ => {
            set.insert(low);
            Some(after)
        }
    }
}

fn set_byte(rest: &[u8]) -> Option<(u8, &[u8])> {
    match rest {
        [b'\\', byte, after @ ..] | [byte, after @ ..] => Some((*byte, after)),
        [] => None,
    }
}

/// The name in `[:name:]`, and the text after it.
fn class(rest: &[u8]) -> Option<(&[u8], &[u8])> {
    let inner = rest.strip_prefix(b"[:")?;
    let end = memchr::memmem::find(inner, b":]")?;
    Some((&inner[..end], &inner[end + 2..]))
}

/// The first unknown class in the text of a set, which matches nothing.
pub(crate) fn unknown_class(text: &[u8]) -> Option<&[u8]> {
    let classes = memchr::memmem::find_iter(text, b"[:").filter_map(|at| class(&text[at..]));
    classes.map(|(name, _)| name).find(|name| class_named(name).is_none())
}

fn class_named(name: &[u8]) -> Option<Holds> {
    let holds: Holds = match name {
        b"alnum" => u8::is_ascii_alphanumeric,
        b"alpha" => u8::is_ascii_alphabetic,
        b"blank" => |&byte| byte == b' ' || byte == b'\t',
        b"cntrl" => u8::is_ascii_control,
        b"digit" => u8::is_ascii_digit,
        b"graph" => u8::is_ascii_graphic,
        b"lower" => u8::is_ascii_lowercase,
        b"print" => |&byte| byte == b' ' || byte.is_ascii_graphic(),
        b"punct" => u8::is_ascii_punctuation,
        b"space" => |&byte| byte.is_ascii_whitespace() || byte == 0x0b,
        b"upper" => u8::is_ascii_uppercase,
        b"xdigit" => u8::is_ascii_hexdigit,
        _ => return None,
    };
    Some(holds)
}
