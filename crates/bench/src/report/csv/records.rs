//! Lines of fields, as RFC 4180 has them.

use super::CsvError;

/// A record: the line at which it starts, from 1, and its fields.
pub(super) type Record = (usize, Vec<String>);

/// The records of a text whose first line is this one; a line feed, alone or after a carriage return, ends one.
pub(super) fn records(text: &str, first_line: usize) -> Result<Vec<Record>, CsvError> {
    let mut found = Vec::new();
    let (mut rest, mut line) = (text, first_line);
    while !rest.is_empty() {
        let start = line;
        let mut fields = Vec::new();
        loop {
            let (field, after) = field(rest).map_err(|what| CsvError { line, what: what.into() })?;
            line += field.matches('\n').count();
            fields.push(field);
            rest = after;
            match rest.strip_prefix(',') {
                Some(more) => rest = more,
                None => break,
            }
        }
        rest = rest.strip_prefix('\r').unwrap_or(rest);
        rest = rest.strip_prefix('\n').unwrap_or(rest);
        line += 1;
        found.push((start, fields));
    }
    Ok(found)
}

/// A field, and what comes after it: nothing, a comma or the end of the line.
fn field(text: &str) -> Result<(String, &str), &'static str> {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find([',', '\n']).unwrap_or(text.len());
        let field = text[..end].strip_suffix('\r').unwrap_or(&text[..end]);
        return match field.contains(['"', '\r']) {
            true => Err("a quote inside a field that does not start with one"),
            false => Ok((field.into(), &text[field.len()..])),
        };
    };
    let mut value = String::new();
    let mut rest = quoted;
    loop {
        let end = rest.find('"').ok_or("a quoted field that does not end")?;
        value.push_str(&rest[..end]);
        rest = &rest[end + 1..];
        match rest.strip_prefix('"') {
            Some(more) => rest = more,
            None => break,
        }
        value.push('"');
    }
    match rest.trim_start_matches('\r').chars().next() {
        None | Some(',' | '\n') => Ok((value, rest)),
        Some(_) => Err("text after the end of a quoted field"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_or_not_and_lines_counted() {
        let found = records("a,,\"b,\"\"\n\"\r\nc\n", 5).unwrap();
        assert_eq!(found, [(5, vec!["a".into(), "".into(), "b,\"\n".into()]), (7, vec!["c".to_string()])]);
    }

    #[test]
    fn broken_quotes_are_errors_with_their_line() {
        for text in ["x\n\"abc", "x\n\"a\"b\n", "x\na\"b\n"] {
            assert_eq!(records(text, 1).unwrap_err().line, 2, "{text:?}");
        }
    }
}
