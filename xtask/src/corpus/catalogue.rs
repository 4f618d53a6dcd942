//! The corpora there are: what each is called, made from and good for.

use super::manifest::{Manifest, Part};
use super::site::Site;
use super::{debian, registries, synthetic};

/// How a corpus is made: everything goes into the site's scratch directory; what it was made from comes back.
pub type Recipe = fn(&Site) -> Result<Vec<Part>, String>;

/// One data set.
pub struct Corpus {
    pub name: &'static str,
    /// The file that it is, without directories.
    pub file: &'static str,
    /// Whether there is a directory of the same content beside the file, called as the corpus.
    pub tree: bool,
    /// The programs that make it: `PROGRAM`, or `PROGRAM:PACKAGE` if the package is called otherwise.
    pub tools: &'static [&'static str],
    pub source: &'static str,
    pub purpose: &'static str,
    /// Whether it moves on with the suite of a distribution. If so another content is told and kept, else it is an error.
    pub moves: bool,
    pub recipe: Recipe,
    /// The text of the manifest that is committed.
    pub pins: &'static str,
}

impl Corpus {
    /// The name of the tar made for it.
    pub fn tar(&self) -> String {
        format!("{}.tar", self.name)
    }

    /// The name of the manifest made beside it.
    pub fn manifest(&self) -> String {
        format!("{}.manifest", self.name)
    }

    /// The manifest that is committed.
    pub fn pinned(&self) -> Result<Manifest, String> {
        Manifest::parse(self.pins).map_err(|cause| format!("bench/corpora/{}.txt: {cause}", self.name))
    }
}

/// The corpus of that name.
pub fn find(name: &str) -> Result<&'static Corpus, String> {
    let names = || CORPORA.map(|corpus| corpus.name).join(", ");
    CORPORA
        .iter()
        .find(|corpus| corpus.name == name)
        .ok_or_else(|| format!("{name} is no corpus (expected list or one of {})", names()))
}

macro_rules! pins {
    ($name:literal) => {
        include_str!(concat!("../../../bench/corpora/", $name, ".txt"))
    };
}

const UNPACKED: &[&str] = &["tar", "dpkg-deb:dpkg", "apt-get:apt", "sha256sum:coreutils"];

/// All of them.
pub const CORPORA: [Corpus; 10] = [
    Corpus {
        name: "debian-root",
        file: "debian-root.tar",
        tree: true,
        tools: &["mmdebstrap", "tar"],
        source: "Debian bookworm, by mmdebstrap; needs root",
        purpose: "what is packed most: programs, libraries, byte code, scripts, documents, fonts",
        moves: true,
        recipe: debian::root_file_system,
        pins: pins!("debian-root"),
    },
    Corpus {
        name: "versions-text",
        file: "versions-text.tar",
        tree: true,
        tools: &["npm", "tar", "sha512sum:coreutils"],
        source: "npm: 12 versions of typescript",
        purpose: "many versions of large texts: duplicates across files, near and far",
        moves: false,
        recipe: registries::versions_text,
        pins: pins!("versions-text"),
    },
    Corpus {
        name: "versions-binary",
        file: "versions-binary.tar",
        tree: true,
        tools: &["python3", "tar", "sha256sum:coreutils"],
        source: "PyPI: 10 versions of ruff for x86-64",
        purpose: "many versions of one large program: similar, seldom equal",
        moves: false,
        recipe: registries::versions_binary,
        pins: pins!("versions-binary"),
    },
    Corpus {
        name: "vm",
        file: "vm.img",
        tree: false,
        tools: &["mke2fs:e2fsprogs", "dumpe2fs:e2fsprogs", "debugfs:e2fsprogs", "mmdebstrap", "tar"],
        source: "the corpus debian-root as an ext4 image; needs root",
        purpose: "one large file of aligned files, much of it holes",
        moves: true,
        recipe: debian::disk_image,
        pins: pins!("vm"),
    },
    Corpus {
        name: "media",
        file: "media.tar",
        tree: true,
        tools: UNPACKED,
        source: "Debian: hydrogen-drumkits, fluid-soundfont-gm, supertux-data",
        purpose: "what does not compress (FLAC, Ogg, PNG) and sound that does (WAV, SF2)",
        moves: true,
        recipe: debian::media,
        pins: pins!("media"),
    },
    Corpus {
        name: "many-small",
        file: "many-small.tar",
        tree: true,
        tools: &["tar", "dpkg-deb:dpkg", "apt-get:apt", "sha256sum:coreutils", "xz:xz-utils"],
        source: "Debian: linux-source-6.1, unpacked",
        purpose: "80,000 files of source: names, tail ends, directories",
        moves: true,
        recipe: debian::many_small,
        pins: pins!("many-small"),
    },
    Corpus {
        name: "zeros",
        file: "zeros.tar",
        tree: false,
        tools: &[],
        source: "generated",
        purpose: "8 files of 128 MiB of zeros, stored as such: the speed of seeing that there is nothing",
        moves: false,
        recipe: synthetic::zeros,
        pins: pins!("zeros"),
    },
    Corpus {
        name: "random",
        file: "random.tar",
        tree: false,
        tools: &[],
        source: "generated",
        purpose: "4 files of 64 MiB of noise: the speed of giving up",
        moves: false,
        recipe: synthetic::random,
        pins: pins!("random"),
    },
    Corpus {
        name: "shifted",
        file: "shifted.tar",
        tree: false,
        tools: &[],
        source: "generated",
        purpose: "32 files of 8 MiB, each the first with one byte more ahead: duplicates that no block shows",
        moves: false,
        recipe: synthetic::shifted,
        pins: pins!("shifted"),
    },
    Corpus {
        name: "tiny",
        file: "tiny.tar",
        tree: false,
        tools: &[],
        source: "generated",
        purpose: "100,000 files of 100 bytes: the cost of a file",
        moves: false,
        recipe: synthetic::tiny,
        pins: pins!("tiny"),
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_manifest_is_whole_and_about_its_corpus() {
        for corpus in &CORPORA {
            let pinned = corpus.pinned().unwrap();
            let files: Vec<&str> = pinned.sums.iter().map(|sum| sum.name.as_str()).collect();
            assert_eq!(files, [corpus.file], "{}", corpus.name);
            assert_eq!(pinned.parts.is_empty(), corpus.source == "generated", "{}", corpus.name);
            assert!(std::ptr::eq(find(corpus.name).unwrap(), find(corpus.name).unwrap()));
        }
    }

    #[test]
    fn packages_of_registries_have_digests() {
        for name in ["versions-text", "versions-binary", "media", "many-small"] {
            let pinned = find(name).unwrap().pinned().unwrap();
            let long = pinned.parts.iter().all(|part| {
                let length = part.digest.split_once(':').map(|(algorithm, hex)| (algorithm, hex.len()));
                matches!(length, Some(("sha256", 64) | ("sha512", 128)))
            });
            assert!(long, "{name}");
        }
        let cause = find("nothing").err().unwrap();
        assert!(cause.contains("debian-root, versions-text"), "{cause}");
    }
}
