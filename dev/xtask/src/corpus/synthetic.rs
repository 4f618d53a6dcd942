//! Generated corpora: the same bytes on every machine.

use super::manifest::Part;
use super::staging::{Staging, with_path};
use packline_testkit::generate;
use std::io::{self, Write};

type Generator = fn(&mut dyn Write) -> io::Result<()>;

pub fn zeros(staging: &Staging) -> Result<Vec<Part>, String> {
    tar(staging, |sink| generate::zero_files(sink, 8, 128 << 20))
}

pub fn random(staging: &Staging) -> Result<Vec<Part>, String> {
    tar(staging, |sink| generate::noise_files(sink, 4, 64 << 20))
}

pub fn shifted(staging: &Staging) -> Result<Vec<Part>, String> {
    tar(staging, |sink| generate::shifted_files(sink, 32, 8 << 20))
}

pub fn tiny(staging: &Staging) -> Result<Vec<Part>, String> {
    tar(staging, |sink| generate::tiny_files(sink, 100_000, 100))
}

fn tar(staging: &Staging, generator: Generator) -> Result<Vec<Part>, String> {
    let path = staging.scratch(&staging.corpus.tar());
    generate::write_tar(&path, generator).map_err(|cause| with_path(&path, &cause))?;
    Ok(Vec::new())
}
