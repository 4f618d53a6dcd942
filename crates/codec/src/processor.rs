//! Instruction sets of the processor.

/// Whether the processor has AVX2, BMI1 and BMI2. Hot loops are compiled once for these and once for any processor.
#[cfg(target_arch = "x86_64")]
pub(crate) fn has_avx2_and_bmi() -> bool {
    is_x86_feature_detected!("avx2") && is_x86_feature_detected!("bmi1") && is_x86_feature_detected!("bmi2")
}
