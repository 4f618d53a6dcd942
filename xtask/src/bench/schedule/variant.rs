//! The ways of scheduling that are compared.

use packline::line::{Config, Policy, Scheduling, Share};

#[derive(Debug, Clone, Copy)]
pub struct Variant {
    pub name: &'static str,
    plain: bool,
    share: Share,
    policy: Policy,
    help_out: bool,
}

const fn queues(name: &'static str, share: Share, policy: Policy) -> Variant {
    Variant { name, plain: false, share, policy, help_out: false }
}

/// All variants; the first is the baseline.
pub const VARIANTS: [Variant; 5] = [
    Variant { plain: true, ..queues("plain", Share::Llc, Policy::Earliest) },
    queues("default", Share::Llc, Policy::Earliest),
    queues("none+earliest", Share::None, Policy::Earliest),
    queues("none+local", Share::None, Policy::Local),
    Variant { help_out: true, ..queues("help-out", Share::Llc, Policy::Earliest) },
];

/// The variant of that name.
pub fn parse(name: &str) -> Result<Variant, String> {
    let known = VARIANTS.into_iter().find(|variant| variant.name == name);
    known.ok_or_else(|| format!("expected one of {}", VARIANTS.map(|variant| variant.name).join(", ")))
}

/// These variants in the order of [`VARIANTS`], with the baseline.
pub fn with_plain(chosen: &[Variant]) -> Vec<Variant> {
    let wanted = |variant: &Variant| variant.plain || chosen.iter().any(|other| other.name == variant.name);
    VARIANTS.into_iter().filter(wanted).collect()
}

impl Variant {
    /// The scheduler's settings. All workers are assumed to share one last-level cache, as on most machines.
    pub fn scheduling(&self) -> Scheduling {
        let Variant { plain, share, policy, .. } = *self;
        Scheduling { share, policy, plain, ..Scheduling::default() }
    }

    /// The pipeline's settings without numbers of workers and bytes.
    pub fn config(&self) -> Config {
        Config { scheduling: self.scheduling(), help_out: self.help_out, ..Config::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_baseline_comes_first_and_unknown_names_are_refused() {
        let chosen = ["help-out", "default"].map(|name| parse(name).unwrap());
        let names: Vec<_> = with_plain(&chosen).iter().map(|variant| variant.name).collect();
        assert_eq!(names, ["plain", "default", "help-out"]);
        assert!(parse("fast").unwrap_err().contains("none+local"));
        assert!(VARIANTS[0].scheduling().plain && !VARIANTS[1].scheduling().plain);
        assert!(VARIANTS[4].config().help_out && !VARIANTS[1].config().help_out);
    }
}
