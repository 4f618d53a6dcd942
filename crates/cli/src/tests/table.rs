//! Tests the list of commands: it is consistent, and everything derived from it has every option.

use std::collections::BTreeSet;

use super::harness::{ClosedPipe, host, io, options_of, run, run_on, sample_tar, sandbox};
use crate::args::Compat;
use crate::args::parser::parser_of;
use crate::dispatch;
use crate::dispatch::table::{COMMANDS, parser_of_all};
use crate::host::Host;
use crate::ui::exit_status;

/// Defaults are within their ranges too: clap parses them.
#[test]
fn clap_accepts_parser() {
    COMMANDS.iter().for_each(|command| parser_of(command).debug_assert());
    parser_of_all().debug_assert();
}

#[test]
fn no_name_is_used_twice_and_every_option_is_described() {
    for command in COMMANDS {
        let mut names = BTreeSet::new();
        for option in parser_of(command).get_arguments().filter(|argument| !argument.is_positional()) {
            let long = option.get_long().unwrap_or_default();
            let shorts = option.get_short_and_visible_aliases().unwrap_or_default();
            let mut all = option.get_all_aliases().unwrap_or_default();
            all.extend(option.get_long());
            assert!(all.iter().all(|name| names.insert(name.to_string())), "{} --{long}", command.name);
            assert!(shorts.iter().all(|name| names.insert(name.to_string())), "{} --{long}", command.name);
            let help = option.get_help().map(ToString::to_string).unwrap_or_default();
            assert!(
                help.len() > 10 && !help.ends_with('.') && !help.contains("4294967295"),
                "{} --{long}",
                command.name
            );
        }
    }
}

/// An option without a group is not under the heading of a previous group.
#[test]
fn options_stand_below_their_own_headings() {
    let headings_of = |long: &str| match long {
        "help" | "version" | "log" => Some(&[None, Some("General")][..]),
        "help-advanced" | "notes" | "info" | "test" | "check" | "recursive" => Some(&[None][..]),
        "json" | "quiet" | "no-progress" => Some(&[None, Some("Output"), Some("Report")][..]),
        "stats" => Some(&[None, Some("Output")][..]),
        _ => None,
    };
    for command in COMMANDS.iter().filter(|command| command.compat != Compat::SquashfsTools) {
        for option in parser_of(command).get_arguments() {
            let long = option.get_long().unwrap_or_default();
            let allowed = headings_of(long).is_none_or(|headings| headings.contains(&option.get_help_heading()));
            assert!(allowed, "{} --{long}: {:?}", command.name, option.get_help_heading());
        }
    }
}

#[test]
fn help_and_manual_know_every_option() {
    for command in COMMANDS {
        let parser = parser_of(command);
        let name = command.name;
        let advanced = parser.get_arguments().any(|argument| argument.get_id() == "help-advanced");
        let help = if advanced { "--help-advanced" } else { "--help" };
        let help = run(&[name, help]);
        let page = run(&["man", name]);
        assert_eq!((help.status, page.status), (0, 0), "{help:?}");
        let page = page.out.replace("\\-", "-");
        let hyphens = if command.compat == Compat::SquashfsTools { "-" } else { "--" };
        let is_hidden = |argument: &&clap::Arg| argument.is_hide_long_help_set();
        let hidden: Vec<&str> =
            parser.get_arguments().filter(is_hidden).filter_map(|argument| argument.get_long()).collect();
        for long in options_of(name) {
            let typed = format!("{hyphens}{long}");
            assert!(page.contains(&typed), "{name} {typed}");
            assert!(help.out.contains(&typed) || hidden.contains(&long.as_str()), "{name} {typed}");
        }
        for operand in parser.get_positionals().map(|operand| operand.get_value_names().unwrap()[0].to_string()) {
            assert!(help.out.contains(&operand) && page.contains(&operand), "{name} {operand}");
        }
    }
    for (name, long) in [("mount", "--announce"), ("pack", "--recovery")] {
        assert!(!run(&[name, "--help"]).out.contains(long), "{name} {long}");
    }
    assert!(run(&["man"]).out.contains(".TH PACKLINE 1"));
}

/// The documents of the source tree are not on a machine that has only the program.
#[test]
fn help_names_no_document_that_is_not_installed() {
    for command in COMMANDS {
        for page in [run(&[command.name, "--help"]), run(&["man", command.name])] {
            assert!(!page.out.contains("docs/"), "{}", command.name);
        }
    }
}

/// The output of a command line on a terminal with 80 columns.
fn printed(words: &[&str]) -> String {
    run_on(words, b"", Host { columns: 80, ..host() }).out
}

fn own_commands() -> impl Iterator<Item = &'static crate::args::Entry> {
    COMMANDS.iter().filter(|command| !command.compat.is_drop_in())
}

#[test]
fn short_help_shows_at_most_ten_options_and_counts_all() {
    for command in own_commands() {
        let parser = parser_of(command);
        let known = |long: &&&str| parser.get_arguments().any(|argument| argument.get_long() == Some(**long));
        let unknown: Vec<_> = command.essential.iter().filter(|long| !known(long)).collect();
        assert!(unknown.is_empty(), "{} {unknown:?}", command.name);
        let help = printed(&[command.name, "-h"]);
        let (_, options) = help.split_once("\nOptions:\n").unwrap_or_default();
        let shown = options.lines().take_while(|line| !line.is_empty());
        let shown = shown.filter(|line| line.starts_with("  -") || line.starts_with("      --")).count();
        let is_shown = |argument: &&clap::Arg| !argument.is_positional() && !argument.is_hide_long_help_set();
        let all = parser.get_arguments().filter(is_shown).count();
        assert!(shown <= 10, "{} shows {shown}", command.name);
        assert!(help.contains(&format!("--help' shows all {all} options")), "{help}");
        assert!(help.lines().count() <= 70, "{help}");
    }
}

#[test]
fn help_shows_all_options_in_at_most_three_lines() {
    for command in own_commands() {
        let help = printed(&[command.name, "--help"]);
        let mut is_option = false;
        let mut lines = 0;
        for line in help.lines() {
            let is_one_word = line.starts_with("  packline ") || !line.trim_start().contains(' ');
            assert!(line.chars().count() <= 80 || is_one_word, "{line}");
            if line.starts_with("          ") {
                lines += 1;
            } else {
                is_option = line.trim_start().starts_with('-');
                // A long option has its description below it.
                lines = usize::from(line.trim_start().contains("  "));
            }
            assert!(!is_option || lines <= 3, "{}: {line}", command.name);
        }
        for heading in ["Options", "General", "Output", "Resources"] {
            let line = format!("{heading}:");
            assert!(help.lines().filter(|other| *other == line).count() <= 1, "{help}");
        }
    }
}

#[test]
fn help_begins_with_examples() {
    for command in own_commands().filter(|command| !command.examples.is_empty()) {
        for word in ["-h", "--help"] {
            let help = run(&[command.name, word]).out;
            let [examples, options] = ["\nExamples:\n", "\nGeneral:\n"].map(|part| help.find(part));
            assert!(examples.is_some() && (options.is_none() || examples < options), "{help}");
        }
    }
}

#[test]
fn help_of_program_shows_every_command_once_on_one_line() {
    let help = printed(&["--help"]);
    for command in own_commands() {
        let row = format!("\n  {:<13}", command.name);
        assert_eq!(help.matches(&row).count(), 1, "{} in {help}", command.name);
    }
    assert!(help.lines().all(|line| line.chars().count() <= 80), "{help}");
    assert!(help.contains("'packline help drop-ins'") && !help.contains("  unsquashfs "), "{help}");
    assert_eq!(printed(&["help"]), help);
    let alone = run_on(&[], b"", Host { columns: 80, ..host() });
    assert_eq!((alone.status, alone.err), (2, help));
}

#[test]
fn help_of_drop_ins_lists_each_and_says_how_to_link_them() {
    let help = run(&["help", "drop-ins"]).out;
    for command in COMMANDS.iter().filter(|command| command.compat.is_drop_in()) {
        assert!(help.contains(&format!("\n  {} ", command.name)), "{} in {help}", command.name);
    }
    assert!(help.contains("packline links DIR"), "{help}");
}

#[test]
fn completions_know_every_option_and_command() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let all = run(&["completions", shell]);
        assert_eq!(all.status, 0, "{all:?}");
        for name in COMMANDS.iter().map(|command| command.name) {
            assert!(all.out.contains(name), "{shell} {name}");
            let one = run(&["completions", shell, name]);
            let missing: Vec<String> = options_of(name).into_iter().filter(|long| !one.out.contains(long)).collect();
            assert!(missing.is_empty(), "{shell} {name} {missing:?}");
        }
    }
    assert_eq!(run(&["completions", "tcsh"]).status, 2);
    assert_eq!(run(&["completions"]).status, 2);
    assert_eq!(run(&["completions", "bash", "nonesuch"]).status, 2);
}

#[test]
fn help_and_manual_have_the_exit_statuses() {
    for command in COMMANDS {
        let help = run(&[command.name, "--help"]).out;
        let page = run(&["man", command.name]).out;
        let statuses = if command.compat.is_drop_in() {
            exit_status::text(command.compat)
        } else {
            exit_status::line(command.compat, command.name)
        };
        assert!(help.contains(&format!("\n{statuses}\n")), "{}", command.name);
        assert!(page.contains(".SH \"EXIT STATUS\"") && !page.contains("Exit status:"), "{}", command.name);
    }
}

#[test]
fn exit_statuses_are_those_of_the_table() {
    let sandbox = sandbox();
    let [image, other, tar, no_image] = ["x.sqfs", "y.sqfs", "x.tar", "none.sqfs"].map(|name| sandbox.arg(name));
    sandbox.write("x.tar", sample_tar());
    assert_eq!(run(&["pack", "-q", &tar, &image]).status, 0);
    assert_eq!(run(&["pack", "-q", "--mtime", "1", &tar, &other]).status, 0);
    for (words, status) in [
        (&["pack", &tar, &image][..], 1),
        (&["pack", "--nonesuch", &tar, &image], 2),
        (&["list", &image, "nothing"], 1),
        (&["verify", &image], 0),
        (&["verify", &tar], 0),
        (&["verify", &no_image], 1),
        (&["diff", &image, &image], 0),
        (&["diff", &image, &other], 1),
        (&["diff", &image, &tar], 0),
        (&["diff", &image, &no_image], 2),
        (&["unpack", "--continue", &image, &sandbox.arg("out"), "a", "nothing"], 3),
    ] {
        let ran = run(words);
        assert_eq!(ran.status, status, "{words:?}: {ran:?}");
    }
}

#[test]
fn last_value_of_option_wins() {
    let sandbox = sandbox();
    let [image, tar] = ["x.sqfs", "x.tar"].map(|name| sandbox.arg(name));
    sandbox.write(&tar, sample_tar());
    assert_eq!(run(&["pack", "-q", "-q", "-b", "4K", "-b", "8K", "-c", "gzip", "-c", "lz4", &tar, &image]).status, 0);
    let info = run(&["info", &image]).out;
    assert!(info.contains("8.0 KiB") && info.contains("lz4"), "{info}");
}

#[test]
fn usage_errors_have_the_status_of_their_kind() {
    for command in COMMANDS {
        let wrong = run(&[command.name, "--no-such-option"]);
        assert_eq!(wrong.status, command.compat.usage_status(), "{}", command.name);
        assert!(wrong.err.starts_with("packline: ") && wrong.out.is_empty(), "{wrong:?}");
    }
    assert_eq!(run(&["pack"]).status, 2);
    assert_eq!(run(&["pack", "only-one"]).status, 2);
    assert_eq!(run(&["tar2sqfs"]).status, 1);
    assert_eq!(run(&[]).status, 2);
}

#[test]
fn unknown_command_suggests_at_most_three_and_names_the_help() {
    let ran = run(&["nonesuch", "x"]);
    assert_eq!(ran.status, 2);
    assert_eq!(ran.err, "packline: unknown command 'nonesuch' ('packline help' lists the commands)\n");
    let near = run(&["lrz"]);
    assert!(near.err.contains("did you mean 'lrzip' or 'lrzcat' or 'lrztar'? 'packline help'"), "{near:?}");
    let encrypt = run(&["encrypt", "x"]);
    assert!(encrypt.status == 2 && encrypt.err.contains("packline compress --recipient"), "{encrypt:?}");
}

#[test]
fn suggests_nearest_command_and_accepts_aliases() {
    for (typed, near) in [("packk", "pack"), ("verfy", "verify"), ("lst", "list"), ("extrakt", "extract")] {
        let ran = run(&[typed]);
        assert!(ran.status == 2 && ran.err.contains(&format!("did you mean '{near}'")), "{ran:?}");
    }
    for (alias, name) in [("create", "pack"), ("ls", "list"), ("extract", "unpack")] {
        assert_eq!(run(&[alias, "--help"]).out, run(&[name, "--help"]).out);
    }
}

#[test]
fn suggests_only_similar_options() {
    let far = run(&["pack", "--only", "x", "y"]);
    assert!(
        far.status == 2
            && far.err.contains("'--only'")
            && !far.err.contains("similar")
            && !far.err.contains("--policy"),
        "{far:?}"
    );
    let near = run(&["pack", "--excude", "x", "y"]);
    assert!(near.status == 2 && near.err.contains("'--exclude'"), "{near:?}");
}

#[test]
fn names_the_option_of_pack_for_an_option_of_mksquashfs() {
    for (typed, hint) in [
        ("-noappend", "did you mean '--force'?"),
        ("--noappend", "did you mean '--force'?"),
        ("-processors", "did you mean '--jobs'?"),
        ("-Xcompression-level", "did you mean '--codec NAME:level=N'?"),
        ("-wildcards", "patterns of pack always have wildcards;"),
        ("-mkfs-time", "did you mean '--time'?"),
        ("-sort", "did you mean '--order'?"),
        ("-p", "did you mean '--manifest'?"),
    ] {
        let ran = run(&["pack", "x", "y", typed, "z"]);
        assert!(ran.status == 2 && ran.err.contains(&format!("unknown option '{typed}' ({hint}")), "{ran:?}");
    }
    let ran = run(&["compress", "-p", "4", "x"]);
    assert!(ran.err.contains("did you mean '--jobs'?"), "{ran:?}");
}

#[test]
fn runs_command_of_program_name() {
    let call = |name: &str, arguments: &[&str]| {
        let kept = super::harness::SharedBuffer::default();
        let mut io = io(Vec::new(), Box::new(kept.clone()), Box::new(kept.clone()), host());
        let arguments: Vec<_> = std::iter::once(name).chain(arguments.iter().copied()).map(Into::into).collect();
        (dispatch::run(&arguments, &mut io), kept.text())
    };
    for command in COMMANDS.iter().filter(|command| command.compat.is_drop_in()) {
        let name = command.name;
        let (status, text) = call(&format!("/usr/bin/{name}"), &["--version"]);
        let version = match command.compat {
            Compat::SquashfsTools => concat!("version 4.7.5 (packline ", env!("CARGO_PKG_VERSION"), ")"),
            Compat::ErofsUtils => concat!(
                "(erofs-utils) 1.9.3 (packline ",
                env!("CARGO_PKG_VERSION"),
                ")\navailable compressors: lz4, lz4hc, lzma, deflate, libdeflate, zstd"
            ),
            Compat::DumpErofs => concat!("(erofs-utils) 1.9.3 (packline ", env!("CARGO_PKG_VERSION"), ")"),
            Compat::Squashfuse => concat!("0.6.1 (packline ", env!("CARGO_PKG_VERSION"), ")"),
            _ => env!("CARGO_PKG_VERSION"),
        };
        assert_eq!((status, text), (0, format!("{name} {version}\n")));
    }
    assert_eq!(call("pack", &["--version"]).1, format!("packline {}\n", env!("CARGO_PKG_VERSION")));
    let (status, text) = call("tar2sqfs", &["-j", "x", "image"]);
    assert_eq!(status, 1);
    assert!(text.starts_with("tar2sqfs: "), "{text}");
}

#[test]
fn help_into_a_closed_pipe_is_quiet() {
    let kept = super::harness::SharedBuffer::default();
    let mut io = io(Vec::new(), Box::new(ClosedPipe), Box::new(kept.clone()), host());
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

#[test]
fn programs_of_squashfs_tools_print_parts_of_their_help() {
    let options = run(&["mksquashfs", "-cols", "100", "-help-option", "^-noI"]);
    assert_eq!(options.status, 0, "{options:?}");
    assert!(options.out.contains("  -noI ") && options.out.contains("  -noId ") && !options.out.contains("-noD"));
    let sections = run(&["unsquashfs", "-hs", "list"]);
    assert!(sections.status == 0 && sections.out.contains("filters\n") && sections.out.contains("resources\n"));
    let section = run(&["unsquashfs", "-hs", "filters"]);
    assert!(section.out.starts_with("Filters:\n") && !section.out.contains("Resources"), "{section:?}");
    for wrong in [&["sqfscat", "-ho", "nonesuch"], &["sqfscat", "-hs", "nonesuch"], &["sqfscat", "-ho", "("]] {
        let ran = run(wrong);
        assert!(ran.status == 1 && ran.err.contains(wrong[2]) && ran.out.is_empty(), "{ran:?}");
    }
    let gzip = run(&["mksquashfs", "-Xhelp"]);
    let xz = run(&["mksquashfs", "-comp", "xz", "-Xhelp"]);
    assert!(gzip.out.contains("gzip") && xz.out.contains("xz") && (gzip.status, xz.status) == (0, 0));
    for name in ["mksquashfs", "unsquashfs", "sqfscat"] {
        let default = run(&[name, "-mem-default"]);
        assert!(default.status == 0 && default.out.trim_end().parse::<u64>().is_ok(), "{default:?}");
    }
    // After -e all words are paths.
    assert_eq!(run(&["mksquashfs", "nonesuch", "image", "-e", "-Xhelp"]).out, "");
}
