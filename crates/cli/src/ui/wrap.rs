//! Wraps the text of help to the width of a terminal.

/// The smallest number of columns that text is wrapped to.
const FEWEST: usize = 30;

/// Wraps each line between words to `columns`. Continuation lines are indented like the second column of their line, which two or more
/// spaces set off from the first column, or otherwise like the line. A word that does not fit gets its own line.
pub fn wrap(text: &str, columns: usize) -> String {
    let columns = columns.max(FEWEST);
    text.lines().map(|line| wrapped(line, columns)).collect::<Vec<_>>().join("\n")
}

fn wrapped(line: &str, columns: usize) -> String {
    let body = line.trim_start();
    let lead = line.len() - body.len();
    let column = body.find("  ").map_or(lead, |at| {
        let rest = body[at..].trim_start();
        line.len() - rest.len()
    });
    let indent = " ".repeat(column);
    let mut lines = Vec::new();
    let mut current = line[..column].to_string();
    for word in line[column..].split(' ') {
        let is_empty = current.len() == column;
        let width = current.chars().count() + usize::from(!is_empty) + word.chars().count();
        if width > columns && !is_empty {
            lines.push(std::mem::replace(&mut current, indent.clone()));
            current.push_str(word);
            continue;
        }
        if !is_empty {
            current.push(' ');
        }
        current.push_str(word);
    }
    lines.push(current);
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words_and_keep_their_column() {
        let text = "one two three four five six seven\n  1      a word and another word\n\n  packline pack x";
        let expected =
            "one two three four five six\nseven\n  1      a word and another\n         word\n\n  packline pack x";
        assert_eq!(wrap(text, 30), expected);
        assert_eq!(wrap(text, 80), text);
    }

    #[test]
    fn keeps_all_words_intact() {
        let long = "a ".repeat(50) + &"x".repeat(99) + " end";
        for columns in [0, 31, 40, 99, 1000] {
            let wrapped = wrap(&long, columns);
            assert_eq!(wrapped.split_whitespace().collect::<Vec<_>>(), long.split_whitespace().collect::<Vec<_>>());
            let most = columns.max(FEWEST);
            assert!(wrapped.lines().all(|line| line.len() <= most || line.len() == 99), "{wrapped}");
        }
    }
}
