//! The list of corpora: names, sources, purposes and recipes.

use super::manifest::{Manifest, Part};
use super::staging::Staging;
use super::{debian, registries, synthetic};

/// Makes a corpus in the staging directory. Returns the packages it was made from.
pub type Recipe = fn(&Staging) -> Result<Vec<Part>, String>;

pub struct Corpus {
    pub name: &'static str,
    pub file: &'static str,
    /// Whether a directory of the same content and the corpus's name is made too.
    pub tree: bool,
    /// The programs that its recipe runs: `PROGRAM`, or `PROGRAM:PACKAGE` if the package has another name.
    pub tools: &'static [&'static str],
    pub source: &'static str,
    pub purpose: &'static str,
    /// Whether the content changes with the suite of a distribution. If so, a difference from the pinned content is only reported.
    pub follows_suite: bool,
    pub recipe: Recipe,
    /// The text of the committed manifest.
    pub pins: &'static str,
}

impl Corpus {
    pub fn tar(&self) -> String {
        format!("{}.tar", self.name)
    }

    pub fn manifest(&self) -> String {
        format!("{}.manifest", self.name)
    }

    pub fn pinned(&self) -> Result<Manifest, String> {
        Manifest::parse(self.pins).map_err(|cause| format!("bench/corpora/{}.txt: {cause}", self.name))
    }
}

pub fn find(name: &str) -> Result<&'static Corpus, String> {
    let names = || CORPORA.map(|corpus| corpus.name).join(", ");
    CORPORA
        .iter()
        .find(|corpus| corpus.name == name)
        .ok_or_else(|| format!("unknown corpus '{name}' (expected list or one of {})", names()))
}

macro_rules! pins {
    ($name:literal) => {
        include_str!(concat!("../../../../bench/corpora/", $name, ".txt"))
    };
}

const UNPACKED: &[&str] = &["tar", "dpkg-deb:dpkg", "apt-get:apt", "sha256sum:coreutils"];

pub const CORPORA: [Corpus; 10] = [
    Corpus {
        name: "debian-root",
        file: "debian-root.tar",
        tree: true,
        tools: &["mmdebstrap", "tar"],
        source: "Debian bookworm, by mmdebstrap; needs root",
        purpose: "a typical root file system: programs, libraries, byte code, scripts, documents, fonts",
        follows_suite: true,
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
        follows_suite: false,
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
        follows_suite: false,
        recipe: registries::versions_binary,
        pins: pins!("versions-binary"),
    },
    Corpus {
        name: "vm",
        file: "vm.img",
        tree: false,
        tools: &["mke2fs:e2fsprogs", "dumpe2fs:e2fsprogs", "debugfs:e2fsprogs", "mmdebstrap", "tar"],
        source: "the corpus debian-root as an ext4 image; needs root",
        purpose: "one large file that holds aligned files and many holes",
        follows_suite: true,
        recipe: debian::disk_image,
        pins: pins!("vm"),
    },
    Corpus {
        name: "media",
        file: "media.tar",
        tree: true,
        tools: UNPACKED,
        source: "Debian: hydrogen-drumkits, fluid-soundfont-gm, supertux-data",
        purpose: "incompressible media (FLAC, Ogg, PNG) and compressible sound (WAV, SF2)",
        follows_suite: true,
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
        follows_suite: true,
        recipe: debian::many_small,
        pins: pins!("many-small"),
    },
    Corpus {
        name: "zeros",
        file: "zeros.tar",
        tree: false,
        tools: &[],
        source: "generated",
        purpose: "8 files of 128 MiB of zeros that are not sparse: the speed of finding zeros",
        follows_suite: false,
        recipe: synthetic::zeros,
        pins: pins!("zeros"),
    },
    Corpus {
        name: "random",
        file: "random.tar",
        tree: false,
        tools: &[],
        source: "generated",
        purpose: "4 files of 64 MiB of noise: the speed on incompressible data",
        follows_suite: false,
        recipe: synthetic::random,
        pins: pins!("random"),
    },
    Corpus {
        name: "shifted",
        file: "shifted.tar",
        tree: false,
        tools: &[],
        source: "generated",
        purpose: "32 files of 8 MiB, each the first shifted by one byte more: duplicates without equal blocks",
        follows_suite: false,
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
        follows_suite: false,
        recipe: synthetic::tiny,
        pins: pins!("tiny"),
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_manifest_describes_its_corpus() {
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
