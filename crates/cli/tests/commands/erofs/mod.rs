//! EROFS images: each command reads the tree that `mkfs.erofs` packed, pack writes images, and what reads only SquashFS says so.

mod conversion;
mod devices;
mod drop_ins;
mod extended;
mod incremental;
mod matrix;
mod on_devices;
mod reading;
mod rebuilds;
mod refusals;
mod times;
mod tree;
mod writing;

use packline_testkit::Sandbox;

use crate::sandbox;

/// Images of [`tree::nodes`] by mkfs.erofs 1.9.3, with `--tar=f -L sample -U 00000000-1111-2222-3333-444444444444` and
/// SOURCE_DATE_EPOCH=1700000000.
const SAMPLES: [(&str, &[u8]); 2] = [
    // -zzstd,9 -C65536 -Efragments,dedupe
    ("zstd.erofs", include_bytes!("zstd.erofs")),
    // -zlzma,6 -C65536 -E48bit,all-fragments
    ("wide.erofs", include_bytes!("wide.erofs")),
];

/// A sandbox with the samples, and with `tree.sqfs`, which has the same tree.
fn with_samples() -> Sandbox {
    let sandbox = sandbox();
    for (name, bytes) in SAMPLES {
        sandbox.write(name, bytes);
    }
    sandbox.write_tar("tree.tar", &tree::nodes());
    sandbox.good(&["pack", "tree.tar", "tree.sqfs", "-q"]);
    sandbox
}
