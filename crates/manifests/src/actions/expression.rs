//! Expressions: tests joined by operators.

use packline_tree::Bytes;

use super::predicate::Predicate;

pub(super) enum Expression {
    Test(Test),
    Not(Box<Expression>),
    /// Evaluated from left to right; there is no precedence.
    Chain(Box<Expression>, Vec<(Operator, Expression)>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    And,
    Or,
}

pub(super) struct Test {
    pub name: &'static str,
    /// The name and the arguments, for a log.
    pub text: Bytes,
    pub predicate: Predicate,
}

/// A name with its arguments in parentheses.
pub(super) fn call(name: &str, arguments: &[Bytes]) -> Bytes {
    match arguments {
        [] => name.into(),
        _ => [name.as_bytes(), b"(", &arguments.join(&b','), b")"].concat(),
    }
}
