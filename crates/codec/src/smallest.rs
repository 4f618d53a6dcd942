//! The parameters of each codec that make blocks smallest.

use crate::{
    Bcj, Bzip2Params, CodecError, GzipParams, Lz4Params, LzmaModel, LzmaParams, LzoAlgorithm, LzoParams, Spec,
    XzParams, ZstdParams,
};

const LZO_MAX_LEVEL: u32 = 9;

impl Spec {
    /// Returns the same codec with the parameters that make blocks smallest, whatever they cost. Parameters that a reader must support are
    /// kept: the window of gzip, the dictionary of xz and lzma, and the filters of xz, to which x86 is added.
    ///
    /// # Errors
    /// A parameter that this function chooses is set to another value.
    pub fn smallest(&self) -> Result<Spec, CodecError> {
        let smallest = match self {
            Spec::Gzip(params) if params.window != GzipParams::DEFAULT_WINDOW => Spec::Gzip(GzipParams {
                level: GzipParams::MAX_ZLIB_LEVEL,
                window: params.window,
                ..GzipParams::default()
            }),
            Spec::Gzip(_) => Spec::Gzip(GzipParams { level: GzipParams::MAX_LEVEL, ..GzipParams::default() }),
            Spec::Xz(params) => {
                let mut filters = params.filters;
                filters.insert(Bcj::X86);
                Spec::Xz(XzParams { model: strongest(&params.model), filters, auto: false })
            }
            Spec::Lzma(params) => Spec::Lzma(LzmaParams { model: strongest(&params.model) }),
            Spec::Zstd(_) => Spec::Zstd(ZstdParams { level: ZstdParams::MAX }),
            Spec::Lz4(_) => Spec::Lz4(Lz4Params { hc: true, ..Lz4Params::default() }),
            Spec::Lzo(_) => Spec::Lzo(LzoParams { algorithm: LzoAlgorithm::Lzo1x999, level: LZO_MAX_LEVEL }),
            Spec::Bzip2(_) => Spec::Bzip2(Bzip2Params { level: Bzip2Params::MAX_LEVEL }),
            Spec::None | Spec::Huff0 | Spec::Zle => self.clone(),
        };
        self.check_that_all_are_in(&smallest).map(|()| smallest)
    }

    /// Checks that every parameter that differs from its default is among those of `smallest`.
    fn check_that_all_are_in(&self, smallest: &Spec) -> Result<(), CodecError> {
        let [mine, chosen] = [self, smallest].map(ToString::to_string);
        let list = |text: &str| text.split_once(':').map_or(String::new(), |(_, list)| list.to_owned());
        let mine = list(&mine);
        let kept = list(&chosen);
        match mine.split(',').find(|item| !item.is_empty() && !kept.split(',').any(|kept| kept == *item)) {
            None => Ok(()),
            Some(item) => Err(CodecError::Conflict { codec: self.name(), found: item.to_owned(), expected: chosen }),
        }
    }
}

fn strongest(model: &LzmaModel) -> LzmaModel {
    LzmaModel { dict_size: model.dict_size, ..LzmaModel::new(LzmaModel::MAX) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_parameters_that_readers_must_support() {
        for (given, smallest) in [
            ("gzip", "gzip:level=12"),
            ("gzip:window=12", "gzip:window=12"),
            ("xz", "xz:level=max,x86"),
            ("xz:arm64,dictsize=50%", "xz:level=max,dictsize=50%,x86,arm64"),
            ("lzma", "lzma:level=max"),
            ("zstd:level=max", "zstd:level=max"),
            ("lz4", "lz4:hc"),
            ("lz4hc", "lz4:hc"),
            ("lzo", "lzo:level=9"),
            ("bzip2", "bzip2"),
            ("zle", "zle"),
        ] {
            let spec = Spec::parse(given).unwrap().smallest().unwrap();
            assert_eq!(spec.to_string(), smallest);
            assert_eq!(spec.smallest(), Ok(spec.clone()));
            assert_eq!(Spec::parse(smallest), Ok(spec));
        }
    }

    #[test]
    fn rejects_parameters_that_smallest_chooses() {
        for given in
            ["zstd:level=3", "xz:auto", "xz:level=9", "xz:extreme", "lzma:lc=1", "lz4:acceleration=2", "gzip:rle"]
        {
            assert!(Spec::parse(given).unwrap().smallest().is_err(), "{given}");
        }
        let error = Spec::parse("zstd:level=19").unwrap().smallest().unwrap_err();
        assert_eq!(error.to_string(), "zstd: level=19 (expected zstd:level=max)");
    }
}
