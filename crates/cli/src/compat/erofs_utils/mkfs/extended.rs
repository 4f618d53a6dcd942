//! The words of `-E`, and the bits of `--zfeature-bits`, which are the same features.

/// The features that the options request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Features {
    /// Clusters may have any number of bytes, which needs Linux 6.15.
    pub wide: bool,
    /// Small files and ends of files are packed together.
    pub fragments: bool,
    /// Equal content is stored once.
    pub deduplicate: bool,
    /// The same for ends of files.
    pub deduplicate_fragments: bool,
    /// All entries get the time of the image.
    pub ignore_times: bool,
    /// Ends of uncompressed files follow their inodes; with compression, files of less than a block do.
    pub inline: bool,
    /// Compressed ends of files follow their inodes.
    pub inline_clusters: bool,
    /// Prefixes of attribute names may be where only Linux 6.17 finds them.
    pub plain_prefixes: bool,
}

impl Default for Features {
    fn default() -> Features {
        Features {
            wide: false,
            fragments: false,
            deduplicate: false,
            deduplicate_fragments: true,
            ignore_times: false,
            inline: true,
            inline_clusters: false,
            plain_prefixes: false,
        }
    }
}

/// A word as typed.
#[derive(Debug, Clone, Copy)]
pub struct TypedWord {
    word: &'static Word,
    /// Whether the feature is switched on: there is no `^` before the word.
    on: bool,
}

#[derive(Debug)]
struct Word {
    name: &'static str,
    effect: Effect,
    /// For the help.
    help: &'static str,
}

#[derive(Debug, Clone, Copy)]
enum Effect {
    /// Switches a feature on or off.
    Switch(fn(&mut Features, bool)),
    Idle,
    /// The way to the same result.
    Refused(&'static str),
}

const WORDS: [Word; 17] = [
    word("48bit", Effect::Switch(|to, on| to.wide = on), "Store clusters of any number of bytes; needs Linux 6.15"),
    word("all-fragments", Effect::Switch(fragments), "Same as fragments"),
    word("dedupe", Effect::Switch(|to, on| to.deduplicate = on), "Store equal content once; needs Linux 6.1"),
    word("dot-omitted", Effect::Idle, "Without effect: directories keep the entries . and .."),
    word(
        "force-inode-compact",
        Effect::Switch(|to, on| to.ignore_times = on),
        "Give everything the time of the image; an owner above 65535 still has a larger inode",
    ),
    word("force-inode-extended", Effect::Idle, "Without effect: inodes keep all attributes"),
    word("force-inode-blockmap", Effect::Refused("chunks on a device have indexes, others have none"), "Refused"),
    word("force-chunk-indexes", Effect::Idle, "Without effect: chunks on a device have indexes, others need none"),
    word(
        "fragdedupe",
        Effect::Switch(|to, on| to.deduplicate_fragments = on),
        "Store equal ends of files once (default, with fragments)",
    ),
    word("fragments", Effect::Switch(fragments), "Pack small files and ends of files together; needs Linux 6.1"),
    word(
        "inline_data",
        Effect::Switch(|to, on| to.inline = on),
        "Store ends of files after their inodes (default); with -z, only files of less than a block; without effect with 48bit and --chunksize",
    ),
    word("noinline_data", Effect::Switch(|to, on| to.inline = !on), "Store all content of files in blocks"),
    word("legacy-compress", Effect::Refused("the layout for kernels before Linux 5.4 is not written"), "Refused"),
    word("nosbcrc", Effect::Refused("the superblock always has a checksum, which old kernels ignore"), "Refused"),
    word(
        "plain-xattr-prefixes",
        Effect::Switch(|to, on| to.plain_prefixes = on),
        "Allow --xattr-prefix with compressed ends of files or shared content; needs Linux 6.17",
    ),
    word("xattr-name-filter", Effect::Idle, "Without effect: it does not change what a reader finds"),
    word(
        "ztailpacking",
        Effect::Switch(|to, on| to.inline_clusters = on),
        "Store compressed ends of files after their inodes; needs Linux 5.17; without effect with fragments, 48bit and --zD",
    ),
];

const fn word(name: &'static str, effect: Effect, help: &'static str) -> Word {
    Word { name, effect, help }
}

fn fragments(to: &mut Features, on: bool) {
    to.fragments = on;
}

/// The features of the bits of `--zfeature-bits`, the lowest first.
const BITS: [&str; 8] =
    ["legacy-compress", "ztailpacking", "fragments", "all-fragments", "dedupe", "fragdedupe", "48bit", "dot-omitted"];

/// Returns the lines of the help about the words.
pub fn help() -> String {
    let lines = WORDS.iter().map(|word| format!("  {:<21} {}", word.name, word.help));
    let lines: Vec<String> = lines.collect();
    format!("Words of -E (^ before a word switches it off):\n{}", lines.join("\n"))
}

/// Parses the words of `-E`, separated by commas.
pub fn parse(text: &str) -> Result<Vec<TypedWord>, String> {
    text.split(',').filter(|typed| !typed.is_empty()).map(parse_word).collect()
}

fn parse_word(typed: &str) -> Result<TypedWord, String> {
    let (name, value) = typed.split_once('=').map_or((typed, None), |(name, value)| (name, Some(value)));
    let (name, on) = name.strip_prefix('^').map_or((name, true), |name| (name, false));
    let word = known(name).ok_or_else(|| format!("unknown extended option {typed}"))?;
    match (name, value) {
        (_, None) | ("fragdedupe", Some("inode" | "full")) if on || value.is_none() => {}
        ("fragments" | "all-fragments", Some(_)) => {
            return Err(format!("{typed}: a size is not supported yet; -C sets the size for all clusters"));
        }
        _ => return Err(format!("{typed}: an unexpected value")),
    }
    match word.effect {
        Effect::Refused(reason) if on => Err(format!("{name} is not supported yet; {reason}")),
        _ => Ok(TypedWord { word, on }),
    }
}

fn known(name: &str) -> Option<&'static Word> {
    WORDS.iter().find(|word| word.name == name)
}

/// Parses the number of `--zfeature-bits` to words: one for each bit up to the highest bit that is set.
pub fn parse_bits(number: u64) -> Result<Vec<TypedWord>, String> {
    let count = (u64::BITS - number.leading_zeros()) as usize;
    let names = BITS.get(..count).ok_or_else(|| format!("unsupported zfeature bit {}", BITS.len()))?;
    let typed = |(bit, name): (usize, &&str)| {
        let on = number >> bit & 1 == 1;
        parse_word(&format!("{}{name}", if on { "" } else { "^" }))
    };
    names.iter().enumerate().map(typed).collect()
}

impl Features {
    /// Returns the features after all words, in their order.
    pub fn of<'w>(words: impl Iterator<Item = &'w TypedWord>) -> Features {
        let mut features = Features::default();
        for TypedWord { word, on } in words {
            if let Effect::Switch(switch) = word.effect {
                switch(&mut features, *on);
            }
        }
        features
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn features(text: &str) -> Features {
        Features::of(parse(text).unwrap().iter())
    }

    #[test]
    fn the_last_word_counts() {
        assert_eq!(features(""), Features::default());
        let all = features(
            "48bit,all-fragments,dedupe,fragdedupe=inode,noinline_data,force-inode-compact,plain-xattr-prefixes",
        );
        assert_eq!(
            all,
            Features {
                wide: true,
                fragments: true,
                deduplicate: true,
                deduplicate_fragments: true,
                ignore_times: true,
                inline: false,
                inline_clusters: false,
                plain_prefixes: true
            }
        );
        assert!(features("ztailpacking").inline_clusters);
        assert!(!features("^inline_data").inline && features("^inline_data,inline_data").inline);
        assert_eq!(
            features("dedupe,^dedupe,noinline_data,inline_data,ztailpacking,^ztailpacking"),
            Features::default()
        );
        assert!(!features("^fragdedupe").deduplicate_fragments);
    }

    #[test]
    fn rejects_what_is_unknown_or_not_done() {
        for (text, expected) in [
            ("nonesuch", "unknown extended option nonesuch"),
            ("dedupe=1", "dedupe=1: an unexpected value"),
            ("fragments=65536", "fragments=65536: a size is not supported yet; -C sets the size for all clusters"),
            ("dedupe,nosbcrc", "nosbcrc is not supported yet"),
            ("fragdedupe=half", "fragdedupe=half: an unexpected value"),
        ] {
            let fault = parse(text).unwrap_err();
            assert!(fault.starts_with(expected), "{fault}");
        }
        assert!(parse("^legacy-compress,^nosbcrc").is_ok());
    }

    #[test]
    fn bits_are_words() {
        let bits = |number| parse_bits(number).map(|words| Features::of(words.iter()));
        assert_eq!(bits(0), Ok(Features::default()));
        assert_eq!(bits(0b1_0100), Ok(Features { fragments: false, deduplicate: true, ..Features::default() }));
        assert_eq!(bits(0b1100), Ok(Features { fragments: true, ..Features::default() }));
        assert!(bits(1).unwrap_err().contains("legacy-compress"));
        assert_eq!(bits(256), Err("unsupported zfeature bit 8".to_string()));
    }
}
