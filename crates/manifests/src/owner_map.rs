//! Maps of owners: replace the numbers of users and groups, like the maps of a user namespace.

use std::collections::BTreeMap;

/// Rules that replace numbers. Numbers without a rule stay the same.
///
/// A rule has the form `[u:|g:]FIRST[-LAST]:TO`. The numbers from FIRST to LAST become the numbers from TO on: those of users (`u:`), of
/// groups (`g:`), or of both.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OwnerMap {
    users: Ranges,
    groups: Ranges,
}

/// Ranges by their first number. Ranges do not overlap.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Ranges(BTreeMap<u32, Range>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Range {
    last: u32,
    /// The new value of the first number.
    to: u32,
}

impl OwnerMap {
    /// Adds a rule.
    ///
    /// # Errors
    /// The form is wrong, a number is out of range, or an earlier rule has some of the numbers. The message does not contain the rule.
    pub fn add(&mut self, rule: &str) -> Result<(), String> {
        let (users, groups, ranges) = match rule.split_once(':') {
            Some(("u", ranges)) => (true, false, ranges),
            Some(("g", ranges)) => (false, true, ranges),
            _ => (true, true, rule),
        };
        let (first, last, to) = parse(ranges).ok_or("not a rule of owners (expected [u:|g:]FIRST[-LAST]:TO)")?;
        if last < first {
            return Err(format!("{last} is less than {first} (expected FIRST-LAST)"));
        }
        if to.checked_add(last - first).is_none() {
            return Err(format!("{last} would become more than {}; use a lower TO, or a shorter range", u32::MAX));
        }
        let taken = [(users, &self.users), (groups, &self.groups)];
        if taken.iter().any(|(given, ranges)| *given && ranges.overlap(first, last)) {
            return Err("an earlier rule has some of these numbers (expected one rule for each)".to_owned());
        }
        for (given, ranges) in [(users, &mut self.users), (groups, &mut self.groups)] {
            if given {
                ranges.0.insert(first, Range { last, to });
            }
        }
        Ok(())
    }

    /// The new number of a user.
    pub fn user(&self, id: u32) -> u32 {
        self.users.map(id)
    }

    /// The new number of a group.
    pub fn group(&self, id: u32) -> u32 {
        self.groups.map(id)
    }

    /// Whether the map has no rules.
    pub fn is_empty(&self) -> bool {
        self.users.0.is_empty() && self.groups.0.is_empty()
    }
}

impl Ranges {
    fn overlap(&self, first: u32, last: u32) -> bool {
        self.0.range(..=last).next_back().is_some_and(|(_, range)| range.last >= first)
    }

    fn map(&self, id: u32) -> u32 {
        let below = self.0.range(..=id).next_back().filter(|(_, range)| range.last >= id);
        below.map_or(id, |(first, range)| range.to + (id - first))
    }
}

fn parse(rule: &str) -> Option<(u32, u32, u32)> {
    let (range, to) = rule.split_once(':')?;
    let (first, last) = range.split_once('-').unwrap_or((range, range));
    Some((number(first)?, number(last)?, number(to)?))
}

/// Parses a number that consists of digits only. `str::parse` would accept a sign.
fn number(text: &str) -> Option<u32> {
    text.parse().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(rules: &[&str]) -> Result<OwnerMap, String> {
        let mut map = OwnerMap::default();
        rules.iter().try_for_each(|rule| map.add(rule))?;
        Ok(map)
    }

    #[test]
    fn maps_the_numbers_of_rules() {
        let map = map(&["u:1000:0", "g:100-199:4294967196", "5-7:50", "u:0-4:10", "u:4294967295:1"]).unwrap();
        let users = [0, 4, 5, 6, 7, 8, 999, 1000, 1001, u32::MAX].map(|id| map.user(id));
        assert_eq!(users, [10, 14, 50, 51, 52, 8, 999, 0, 1001, 1]);
        let groups = [0, 5, 7, 99, 100, 199, 200, 1000].map(|id| map.group(id));
        assert_eq!(groups, [0, 50, 52, 99, 4_294_967_196, u32::MAX, 200, 1000]);
        assert!(OwnerMap::default().is_empty() && !map.is_empty());
    }

    #[test]
    fn rejects_invalid_rules() {
        for (rules, part) in [
            (&["5"][..], "not a rule"),
            (&[""], "not a rule"),
            (&["x:1:2"], "not a rule"),
            (&["u:1"], "not a rule"),
            (&["u:1:2:3"], "not a rule"),
            (&["u:+1:2"], "not a rule"),
            (&["u:-1:2"], "not a rule"),
            (&["1:4294967296"], "not a rule"),
            (&["u:7-6:0"], "6 is less than 7"),
            (&["0-1:4294967295"], "1 would become more than 4294967295"),
            (&["u:5:1", "4-6:1"], "an earlier rule"),
            (&["u:5-9:1", "u:9-10:1"], "an earlier rule"),
            (&["u:5-9:1", "u:6:1"], "an earlier rule"),
        ] {
            assert!(map(rules).is_err_and(|error| error.contains(part)), "{rules:?}");
        }
        assert!(map(&["u:5:1", "g:5:1", "u:4:1", "u:6:1"]).is_ok());
    }
}
