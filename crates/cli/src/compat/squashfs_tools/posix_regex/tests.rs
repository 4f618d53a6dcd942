//! Expressions match as in POSIX and in the GNU library: bash's `=~` calls its `regcomp` and `regexec`.

use std::io::Write;
use std::process::{Command, Stdio};

use packline_testkit::{Random, tools};

use super::*;

#[test]
fn matches_like_posix() {
    for (expression, text, matches) in [
        ("^a", "ab", true),
        ("b$", "ab", true),
        ("^[^d].*$|^d[^e].*$", "dev", false),
        ("^[^d].*$|^d[^e].*$", "etc", true),
        (r"[\d]", "\\", true),
        (r"[\d]", "5", false),
        ("[]a]", "]", true),
        ("[a-]", "-", true),
        ("[[:digit:]]{2}", "x12", true),
        ("^a{1,2}$", "aa", true),
        ("^a{1,2}$", "aaa", false),
        ("^a{2,}$", "aaaa", true),
        ("^a{,2}$", "aaa", false),
        ("^a{,2}$", "", true),
        ("^a{0}b$", "b", true),
        // The second operator repeats what the first has made.
        ("^a+?$", "", true),
        ("^a{2}?$", "", true),
        ("^(ab)+?$", "abab", true),
        ("^a)$", "a)", true),
        ("^a|}$", "}", true),
        (r"\.ko", "xko", false),
        (r"x\<b", "xb", false),
        ("[&&~~]", "&", true),
        ("[[.-.]a]", "-", true),
        ("[[=a=]]", "a", true),
        ("#a b", "#a b", true),
        ("(|a)b", "b", true),
        // A backslash before a letter or digit without a meaning.
        (r"^\a+\d{2}\0$", "aadd0", true),
        (r"\d", "5", false),
        (r"^\n\t$", "nt", true),
    ] {
        let found = compile(expression.as_bytes()).map(|regex| regex.is_match(text.as_bytes()));
        assert_eq!(found, Ok(matches), "{expression} {text}");
    }
    assert!(compile(b"\xff").unwrap().is_match(b"a\xff"));
}

#[test]
fn rejects_malformed_expressions() {
    for expression in [
        "(",
        "[a",
        r"a\",
        r"\1",
        "(?i)a",
        "[[:nope:]]",
        "[[.ab.]]",
        "*a",
        "a|*b",
        "^*",
        "(+)",
        "{2}",
        "a{2",
        "a{}",
        "a{x}",
        "a{2,1}",
        "a{1,2,3}",
        "a{32768}",
        "[b-a]",
        "[a-c-e]",
        "[[:alpha:]-z]",
    ] {
        assert!(compile(expression.as_bytes()).is_err(), "{expression}");
    }
}

/// Parts of expressions; frequent parts appear several times.
const PIECES: [&str; 60] = [
    "a",
    "a",
    "b",
    "c",
    "ab",
    ".",
    ".",
    "*",
    "*",
    "+",
    "+",
    "?",
    "?",
    "|",
    "|",
    "(",
    "(",
    ")",
    ")",
    "^",
    "$",
    "{2}",
    "{1,2}",
    "{,2}",
    "{1,}",
    "{0}",
    "{",
    "}",
    ",",
    "1",
    "[abc]",
    "[^abc]",
    "[a-c]",
    "[]a]",
    "[^]a]",
    "[a-]",
    "[-a]",
    "[[:alpha:]]",
    "[^[:digit:]b]",
    "[[:space:],]",
    "[",
    "]",
    "-",
    "[--b]",
    "[a-c-e]",
    "[*-,]",
    "[[.a.]b]",
    "[[=c=]-]",
    "[b-a]",
    r"\.",
    r"\*",
    r"\(",
    r"\w",
    r"\W",
    r"\s",
    r"\<",
    r"\>",
    r"\b",
    r"\B",
    "(ab|c)",
];

const TEXTS: [&str; 14] = ["", "a", "b", "aa", "ab", "ba", "aab", "abcabc", "a-b", "]", "a,b c", "{2}", "(a)*", "xyz"];

fn expression(random: &mut Random) -> String {
    (0..1 + random.below(7)).map(|_| PIECES[random.below(PIECES.len() as u64) as usize]).collect()
}

/// Returns the answer of bash for each expression and each text: a match, no match, or a malformed expression.
#[allow(clippy::disallowed_methods, reason = "a test fails by panicking")]
fn of_the_library(expressions: &[String]) -> Vec<String> {
    let script = r#"while IFS= read -r regex; do
        line=
        for text in "$@"; do [[ $text =~ $regex ]]; line+=$?; done
        printf '%s\n' "$line"
    done"#;
    let mut command = Command::new("bash");
    command.args(["--norc", "-c", script, "bash"]).args(TEXTS).env("LC_ALL", "C");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let lines = expressions.join("\n") + "\n";
    let writer = std::thread::spawn(move || stdin.write_all(lines.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

fn of_ours(expression: &str) -> String {
    let compiled = compile(expression.as_bytes());
    let of_text = |text: &&str| match &compiled {
        Ok(regex) if regex.is_match(text.as_bytes()) => '0',
        Ok(_) => '1',
        Err(_) => '2',
    };
    TEXTS.iter().map(of_text).collect()
}

#[test]
fn matches_4000_random_expressions_like_gnu_library() {
    if !tools::need(&["bash"]) {
        return;
    }
    let mut random = Random::new(20_262_107);
    let is_plain = |byte: &char| byte.is_ascii_alphanumeric() && !"wWsSbB".contains(*byte);
    let escaped = ('A'..='z').chain(['0']).filter(is_plain);
    let escapes = escaped.flat_map(|byte| [format!(r"^(\{byte}|a)+$"), format!(r"\{byte}{{2}}")]);
    let expressions: Vec<String> = (0..4000).map(|_| expression(&mut random)).chain(escapes).collect();
    let expected = of_the_library(&expressions);
    assert_eq!(expected.len(), expressions.len());
    let accepted = expected.iter().filter(|found| !found.contains('2')).count();
    assert!(accepted > 1000, "{accepted} are well-formed");
    let others: Vec<String> = expressions
        .iter()
        .zip(&expected)
        .filter(|(expression, expected)| of_ours(expression) != **expected)
        .map(|(expression, expected)| format!("{expression}: {} instead of {expected}", of_ours(expression)))
        .collect();
    assert!(others.is_empty(), "{} differ:\n{}", others.len(), others.join("\n"));
}
