//! Tests of `packline mount` that need no mount.

use super::harness::{Kept, Place, host, io, run};
use crate::args::Args;
use crate::commands::mount::APPLET;
use crate::dispatch::with_name;
use crate::table::command::command_of;

#[test]
fn no_option_is_parsed_and_ignored() {
    let place = Place::new();
    let arguments = ["--foreground".into(), place.text("image").into(), place.text("nowhere").into()];
    let matches = command_of(&APPLET).try_get_matches_from(with_name("mount", &arguments)).unwrap();
    let args = Args::new(&APPLET, matches);
    let mut io = io(Vec::new(), Box::new(Kept::default()), Box::new(Kept::default()), host());
    assert!((APPLET.run)(&args, &mut io).is_err());
    assert_eq!(args.unasked(), Vec::<&str>::new());
}

#[test]
fn words_of_mount_that_mean_nothing_here_are_refused() {
    let place = Place::new();
    let (image, on) = (place.text("image"), place.text("on"));
    for words in ["rw", "noro", "noallow_other", "suid,remount", "fsname=x"] {
        let ran = run(&["mount", "-f", "-o", words, &image, &on]);
        assert!(ran.status == 2 && ran.err.contains("--options: unknown option"), "{words}: {ran:?}");
    }
    let ran = run(&["mount", "-f", "-o", "ro,suid,,nodev,noexec,default_permissions", &image, &on]);
    assert!(ran.status == 1 && ran.err.contains("cannot open"), "{ran:?}");
    let ran = run(&["mount", "--announce", &image, &on]);
    assert!(ran.status == 2 && ran.err.contains("--foreground"), "{ran:?}");
}
