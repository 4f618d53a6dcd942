//! Packs directories, tars and streams into compressed images: the library behind the `packline` command.
