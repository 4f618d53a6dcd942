//! Errors of the formats that are one stream of bytes, and of the files beside an output.

/// Why a .lrz or .pln file, a delta, recovery data or a hash tree cannot be read or written: the error of its crate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StreamError {
    /// A .lrz file.
    #[cfg(feature = "lrz")]
    #[error(transparent)]
    Lrz(#[from] packline_lrz::Error),
    /// A .pln file.
    #[cfg(feature = "pln")]
    #[error(transparent)]
    Pln(#[from] packline_pln::Error),
    /// The frame around the content of an encrypted .pln file, or the keys.
    #[cfg(feature = "encryption")]
    #[error(transparent)]
    Encryption(#[from] packline_encryption::Error),
    /// A delta.
    #[cfg(feature = "delta")]
    #[error(transparent)]
    Delta(#[from] packline_delta::Error),
    /// Recovery data.
    #[cfg(feature = "recovery")]
    #[error(transparent)]
    Recovery(#[from] packline_recovery::Error),
    /// A hash tree of dm-verity.
    #[cfg(feature = "verity")]
    #[error(transparent)]
    Verity(#[from] packline_verity::Error),
    /// Damage to a .pln file that comes through a stream and has recovery data.
    #[cfg(feature = "pln")]
    #[error(
        "{0}; it has recovery data (expected a file and not a stream: saved to a file, it is repaired when it is read)"
    )]
    Repairable(#[source] Box<StreamError>),
}

#[cfg(feature = "pln")]
impl StreamError {
    /// Whether a .pln file is damaged, rather than anything else wrong.
    pub(super) fn is_pln_damage(&self) -> bool {
        match self {
            StreamError::Pln(error) => error.is_of_file(),
            #[cfg(feature = "encryption")]
            StreamError::Encryption(error) => error.is_of_file(),
            StreamError::Repairable(cause) => cause.is_pln_damage(),
            _ => false,
        }
    }
}
