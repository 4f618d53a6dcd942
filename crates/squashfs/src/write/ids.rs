//! The id table: every user and group number once. Inodes refer to a number by a 16-bit index.

use std::collections::BTreeMap;

use crate::Error;
use crate::format::wire::Put;

/// Largest number of ids: the superblock counts them in 16 bits.
pub(crate) const MOST_IDS: usize = 65_535;

/// Ids in the order of their first use.
#[derive(Debug, Default)]
pub(crate) struct Ids {
    indices: BTreeMap<u32, u16>,
    values: Vec<u32>,
}

impl Ids {
    /// Adds a user or group number if it is new, and returns its index. `entry` returns the path of the entry, for the message.
    ///
    /// # Errors
    /// [`Error::Limit`] if the image already has 65,535 other numbers.
    pub(crate) fn index(&mut self, id: u32, entry: &dyn Fn() -> String) -> Result<u16, Error> {
        if let Some(index) = self.indices.get(&id) {
            return Ok(*index);
        }
        if self.values.len() == MOST_IDS {
            return Err(too_many(id, &entry()));
        }
        let index = self.values.len() as u16;
        self.indices.insert(id, index);
        self.values.push(id);
        Ok(index)
    }

    pub(crate) fn count(&self) -> u16 {
        self.values.len() as u16
    }

    /// Returns the table's raw bytes: a u32 for each number.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.values.len() * 4);
        for value in &self.values {
            out.put_u32(*value);
        }
        out
    }
}

fn too_many(id: u32, entry: &str) -> Error {
    Error::Limit {
        what: format!("{entry}: user or group {id} is one more than the image can name"),
        expected: format!("at most {MOST_IDS} different user and group numbers"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry() -> String {
        "a/file".into()
    }

    #[test]
    fn indices_follow_the_first_use() {
        let mut ids = Ids::default();
        let got: Vec<u16> = [1000, 0, 1000, u32::MAX].map(|id| ids.index(id, &entry).unwrap()).to_vec();
        assert_eq!(got, [0, 1, 0, 2]);
        assert_eq!(ids.count(), 3);
        assert_eq!(ids.encode(), b"\xe8\x03\0\0\0\0\0\0\xff\xff\xff\xff");
    }

    #[test]
    fn the_last_index_is_65534_and_one_more_id_names_its_entry() {
        let mut ids = Ids::default();
        for id in 0..MOST_IDS as u32 {
            assert_eq!(ids.index(id, &entry).unwrap(), id as u16);
        }
        assert_eq!(ids.index(7, &entry).unwrap(), 7);
        let message = ids.index(70_000, &entry).unwrap_err().to_string();
        assert!(message.contains("a/file") && message.contains("70000") && message.contains("65535"), "{message}");
    }
}
