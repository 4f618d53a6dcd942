//! Expressions (tests joined by operators), and the parser of actions.

use std::fmt;

use packline_tree::Bytes;

use super::action::{Action, Rule};
use super::lexer::{Lexer, Token};
use super::predicate::Predicate;
use super::{ActionHost, ActionLog};

/// Maximum length of an action in bytes.
const MOST_BYTES: usize = 64 << 10;
/// Maximum depth of parentheses, `!` and expressions in arguments.
const MOST_NESTED: u32 = 100;

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

/// Why an action is malformed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActionFault {
    pub what: String,
    pub expected: String,
}

impl ActionFault {
    pub(super) fn new(what: impl Into<String>, expected: impl Into<String>) -> ActionFault {
        ActionFault { what: what.into(), expected: expected.into() }
    }

    fn unexpected(found: &Token, expected: &str) -> ActionFault {
        ActionFault::new(format!("unexpected {}", found.shown()), expected)
    }
}

impl fmt::Display for ActionFault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} (expected {})", self.what, self.expected)
    }
}

impl std::error::Error for ActionFault {}

pub(super) fn parse(text: &[u8], log: ActionLog, host: &mut dyn ActionHost) -> Result<Rule, ActionFault> {
    if text.len() > MOST_BYTES || text.contains(&0) {
        return Err(ActionFault::new(
            "it is too long, or has a NUL byte",
            format!("at most {MOST_BYTES} bytes of text"),
        ));
    }
    let mut parser = Parser { lexer: Lexer::new(text), host, excludes: false, nested: 0 };
    let name = match parser.lexer.next()? {
        Token::Text(name) => name,
        other => return Err(ActionFault::unexpected(&other, "the name of an action")),
    };
    let arguments = parser.arguments()?;
    match parser.lexer.next()? {
        Token::At => {}
        other => return Err(ActionFault::unexpected(&other, "'@' and an expression after the action")),
    }
    let action = Action::new(&name, &arguments, parser.host)?;
    parser.excludes = matches!(action, Action::Exclude);
    let condition = parser.expression(false)?;
    Ok(Rule { action, text: call(&String::from_utf8_lossy(&name), &arguments), condition, log })
}

pub(super) struct Parser<'p> {
    lexer: Lexer<'p>,
    pub host: &'p mut dyn ActionHost,
    /// Whether the action is `exclude`, whose expression is evaluated before there is a tree.
    pub excludes: bool,
    nested: u32,
}

impl Parser<'_> {
    /// Parses arguments in parentheses, if there are any.
    fn arguments(&mut self) -> Result<Vec<Bytes>, ActionFault> {
        let mut arguments = Vec::new();
        if !self.lexer.opens() {
            return Ok(arguments);
        }
        self.lexer.next()?;
        loop {
            match self.lexer.next()? {
                Token::Text(text) => arguments.push(text),
                Token::Close if arguments.is_empty() => return Ok(arguments),
                other => {
                    return Err(ActionFault::unexpected(
                        &other,
                        "an argument, in quotation marks if it has such characters",
                    ));
                }
            }
            match self.lexer.next()? {
                Token::Close => return Ok(arguments),
                Token::Comma => {}
                other => return Err(ActionFault::unexpected(&other, "',' or ')' after an argument")),
            }
        }
    }

    /// Parses an expression up to the end, or up to the closing parenthesis if `inner`.
    fn expression(&mut self, inner: bool) -> Result<Expression, ActionFault> {
        let first = self.operand()?;
        let mut rest = Vec::new();
        loop {
            let operator = match self.lexer.next()? {
                Token::End if !inner => break,
                Token::Close if inner => break,
                Token::And => Operator::And,
                Token::Or => Operator::Or,
                other if inner => return Err(ActionFault::unexpected(&other, "'&&', '||' or ')'")),
                other => return Err(ActionFault::unexpected(&other, "'&&', '||' or the end")),
            };
            rest.push((operator, self.operand()?));
        }
        Ok(if rest.is_empty() { first } else { Expression::Chain(Box::new(first), rest) })
    }

    fn operand(&mut self) -> Result<Expression, ActionFault> {
        self.deeper()?;
        let operand = match self.lexer.next()? {
            Token::Not => Expression::Not(Box::new(self.operand()?)),
            Token::Open => self.expression(true)?,
            Token::Text(name) => Expression::Test(self.test(&name)?),
            other => return Err(ActionFault::unexpected(&other, "a test, '!' or '('")),
        };
        self.nested -= 1;
        Ok(operand)
    }

    fn test(&mut self, name: &[u8]) -> Result<Test, ActionFault> {
        let arguments = self.arguments()?;
        let (name, predicate) = Predicate::new(name, &arguments, self)?;
        Ok(Test { name, text: call(name, &arguments), predicate })
    }

    /// Parses an argument that is an expression.
    pub fn inner(&mut self, text: &[u8]) -> Result<Box<Expression>, ActionFault> {
        let Parser { excludes, nested, .. } = *self;
        let mut parser = Parser { lexer: Lexer::new(text), host: &mut *self.host, excludes, nested };
        parser.expression(false).map(Box::new)
    }

    fn deeper(&mut self) -> Result<(), ActionFault> {
        self.nested += 1;
        let deep = self.nested > MOST_NESTED;
        if deep {
            Err(ActionFault::new("it is nested too deeply", format!("at most {MOST_NESTED} levels")))
        } else {
            Ok(())
        }
    }
}
