//! Instruction sets of the processor, for which hot loops are compiled.

/// Whether the processor has AVX2, BMI1 and BMI2. Hot loops are compiled once for these and once for any processor.
#[cfg(target_arch = "x86_64")]
pub(crate) fn has_avx2_and_bmi() -> bool {
    is_x86_feature_detected!("avx2") && is_x86_feature_detected!("bmi1") && is_x86_feature_detected!("bmi2")
}

/// Instruction sets that hot loops are compiled for. The result is the same for all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kernel {
    /// The baseline of the architecture.
    Portable,
    /// BMI1 and BMI2 (variable shifts that do not change flags) and AVX2 (building tables).
    #[cfg(target_arch = "x86_64")]
    Bmi2,
    /// `Bmi2`, and AVX-512 F and BW for encoding.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Kernel {
    /// The fastest kernel that this processor supports.
    pub(crate) fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        if crate::processor::has_avx2_and_bmi() {
            let wide = is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw");
            return if wide { Kernel::Avx512 } else { Kernel::Bmi2 };
        }
        Kernel::Portable
    }

    /// All kernels that this processor supports.
    #[cfg(test)]
    pub(crate) fn all() -> Vec<Self> {
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
