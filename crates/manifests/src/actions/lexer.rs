//! Tokens of an action.

use packline_tree::Bytes;

use super::ActionFault;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token {
    Open,
    Close,
    And,
    Or,
    Not,
    Comma,
    At,
    /// A name or an argument, without quotation marks and backslashes.
    Text(Bytes),
    End,
}

const MARKS: [(&[u8], Token); 7] = [
    (b"(", Token::Open),
    (b")", Token::Close),
    (b"&&", Token::And),
    (b"||", Token::Or),
    (b"!", Token::Not),
    (b",", Token::Comma),
    (b"@", Token::At),
];

#[derive(Debug, Clone)]
pub(super) struct Lexer<'t>(&'t [u8]);

impl<'t> Lexer<'t> {
    pub fn new(text: &'t [u8]) -> Lexer<'t> {
        Lexer(text)
    }

    pub fn next(&mut self) -> Result<Token, ActionFault> {
        while let [b' ' | b'\t', rest @ ..] = self.0 {
            self.0 = rest;
        }
        if self.0.is_empty() {
            return Ok(Token::End);
        }
        match mark(self.0) {
            Some((length, token)) => {
                self.0 = &self.0[length..];
                Ok(token)
            }
            None => self.text().map(Token::Text),
        }
    }

    /// Whether the next token opens an argument list.
    pub fn opens(&self) -> bool {
        matches!(self.clone().next(), Ok(Token::Open))
    }

    /// Text up to the first mark or blank outside quotation marks.
    fn text(&mut self) -> Result<Bytes, ActionFault> {
        let mut text = Bytes::new();
        let mut quoted = false;
        loop {
            match *self.0 {
                [b'"', ..] => quoted = !quoted,
                [] if quoted => return Err(ActionFault::new("a '\"' is not closed", "another '\"'")),
                [] => return Ok(text),
                [b' ' | b'\t', ..] if !quoted => return Ok(text),
                _ if !quoted && mark(self.0).is_some() => return Ok(text),
                [b'\\'] => return Err(ActionFault::new("it ends in '\\'", "a character after it")),
                [b'\\', byte, ..] => {
                    self.0 = &self.0[1..];
                    text.push(byte);
                }
                [byte, ..] => text.push(byte),
            }
            self.0 = &self.0[1..];
        }
    }
}

fn mark(text: &[u8]) -> Option<(usize, Token)> {
    let mark = MARKS.iter().find(|(mark, _)| text.starts_with(mark));
    mark.map(|(mark, token)| (mark.len(), token.clone()))
}

impl Token {
    /// The token as shown in messages.
    pub fn shown(&self) -> String {
        match self {
            Token::End => "end".to_string(),
            Token::Text(text) => format!("'{}'", packline_runtime::escape::Escape::escaped(text.as_slice())),
            mark => {
                let text = MARKS.iter().find(|(_, token)| token == mark).map_or(&b""[..], |(text, _)| text);
                format!("'{}'", String::from_utf8_lossy(text))
            }
        }
    }
}
