//! Formats numbers with three significant digits and separated thousands. The text is empty for numbers that are not finite.

use super::Spread;

/// Formats three significant digits, without an exponent.
pub(super) fn short(value: f64) -> String {
    let magnitude = value.abs();
    match magnitude {
        _ if !value.is_finite() => String::new(),
        0.0 => "0".into(),
        999.5.. => grouped(value.round() as i128),
        100.0.. => format!("{value:.0}"),
        10.0.. => format!("{value:.1}"),
        1.0.. => format!("{value:.2}"),
        0.1.. => format!("{value:.3}"),
        0.000_01.. => format!("{value:.*}", (2.0 - magnitude.log10().floor()) as usize),
        _ => "0.00001".replace("0.", if value < 0.0 { ">-0." } else { "<0." }),
    }
}

/// Formats two decimals, for ratios near 1.
pub(super) fn ratio(value: f64) -> String {
    if value.is_finite() && value.abs() < 100.0 { format!("{value:.2}") } else { short(value) }
}

/// Formats a ratio with its spread, as in `0.83 (0.80–0.91)`. The spread is omitted if both ends look equal.
pub(super) fn spread_ratio(spread: Spread) -> String {
    let least = ratio(spread.least);
    let median = ratio(spread.median);
    let most = ratio(spread.most);
    if least == most { median } else { format!("{median} ({least}–{most})") }
}

/// Formats a share as a percentage with one decimal, without the sign.
pub(super) fn percent(share: f64) -> String {
    let value = share * 100.0;
    match value.abs() {
        _ if !value.is_finite() => String::new(),
        1000.0.. => short(value),
        _ => format!("{value:.1}"),
    }
}

/// Formats bytes as megabytes (10^6).
pub(super) fn megabytes(bytes: f64) -> String {
    short(bytes / 1e6)
}

/// Formats a count with commas between the thousands.
pub(super) fn grouped(count: impl Into<i128>) -> String {
    let count: i128 = count.into();
    let digits = count.unsigned_abs().to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    if count < 0 { format!("-{out}") } else { out }
}

/// Formats a block size in the unit that divides it, as in `128 KiB`. The text is empty for 0, which means no blocks.
pub(super) fn block_size(bytes: u64) -> String {
    match bytes {
        0 => String::new(),
        _ if bytes.is_multiple_of(1 << 20) => format!("{} MiB", bytes >> 20),
        _ if bytes.is_multiple_of(1 << 10) => format!("{} KiB", bytes >> 10),
        _ => format!("{} B", grouped(bytes)),
    }
}

/// Formats a block size as for packline's options, as in `128K`.
pub(crate) fn short_block_size(bytes: u64) -> String {
    match bytes {
        _ if bytes.is_multiple_of(1 << 20) => format!("{}M", bytes >> 20),
        _ if bytes.is_multiple_of(1 << 10) => format!("{}K", bytes >> 10),
        _ => bytes.to_string(),
    }
}

/// Formats bytes with a binary unit, as in `1.5 KiB`.
pub(crate) fn binary_bytes(bytes: u64) -> String {
    let units = [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")];
    match units.into_iter().find(|&(shift, _)| bytes >> shift != 0) {
        Some((shift, unit)) => format!("{:.1} {unit}", bytes as f64 / (1u64 << shift) as f64),
        None => format!("{bytes} bytes"),
    }
}

/// Formats the range of some numbers, as in `0.83 to 0.91`, or one number if both ends look equal. Returns `None` without numbers.
pub(super) fn range(numbers: impl IntoIterator<Item = f64>, show: fn(f64) -> String) -> Option<String> {
    let wider = |(least, most): (f64, f64), (one, _): (f64, f64)| (least.min(one), most.max(one));
    let (least, most) = numbers.into_iter().map(|one| (one, one)).reduce(wider)?;
    let least = show(least);
    let most = show(most);
    Some(if least == most { least } else { format!("{least} to {most}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_count() {
        let shown = [1234567.8, 999.6, 123.4, 12.34, 1.234, 0.1234, 0.01234, 0.0, -5.0, 1e-9].map(short);
        assert_eq!(shown, ["1,234,568", "1,000", "123", "12.3", "1.23", "0.123", "0.0123", "0", "-5.00", "<0.00001"]);
        assert_eq!([f64::NAN, f64::INFINITY].map(short), ["", ""]);
    }

    #[test]
    fn ratios_have_their_spread_unless_both_ends_look_equal() {
        assert_eq!(spread_ratio(Spread { least: 0.8, median: 0.834, most: 0.9 }), "0.83 (0.80–0.90)");
        assert_eq!(spread_ratio(Spread { least: 0.8, median: 0.8, most: 0.801 }), "0.80");
    }

    #[test]
    fn sizes_have_the_unit_that_divides_them() {
        assert_eq!([0, 131072, 1 << 20, 1500].map(block_size), ["", "128 KiB", "1 MiB", "1,500 B"]);
        assert_eq!((percent(0.4567), megabytes(2.5e6)), ("45.7".into(), "2.50".into()));
    }
}
