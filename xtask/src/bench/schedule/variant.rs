//! The ways of scheduling that are compared.

use packline_engine::{Config, Policy, QueueDomain, Scheduling};

#[derive(Debug, Clone, Copy)]
pub struct Variant {
    pub name: &'static str,
    queue_per: QueueDomain,
    policy: Policy,
    help_out: bool,
}

const fn queues(name: &'static str, queue_per: QueueDomain, policy: Policy) -> Variant {
    Variant { name, queue_per, policy, help_out: false }
}

/// All variants; the first is the baseline.
pub const VARIANTS: [Variant; 5] = [
    queues("one-queue", QueueDomain::All, Policy::Earliest),
    queues("default", QueueDomain::Llc, Policy::Earliest),
    queues("none+earliest", QueueDomain::None, Policy::Earliest),
    queues("none+local", QueueDomain::None, Policy::Local),
    Variant { help_out: true, ..queues("help-out", QueueDomain::Llc, Policy::Earliest) },
];

pub fn parse(name: &str) -> Result<Variant, String> {
    let known = VARIANTS.into_iter().find(|variant| variant.name == name);
    known.ok_or_else(|| format!("expected one of {}", VARIANTS.map(|variant| variant.name).join(", ")))
}

/// These variants in the order of [`VARIANTS`], with the baseline.
pub fn with_plain(chosen: &[Variant]) -> Vec<Variant> {
    let wanted =
        |variant: &Variant| variant.name == VARIANTS[0].name || chosen.iter().any(|other| other.name == variant.name);
    VARIANTS.into_iter().filter(wanted).collect()
}

impl Variant {
    /// The scheduler's settings. All workers are assumed to share one last-level cache, as on most machines.
    pub fn scheduling(&self) -> Scheduling {
        let Variant { queue_per, policy, .. } = *self;
        Scheduling { queue_per, policy, ..Scheduling::default() }
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
        assert_eq!(names, ["one-queue", "default", "help-out"]);
        assert!(parse("fast").unwrap_err().contains("none+local"));
        assert_eq!(VARIANTS[0].scheduling().queue_per, QueueDomain::All);
        assert!(VARIANTS[4].config().help_out && !VARIANTS[1].config().help_out);
    }
}
