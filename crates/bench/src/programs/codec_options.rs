//! Converts codecs and their parameters to options of other programs.
//!
//! A parameter that a program does not have is an error, so that the program is not measured with other parameters.

use packline_codec::Spec;

/// The name of a codec, and the parameters that differ from their defaults.
struct Parts {
    name: &'static str,
    parameters: Vec<(String, Option<String>)>,
}

impl Parts {
    fn of(spec: &Spec) -> Parts {
        let text = spec.to_string();
        let list = text.split_once(':').map_or("", |(_, list)| list);
        let parameters = list.split(',').filter(|item| !item.is_empty()).map(|item| match item.split_once('=') {
            Some((key, value)) => (key.to_owned(), Some(value.to_owned())),
            None => (item.to_owned(), None),
        });
        Parts { name: spec.name(), parameters: parameters.collect() }
    }

    /// Returns the level, or an error if there are other parameters.
    fn level_alone(&self, least: i64, most: i64) -> Result<Option<i64>, String> {
        match &self.parameters[..] {
            [] => Ok(None),
            [(key, Some(value))] if key == "level" => level_within(value, least, most).map(Some),
            _ => Err("it has not all of these parameters".to_owned()),
        }
    }
}

fn level_within(value: &str, least: i64, most: i64) -> Result<i64, String> {
    let level = value.parse().ok().filter(|level| (least..=most).contains(level));
    level.ok_or_else(|| format!("its levels are {least} to {most}"))
}

/// Returns the range of a codec's levels in squashfs-tools and squashfs-tools-ng.
fn usual_levels(name: &str) -> (i64, i64) {
    match name {
        "zstd" => (1, 22),
        "xz" | "lzma" => (0, 9),
        _ => (1, 9),
    }
}

/// Returns the option `-comp` of mksquashfs, and the options for its parameters.
pub fn mksquashfs(spec: &Spec) -> Result<Vec<String>, String> {
    let parts = Parts::of(spec);
    if parts.name == "none" {
        // packline compresses neither data nor tables either.
        return Ok(["-noI", "-noD", "-noF", "-noX"].map(str::to_owned).to_vec());
    }
    let mut words = vec!["-comp".to_owned(), parts.name.to_owned()];
    let mut strategies = Vec::new();
    let mut filters = Vec::new();
    for (key, value) in &parts.parameters {
        let value = value.as_deref();
        let option = match (parts.name, key.as_str(), value) {
            ("gzip" | "lzo" | "zstd", "level", Some(level)) => {
                let (least, most) = usual_levels(parts.name);
                level_within(level, least, most)?;
                "-Xcompression-level"
            }
            ("gzip", "window", _) => "-Xwindow-size",
            ("xz", "dictsize", _) => "-Xdict-size",
            ("lzo", "algorithm", _) => "-Xalgorithm",
            ("lz4", "hc", None) => "-Xhc",
            // mksquashfs has no other engine.
            ("gzip", "engine", Some("zlib")) => continue,
            ("gzip", strategy, None) => {
                strategies.push(long_strategy(strategy));
                continue;
            }
            ("xz", filter, None) if filter != "extreme" => {
                filters.push(filter);
                continue;
            }
            _ => return Err(format!("it has no '{key}' for {}", parts.name)),
        };
        words.push(option.to_owned());
        words.extend(value.map(str::to_owned));
    }
    for (option, list) in [("-Xstrategy", strategies), ("-Xbcj", filters)] {
        if !list.is_empty() {
            words.extend([option.to_owned(), list.join(",")]);
        }
    }
    Ok(words)
}

fn long_strategy(name: &str) -> &str {
    match name {
        "huffman" => "huffman_only",
        "rle" => "run_length_encoded",
        other => other,
    }
}

/// Returns the options `-c` and `-X` of squashfs-tools-ng.
pub fn tools_ng(spec: &Spec) -> Result<Vec<String>, String> {
    let parts = Parts::of(spec);
    if parts.name == "none" {
        return Err("it always compresses".to_owned());
    }
    let mut extra = Vec::new();
    for (key, value) in &parts.parameters {
        match (parts.name, key.as_str(), value.as_deref()) {
            ("gzip", "engine", Some("zlib")) => continue,
            ("gzip", "engine", _) | ("lz4", "level" | "acceleration", _) => {
                return Err(format!("it has no '{key}' for {}", parts.name));
            }
            (name, "level", Some(level)) => {
                let (least, most) = usual_levels(name);
                level_within(level, least, most)?;
            }
            _ => {}
        }
        extra.push(value.as_ref().map_or(key.clone(), |value| format!("{key}={value}")));
    }
    let mut words = vec!["-c".to_owned(), parts.name.to_owned()];
    if !extra.is_empty() {
        words.extend(["-X".to_owned(), extra.join(",")]);
    }
    Ok(words)
}

/// Returns the level for zstd(1). It is always given, because the default differs from the default for images.
pub fn zstd(spec: &Spec) -> Result<Vec<String>, String> {
    let parts = only(spec, "zstd")?;
    let level = parts.level_alone(-131_072, 22)?.unwrap_or(15);
    Ok(match level {
        20.. => vec!["--ultra".to_owned(), format!("-{level}")],
        1.. => vec![format!("-{level}")],
        _ => vec![format!("--fast={}", -level)],
    })
}

/// Returns the level for xz(1).
pub fn xz(spec: &Spec) -> Result<Vec<String>, String> {
    let mut parts = only(spec, "xz")?;
    let before = parts.parameters.len();
    parts.parameters.retain(|(key, _)| key != "extreme");
    let extreme = if parts.parameters.len() < before { "e" } else { "" };
    Ok(vec![format!("-{}{extreme}", parts.level_alone(0, 9)?.unwrap_or(6))])
}

/// Returns the level for gzip(1) and pigz(1).
pub fn gzip(spec: &Spec) -> Result<Vec<String>, String> {
    let mut parts = only(spec, "gzip")?;
    parts.parameters.retain(|(key, value)| (key.as_str(), value.as_deref()) != ("engine", Some("zlib")));
    Ok(vec![format!("-{}", parts.level_alone(1, 9)?.unwrap_or(9))])
}

/// Returns the back end of lrzip, and its level if there is one.
pub fn lrzip(spec: &Spec) -> Result<Vec<String>, String> {
    let parts = Parts::of(spec);
    let back_end = match parts.name {
        "lzma" => "--lzma",
        "gzip" => "-g",
        "lzo" => "-l",
        "none" => "-n",
        _ => return Err(not_its("lzma, gzip, lzo and none")),
    };
    let level = parts.level_alone(1, 9)?;
    let mut options = vec![back_end.to_owned()];
    options.extend(level.into_iter().flat_map(|level| ["-L".to_owned(), level.to_string()]));
    Ok(options)
}

/// Returns the option `-C` of mkdwarfs. The lzma of mkdwarfs is xz in packline.
pub fn mkdwarfs(spec: &Spec) -> Result<Vec<String>, String> {
    let parts = Parts::of(spec);
    let codec = match (parts.name, &parts.parameters[..]) {
        ("none", []) => "null".to_owned(),
        ("lz4", []) => "lz4".to_owned(),
        ("lz4", [(hc, None)]) if hc == "hc" => "lz4hc:level=12".to_owned(),
        ("zstd", _) => format!("zstd:level={}", parts.level_alone(1, 22)?.unwrap_or(15)),
        ("xz", _) => format!("lzma:level={}", parts.level_alone(0, 9)?.unwrap_or(6)),
        _ => return Err(not_its("zstd, xz, lz4 and none")),
    };
    Ok(vec!["-C".to_owned(), codec])
}

fn only(spec: &Spec, name: &str) -> Result<Parts, String> {
    let parts = Parts::of(spec);
    if parts.name == name { Ok(parts) } else { Err(not_its(name)) }
}

fn not_its(codecs: &str) -> String {
    format!("of these codecs, it supports only {codecs}")
}

#[cfg(test)]
mod tests {
    use super::*;

    type Translation = fn(&Spec) -> Result<Vec<String>, String>;

    fn check(translate: Translation, cases: &[(&str, Option<&str>)]) {
        for (codec, words) in cases {
            let found = translate(&Spec::parse(codec).unwrap());
            assert_eq!(found.clone().ok().map(|found| found.join(" ")).as_deref(), *words, "{codec}: {found:?}");
        }
    }

    #[test]
    fn squashfs_tools_have_most_parameters() {
        let cases = [
            ("none", Some("-noI -noD -noF -noX")),
            ("zstd", Some("-comp zstd")),
            ("zstd:level=3", Some("-comp zstd -Xcompression-level 3")),
            ("zstd:level=-3", None),
            ("gzip:level=12", None),
            (
                "gzip:level=1,window=14,huffman",
                Some("-comp gzip -Xcompression-level 1 -Xwindow-size 14 -Xstrategy huffman_only"),
            ),
            ("xz:x86,arm", Some("-comp xz -Xbcj x86,arm")),
            ("xz:level=3", None),
            ("lz4:hc", Some("-comp lz4 -Xhc")),
            ("lz4:acceleration=3", None),
            ("lzma", Some("-comp lzma")),
            ("lzma:level=3", None),
        ];
        check(mksquashfs, &cases);
        let cases = [
            ("none", None),
            ("lzo:level=3", Some("-c lzo -X level=3")),
            ("gzip:level=12", None),
            ("gzip:engine=libdeflate", None),
            ("xz:level=3,extreme", Some("-c xz -X level=3,extreme")),
            ("lz4:hc", Some("-c lz4 -X hc")),
            ("lz4:hc,level=3", None),
        ];
        check(tools_ng, &cases);
    }

    #[test]
    fn streams_get_the_level_that_an_image_has() {
        check(
            zstd,
            &[
                ("zstd", Some("-15")),
                ("zstd:level=22", Some("--ultra -22")),
                ("zstd:level=-5", Some("--fast=5")),
                ("xz", None),
            ],
        );
        check(xz, &[("xz", Some("-6")), ("xz:level=9,extreme", Some("-9e")), ("xz:x86", None), ("lzma", None)]);
        check(gzip, &[("gzip", Some("-9")), ("gzip:level=3", Some("-3")), ("gzip:rle", None), ("gzip:level=11", None)]);
        check(
            lrzip,
            &[("lzma", Some("--lzma")), ("gzip:level=3", Some("-g -L 3")), ("none", Some("-n")), ("zstd", None)],
        );
        check(
            mkdwarfs,
            &[
                ("zstd:level=3", Some("-C zstd:level=3")),
                ("xz", Some("-C lzma:level=6")),
                ("none", Some("-C null")),
                ("lzo", None),
            ],
        );
    }
}
