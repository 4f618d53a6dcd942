//! Writes the seeds for libFuzzer: `seeds DIRECTORY` fills a directory for each target.

use std::fs;
use std::io;
use std::path::Path;

use packline_fuzz::seeds;

fn main() -> io::Result<()> {
    #[expect(clippy::disallowed_methods, reason = "a separate program, whose argument is the output directory")]
    let place = std::env::args_os().nth(1).unwrap_or_else(|| "corpus".into());
    for target in seeds::targets() {
        let directory = Path::new(&place).join(target);
        fs::create_dir_all(&directory)?;
        for seed in seeds::of(target)? {
            fs::write(directory.join(seed.name), seed.bytes)?;
        }
    }
    Ok(())
}
