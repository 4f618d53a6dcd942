//! Tests of lrzip and lrztar in process: every option is asked for, and what contradicts itself is refused.

use super::harness::{Kept, Place, host, io, run};
use crate::args::Args;
use crate::command::{command_of, with_name};
use crate::lrzip::{LRUNZIP, LRZCAT, LRZIP};
use crate::lrztar::{LRZTAR, LRZUNTAR};
use crate::options::Applet;

/// Options that nothing asked for.
fn unasked(applet: &'static Applet, words: &[String]) -> Vec<&'static str> {
    let arguments: Vec<_> = words.iter().map(Into::into).collect();
    let matches = command_of(applet).try_get_matches_from(with_name(applet.name, &arguments)).unwrap();
    let args = Args::new(applet, matches);
    let mut io = io(Vec::new(), Box::new(Kept::default()), Box::new(Kept::default()), host());
    let _outcome = (applet.run)(&args, &mut io);
    args.unasked()
}

#[test]
fn no_option_is_parsed_and_ignored() {
    let place = Place::new();
    let missing = place.text("missing");
    for applet in [&LRZIP, &LRUNZIP, &LRZCAT, &LRZTAR, &LRZUNTAR] {
        assert_eq!(unasked(applet, std::slice::from_ref(&missing)), Vec::<&str>::new(), "{}", applet.name);
    }
}

#[test]
fn what_contradicts_itself_is_refused() {
    let cases: [(&[&str], &str); 9] = [
        (&["lrzip", "-b", "-z", "x"], "--bzip2"),
        (&["lrzip", "-U", "-w", "3", "x"], "--unlimited"),
        (&["lrzip", "-o", "a", "-O", "b", "x"], "--outfile"),
        (&["lrzip", "-o", "a", "x", "y"], "--outfile"),
        (&["lrzip", "-t", "-i", "x"], "--test"),
        (&["lrzip", "--json", "x"], "--json"),
        (&["lrzip", "-S", "", "x"], "--suffix"),
        (&["lrzip", "-N", "20", "x"], "--nice-level"),
        (&["lrzuntar", "-o", "a", "x"], "--outfile"),
    ];
    for (words, option) in cases {
        let ran = run(words);
        assert!(ran.status == 2 && ran.err.contains(option), "{words:?}: {ran:?}");
    }
}

#[test]
fn several_files_go_to_standard_output_one_after_the_other() {
    let place = Place::new();
    for name in ["one", "two"] {
        std::fs::write(place.at(name), format!("{name} ")).unwrap();
        assert_eq!(run(&["lrzip", "-nq", &place.text(name)]).status, 0);
    }
    assert_eq!(run(&["lrzcat", &place.text("one.lrz"), &place.text("two.lrz")]).out, "one two ");
}

#[test]
fn flags_may_stand_together_as_getopt_takes_them() {
    assert!(run(&["lrzip", "-?"]).out.contains("--no-compress"));
    let ran = run(&["lrzip", "-divvqfp4", "missing"]);
    assert!(ran.status == 1 && ran.err.contains("missing: cannot open"), "{ran:?}");
    // The password is only behind a `=`: this one is a number of threads.
    let ran = run(&["lrzip", "-ep0", "missing"]);
    assert!(ran.status == 2 && ran.err.contains("--threads"), "{ran:?}");
}
