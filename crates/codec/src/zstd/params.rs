//! The parameters of zstd.

use super::NAME;
use crate::CodecError;
use crate::item::{Printed, items};

const KNOWN: &str = "level";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ZstdParams {
    /// Effort, -131072 to -1 (ever faster) or 1 to 22. Default 15.
    pub level: i32,
}

impl ZstdParams {
    pub const DEFAULT_LEVEL: i32 = 15;
    /// The fastest level.
    pub const MIN_LEVEL: i32 = -131_072;
    /// The level that compresses best.
    pub const MAX_LEVEL: i32 = 22;

    pub(crate) fn parse(list: &str) -> Result<Self, CodecError> {
        let mut params = ZstdParams::default();
        for item in items(NAME, list) {
            match item.key {
                "level" | "compression-level" => {
                    params.level = item.number(Self::MIN_LEVEL..=Self::MAX_LEVEL)?;
                }
                _ => return Err(item.unknown(KNOWN)),
            }
        }
        params.check()?;
        Ok(params)
    }

    pub(crate) fn print(&self) -> String {
        let mut printed = Printed::default();
        printed.value("level", self.level, Self::DEFAULT_LEVEL);
        printed.list()
    }

    pub(crate) fn check(&self) -> Result<(), CodecError> {
        if self.level != 0 && (Self::MIN_LEVEL..=Self::MAX_LEVEL).contains(&self.level) {
            return Ok(());
        }
        Err(CodecError::Value {
            codec: NAME,
            parameter: "level".to_owned(),
            found: self.level.to_string(),
            expected: "a whole number from -131072 to -1 or from 1 to 22".to_owned(),
        })
    }
}

impl Default for ZstdParams {
    fn default() -> Self {
        ZstdParams { level: Self::DEFAULT_LEVEL }
    }
}
