//! Tests of the table: it is consistent, and everything made from it knows every option.

use std::collections::BTreeSet;
use std::ffi::OsStr;

use super::harness::{Gone, host, io, run, run_on};
use crate::dispatch::{self, APPLETS};
use crate::table::command::{command_of, command_of_all};
use crate::table::options::Takes;
use crate::ui::size::{parse_number, parse_size};

#[test]
fn clap_finds_no_fault_with_it() {
    APPLETS.iter().for_each(|applet| command_of(applet).debug_assert());
    command_of_all(APPLETS).debug_assert();
}

#[test]
fn no_name_is_used_twice_and_every_option_is_described() {
    for applet in APPLETS {
        let mut names = BTreeSet::from(["help".to_string(), "version".to_string(), "h".to_string(), "V".to_string()]);
        for option in applet.all_options() {
            assert!(names.insert(option.long.to_string()), "{} --{}", applet.name, option.long);
            assert!(
                option.short.is_none_or(|short| names.insert(short.to_string())),
                "{} -{:?}",
                applet.name,
                option.short
            );
            assert!(option.also.iter().all(|also| names.insert(also.to_string())), "{} {:?}", applet.name, option.also);
            assert!(option.help.len() > 10 && !option.help.ends_with('.'), "{} --{}", applet.name, option.long);
            assert_eq!(option.value.is_empty(), option.takes == Takes::Nothing, "{} --{}", applet.name, option.long);
        }
    }
}

#[test]
fn defaults_are_within_their_ranges() {
    for option in APPLETS.iter().flat_map(|applet| applet.all_options()) {
        let Some(default) = option.default.map(OsStr::new) else { continue };
        let fits = match option.takes {
            Takes::Size { least, most } => parse_size(default).is_ok_and(|size| (least..=most).contains(&size)),
            Takes::Number { least, most } => parse_number(default).is_ok_and(|number| (least..=most).contains(&number)),
            Takes::Choice(words) => words.iter().any(|word| OsStr::new(word) == default),
            Takes::Text | Takes::Attached | Takes::Path => true,
            Takes::Nothing => false,
        };
        assert!(fits, "--{}: {default:?}", option.long);
    }
}

#[test]
fn help_and_manual_know_every_option() {
    for applet in APPLETS {
        let (help, page) = (run(&[applet.name, "--help"]), run(&["man", applet.name]));
        assert_eq!((help.status, page.status), (0, 0), "{help:?}");
        let page = page.out.replace("\\-", "-");
        for option in applet.all_options() {
            let long = format!("--{}", option.long);
            assert!(help.out.contains(&long) && page.contains(&long), "{} {long}", applet.name);
        }
        for operand in applet.operands {
            assert!(help.out.contains(operand.name) && page.contains(operand.name), "{}", operand.name);
        }
    }
    assert!(run(&["man"]).out.contains(".TH packline 1"));
}

#[test]
fn completions_know_every_option_and_command() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let all = run(&["completions", shell]);
        assert_eq!(all.status, 0, "{all:?}");
        for applet in APPLETS {
            assert!(all.out.contains(applet.name), "{shell} {}", applet.name);
            let one = run(&["completions", shell, applet.name]);
            let missing = applet.all_options().find(|option| !one.out.contains(option.long));
            assert!(missing.is_none(), "{shell} {} {missing:?}", applet.name);
        }
    }
    assert_eq!(run(&["completions", "tcsh"]).status, 2);
    assert_eq!(run(&["completions"]).status, 2);
    assert_eq!(run(&["completions", "bash", "nonesuch"]).status, 2);
}

#[test]
fn usage_errors_have_the_status_of_their_kind() {
    for applet in APPLETS {
        let wrong = run(&[applet.name, "--no-such-option"]);
        assert_eq!(wrong.status, applet.usage_status(), "{}", applet.name);
        assert!(wrong.err.starts_with("packline: ") && wrong.out.is_empty(), "{wrong:?}");
    }
    assert_eq!(run(&["pack"]).status, 2);
    assert_eq!(run(&["pack", "only-one"]).status, 2);
    assert_eq!(run(&["tar2sqfs"]).status, 1);
    assert_eq!(run(&[]).status, 2);
}

#[test]
fn an_unknown_command_is_answered_with_those_there_are() {
    let ran = run(&["nonesuch", "x"]);
    assert_eq!(ran.status, 2);
    assert!(ran.err.contains("unknown command 'nonesuch'") && ran.err.contains("pack, unpack, list"), "{}", ran.err);
}

#[test]
fn the_name_it_is_called_by_counts() {
    let call = |name: &str, arguments: &[&str]| {
        let kept = super::harness::Kept::default();
        let mut io = io(Vec::new(), Box::new(kept.clone()), Box::new(kept.clone()), host());
        let arguments: Vec<_> = std::iter::once(name).chain(arguments.iter().copied()).map(Into::into).collect();
        (dispatch::run(&arguments, &mut io), kept.text())
    };
    for applet in APPLETS.iter().filter(|applet| applet.manners.is_drop_in()) {
        let (status, text) = call(&format!("/usr/bin/{}", applet.name), &["--version"]);
        assert_eq!((status, text), (0, format!("{} {}\n", applet.name, env!("CARGO_PKG_VERSION"))));
    }
    assert_eq!(call("pack", &["--version"]).1, format!("packline {}\n", env!("CARGO_PKG_VERSION")));
    let (status, text) = call("tar2sqfs", &["-j", "x", "image"]);
    assert_eq!(status, 1);
    assert!(text.starts_with("tar2sqfs: "), "{text}");
}

#[test]
fn help_into_a_closed_pipe_is_quiet() {
    let kept = super::harness::Kept::default();
    let mut io = io(Vec::new(), Box::new(Gone), Box::new(kept.clone()), host());
    let status = dispatch::run(&["packline".into(), "--help".into()], &mut io);
    assert_eq!((status, kept.text()), (0, String::new()));
}

#[test]
fn codec_help_needs_nothing_else() {
    let ran = run(&["pack", "-c", "xz:help"]);
    assert_eq!(ran.status, 0);
    assert!(ran.out.contains("dictsize"), "{}", ran.out);
    assert_eq!(run(&["pack", "-c", "nope:help"]).status, 2);
    let ran = run_on(&["tar2sqfs", "-c", "gzip", "-X", "help"], b"", host());
    assert!(ran.status == 0 && ran.out.contains("window"), "{ran:?}");
}
