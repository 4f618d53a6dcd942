//! `packline pack --manifest` with definitions as mksquashfs has them. Faults in the definitions are found before anything is packed.

use crate::sandbox;

/// The source does not exist: an error of the manifest shows that it was checked before the source was opened.
#[test]
fn rejects_unpackable_definitions_first() {
    let sandbox = sandbox();
    for (line, expected) in [
        (
            "x f 644 0 0 echo hi",
            "m: line 2: the content is the output of a command, but commands may not be run; --run-commands permits it",
        ),
        (
            "x F 5 644 0 0 echo hi",
            "m: line 2: the content is the output of a command, but commands may not be run; --run-commands permits it",
        ),
        ("x l nothing-here", "m: line 2: 'nothing-here': No such file or directory"),
        ("x h nothing-here", "m: line 2: 'nothing-here': No such file or directory"),
    ] {
        sandbox.write("m", format!("# comment\n{line}\n"));
        let message = sandbox.refused(&["pack", "no-source", "i.sqfs", "--manifest", "m"]);
        assert!(message.contains(expected), "{line}: {message}");
    }
    sandbox.create_dir("source");
    sandbox.write("m", "x f 644 0 0 echo hi\n");
    sandbox.good(&["pack", "-q", "source", "i.sqfs", "--manifest", "m", "--run-commands"]);
    assert_eq!(sandbox.good(&["cat", "i.sqfs", "x"]).text(), "hi\n");
}
