//! Tests of lrzip and lrztar in process: options that exclude each other, and output.

use super::harness::{assert_misuse, run, sandbox};

#[test]
fn rejects_contradicting_options() {
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
    assert_misuse(&cases);
}

#[test]
fn several_files_go_to_standard_output_one_after_the_other() {
    let sandbox = sandbox();
    for name in ["one", "two"] {
        sandbox.write(name, format!("{name} "));
        assert_eq!(run(&["lrzip", "-nq", &sandbox.arg(name)]).status, 0);
    }
    assert_eq!(run(&["lrzcat", &sandbox.arg("one.lrz"), &sandbox.arg("two.lrz")]).out, "one two ");
}

#[test]
fn accepts_flag_clusters_like_getopt() {
    assert!(run(&["lrzip", "-?"]).out.contains("--no-compress"));
    let ran = run(&["lrzip", "-divvqfp4", "missing"]);
    assert!(ran.status == 1 && ran.err.contains("missing: cannot open"), "{ran:?}");
    // The password needs a `=`: this one is a number of threads.
    let ran = run(&["lrzip", "-ep0", "missing"]);
    assert!(ran.status == 2 && ran.err.contains("--threads"), "{ran:?}");
}
