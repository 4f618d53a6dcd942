//! Specifications: parsing, canonical printing, and errors with a reason.

use crate::common::{SPECS, spec};
use packline_codec::{Bcj, CodecError, DictSize, LzoAlgorithm, Spec, Strategy};
use proptest::prelude::*;

#[test]
fn defaults_equal_those_of_other_packers() {
    let Spec::Gzip(gzip) = spec("gzip") else { panic!() };
    assert_eq!((gzip.level, gzip.window, gzip.strategies.is_empty()), (9, 15, true));
    let Spec::Xz(xz) = spec("xz") else { panic!() };
    assert_eq!((xz.model.level, xz.model.extreme, xz.model.dict_size), (6, false, DictSize::Block));
    assert_eq!((xz.model.lc, xz.model.lp, xz.model.pb, xz.filters.is_empty()), (3, 0, 2, true));
    let Spec::Lzma(lzma) = spec("lzma") else { panic!() };
    assert_eq!(lzma.model.level, 5);
    let Spec::Zstd(zstd) = spec("zstd") else { panic!() };
    assert_eq!(zstd.level, 15);
    let Spec::Lz4(lz4) = spec("lz4:hc") else { panic!() };
    assert_eq!((lz4.level, lz4.acceleration), (12, 1));
    assert_eq!(spec("lz4hc"), spec("lz4:hc"));
    let Spec::Bzip2(bzip2) = spec("bzip2") else { panic!() };
    assert_eq!(bzip2.level, 9);
    let Spec::Lzo(lzo) = spec("lzo") else { panic!() };
    assert_eq!((lzo.algorithm, lzo.level), (LzoAlgorithm::Lzo1x999, 8));
}

#[test]
fn the_canonical_spelling_leaves_out_defaults() {
    for (typed, printed) in [
        ("gzip:level=9,window=15", "gzip"),
        ("gzip:fixed,huffman,window=9", "gzip:window=9,huffman,fixed"),
        ("gzip:strategy=run_length_encoded,compression-level=5,window-size=10", "gzip:level=5,window=10,rle"),
        ("xz:dictsize=100%", "xz"),
        ("xz:x86,preset=max", "xz:level=max,x86"),
        ("lzma:level=max", "lzma:level=max"),
        ("xz:arm,x86,level=3,extreme", "xz:level=3,extreme,x86,arm"),
        ("xz:bcj=x86,arm64,riscv,e,preset=2,dict-size=1M", "xz:level=2,extreme,dictsize=1024K,x86,arm64,riscv"),
        ("xz:dictsize=37.500%,lc=0,lp=3,pb=0", "xz:dictsize=37.5%,lc=0,lp=3,pb=0"),
        ("xz:dictsize=0.781250%", "xz:dictsize=0.78125%"),
        ("lzma:level=5,dictsize=65536", "lzma:dictsize=64K"),
        ("zstd:compression-level=-7", "zstd:level=-7"),
        ("lz4:level=12,hc", "lz4:hc"),
        ("lz4hc:level=12", "lz4:hc"),
        ("lz4hc:compression-level=5", "lz4:hc,level=5"),
        ("lz4:acceleration=1", "lz4"),
        ("lzo:algorithm=lzo1x_1_15", "lzo:algorithm=lzo1x_1_15"),
        ("lzo:level=8", "lzo"),
        ("bzip2:level=9", "bzip2"),
        ("bzip2:compression-level=1", "bzip2:level=1"),
        ("zle:", "zle"),
        ("huff0", "huff0"),
        ("none:", "none"),
    ] {
        assert_eq!(spec(typed).to_string(), printed);
        assert_eq!(spec(printed), spec(typed));
    }
    SPECS.iter().for_each(|text| assert_eq!(spec(text).to_string(), **text));
}

#[test]
fn parses_lists_without_a_name() {
    assert_eq!(Spec::parse_with_name("gzip", "level=5,huffman").unwrap(), spec("gzip:level=5,huffman"));
    assert_eq!(Spec::parse_with_name("xz", "").unwrap(), spec("xz"));
    let Spec::Xz(xz) = spec("xz:x86,armthumb") else { panic!() };
    assert_eq!(xz.filters.iter().collect::<Vec<_>>(), [Bcj::X86, Bcj::ArmThumb]);
    let Spec::Gzip(gzip) = spec("gzip:rle") else { panic!() };
    assert!(gzip.strategies.contains(Strategy::Rle) && !gzip.strategies.contains(Strategy::Fixed));
}

/// Typed texts and their error messages.
const MESSAGES: &[(&str, &str)] = &[
    (
        "brotli",
        "unknown codec 'brotli' (expected one of none, gzip, xz, lzma, zstd, lz4, lz4hc, lzo, bzip2, huff0, zle)",
    ),
    ("gzip:level=13", "gzip: level is '13' (expected a whole number from 1 to 12, or max)"),
    ("gzip:level=x", "gzip: level is 'x' (expected a whole number from 1 to 12, or max)"),
    ("gzip:level", "gzip: level is '' (expected level=VALUE, a whole number from 1 to 12, or max)"),
    ("gzip:window=7", "gzip: window is '7' (expected a whole number from 8 to 15)"),
    ("gzip:huffman=1", "gzip: huffman is '1' (expected no value, because it is a flag)"),
    ("gzip:engine=ng", "gzip: engine is 'ng' (expected one of auto, libdeflate, zlib)"),
    (
        "gzip:turbo",
        "gzip: unknown parameter 'turbo' (expected one of level, window, engine, default, filtered, huffman, rle, fixed)",
    ),
    (
        "gzip:level=11,window=9",
        "gzip: level=11 in 'level=11,window=9' (expected 9 or less: this needs zlib, which has no higher levels)",
    ),
    (
        "gzip:engine=libdeflate,rle",
        "gzip: engine=libdeflate in 'engine=libdeflate,rle' (expected window 15 and strategy default: libdeflate supports nothing else)",
    ),
    (
        "gzip:level=1,,window=9",
        "gzip: unknown parameter '' (expected one of level, window, engine, default, filtered, huffman, rle, fixed)",
    ),
    ("xz:level=10", "xz: level is '10' (expected a whole number from 0 to 9, or max)"),
    ("xz:level=max,lc=4", "xz: level=max cannot be used with lc=4,lp=0,pb=2: level=max chooses lc, lp and pb"),
    ("xz:level=max,e", "xz: extreme cannot be used with level=max, which includes it"),
    ("xz:auto,level=max", "xz: auto cannot be used with level=max, which tries the named filters"),
    ("xz:lc=3,lp=2", "xz: lc=3,lp=2 (expected a sum of 4 or less)"),
    (
        "xz:dictsize=10000",
        "xz: dictsize is '10000' (expected bytes with K or M, or a share of the block with %: 2^n or 2^n+2^(n+1), from 8K to 1M, or more than 0% to 100%)",
    ),
    ("zstd:level=23", "zstd: level is '23' (expected a whole number from -131072 to -1 or from 1 to 22, or max)"),
    ("zstd:level=0", "zstd: level is '0' (expected a whole number from -131072 to -1 or from 1 to 22, or max)"),
    ("zstd:fast", "zstd: unknown parameter 'fast' (expected level)"),
    ("lz4:level=5", "lz4: level=5 without hc (expected hc,level=...: only hc has levels)"),
    ("lz4:hc,acceleration=3", "lz4: acceleration=3 cannot be used with hc"),
    ("lz4hc:level=13", "lz4hc: level is '13' (expected a whole number from 1 to 12)"),
    ("lz4hc:acceleration=2", "lz4hc: unknown parameter 'acceleration' (expected level)"),
    ("bzip2:level=0", "bzip2: level is '0' (expected a whole number from 1 to 9)"),
    ("bzip2:fast", "bzip2: unknown parameter 'fast' (expected level)"),
    ("huff0:level=1", "huff0: unknown parameter 'level' (expected no parameters)"),
    ("zle:level=1", "zle: unknown parameter 'level' (expected no parameters)"),
    (
        "lzo:algorithm=lzo1x_1,level=5",
        "lzo: level=5 with algorithm=lzo1x_1 (expected algorithm=lzo1x_999, the only one with levels)",
    ),
    (
        "lzo:algorithm=lzo2",
        "lzo: algorithm is 'lzo2' (expected one of lzo1x_1, lzo1x_1_11, lzo1x_1_12, lzo1x_1_15, lzo1x_999)",
    ),
    ("none:level=1", "none: unknown parameter 'level' (expected no parameters)"),
];

#[test]
fn errors_quote_the_input_and_name_valid_values() {
    for (typed, message) in MESSAGES {
        assert_eq!(Spec::parse(typed).unwrap_err().to_string(), *message);
    }
}

#[test]
fn checks_dictionaries_against_the_block_size() {
    let dict = |typed: &str, block_size| match spec(typed) {
        Spec::Xz(params) => params.dict_size(block_size).ok(),
        _ => None,
    };
    assert_eq!(dict("xz", 131_072), Some(131_072));
    assert_eq!(dict("xz", 4096), Some(8192)); // what readers have for metadata
    assert_eq!(dict("xz:dictsize=75%", 131_072), Some(98_304));
    assert_eq!(dict("xz:dictsize=0.78125%", 1 << 20), Some(8192));
    assert_eq!(dict("xz:dictsize=70%", 131_072), None);
    assert_eq!(dict("xz:dictsize=5%", 131_072), None);
    assert_eq!(dict("xz:dictsize=1M", 131_072), Some(1 << 20));
    let error = spec("xz:dictsize=70%").encoder(131_072).map(drop).unwrap_err();
    let expected = "xz: dictsize=70% with blocks of 131072 bytes \
                    (expected 2^n or 2^n+2^(n+1) bytes, from 8K to 1M, such as 75%, 50%, 37.5%)";
    assert_eq!(error.to_string(), expected);
    assert!(spec("xz:dictsize=70%").metadata_encoder().is_ok());
}

#[test]
fn block_sizes_are_checked() {
    for text in SPECS {
        assert!(matches!(spec(text).validate(0), Err(CodecError::BlockSize { found: 0, .. })), "{text}");
        assert!(spec(text).validate(usize::MAX).is_err(), "{text}");
        assert_eq!(spec(text).validate(4096), Ok(()), "{text}");
    }
}

#[test]
fn checks_parameters_set_directly() {
    let mut gzip = packline_codec::GzipParams { level: 0, ..Default::default() };
    assert!(Spec::Gzip(gzip.clone()).validate(4096).is_err());
    gzip.level = 9;
    gzip.window = 16;
    assert!(Spec::Gzip(gzip).validate(4096).is_err());
    let mut xz = packline_codec::XzParams::default();
    xz.model.lc = u32::MAX;
    xz.model.lp = 1;
    assert!(Spec::Xz(xz.clone()).encoder(4096).is_err());
    xz.model.lc = 3;
    xz.model.pb = 5;
    assert!(Spec::Xz(xz).validate(4096).is_err());
    assert!(Spec::Zstd(packline_codec::ZstdParams { level: 24 }).validate(4096).is_err());
    assert!(Spec::Bzip2(packline_codec::Bzip2Params { level: 10 }).validate(4096).is_err());
    assert!(Spec::Lz4(packline_codec::Lz4Params { hc: true, level: 13, acceleration: 1 }).validate(4096).is_err());
}

#[test]
fn every_codec_has_help_that_names_its_parameters() {
    for name in Spec::names() {
        let help = Spec::help(name).unwrap();
        assert!(help.starts_with(&format!("{name}: ")), "{help}");
        assert!(help.lines().all(|line| line.len() <= 110), "{help}");
    }
    for (name, parameters) in [
        ("gzip", "level= window= engine= default filtered huffman rle fixed"),
        ("xz", "level= extreme dictsize= lc= lp= pb= x86 powerpc ia64 arm armthumb sparc arm64 riscv auto"),
        ("lzma", "level= extreme dictsize= lc= lp= pb="),
        ("zstd", "level="),
        ("lz4", "hc level= acceleration="),
        ("lz4hc", "level="),
        ("bzip2", "level="),
        ("lzo", "algorithm= level= lzo1x_1 lzo1x_1_11 lzo1x_1_12 lzo1x_1_15 lzo1x_999"),
    ] {
        let help = Spec::help(name).unwrap();
        parameters.split(' ').for_each(|parameter| assert!(help.contains(parameter), "{name}: {parameter}"));
    }
    assert!(Spec::help("brotli").is_err());
}

/// Any valid list of parameters of a codec.
fn any_spec() -> impl Strategy_<Value = String> {
    let gzip = (1u32..=9, 8u32..=15, 0u32..32).prop_map(|(level, window, bits)| {
        let names = ["default", "filtered", "huffman", "rle", "fixed"];
        let chosen: String = (0..5).filter(|at| bits >> at & 1 == 1).map(|at| format!(",{}", names[at])).collect();
        format!("gzip:level={level},window={window}{chosen}")
    });
    let xz = (0u32..=9, 0u32..=4, 0u32..=4, 1u32..=100, any::<bool>()).prop_map(|(level, lc, pb, share, extreme)| {
        let extreme = if extreme { ",extreme,ia64" } else { "" };
        format!("xz:level={level},lc={lc},lp={},pb={pb},dictsize={share}.25%{extreme}", 4 - lc)
    });
    let zstd = (-131_072i32..=23).prop_map(|level| match level {
        0 | 23 => "zstd:level=max".to_owned(),
        level => format!("zstd:level={level}"),
    });
    let lz4 = (1u32..=12).prop_map(|level| format!("lz4:hc,level={level}"));
    let fast = (1u32..=65_537).prop_map(|factor| format!("lz4:acceleration={factor}"));
    let lzo = (1u32..=9).prop_map(|level| format!("lzo:level={level}"));
    let bzip2 = (1u32..=9).prop_map(|level| format!("bzip2:level={level}"));
    let hc = (1u32..=12).prop_map(|level| format!("lz4hc:level={level}"));
    prop_oneof![gzip, xz.prop_filter("at most 100%", |text| !text.contains("=100.25")), zstd, lz4, fast, lzo, bzip2, hc]
}

use proptest::strategy::Strategy as Strategy_;

proptest! {
    #[test]
    fn printed_text_parses_to_the_same(typed in any_spec()) {
        let spec = Spec::parse(&typed).unwrap();
        let printed = spec.to_string();
        prop_assert_eq!(&Spec::parse(&printed).unwrap(), &spec);
        prop_assert_eq!(Spec::parse(&printed).unwrap().to_string(), printed);
    }

    #[test]
    fn parses_or_rejects_any_text(typed in "(gzip|xz|lzma|zstd|lz4|lz4hc|lzo|bzip2|huff0|zle|none|x):?[a-z=,%.0-9KM]{0,24}") {
        if let Ok(spec) = Spec::parse(&typed) {
            prop_assert_eq!(&Spec::parse(&spec.to_string()).unwrap(), &spec);
        }
    }
}
