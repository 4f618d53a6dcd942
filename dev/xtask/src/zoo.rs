//! Writes the hostile images as files, to try them with any program.

use packline_testkit::hostile;
use std::path::Path;

pub fn run(directory: &Path) -> Result<(), String> {
    hostile::write_all(directory).map_err(|cause| format!("{}: {cause}", directory.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_directory_is_filled() {
        let scratch = tempfile::tempdir().unwrap();
        let directory = scratch.path().join("zoo");
        run(&directory).unwrap();
        let images = std::fs::read_dir(&directory).unwrap().count() - 1;
        assert_eq!(images, hostile::all().len());
    }
}
