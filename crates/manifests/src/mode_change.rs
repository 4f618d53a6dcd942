//! Changes of permissions in the form of chmod(1): octal, or `u+rwX,go-w`.

/// A change of the lower 12 bits of a mode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModeChange {
    Octal(u16),
    Symbolic(Vec<Step>),
}

/// One operator with its permissions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// Bits that may change.
    who: u16,
    operator: char,
    bits: Bits,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bits {
    /// Fixed bits. `execute` stands for `X`: also the bits for execution, if the file is a directory or has any of them.
    Fixed { bits: u16, execute: bool },
    /// The bits of the user, the group or others, as the shift of these bits in the mode.
    CopyOf(u32),
}

impl ModeChange {
    /// Parses a change of permissions.
    ///
    /// # Errors
    /// The text is neither an octal number up to 7777 nor a list of symbolic changes.
    pub fn parse(text: &str) -> Result<ModeChange, String> {
        let wrong =
            || format!("'{text}' is not a mode (expected octal up to 7777, or a list as chmod takes it: u+rwX,go-w)");
        if text.starts_with(|first: char| first.is_ascii_digit()) {
            let mode = u16::from_str_radix(text, 8).ok().filter(|mode| *mode <= 0o7777);
            return mode.map(ModeChange::Octal).ok_or_else(wrong);
        }
        let mut steps = Vec::new();
        for clause in text.split(',').filter(|clause| !clause.is_empty()) {
            clause_steps(clause, &mut steps).ok_or_else(wrong)?;
        }
        if steps.is_empty() { Err(wrong()) } else { Ok(ModeChange::Symbolic(steps)) }
    }

    /// Returns the changed mode. `X` always applies to a directory.
    pub fn apply(&self, mode: u16, directory: bool) -> u16 {
        match self {
            ModeChange::Octal(mode) => *mode,
            ModeChange::Symbolic(steps) => steps.iter().fold(mode, |mode, step| step.apply(mode, directory)),
        }
    }
}

impl Step {
    fn apply(self, mode: u16, directory: bool) -> u16 {
        let bits = match self.bits {
            Bits::Fixed { bits, execute } => {
                let execute = execute && (directory || mode & 0o111 != 0);
                bits | if execute { 0o111 } else { 0 }
            }
            Bits::CopyOf(shift) => 0o111 * (mode >> shift & 7),
        } & self.who;
        match self.operator {
            '+' => mode | bits,
            '-' => mode & !bits,
            _ => mode & !self.who | bits,
        }
    }
}

/// The steps of one clause: `ug+rw-x`.
fn clause_steps(clause: &str, steps: &mut Vec<Step>) -> Option<()> {
    let operators = ['+', '-', '='];
    let (owners, mut rest) = clause.split_at(clause.find(operators)?);
    // Without owners, the bits set-uid, set-gid and sticky stay the same.
    let who =
        if owners.is_empty() { 0o777 } else { owners.chars().try_fold(0, |who, owner| Some(who | mask(owner)?))? };
    while let Some(operator) = rest.chars().next() {
        let end = rest[1..].find(operators).map_or(rest.len(), |end| end + 1);
        steps.push(Step { who, operator, bits: bits(&rest[1..end])? });
        rest = &rest[end..];
    }
    Some(())
}

fn mask(owner: char) -> Option<u16> {
    match owner {
        'u' => Some(0o4700),
        'g' => Some(0o2070),
        'o' => Some(0o1007),
        'a' => Some(0o7777),
        _ => None,
    }
}

fn bits(permissions: &str) -> Option<Bits> {
    match permissions {
        "u" => return Some(Bits::CopyOf(6)),
        "g" => return Some(Bits::CopyOf(3)),
        "o" => return Some(Bits::CopyOf(0)),
        _ => {}
    }
    let mut bits = 0;
    let mut execute = false;
    for permission in permissions.chars() {
        match permission {
            'r' => bits |= 0o444,
            'w' => bits |= 0o222,
            'x' => bits |= 0o111,
            's' => bits |= 0o6000,
            't' => bits |= 0o1000,
            'X' => execute = true,
            _ => return None,
        }
    }
    Some(Bits::Fixed { bits, execute })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_change_as_chmod_changes_them() {
        let changed = |text: &str, mode, directory| ModeChange::parse(text).unwrap().apply(mode, directory);
        for (text, mode, directory, expected) in [
            ("644", 0o4777, false, 0o644),
            ("u+x", 0o644, false, 0o744),
            ("go-rwx", 0o755, false, 0o700),
            ("a=rX", 0o640, false, 0o444),
            ("a=rX", 0o740, false, 0o555),
            ("a=rX", 0o640, true, 0o555),
            ("g=u,o=", 0o7640, false, 0o4660),
            ("u+s,o+t", 0o644, false, 0o5644),
            ("=rw", 0o4111, false, 0o4666),
            ("u=rw+x-r", 0o000, false, 0o300),
        ] {
            assert_eq!(changed(text, mode, directory), expected, "{text} of {mode:o}");
        }
    }

    #[test]
    fn rejects_malformed_modes() {
        for text in ["", ",", "8", "10000", "75x", "u", "u+q", "z+r", "+ur", "ux+r"] {
            assert!(ModeChange::parse(text).unwrap_err().starts_with(&format!("'{text}' is not a mode")), "{text}");
        }
    }
}
