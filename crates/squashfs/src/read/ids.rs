//! Owners and groups of an image.

use std::sync::Arc;

use packline_codec::METADATA_BLOCK_SIZE;

use super::ReadError;
use super::metadata::Store;
use crate::format::head::OldIds;
use crate::format::tables::decode::Tables;

pub(super) struct Ids {
    pub(super) list: Vec<u32>,
    /// Number of owners before the groups; in version 4.0, which does not separate them, all ids.
    pub(super) owners: usize,
}

impl Ids {
    /// Reads the id table of version 4.0.
    pub(super) fn of_table(store: &Arc<Store>, tables: &Tables) -> Result<Ids, ReadError> {
        let mut list = Vec::new();
        let mut cursor = None;
        let Some(table) = &tables.ids else { return Ok(Ids { list, owners: 0 }) };
        for id in 0..table.count {
            if id % (METADATA_BLOCK_SIZE as u64 / 4) == 0 {
                cursor = Some(table.at(store, id)?);
            }
            if let Some(cursor) = &mut cursor {
                list.push(cursor.read_u32()?);
            }
        }
        let owners = list.len();
        Ok(Ids { list, owners })
    }

    /// Reads the owners and the groups of versions before 4.0.
    pub(super) fn of_arrays(store: &Store, arrays: &OldIds) -> Result<Ids, ReadError> {
        let mut list = Vec::new();
        for array in [arrays.owners, arrays.groups].into_iter().filter(|array| array.count > 0) {
            let mut bytes = vec![0; usize::from(array.count) * 4];
            store.read(array.start, &mut bytes)?;
            let words = bytes.chunks_exact(4).filter_map(|word| word.try_into().ok());
            list.extend(words.map(|word| store.layout().order.word(word)));
        }
        Ok(Ids { list, owners: arrays.owners.count.into() })
    }
}
