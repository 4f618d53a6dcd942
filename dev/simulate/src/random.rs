//! Seeded random numbers, the same in every run.

/// The test kit's generator with the distributions of the simulation.
#[derive(Debug, Clone)]
pub struct Random(packline_testkit::Random);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(packline_testkit::Random::new(seed))
    }

    pub fn bits(&mut self) -> u64 {
        self.0.bits()
    }

    /// A number from 0 to below 1.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A whole number below `bound`, which is not 0.
    pub fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.bits()) * bound as u128) >> 64) as usize
    }

    /// A log-normal number with mean 1 and this coefficient of variation: compression times of mixed content are skewed to the
    /// right.
    pub fn spread(&mut self, variation: f64) -> f64 {
        let variance = (1.0 + variation * variation).ln();
        (self.normal() * variance.sqrt() - variance / 2.0).exp()
    }

    /// A number with mean 0 and variance 1 (Box, Muller 1958).
    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRAWS: usize = 20_000;

    fn mean(draw: impl FnMut() -> f64) -> f64 {
        std::iter::repeat_with(draw).take(DRAWS).sum::<f64>() / DRAWS as f64
    }

    #[test]
    fn a_seed_repeats() {
        let draw = |seed| (0..4).map(|_| Random::new(seed).bits()).collect::<Vec<_>>();
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
    }

    #[test]
    fn means_and_bounds() {
        let mut random = Random::new(1);
        assert!((mean(|| random.unit()) - 0.5).abs() < 0.01);
        assert!((mean(|| random.below(11) as f64) - 5.0).abs() < 0.1);
        assert!((mean(|| random.spread(0.4)) - 1.0).abs() < 0.02);
        let square = mean(|| (random.spread(0.4) - 1.0).powi(2));
        assert!((square.sqrt() - 0.4).abs() < 0.02, "{square}");
        assert_eq!(random.spread(0.0), 1.0);
    }
}
