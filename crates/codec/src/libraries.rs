//! The versions that determine the bytes of an encoder: its revision, and the libraries that compress.

use crate::Spec;

/// The libraries whose versions are pinned in Cargo.toml because their bytes reach an output, with their versions.
pub const LIBRARIES: [(&str, &str); 6] = [
    ("libdeflate", "1.26"),
    ("zlib", "1.3.2"),
    ("liblzma", "5.8.4"),
    ("zstd", "1.5.7"),
    ("lz4", "1.10.0"),
    ("libbz2-rs", "0.2.6"),
];

impl Spec {
    /// The revision number of the encoder, raised whenever the encoder writes other bytes for the same input and parameters. Stored blocks
    /// of another revision, or of other versions of [`Spec::libraries`], are not reused.
    pub fn encoder_revision(&self) -> u32 {
        match self {
            Spec::Xz(_) => 5,
            Spec::Lzma(_) => 4,
            Spec::Zstd(_) => 7,
            Spec::Gzip(params) if params.uses_optimal() => 3,
            Spec::Lz4(params) if params.is_own() => 2,
            _ => 1,
        }
    }

    /// The revision number of [`Spec::fitting_encoder`], raised whenever it cuts elsewhere, or otherwise writes other bytes while
    /// [`Spec::encoder_revision`] stays.
    pub fn fitting_revision(&self) -> u32 {
        match self {
            Spec::Zstd(_) => 2,
            Spec::Lzma(_) | Spec::Lz4(_) | Spec::Gzip(_) => 1,
            _ => 0,
        }
    }

    /// The [`LIBRARIES`] that the encoder uses.
    pub fn libraries(&self) -> impl Iterator<Item = (&'static str, &'static str)> + use<> {
        let used: &[&str] = match self {
            Spec::Gzip(_) => &["libdeflate", "zlib"],
            Spec::Xz(_) | Spec::Lzma(_) => &["liblzma"],
            Spec::Zstd(_) => &["zstd"],
            Spec::Lz4(_) => &["lz4"],
            Spec::Bzip2(_) => &["libbz2-rs"],
            Spec::None | Spec::Lzo(_) | Spec::Huff0 | Spec::Zle => &[],
        };
        LIBRARIES.into_iter().filter(move |(library, _)| used.contains(library))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CStr;
    use std::os::raw::c_char;

    fn version_of(name: &str) -> &'static str {
        LIBRARIES.iter().find(|(library, _)| *library == name).unwrap().1
    }

    #[allow(unsafe_code)]
    fn text(version: *const c_char) -> &'static str {
        // SAFETY: each library returns a static text that ends with a zero.
        unsafe { CStr::from_ptr(version) }.to_str().unwrap()
    }

    #[test]
    #[allow(unsafe_code)]
    fn versions_equal_those_of_linked_libraries() {
        // SAFETY: these functions have no parameters and only return a constant.
        let (zlib, lzma, zstd, lz4) = unsafe {
            (
                libz_sys::zlibVersion(),
                liblzma_sys::lzma_version_string(),
                zstd_sys::ZSTD_versionString(),
                lz4_sys::LZ4_versionNumber(),
            )
        };
        assert_eq!([zlib, lzma, zstd].map(text), ["zlib", "liblzma", "zstd"].map(version_of));
        let major = lz4 / 10_000;
        let minor = lz4 / 100 % 100;
        let patch = lz4 % 100;
        assert_eq!(format!("{major}.{minor}.{patch}"), version_of("lz4"));
    }

    /// Neither of these two libraries has a function that returns its version.
    #[test]
    fn versions_equal_those_of_the_lock_file() {
        let lock = include_str!("../../../Cargo.lock");
        let bzip2 = format!("name = \"libbz2-rs-sys\"\nversion = \"{}\"", version_of("libbz2-rs"));
        let deflate = format!("name = \"libdeflate-sys\"\nversion = \"{}.", version_of("libdeflate"));
        assert!(lock.contains(&bzip2) && lock.contains(&deflate));
    }
}
