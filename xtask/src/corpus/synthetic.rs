//! Corpora that are generated: the same bytes on every machine, without any network.

use super::manifest::Part;
use super::site::{Site, named};
use packline_testkit::generate;
use std::io::{self, Write};

type Generator = fn(&mut dyn Write) -> io::Result<()>;

/// `zeros`.
pub fn zeros(site: &Site) -> Result<Vec<Part>, String> {
    tar(site, |sink| generate::zero_files(sink, 8, 128 << 20))
}

/// `random`.
pub fn random(site: &Site) -> Result<Vec<Part>, String> {
    tar(site, |sink| generate::noise_files(sink, 4, 64 << 20))
}

/// `shifted`.
pub fn shifted(site: &Site) -> Result<Vec<Part>, String> {
    tar(site, |sink| generate::shifted_files(sink, 32, 8 << 20))
}

/// `tiny`.
pub fn tiny(site: &Site) -> Result<Vec<Part>, String> {
    tar(site, |sink| generate::tiny_files(sink, 100_000, 100))
}

fn tar(site: &Site, generator: Generator) -> Result<Vec<Part>, String> {
    let path = site.scratch(&site.corpus.tar());
    generate::write_tar(&path, generator).map_err(|cause| named(&path, &cause))?;
    Ok(Vec::new())
}
