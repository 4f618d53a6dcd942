//! mmdebstrap pipes the tar of a system into tar2sqfs. The system has one package, from a local repository, and a tree.

use super::Client;
use super::run::{Run, Times};

pub const CLIENT: Client = Client {
    name: "mmdebstrap",
    needs: &[("mmdebstrap", "mmdebstrap"), ("tar2sqfs", "squashfs-tools-ng")],
    short: false,
    does: "made an image of a package and a tree",
    exercise,
};

const CONTROL: &str = "\
Package: hello-test
Version: 1
Architecture: all
Maintainer: nobody <nobody@localhost>
Description: a package of one file
";

fn exercise(run: &mut Run) -> Result<(), String> {
    run.write("package/DEBIAN/control", CONTROL)?;
    run.write("package/etc/hello", "hello\n")?;
    run.succeeds("mkdir repository; dpkg-deb --build package repository/hello.deb")?;
    let facts = "stat -c 'Size: %s' hello.deb; sha256sum <hello.deb | sed 's/^/SHA256: /; s/ *-$//'";
    run.succeeds(&format!(
        "cd repository; {{ cat ../package/DEBIAN/control; echo Filename: hello.deb; {facts}; }} >Packages"
    ))?;
    run.plant("tree")?;
    let hook = "--setup-hook='cp -a tree \"$1\"'";
    let repository = "\"deb [trusted=yes] copy:$PWD/repository ./\"";
    let select = "--mode=root --variant=extract --include=hello-test";
    run.succeeds(&format!("mmdebstrap {select} {hook} '' system.sqfs {repository}"))?;
    run.image_at("system.sqfs", 0, Times::Ignored)
}
