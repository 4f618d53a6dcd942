//! Names and comments use the field's terms: words of an earlier vocabulary are refused.

use std::path::Path;

/// Refused as a part of an identifier or of a file name.
const NAMES: &str = "crew desk dress errand farewell ground hand hands lobby manners \
    meanwhile nameless press pressed presser pressers presses room rooms said seat shop stowed told";
/// Identifiers with such a part whose meaning is the usual one.
const USUAL: [&str; 3] = ["hand_over", "hand_out", "hand_on"];
/// Refused in comments and in string literals: phrases that are not plain English. A capitalised phrase is refused only at the start of a
/// sentence.
const PHRASES: [&str; 36] = [
    "image of containers",
    "images of containers",
    "file without a name",
    "files without a name",
    "packed anew",
    "pack anew",
    "counts for nothing",
    "count for nothing",
    "look after",
    "looks after",
    "has no room",
    "have no room",
    "such a one",
    "what is no",
    "makes of",
    "make of",
    "is made of",
    "are made of",
    "is let go",
    "is refused",
    "are refused",
    "at most so",
    "behind the",
    "behind it",
    "behind an",
    "behind that",
    "but for the",
    "but for its",
    "but for their",
    ", else ",
    "without a word",
    "besides that",
    "Those of",
    "That of",
    "Its name",
    "The thing",
];
/// Refused in comments.
const COMMENTS: [&str; 6] = ["told", "said", "nobody", "what came of", "What is ", "Who "];
/// Words after `is no` with which the phrase is English.
const COMPARED: [&str; 11] =
    ["longer", "such", "more", "less", "larger", "smaller", "better", "worse", "greater", "other", "different"];
/// The file with these lists.
const OWN: &str = "dev/xtask/src/tidy/words.rs";

/// Checks a Rust file.
pub fn check(name: &str, text: &str) -> Vec<String> {
    if name == OWN {
        return Vec::new();
    }
    let stem = Path::new(name).file_stem().unwrap_or_default().to_string_lossy();
    let file = refused_name(&stem).map(|word| format!("`{word}` in a file name"));
    file.into_iter().chain(in_text(text)).collect()
}

fn in_text(text: &str) -> impl Iterator<Item = String> {
    text.lines().enumerate().filter_map(|(index, line)| {
        let (code, comment) = split(line);
        let word = identifiers(&code).find_map(refused_name);
        let word = word.or_else(|| COMMENTS.into_iter().find(|phrase| has_phrase(comment, phrase)));
        let word = word.or_else(|| PHRASES.into_iter().find(|phrase| has_phrase(line, phrase)));
        let word = word.or_else(|| has_negated_noun(line).then_some("is no"));
        word.map(|found| format!("line {}: `{}`", index + 1, found.trim()))
    })
}

/// The code of a line without the content of its string literals, and its comment. Literals of several lines are not recognised.
fn split(line: &str) -> (String, &str) {
    let mut code = String::new();
    let mut quoted = false;
    let mut escaped = false;
    for (at, byte) in line.char_indices() {
        match byte {
            '/' if !quoted && line[at..].starts_with("//") => return (code, &line[at..]),
            '"' if !escaped => quoted = !quoted,
            _ if !quoted => code.push(byte),
            _ => {}
        }
        escaped = byte == '\\' && !escaped;
    }
    (code, "")
}

fn identifiers(code: &str) -> impl Iterator<Item = &str> {
    code.split(|byte: char| !byte.is_alphanumeric() && byte != '_')
}

/// A refused word among the parts of an identifier in snake case or camel case.
fn refused_name(identifier: &str) -> Option<&'static str> {
    let usual = USUAL.iter().fold(snake_case(identifier), |name, usual| name.replace(usual, ""));
    NAMES.split(' ').find(|word| usual.split('_').any(|part| part == *word))
}

fn snake_case(identifier: &str) -> String {
    let mut name = String::new();
    let mut before_is_lower = false;
    for letter in identifier.chars() {
        if letter.is_uppercase() && before_is_lower {
            name.push('_');
        }
        before_is_lower = letter.is_lowercase();
        name.extend(letter.to_lowercase());
    }
    name
}

/// Returns whether a line says `X is no Y` for `X is not a Y`. `There is no Y` and `X is no longer Y` are English.
fn has_negated_noun(line: &str) -> bool {
    [" is no ", " are no ", " was no ", " were no "].into_iter().any(|negation| {
        line.match_indices(negation).any(|(at, _)| {
            let after = line[at + negation.len()..].split(|letter: char| !letter.is_alphabetic()).next();
            !line[..at].to_lowercase().ends_with("there") && after.is_some_and(|word| !COMPARED.contains(&word))
        })
    })
}

/// Returns whether a comment has a phrase between word boundaries; a capitalised one only at the start of a sentence.
fn has_phrase(comment: &str, phrase: &str) -> bool {
    let starts_sentence = phrase.starts_with(char::is_uppercase);
    let free = |at: usize| {
        let before = comment[..at].trim_end_matches(' ');
        let ends_sentence = before.ends_with(['/', '!', '.', ':', '"', '(']);
        let after = comment[at + phrase.len()..].chars().next();
        let inside = comment[..at].ends_with(|letter: char| letter.is_alphanumeric() || letter == '_');
        !inside
            && (!starts_sentence || ends_sentence)
            && (phrase.ends_with(' ') || !after.is_some_and(char::is_alphanumeric))
    };
    comment.match_indices(phrase).any(|(at, _)| free(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refused_words_are_found() {
        for line in
            ["let has_room = 1;", "struct DeskLamp;", "fn a() { press(\"x\") }", "x // as I said", "/// What is x."]
        {
            assert_eq!(in_text(line).count(), 1, "{line}");
        }
        for line in ["let compress = rooms_of(mushroom_x);", "hand_over(x)", "\"a room\"", "// see what is there"] {
            assert_eq!(in_text(line).count(), usize::from(line.contains("rooms")), "{line}");
        }
        assert_eq!(refused_name("press"), Some("press"));
    }

    #[test]
    fn refused_phrases_are_found_in_comments_and_strings() {
        for line in
            ["// a file without a name", "f(\"an image of containers\")", "/// It is no tar.", "\"which are no keys\""]
        {
            assert_eq!(in_text(line).count(), 1, "{line}");
        }
        for line in [
            "// There is no tar.",
            "// if there are no keys",
            "\"it is no longer empty\"",
            "/// The image of the containers",
        ] {
            assert_eq!(in_text(line).count(), 0, "{line}");
        }
    }
}
