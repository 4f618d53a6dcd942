//! Compiles the text of a pattern to its program, without recursion: braces may be nested as deeply as the pattern is long.

use packline_runtime::escape::Escape;

use super::PatternFault;
use super::program::{Program, Step};
use crate::glob::{Set, unknown_class};

/// Compiles a pattern in canonical form.
pub(super) fn compile(pattern: &[u8]) -> Result<Program, PatternFault> {
    let mut compiler = Compiler { rest: pattern, steps: Vec::new(), groups: Vec::new(), start: true };
    while let Some((&byte, after)) = compiler.rest.split_first() {
        compiler.take(byte, after)?;
    }
    match compiler.groups.pop() {
        Some(group) => Err(PatternFault::Open(escaped(group.text), '}')),
        None => Ok(Program(compiler.steps)),
    }
}

struct Compiler<'p> {
    rest: &'p [u8],
    steps: Vec<Step>,
    groups: Vec<Group<'p>>,
    /// Whether the current alternative is empty so far. A slash then only means "from the root".
    start: bool,
}

/// An open brace.
struct Group<'p> {
    /// The pattern from the brace on.
    text: &'p [u8],
    /// Index of the brace's fork.
    fork: usize,
    /// Start of each alternative.
    starts: Vec<usize>,
    /// Jumps at the ends of the alternatives.
    jumps: Vec<usize>,
    /// Whether the brace is at the start of the pattern.
    start: bool,
}

impl<'p> Compiler<'p> {
    fn take(&mut self, byte: u8, after: &'p [u8]) -> Result<(), PatternFault> {
        match (byte, after) {
            (b'*', [b'*', ..]) => self.take_stars(),
            (b'*', _) => self.push(Step::Run, after),
            (b'?', _) => self.push(Step::One, after),
            (b'[', _) => return self.take_set(after),
            (b'{', _) => self.open(after),
            (b',', _) if !self.groups.is_empty() => self.separate(after),
            (b'}', _) if !self.groups.is_empty() => self.close(after),
            (b'/', _) | (b'\\', [b'/', ..]) if self.start => self.rest = &after[usize::from(byte == b'\\')..],
            (b'\\', [escaped, after @ ..]) => self.push(Step::Byte(*escaped), after),
            (b'\\', []) => return Err(PatternFault::Backslash),
            _ => self.push(Step::Byte(byte), after),
        }
        Ok(())
    }

    fn push(&mut self, step: Step, after: &'p [u8]) {
        self.steps.push(step);
        self.rest = after;
        self.start = false;
    }

    /// Compiles two or more stars. If a slash follows, they match a run that ends in a slash, or nothing at the start of a name.
    fn take_stars(&mut self) {
        let stars = self.rest.iter().take_while(|&&byte| byte == b'*').count();
        match &self.rest[stars..] {
            [b'/', after @ ..] => {
                let at = self.steps.len();
                self.push(Step::Fork(vec![at + 1, at + 4]), after);
                self.steps.extend([Step::RunAcross, Step::Byte(b'/'), Step::Jump(at + 5), Step::NameStart]);
            }
            after => self.push(Step::RunAcross, after),
        }
    }

    fn take_set(&mut self, inside: &'p [u8]) -> Result<(), PatternFault> {
        let open = || PatternFault::Open(escaped(self.rest), ']');
        let (set, after) = Set::read(inside).ok_or_else(open)?;
        let text = &self.rest[..self.rest.len() - after.len()];
        if let Some(name) = unknown_class(text) {
            return Err(PatternFault::Class(escaped(name)));
        }
        if set.is_empty() || text.contains(&b'/') {
            return Err(PatternFault::Set(escaped(text)));
        }
        self.push(Step::Set(Box::new(set)), after);
        Ok(())
    }

    fn open(&mut self, after: &'p [u8]) {
        let text = self.rest;
        let fork = self.steps.len();
        let start = self.start;
        self.groups.push(Group { text, fork, starts: vec![fork + 1], jumps: Vec::new(), start });
        self.steps.push(Step::Fork(Vec::new()));
        self.rest = after;
    }

    /// A comma between alternatives.
    fn separate(&mut self, after: &'p [u8]) {
        self.rest = after;
        let at = self.steps.len();
        if let Some(group) = self.groups.last_mut() {
            self.start = group.start;
            group.jumps.push(at);
            group.starts.push(at + 1);
            self.steps.push(Step::Jump(at));
        }
    }

    fn close(&mut self, after: &'p [u8]) {
        self.rest = after;
        self.start = false;
        let end = self.steps.len();
        if let Some(group) = self.groups.pop() {
            group.jumps.iter().for_each(|&jump| self.steps[jump] = Step::Jump(end));
            self.steps[group.fork] = Step::Fork(group.starts);
        }
    }
}

fn escaped(text: &[u8]) -> String {
    text.escaped()
}
