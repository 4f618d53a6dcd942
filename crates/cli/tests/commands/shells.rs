//! Completions in their shells, and manual pages in the programs that show them.

use packline_testkit::{Sandbox, tools};

use crate::sandbox;

/// Command lines with the words that a shell must offer at their ends, and words that it must not.
const LINES: [(&str, &str, &str); 7] = [
    ("packline pa", "pack", "unpack"),
    ("packline pack ", "rootfs", "--mem"),
    ("packline pack rootfs --j", "--jobs", "--mem"),
    ("packline pack -c ", "gzip lz4 lzma lzo none xz zstd", "rootfs"),
    ("packline unpack root.sqfs d --dedupe ", "copy hardlink reflink", "rootfs"),
    ("packline list ", "root.sqfs", "--mem"),
    ("packline man comple", "completions", "pack"),
];

/// A directory with two files to complete, and a script that completes the line given to it.
fn with_script(shell: &str, script: &str) -> Sandbox {
    let sandbox = sandbox();
    sandbox.write("rootfs/file", b"");
    sandbox.write("root.sqfs", b"");
    let completions = sandbox.good(&["completions", shell]).text();
    sandbox.write("functions/_packline", completions.as_bytes());
    sandbox.write("script", script.as_bytes());
    sandbox
}

fn check(shell: &str, arguments: &[&str], script: &str) {
    if !tools::need(&["timeout", shell]) {
        return;
    }
    let sandbox = with_script(shell, script);
    for (line, wanted, unwanted) in LINES {
        let run = [&["60", shell], arguments, &["script", line, wanted]].concat();
        let offered = sandbox.peer("timeout", &run).text();
        let offered: Vec<&str> = offered.split_whitespace().map(|word| word.trim_end_matches('/')).collect();
        assert!(wanted.split(' ').all(|word| offered.contains(&word)), "{shell}: {line}: {offered:?}");
        assert!(!offered.contains(&unwanted), "{shell}: {line}: {offered:?}");
    }
}

/// The function is called as bash does, with files where it offers nothing, which `complete -o default` means.
#[test]
fn bash_completes() {
    let script = r#"
        . functions/_packline
        complete -p packline | grep -q -e '-o default' || exit 1
        read -ra COMP_WORDS <<< "$1"
        [[ $1 == *' ' ]] && COMP_WORDS+=('')
        COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) word=${COMP_WORDS[-1]}
        _packline packline "$word" "${COMP_WORDS[-2]}"
        if [ ${#COMPREPLY[@]} = 0 ]; then compgen -f -- "$word"; else printf '%s\n' "${COMPREPLY[@]}"; fi"#;
    check("bash", &[], script);
}

#[test]
fn fish_completes() {
    check("fish", &[], "source functions/_packline\ncomplete -C\"$argv[1]\" | string replace -r '\\t.*' ''; or true");
}

/// zsh completes only where it is typed to: on a terminal of its own. The words that must be offered are waited for.
#[test]
fn zsh_completes() {
    let script = r#"
        zmodload zsh/zpty
        zpty shell "TERM=dumb zsh -f -i"
        zpty -w shell "fpath=($PWD/functions \$fpath) PROMPT= LISTMAX=9999; autoload -U compinit; compinit -u -D"
        zpty -w shell "zstyle ':completion:*' verbose no; bindkey '^I' complete-word; print rea''dy"
        zpty -r shell seen '*ready*'
        zpty -w -n shell "$1"$'\t'
        zpty -r shell seen "*${2// /*}*"
        print -r -- ${seen//$'\x1b'\[[^a-zA-Z]#[a-zA-Z]/ }"#;
    check("zsh", &["-f", "-o", "extendedglob"], script);
}

#[test]
fn manual_pages_are_shown_without_a_warning() {
    if !tools::need(&["man", "mandoc"]) {
        return;
    }
    let sandbox = sandbox();
    sandbox.good(&["man", "--all", "."]).text();
    let pages = sandbox.names();
    assert!(pages.len() > 20, "{pages:?}");
    for page in &pages {
        sandbox.peer("mandoc", &["-T", "lint", "-W", "warning", page]).text();
        let shown = sandbox.peer("man", &["-l", page]).text();
        let sections = ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS", "SEE ALSO"];
        assert!(sections.iter().all(|section| shown.lines().any(|line| line == *section)), "{page}: {shown}");
    }
}
