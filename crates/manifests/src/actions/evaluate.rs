//! Evaluates expressions and records a trace for a log.

use std::fs;

use packline_tree::{Bytes, Error, Kind, LINK_HOPS_MAX};

use super::parser::{Expression, Operator, Test};
use super::predicate::{Bits, Predicate, Scope};
use super::subject::Subject;
use super::tree::{NodeId, ROOT, Tree, names};
use super::{ActionHost, TestedFile};

pub(super) struct Evaluation<'e> {
    pub host: &'e mut dyn ActionHost,
    pub block_size: u32,
    /// The text for the log, if the action has one.
    pub trace: Option<Bytes>,
}

impl Evaluation<'_> {
    fn note(&mut self, text: &[u8]) {
        if let Some(trace) = &mut self.trace {
            trace.extend_from_slice(text);
        }
    }

    fn note_result(&mut self, result: bool) {
        self.note(if result { b"=True" } else { b"=False" });
    }

    /// Evaluates an expression. Recursion is as deep as the expression, whose depth the parser limits.
    pub fn expression(&mut self, expression: &Expression, subject: Subject<'_>) -> Result<bool, Error> {
        match expression {
            Expression::Test(test) => self.test(test, subject),
            Expression::Not(inner) => {
                self.note(b"!");
                self.expression(inner, subject).map(|result| !result)
            }
            Expression::Chain(first, rest) => {
                rest.iter().for_each(|_| self.note(b"("));
                let mut result = self.expression(first, subject)?;
                for (operator, operand) in rest {
                    let mark: &[u8] = if *operator == Operator::And { b"&&" } else { b"||" };
                    if result == (*operator == Operator::And) {
                        self.note(mark);
                        result = self.expression(operand, subject)?;
                    }
                    self.note(b")");
                }
                Ok(result)
            }
        }
    }

    fn test(&mut self, test: &Test, subject: Subject<'_>) -> Result<bool, Error> {
        let result = match &test.predicate {
            Predicate::Stat(inner) => self.stat(test.name, inner, subject)?,
            Predicate::Readlink(inner) => {
                let target = readlink(subject);
                self.elsewhere(test.name, b"", target, inner, subject.tree)?
            }
            Predicate::At(path, inner) => match at(subject, path) {
                Some(node) => {
                    let shown = [&subject.tree.path(node), &b","[..]].concat();
                    self.elsewhere(test.name, &shown, Some(node), inner, subject.tree)?
                }
                None => self.elsewhere(test.name, &[path, &b","[..]].concat(), None, inner, subject.tree)?,
            },
            predicate => {
                self.note(&test.text);
                self.simple(predicate, subject)?
            }
        };
        self.note_result(result);
        Ok(result)
    }

    /// Evaluates an inner expression for another entry. The result is false if that entry does not exist.
    fn elsewhere(
        &mut self,
        name: &str,
        shown: &[u8],
        node: Option<NodeId>,
        inner: &Expression,
        tree: &Tree,
    ) -> Result<bool, Error> {
        self.note(&[name.as_bytes(), b"(", shown].concat());
        let result = match node {
            Some(node) => self.expression(inner, Subject::new(tree, node))?,
            None => {
                self.note_result(false);
                false
            }
        };
        self.note(b")");
        Ok(result)
    }

    fn stat(&mut self, name: &str, inner: &Expression, subject: Subject<'_>) -> Result<bool, Error> {
        self.note(&[name.as_bytes(), b"("].concat());
        let result = match fs::metadata(subject.place()) {
            Ok(found) => self.expression(inner, Subject { other: Some(&found), ..subject })?,
            Err(_) => {
                self.note_result(false);
                false
            }
        };
        self.note(b")");
        Ok(result)
    }

    fn simple(&mut self, predicate: &Predicate, subject: Subject<'_>) -> Result<bool, Error> {
        let Subject { tree, node, .. } = subject;
        Ok(match predicate {
            Predicate::Constant(result) => *result,
            Predicate::Name(pattern) => pattern.matches(&tree.node(node).name),
            Predicate::Path(pattern) => pattern.matches(&tree.path(node)),
            Predicate::Above(pattern, count) => pattern.matches(&first_names(&tree.path(node), *count)),
            Predicate::Number(property, scope, numbers) => {
                let applies = match scope {
                    Scope::All => true,
                    Scope::Files => subject.letter() == b'f',
                    Scope::Directories => subject.letter() == b'd',
                };
                let number = if applies { Some(subject.number(*property, self.block_size)?) } else { None };
                number.is_some_and(|number| numbers.contain(i64::try_from(number).unwrap_or(i64::MAX)))
            }
            Predicate::Type(letter) => subject.letter() == *letter,
            Predicate::Permissions(Bits::Exactly, mode) => subject.mode() == *mode,
            Predicate::Permissions(Bits::All, mode) => subject.mode() & mode == *mode,
            Predicate::Permissions(Bits::Any, mode) => *mode == 0 || subject.mode() & mode != 0,
            Predicate::Exists => !is_symlink(subject) || readlink(subject).is_some(),
            Predicate::Absolute => matches!(&tree.inode(node).kind, Kind::Symlink(target) if target.starts_with(b"/")),
            Predicate::Content(pattern) => {
                let described = self.host.describe(subject.place());
                pattern(&described.map_err(|cause| failed(subject, "cannot run file(1) on it", cause))?)
            }
            Predicate::Command(command) => self.command(command, subject)?,
            Predicate::Stat(_) | Predicate::Readlink(_) | Predicate::At(..) => false,
        })
    }

    fn command(&mut self, command: &[u8], subject: Subject<'_>) -> Result<bool, Error> {
        let Subject { tree, node, .. } = subject;
        let file = TestedFile { name: &tree.node(node).name, path: &tree.path(node), place: subject.place() };
        self.host.succeeds(command, file).map_err(|cause| failed(subject, "cannot run a command for it", cause))
    }
}

fn failed(subject: Subject<'_>, action: &'static str, cause: std::io::Error) -> Error {
    Error::Io { path: subject.place().to_path_buf(), action, cause }
}

fn is_symlink(subject: Subject<'_>) -> bool {
    matches!(subject.tree.inode(subject.node).kind, Kind::Symlink(_))
}

/// The first `count` names of a path, with a leading slash.
fn first_names(path: &[u8], count: usize) -> Bytes {
    names(path).take(count).fold(Bytes::new(), |start, name| [&start, &b"/"[..], name].concat()).max(b"/".to_vec())
}

/// The entry that a symbolic link leads to.
fn readlink(subject: Subject<'_>) -> Option<NodeId> {
    let node = subject.tree.node(subject.node);
    match &subject.tree.inode(subject.node).kind {
        Kind::Symlink(target) => follow(subject.tree, node.parent?, target, &mut { LINK_HOPS_MAX }),
        _ => None,
    }
}

/// The entry at a path, from the root or from the entry itself.
fn at(subject: Subject<'_>, path: &[u8]) -> Option<NodeId> {
    let Subject { tree, node, .. } = subject;
    let mut hops = LINK_HOPS_MAX;
    match path {
        [b'/', ..] => {
            let start = path.iter().take_while(|&&byte| byte == b'/').count();
            follow(tree, ROOT, &path[start..], &mut hops)
        }
        b".." | [b'.', b'.', b'/', ..] => {
            let rest = path[2..].iter().position(|&byte| byte != b'/').map_or(&b""[..], |start| &path[2 + start..]);
            follow(tree, tree.node(node).parent?, rest, &mut hops)
        }
        _ if subject.letter() == b'd' => follow(tree, node, path, &mut hops),
        _ => None,
    }
}

/// Follows a relative path. Symbolic links on the way must be relative too; `hops` is the number of links that may still be followed.
fn follow(tree: &Tree, directory: NodeId, path: &[u8], hops: &mut u32) -> Option<NodeId> {
    if path.starts_with(b"/") {
        return None;
    }
    let mut at = directory;
    for name in names(path) {
        at = match name {
            b"." => at,
            b".." => tree.node(at).parent?,
            name => {
                let child = *tree.node(at).children.get(name)?;
                match &tree.inode(child).kind {
                    Kind::Symlink(target) => {
                        *hops = hops.checked_sub(1)?;
                        follow(tree, at, target, hops)?
                    }
                    _ => child,
                }
            }
        };
    }
    Some(at)
}
