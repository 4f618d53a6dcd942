//! Which of the ways through the hot loops this processor can go.

/// Instructions that hot loops are compiled for. All make the same bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kernel {
    /// What every processor of the architecture has.
    Portable,
    /// With BMI1 and BMI2: shifts by a variable amount that leave flags alone.
    #[cfg(target_arch = "x86_64")]
    Bmi2,
}

impl Kernel {
    /// The fastest that this processor can go.
    pub(super) fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        if std::is_x86_feature_detected!("bmi1") && std::is_x86_feature_detected!("bmi2") {
            return Kernel::Bmi2;
        }
        Kernel::Portable
    }

    /// All that this processor can go.
    #[cfg(test)]
    pub(super) fn all() -> Vec<Self> {
        let mut all = vec![Kernel::Portable, Kernel::detect()];
        all.dedup();
        all
    }
}
