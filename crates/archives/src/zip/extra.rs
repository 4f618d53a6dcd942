//! Extra fields of a header: sizes of 64 bits, names, times and owners.

use packline_tree::Time;

use super::{u16_at, u32_at, u64_at};

/// Numbers of 64 bits.
pub(super) const WIDE: u16 = 0x0001;
/// Info-ZIP's name in UTF-8.
pub(super) const UNICODE_PATH: u16 = 0x7075;
const NTFS: u16 = 0x000a;
const TIMES: u16 = 0x5455;
/// Info-ZIP's old times, still written by some programs.
const OLD_TIMES: u16 = 0x5855;
const OWNERS: u16 = 0x7875;

/// Seconds from the epoch of NTFS, 1601, to 1970.
const NTFS_EPOCH: i64 = 11_644_473_600;
/// The unit of times of NTFS is 100 ns.
const NTFS_SECOND: u64 = 10_000_000;

/// The data of the first extra field of a kind. Bytes that are not a complete field end the list: some programs pad with zeros.
pub(super) fn field(extra: &[u8], kind: u16) -> Option<&[u8]> {
    let mut rest = extra;
    while rest.len() >= 4 {
        let length = usize::from(u16_at(rest, 2));
        let data = rest.get(4..4 + length)?;
        if u16_at(rest, 0) == kind {
            return Some(data);
        }
        rest = &rest[4 + length..];
    }
    None
}

/// The modification time in the extra fields, in UTC. The most exact one counts.
pub(super) fn time(extra: &[u8]) -> Option<Time> {
    let seconds = |data: &[u8], at: usize| Time::from_seconds(u32_at(data, at).cast_signed().into());
    let ntfs = field(extra, NTFS).and_then(ntfs_time);
    let own = || field(extra, TIMES).filter(|data| data.len() >= 5 && data[0] & 1 != 0).map(|data| seconds(data, 1));
    let old = || field(extra, OLD_TIMES).filter(|data| data.len() >= 8).map(|data| seconds(data, 4));
    ntfs.or_else(own).or_else(old)
}

fn ntfs_time(data: &[u8]) -> Option<Time> {
    // Four reserved bytes, then attributes like extra fields. The first has the times, and begins with the modification time.
    let times = field(data.get(4..)?, 1).filter(|times| times.len() >= 8)?;
    let ticks = u64_at(times, 0);
    let seconds = i64::try_from(ticks / NTFS_SECOND).ok()? - NTFS_EPOCH;
    (ticks > 0).then(|| Time::new(seconds, (ticks % NTFS_SECOND) as u32 * 100))
}

/// The user and the group in the extra fields. `None` if there are none, an error if they are larger than 32 bits.
pub(super) fn owners(extra: &[u8]) -> Result<Option<(u32, u32)>, ()> {
    let Some([1, rest @ ..]) = field(extra, OWNERS) else { return Ok(None) };
    let (uid, rest) = owner(rest).ok_or(())?;
    let (gid, _) = owner(rest).ok_or(())?;
    Ok(Some((uid, gid)))
}

/// A number with its length before it.
fn owner(data: &[u8]) -> Option<(u32, &[u8])> {
    let (length, rest) = data.split_first()?;
    let (number, rest) = rest.split_at_checked((*length).into())?;
    let join = |value: Option<u32>, byte: &u8| value?.checked_mul(256)?.checked_add((*byte).into());
    Some((number.iter().rev().fold(Some(0), join)?, rest))
}

/// A time of MS-DOS, which has no time zone: it is read as UTC. 0 if it is not a valid time.
pub(super) fn dos_time(date: u16, time: u16) -> Time {
    let [year, month, day] = [1980 + i64::from(date >> 9), i64::from(date >> 5 & 15), i64::from(date & 31)];
    let [hour, minute, second] = [i64::from(time >> 11), i64::from(time >> 5 & 63), i64::from(time & 31) * 2];
    if !(1..=12).contains(&month) || day == 0 || hour > 23 || minute > 59 || second > 59 {
        return Time::default();
    }
    let days = days_before(year, month) + day - 1;
    Time::from_seconds(((days * 24 + hour) * 60 + minute) * 60 + second)
}

/// Days from 1970 to the first day of a month. The year begins with March, so that a leap day is its last.
fn days_before(year: i64, month: i64) -> i64 {
    let year = if month > 2 { year } else { year - 1 };
    let month = (month + 9) % 12;
    let leap_days = year / 4 - year / 100 + year / 400;
    year * 365 + leap_days + (153 * month + 2) / 5 - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extra(kind: u16, data: &[u8]) -> Vec<u8> {
        [&kind.to_le_bytes()[..], &(data.len() as u16).to_le_bytes(), data].concat()
    }

    #[test]
    fn finds_fields_before_padding() {
        let fields = [extra(7, b"seven"), extra(8, b""), vec![0; 3]].concat();
        assert_eq!(field(&fields, 7), Some(&b"seven"[..]));
        assert_eq!(field(&fields, 8), Some(&b""[..]));
        assert_eq!(field(&fields, 9), None);
        assert_eq!(field(&fields[..6], 7), None);
    }

    #[test]
    fn the_most_exact_time_counts() {
        let own = extra(TIMES, &[3, 1, 0, 0, 0x80]);
        assert_eq!(time(&own), Some(Time::from_seconds(1 - (1 << 31))));
        assert_eq!(time(&extra(TIMES, &[2, 1, 0, 0, 0])), None);
        let ticks = (NTFS_EPOCH as u64 + 5) * NTFS_SECOND + 12;
        let times = extra(1, &[&ticks.to_le_bytes()[..], &[0; 16]].concat());
        let ntfs = extra(NTFS, &[&[0; 4][..], &times].concat());
        assert_eq!(time(&[own, ntfs].concat()), Some(Time::new(5, 1200)));
        assert_eq!(time(&extra(OLD_TIMES, &[9, 9, 9, 9, 7, 0, 0, 0])), Some(Time::from_seconds(7)));
    }

    #[test]
    fn owners_have_any_width_within_32_bits() {
        assert_eq!(owners(&extra(OWNERS, &[1, 4, 1, 2, 0, 0, 2, 3, 0])), Ok(Some((513, 3))));
        assert_eq!(owners(&extra(OWNERS, &[1, 8, 1, 0, 0, 0, 0, 0, 0, 0, 0])), Ok(Some((1, 0))));
        assert_eq!(owners(&extra(OWNERS, &[1, 8, 1, 0, 0, 0, 1, 0, 0, 0, 0])), Err(()));
        assert_eq!(owners(&extra(OWNERS, &[1, 9, 1])), Err(()));
        assert_eq!(owners(&extra(OWNERS, &[2, 9, 1])), Ok(None));
    }

    #[test]
    fn dos_times_are_utc() {
        let date = |year: u16, month: u16, day: u16| (year - 1980) << 9 | month << 5 | day;
        let cases = [
            ((date(1980, 1, 1), 0), 315_532_800),
            ((date(2000, 2, 29), 0xbf7d), 951_868_798),
            ((date(2024, 12, 31), 12 << 11 | 30 << 5 | 5), 1_735_648_210),
            ((date(2107, 12, 31), 0), 4_354_732_800),
            ((0, 0), 0),
            ((date(1999, 13, 1), 0), 0),
        ];
        for ((date, time), seconds) in cases {
            assert_eq!(dos_time(date, time), Time::from_seconds(seconds), "{date:x} {time:x}");
        }
    }
}
