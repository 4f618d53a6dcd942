//! Numbers and sizes as users write them: `131072`, `128K`, `1M`, `0x1000`.

use std::ffi::OsStr;

/// Parses a number of bytes: decimal digits, then nothing or one of K, M, G, T (powers of 1024, either case), then optionally `iB` or
/// `B`. The error describes what is wrong with the text.
pub fn parse_size(text: &OsStr) -> Result<u64, String> {
    let shown = text.to_string_lossy();
    let digits = shown.bytes().take_while(u8::is_ascii_digit).count();
    if digits == 0 {
        return Err(format!("'{shown}' is not a size (expected a number with an optional suffix K, M, G or T)"));
    }
    let number: u64 = shown[..digits].parse().map_err(|_| format!("'{shown}' is too large"))?;
    let unit = unit_of(&shown[digits..])
        .ok_or_else(|| format!("'{shown}' has an unknown suffix '{}' (expected K, M, G or T)", &shown[digits..]))?;
    number.checked_mul(unit).ok_or_else(|| format!("'{shown}' is too large"))
}

fn unit_of(suffix: &str) -> Option<u64> {
    let lower = suffix.to_ascii_lowercase();
    let letter = lower.strip_suffix("ib").filter(|rest| !rest.is_empty());
    let letter = letter.or_else(|| lower.strip_suffix('b')).unwrap_or(&lower);
    match letter {
        "" => Some(1),
        "k" => Some(1 << 10),
        "m" => Some(1 << 20),
        "g" => Some(1 << 30),
        "t" => Some(1 << 40),
        _ => None,
    }
}

/// Parses a whole number: decimal, hexadecimal (`0x`) or octal (a leading `0`), like C's `strtol` with base 0. Unlike with `strtol`, all
/// of the text must be the number.
pub fn parse_number(text: &OsStr) -> Result<i64, String> {
    let shown = text.to_string_lossy();
    let (negative, digits) = match shown.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, shown.strip_prefix('+').unwrap_or(&shown)),
    };
    let magnitude = parse_magnitude(digits).ok_or_else(|| format!("'{shown}' is not a number"))?;
    Ok(if negative { -magnitude } else { magnitude })
}

fn parse_magnitude(digits: &str) -> Option<i64> {
    if !digits.starts_with(|first: char| first.is_ascii_digit()) {
        return None;
    }
    let hexadecimal = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X"));
    match hexadecimal {
        Some(rest) if rest.bytes().all(|byte| byte.is_ascii_hexdigit()) => i64::from_str_radix(rest, 16).ok(),
        Some(_) => None,
        None if !digits.bytes().all(|byte| byte.is_ascii_digit()) => None,
        None if digits.starts_with('0') => i64::from_str_radix(digits, 8).ok(),
        None => digits.parse().ok(),
    }
}

/// Formats a number of bytes so that [`parse_size`] reads it, in the largest unit that divides it.
pub fn show_size(bytes: u64) -> String {
    let units = [(40, 'T'), (30, 'G'), (20, 'M'), (10, 'K')];
    let fits = |shift: u32| bytes != 0 && bytes.trailing_zeros() >= shift;
    match units.into_iter().find(|&(shift, _)| fits(shift)) {
        Some((shift, letter)) => format!("{}{letter}", bytes >> shift),
        None => bytes.to_string(),
    }
}

/// Formats a number of bytes for people: three or four digits and a binary unit.
pub fn show_bytes(bytes: u64) -> String {
    let units = [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")];
    match units.into_iter().find(|&(shift, _)| bytes >> shift != 0) {
        Some((shift, unit)) => format!("{:.1} {unit}", bytes as f64 / (1u64 << shift) as f64),
        None => format!("{bytes} bytes"),
    }
}

/// Formats bytes exactly, and again in a unit that is easier to read.
pub fn both(bytes: u64) -> String {
    if bytes < 1024 { show_bytes(bytes) } else { format!("{bytes} bytes, {}", show_bytes(bytes)) }
}

/// Formats a number of bytes like `ls -h`: rounded up, with one decimal digit below 10.
pub fn show_human(bytes: u64) -> String {
    let units = [(60, 'E'), (50, 'P'), (40, 'T'), (30, 'G'), (20, 'M'), (10, 'K')];
    // 1023.x rounds up to 1 of the next unit.
    let fits = |shift: u32| bytes >> shift != 0 || bytes > (1023 << (shift - 10)) && shift > 10;
    let Some((shift, unit)) = units.into_iter().find(|&(shift, _)| fits(shift)) else { return bytes.to_string() };
    let tenths = (u128::from(bytes) * 10).div_ceil(1 << shift);
    match tenths {
        0..100 => format!("{}.{}{unit}", tenths / 10, tenths % 10),
        _ => format!("{}{unit}", u128::from(bytes).div_ceil(1 << shift)),
    }
}

/// Formats a count: `1 file`, `2 files`.
pub fn count(number: u64, one: &str) -> String {
    match (number, one.strip_suffix('y')) {
        (1, _) => format!("1 {one}"),
        (_, Some(stem)) => format!("{number} {stem}ies"),
        (_, None) => format!("{number} {one}s"),
    }
}

/// The smallest input, in bytes, for which a ratio is shown. In smaller inputs, headers and padding outweigh compression.
const RATIO_LEAST: u64 = 4 << 10;

/// Returns output divided by input in percent; `None` if the input is tiny or the output is not smaller.
pub fn percent(output: u64, input: u64) -> Option<String> {
    let tells = input >= RATIO_LEAST && output < input;
    tells.then(|| format!("{:.1}%", output as f64 * 100.0 / input as f64))
}

/// Formats [`percent`] in parentheses.
pub fn show_ratio(output: u64, input: u64) -> String {
    percent(output, input).map_or(String::new(), |percent| format!(" ({percent})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(text: &str) -> Result<u64, String> {
        parse_size(OsStr::new(text))
    }

    #[test]
    fn parses_sizes_with_and_without_suffix() {
        let cases = [
            ("0", 0),
            ("4096", 4096),
            ("128K", 131_072),
            ("1m", 1 << 20),
            ("2GiB", 2 << 30),
            ("3TB", 3 << 40),
            ("7B", 7),
        ];
        for (text, bytes) in cases {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
    }

    #[test]
    fn rejects_malformed_sizes() {
        for text in [
            "",
            "K",
            "-1",
            "+4",
            " 4",
            "4 K",
            "4KK",
            "4X",
            "0x10",
            "1.5M",
            "4iB",
            "18446744073709551616",
            "99999999T",
            "４",
        ] {
            assert!(size(text).is_err(), "{text:?} was taken as {:?}", size(text));
        }
    }

    #[test]
    fn parses_numbers_in_three_bases() {
        let number = |text: &str| parse_number(OsStr::new(text));
        for (text, value) in
            [("0", 0), ("10", 10), ("-3", -3), ("+3", 3), ("0x1F", 31), ("0755", 0o755), ("-0x10", -16)]
        {
            assert_eq!(number(text), Ok(value), "{text}");
        }
        for text in ["", "-", "x", "08", "0x", "1e3", "--1", "9223372036854775808", "0x-1", "0-7", "0+7"] {
            assert!(number(text).is_err(), "{text:?} was taken as {:?}", number(text));
        }
    }

    #[test]
    fn shown_sizes_parse_back() {
        for bytes in [0, 1, 1023, 1024, 131_072, 1 << 20, 3 << 40, u64::MAX] {
            assert_eq!(size(&show_size(bytes)), Ok(bytes));
        }
    }

    #[test]
    fn formats_bytes_for_people() {
        for (bytes, shown) in
            [(0, "0 bytes"), (1023, "1023 bytes"), (1536, "1.5 KiB"), (1 << 20, "1.0 MiB"), (5 << 40, "5.0 TiB")]
        {
            assert_eq!(show_bytes(bytes), shown);
        }
    }

    #[test]
    fn formats_bytes_like_ls() {
        let cases = [
            (0, "0"),
            (1023, "1023"),
            (1024, "1.0K"),
            (1025, "1.1K"),
            (10_136, "9.9K"),
            (10_138, "10K"),
            (108_894, "107K"),
            (1023 << 10, "1023K"),
            ((1023 << 10) + 1, "1.0M"),
            (1 << 40, "1.0T"),
            (u64::MAX, "16E"),
        ];
        for (bytes, shown) in cases {
            assert_eq!(show_human(bytes), shown);
        }
    }

    #[test]
    fn formats_counts_and_ratios() {
        let counts = [count(1, "file"), count(2, "file"), count(1, "directory"), count(0, "directory")];
        assert_eq!(counts, ["1 file", "2 files", "1 directory", "0 directories"]);
        assert_eq!(show_ratio(4096, 3 * 4096), " (33.3%)");
        // A ratio of tiny inputs, or without savings, would mislead.
        assert_eq!(
            [(1, 3), (3, 4095), (4096, 3), (4096, 4096), (1, 0)].map(|(out, of)| percent(out, of)),
            [const { None }; 5]
        );
    }
}
