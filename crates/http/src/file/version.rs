//! Which version of a file an answer is about: its size and its validators.

use ureq::Body;
use ureq::http::header::{CONTENT_LENGTH, CONTENT_RANGE, DATE, ETAG, HeaderName, LAST_MODIFIED};
use ureq::http::{HeaderMap, Response};

use crate::Fault;

/// A version of a file. All answers must be about the same one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Version {
    pub(super) size: u64,
    etag: Option<String>,
    modified: Option<String>,
    /// The answer is of a later second than the last change of the file. A change in the same second would have the same time.
    settled: bool,
}

impl Version {
    pub(super) fn of(headers: &HeaderMap, size: u64) -> Version {
        let modified = text(headers, &LAST_MODIFIED);
        let date = text(headers, &DATE);
        Version { size, etag: text(headers, &ETAG), settled: date.is_some() && date != modified, modified }
    }

    /// A validator that also tells later versions of the file from this one.
    pub(super) fn lasting(&self) -> Option<&str> {
        self.validator().filter(|_| self.etag.is_some() || self.settled)
    }

    /// The value of `If-Range`: a server whose file has changed then does not answer with a range. A weak `ETag` is not allowed there.
    pub(super) fn validator(&self) -> Option<&str> {
        let strong = self.etag.as_deref().filter(|etag| !etag.starts_with("W/"));
        strong.or(self.modified.as_deref().filter(|_| self.etag.is_none()))
    }

    pub(super) fn has_validator(&self) -> bool {
        self.etag.is_some() || self.modified.is_some()
    }

    /// Compares this version with the version of a later answer, which need not repeat the time.
    pub(super) fn check(&self, later: &Version) -> Result<(), Fault> {
        if later.size != self.size {
            return Err(Fault::Changed("size"));
        }
        if later.etag != self.etag {
            return Err(Fault::Changed("ETag"));
        }
        match (&self.modified, &later.modified) {
            (Some(before), Some(now)) if before != now => Err(Fault::Changed("Last-Modified")),
            _ => Ok(()),
        }
    }

    /// The fault of an answer with the whole file instead of a range.
    pub(super) fn of_whole_answer(known: Option<&Version>, answer: &Response<Body>) -> Fault {
        let size = text(answer.headers(), &CONTENT_LENGTH).and_then(|length| length.parse().ok());
        let Some(known) = known else { return Fault::NoRanges };
        let now = Version::of(answer.headers(), size.unwrap_or(known.size));
        known.check(&now).err().unwrap_or(Fault::NoRanges)
    }
}

/// A value as text; `None` if there is none, or if it is not text.
pub(crate) fn text(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    headers.get(name).and_then(|value| value.to_str().ok()).map(|value| value.trim().to_string())
}

/// The header `Content-Range` (RFC 9110, section 14.4): `bytes FIRST-LAST/SIZE` or `bytes */SIZE`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ContentRange {
    /// First byte and the byte after the last one; `None` if there is no such range.
    pub(crate) range: Option<(u64, u64)>,
    pub(crate) size: u64,
}

impl ContentRange {
    /// `None` if the header is missing, has another form, or contradicts itself.
    pub(crate) fn of(headers: &HeaderMap) -> Option<ContentRange> {
        if headers.get_all(CONTENT_RANGE).iter().count() != 1 {
            return None;
        }
        ContentRange::parse(&text(headers, &CONTENT_RANGE)?)
    }

    fn parse(text: &str) -> Option<ContentRange> {
        let (unit, value) = text.split_once(' ')?;
        let (range, size) = value.trim().split_once('/').filter(|_| unit.eq_ignore_ascii_case("bytes"))?;
        let size = number(size)?;
        if range == "*" {
            return Some(ContentRange { range: None, size });
        }
        let (first, last) = range.split_once('-')?;
        let first = number(first)?;
        let last = number(last)?;
        let is_sound = first <= last && last < size;
        is_sound.then(|| ContentRange { range: Some((first, last + 1)), size })
    }
}

/// A number of digits only: `parse` alone accepts a sign.
fn number(text: &str) -> Option<u64> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_only_sound_ranges() {
        let parsed = |text| ContentRange::parse(text).map(|found| (found.range, found.size));
        assert_eq!(parsed("bytes 0-4095/8192"), Some((Some((0, 4096)), 8192)));
        assert_eq!(parsed("bytes */0"), Some((None, 0)));
        for wrong in [
            "",
            "bytes",
            "bytes 0-1",
            "bytes 0-1/*",
            "bytes 1-0/9",
            "bytes 0-9/9",
            "bytes +0-1/9",
            "bytes -1/9",
            "bytes 0-18446744073709551615/18446744073709551615",
            "bytes 0-99999999999999999999/9",
            "lines 0-1/9",
        ] {
            assert_eq!(parsed(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_version_is_a_size_and_its_validators() {
        let version = |size, etag: Option<&str>, modified: Option<&str>| Version {
            size,
            etag: etag.map(str::to_string),
            modified: modified.map(str::to_string),
            settled: modified == Some("Mon"),
        };
        let known = version(9, Some("\"a\""), Some("Mon"));
        assert_eq!(known.check(&version(9, Some("\"a\""), None)), Ok(()));
        for (later, what) in [
            (version(8, Some("\"a\""), Some("Mon")), "size"),
            (version(9, Some("\"b\""), Some("Mon")), "ETag"),
            (version(9, None, Some("Mon")), "ETag"),
            (version(9, Some("\"a\""), Some("Tue")), "Last-Modified"),
        ] {
            assert_eq!(known.check(&later), Err(Fault::Changed(what)));
        }
        assert_eq!(known.validator(), Some("\"a\""));
        assert_eq!(version(9, Some("W/\"a\""), Some("Mon")).validator(), None);
        assert_eq!(version(9, None, Some("Mon")).validator(), Some("Mon"));
        assert_eq!(version(9, Some("\"a\""), None).lasting(), Some("\"a\""));
        assert_eq!(version(9, None, Some("Mon")).lasting(), Some("Mon"));
        assert_eq!(version(9, None, Some("Tue")).lasting(), None);
        assert_eq!(version(9, Some("W/\"a\""), Some("Mon")).lasting(), None);
    }
}
