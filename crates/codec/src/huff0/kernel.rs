//! Which of the ways through the hot loops this processor can go.

/// Instructions that hot loops are compiled for. All make the same bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kernel {
    /// What every processor of the architecture has.
    Portable,
    /// With BMI1 and BMI2 (shifts by a variable amount that leave flags alone) and AVX2 (what is done to a table).
    #[cfg(target_arch = "x86_64")]
    Bmi2,
    /// Those, and AVX-512 F and BW for encoding.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Kernel {
    /// The fastest that this processor can go.
    pub(super) fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("bmi1") && is_x86_feature_detected!("bmi2") && is_x86_feature_detected!("avx2") {
            let wide = is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw");
            return if wide { Kernel::Avx512 } else { Kernel::Bmi2 };
        }
        Kernel::Portable
    }

    /// All that this processor can go.
    #[cfg(test)]
    pub(super) fn all() -> Vec<Self> {
        #[allow(unused_mut)] // on other architectures
        let mut all = vec![Kernel::Portable];
        #[cfg(target_arch = "x86_64")]
        match Kernel::detect() {
            Kernel::Portable => {}
            Kernel::Bmi2 => all.push(Kernel::Bmi2),
            Kernel::Avx512 => all.extend([Kernel::Bmi2, Kernel::Avx512]),
        }
        all
    }
}
