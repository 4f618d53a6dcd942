//! Compares patterns with a matcher that follows their definition literally.

use proptest::prelude::*;

use super::*;

fn matches(pattern: &str, path: &str) -> bool {
    Pattern::new(pattern.as_bytes()).unwrap().matches(path.as_bytes(), true)
}

/// A pattern, matching paths, and other paths.
const KNOWN: &[(&str, &[&str], &[&str])] = &[
    ("bin", &["bin", "usr/bin", "a/b/bin"], &["", "bin2", "bin/x", "usr/bin/x", "sbin"]),
    ("/bin", &["bin"], &["usr/bin", "bin/x"]),
    ("./bin", &["bin"], &["usr/bin"]),
    ("//bin/./x", &["bin/x"], &["x", "usr/bin/x"]),
    ("*.gz", &["a.gz", ".gz", "a/b/c.gz"], &["a.gz/b", "agz"]),
    ("a/*", &["a/b", "a/.x"], &["a", "a/b/c", "x/a/b"]),
    ("a/*/c", &["a/b/c"], &["a/c", "a/b/b/c"]),
    ("a?c", &["abc", "x/abc"], &["a/c", "ac", "abbc"]),
    ("**", &["a", "a/b"], &[""]),
    ("a**c", &["abc", "x/ac"], &["a/c"]),
    ("**/x", &["x", "a/x", "a/b/x"], &["ax", "a/bx", "x/y"]),
    ("a/**", &["a/b", "a/b/c"], &["a", "ab", "x/a/b"]),
    ("a/**/b", &["a/b", "a/x/b", "a/x/y/b"], &["ab", "a/xb", "a/b/x"]),
    ("/**/b/**/c", &["b/c", "x/b/y/c"], &["c", "b", "bc"]),
    ("/a**c", &["ac", "a/c", "ab/bc"], &["x/ac"]),
    ("/a**/c", &["a/c", "ab/c", "ab/b/c"], &["ac", "abc", "x/a/c"]),
    ("a/***/b", &["a/b", "a/x/y/b"], &["ab"]),
    ("[a-c]x", &["ax", "y/cx"], &["dx", "x"]),
    ("[!a-c]x", &["dx"], &["ax", "x", "/x", "d/x"]),
    ("a[!x]b/c", &["ayb/c"], &["axb/c", "a/b/c"]),
    ("[[:digit:]_]*", &["5", "_x", "a/7z"], &["x5"]),
    ("[]a]", &["]", "a"], &["b"]),
    ("[.-0]a", &[".a", "0a"], &["/a", "x/a/a"]),
    ("*.{gz,xz}", &["a.gz", "b/a.xz"], &["a.bz", "a.{gz,xz}"]),
    ("{a,b{c,d}}e", &["ae", "bce", "bde"], &["be", "ade", "e"]),
    ("x{,y}", &["x", "xy", "a/x"], &["xyy"]),
    ("{a}", &["a"], &["{a}"]),
    ("{etc,usr/share}/x", &["etc/x", "usr/share/x"], &["x", "usr/x", "a/etc/x"]),
    ("{/proc,/sys}", &["proc", "sys"], &["a/proc", "a/sys"]),
    ("a{/x,y}", &["a/x", "ay"], &["x", "b/ay"]),
    ("{**/,b}c", &["c", "a/b/c", "bc"], &["abc"]),
    ("{[},],x}y", &["}y", ",y", "xy"], &["]y"]),
    ("a}b,c]", &["a}b,c]"], &["ab"]),
    ("\\*", &["*", "a/*"], &["a"]),
    ("\\{a,b\\}", &["{a,b}"], &["a"]),
    ("a\\/b", &["a/b"], &["x/a/b"]),
    ("\\/a", &["a"], &["x/a"]),
    ("/", &[""], &["a"]),
    (".", &[""], &["a", "."]),
    ("./", &[""], &["a"]),
    ("[\u{e0}-\u{ff}]*", &["\u{e9}"], &["e"]),
];

#[test]
fn answers_as_defined() {
    for (pattern, good, bad) in KNOWN {
        good.iter().for_each(|path| assert!(matches(pattern, path), "{pattern} {path}"));
        bad.iter().for_each(|path| assert!(!matches(pattern, path), "{pattern} {path}"));
    }
}

#[test]
fn a_trailing_slash_requires_a_directory() {
    for pattern in ["build/", "/build/", "b*//", "**/build/"] {
        let pattern = Pattern::new(pattern.as_bytes()).unwrap();
        assert!(pattern.directories_only() && pattern.matches(b"build", true) && !pattern.matches(b"build", false));
    }
    assert!(matches("build/", "x/build") && !matches("/build/", "x/build"));
    assert!(Pattern::new(b"/").unwrap().matches(b"", true));
}

#[test]
fn rejects_patterns_that_can_never_match() {
    let cases: &[(&[u8], &str)] = &[
        (b"", "is empty"),
        (b"a/[bc", "'[bc' is not closed (expected ']', or \\[ for"),
        (b"[]", "'[]' is not closed"),
        (b"x{a,{b}", "'{a,{b}' is not closed (expected '}', or \\{ for"),
        (b"{a[,}", "'[,}' is not closed"),
        (b"{a,b\\}", "'{a,b\\\\}' is not closed"),
        (b"a\\", "ends in '\\'"),
        (b"../a", "'..'"),
        (b"a/..", "'..'"),
        (b"[c-a]", "'[c-a]' matches no character"),
        (b"[a/b]", "'[a/b]' matches no character"),
        (b"[x[:nope:]]", "no class '[:nope:]'"),
    ];
    for (pattern, what) in cases {
        let fault = Pattern::new(pattern).unwrap_err().to_string();
        assert!(fault.contains(what), "{fault}");
    }
    assert_eq!(Pattern::new(&vec![b'a'; MAX_PATH + 1]), Err(PatternFault::Long(MAX_PATH + 1)));
}

#[test]
fn no_pattern_is_expensive() {
    let text = vec![b'a'; 4_000];
    for (pattern, matched) in [
        (b"a*".repeat(1_000), true),
        ([b"a*".repeat(1_000), b"b".to_vec()].concat(), false),
        ([b"{a,aa,*}".repeat(300), b"b".to_vec()].concat(), false),
        ([b"/".to_vec(), b"**/".repeat(1_000), b"a*".to_vec()].concat(), true),
        ([b"{".repeat(9_000), b"a*,b".to_vec(), b"}".repeat(9_000)].concat(), true),
    ] {
        assert_eq!(Pattern::new(&pattern).unwrap().matches(&text, false), matched);
    }
}

/// Whether a pattern matches a text after `before`, by the definition, by trying all possibilities.
fn naive(pattern: &[u8], before: Option<u8>, text: &[u8]) -> bool {
    let ways = |least: usize, across: bool| {
        let most = text.iter().take_while(|&&byte| across || byte != b'/').count();
        (least..=most).map(|taken| (if taken > 0 { Some(text[taken - 1]) } else { before }, &text[taken..]))
    };
    match pattern {
        [] => text.is_empty(),
        [CUT, rest @ ..] => naive(rest, before, text),
        [b'*', b'*', b'*', ..] => naive(&pattern[1..], before, text),
        [b'*', b'*', b'/', rest @ ..] => {
            let name_start = matches!(before, None | Some(b'/'));
            (name_start && naive(rest, before, text))
                || ways(1, true).any(|(last, after)| last == Some(b'/') && naive(rest, last, after))
        }
        [b'*', b'*', rest @ ..] => ways(0, true).any(|(last, after)| naive(rest, last, after)),
        [b'*', rest @ ..] => ways(0, false).any(|(last, after)| naive(rest, last, after)),
        [b'?', rest @ ..] => {
            text.split_first().is_some_and(|(&byte, after)| byte != b'/' && naive(rest, Some(byte), after))
        }
        [b'[', b'!', not, b']', rest @ ..] => text
            .split_first()
            .is_some_and(|(byte, after)| ![b'/', *not].contains(byte) && naive(rest, Some(*byte), after)),
        [wanted, rest @ ..] => {
            text.split_first().is_some_and(|(byte, after)| byte == wanted && naive(rest, Some(*byte), after))
        }
    }
}

/// A placeholder for a brace or comma, so that stars on its two sides do not form a `**`.
const CUT: u8 = 1;

/// The patterns without braces, one for each choice of alternatives.
fn expanded(pattern: &[u8]) -> Vec<Vec<u8>> {
    let Some(open) = pattern.iter().position(|&byte| byte == b'{') else { return vec![pattern.to_vec()] };
    let mut depth = 0;
    let mut cuts = vec![open];
    for (at, byte) in pattern.iter().enumerate().skip(open) {
        depth = depth + i32::from(*byte == b'{') - i32::from(*byte == b'}');
        if depth == 1 && *byte == b',' || depth == 0 {
            cuts.push(at);
        }
        if depth == 0 {
            break;
        }
    }
    let after = &pattern[cuts[cuts.len() - 1] + 1..];
    let one = |cut: &[usize]| expanded(&[&pattern[..open], &pattern[cut[0] + 1..cut[1]], after].join(&CUT));
    cuts.windows(2).flat_map(one).collect()
}

/// The definition: in each expansion, a pattern with a slash is compared with the path.
fn by_definition(pattern: &[u8], path: &[u8]) -> bool {
    let name = path.rsplit(|&byte| byte == b'/').next().unwrap();
    let text = if pattern.contains(&b'/') { path } else { name };
    expanded(pattern).iter().any(|one| naive(one, None, text))
}

/// Patterns with balanced braces and without doubled slashes, which are in normal form.
fn any_pattern() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        4 => "[ab]", 2 => Just("/".to_string()), 2 => Just("*".to_string()), 1 => Just("?".to_string()), 1 => Just("**".to_string()),
        1 => Just("[!a]".to_string()), 1 => Just("**/".to_string()),
    ];
    let part = leaf.prop_recursive(3, 12, 3, |inner| {
        let alternative = prop::collection::vec(inner, 0..3).prop_map(|parts| parts.concat());
        prop::collection::vec(alternative, 1..4).prop_map(|parts| format!("{{{}}}", parts.join(",")))
    });
    prop::collection::vec(part, 1..6).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, max_global_rejects: 40_000, ..ProptestConfig::default() })]

    #[test]
    fn equals_the_definition(pattern in any_pattern(), path in "[ab]{1,2}(/[ab]{1,2}){0,3}") {
        // The definition does not cover leading, trailing and doubled slashes.
        prop_assume!(!pattern.contains("//") && !pattern.ends_with('/'));
        let plain = |mut one: Vec<u8>| {
            one.retain(|&byte| byte != CUT);
            !one.starts_with(b"/") && one.windows(2).all(|two| two != b"//")
        };
        prop_assume!(expanded(pattern.as_bytes()).into_iter().all(plain));
        let found = Pattern::new(pattern.as_bytes()).unwrap().matches(path.as_bytes(), false);
        prop_assert_eq!(found, by_definition(pattern.as_bytes(), path.as_bytes()), "{} {}", pattern, path);
    }

    #[test]
    fn any_bytes_are_a_pattern_or_refused(pattern: Vec<u8>, path in "[ab*{},/]{0,9}") {
        if let Ok(pattern) = Pattern::new(&pattern) {
            pattern.matches(path.as_bytes(), false);
        }
    }

    #[test]
    fn escaped_text_matches_itself_only(name in "[a-c*?{},\\[\\]!\\\\-]{1,9}", other in "[a-c*?{},\\[\\]!\\\\-]{1,9}") {
        let escaped: Vec<u8> = name.bytes().flat_map(|byte| [b'\\', byte]).collect();
        let pattern = Pattern::new(&escaped).unwrap();
        prop_assert!(pattern.matches(name.as_bytes(), false));
        prop_assert_eq!(pattern.matches(other.as_bytes(), false), other == name);
    }
}
