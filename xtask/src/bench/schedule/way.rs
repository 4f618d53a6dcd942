//! The ways to schedule that stand side by side.

use packline::line::{Config, Policy, Scheduling, Share};

/// One way.
#[derive(Debug, Clone, Copy)]
pub struct Way {
    /// Its name in tables.
    pub name: &'static str,
    plain: bool,
    share: Share,
    policy: Policy,
    help_out: bool,
}

const fn queues(name: &'static str, share: Share, policy: Policy) -> Way {
    Way { name, plain: false, share, policy, help_out: false }
}

/// All of them; the first is what the others are held against.
pub const WAYS: [Way; 5] = [
    Way { plain: true, ..queues("plain", Share::Llc, Policy::Earliest) },
    queues("default", Share::Llc, Policy::Earliest),
    queues("none+earliest", Share::None, Policy::Earliest),
    queues("none+local", Share::None, Policy::Local),
    Way { help_out: true, ..queues("help-out", Share::Llc, Policy::Earliest) },
];

impl Way {
    /// Those of these names, the plain queue first in any case.
    pub fn list(names: &[String]) -> Result<Vec<Way>, String> {
        let known = || WAYS.map(|way| way.name);
        match names.iter().find(|name| !known().contains(&name.as_str())) {
            Some(name) => Err(format!("--ways: unknown {name} (expected some of {:?})", known())),
            None => Ok(WAYS.into_iter().filter(|way| way.plain || names.iter().any(|name| name == way.name)).collect()),
        }
    }

    /// How workers find their jobs. All are taken to be in one place, which most machines are.
    pub fn scheduling(&self) -> Scheduling {
        let Way { plain, share, policy, .. } = *self;
        Scheduling { share, policy, plain, ..Scheduling::default() }
    }

    /// A line's settings, without any numbers.
    pub fn config(&self) -> Config {
        Config { scheduling: self.scheduling(), help_out: self.help_out, ..Config::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_baseline_comes_first_and_names_must_be_known() {
        let list = |names: &[&str]| Way::list(&names.iter().map(ToString::to_string).collect::<Vec<_>>());
        let names: Vec<_> = list(&["help-out", "default"]).unwrap().iter().map(|way| way.name).collect();
        assert_eq!(names, ["plain", "default", "help-out"]);
        assert!(list(&["fast"]).unwrap_err().contains("none+local"));
        assert!(WAYS[0].scheduling().plain && !WAYS[1].scheduling().plain);
        assert!(WAYS[4].config().help_out && !WAYS[1].config().help_out);
    }
}
