//! Which workers share a run queue: those whose processors share a core, a cache or a package.

/// What the processors of the workers of one run queue have in common.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QueueDomain {
    /// Nothing: a queue for each worker.
    None,
    /// A core: one for the hardware threads of a core.
    Smt,
    /// The last level of cache, which holds what one of its workers has just touched.
    #[default]
    Llc,
    Package,
    /// The machine: one queue.
    All,
}

impl QueueDomain {
    /// All, from most queues to one.
    pub const EVERY: [Self; 5] = [Self::None, Self::Smt, Self::Llc, Self::Package, Self::All];

    /// Its name: `none`, `smt`, `llc`, `package` or `all`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Smt => "smt",
            Self::Llc => "llc",
            Self::Package => "package",
            Self::All => "all",
        }
    }

    /// The one of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::EVERY.into_iter().find(|domain| domain.name() == name)
    }
}

/// Which of several queues a worker takes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// The one with the earliest job it can see: results come soonest.
    #[default]
    Earliest,
    /// Its own, whose cache holds the block, until another is longer and its job earlier.
    Local,
}

impl Policy {
    pub const EVERY: [Self; 2] = [Self::Earliest, Self::Local];

    /// Its name: `earliest` or `local`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Earliest => "earliest",
            Self::Local => "local",
        }
    }

    /// The one of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::EVERY.into_iter().find(|policy| policy.name() == name)
    }
}

/// Location of a processor. The numbers are only compared for equality; each is unique in the whole machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuLocation {
    pub core: usize,
    /// The last level of cache.
    pub cache: usize,
    pub package: usize,
}

/// The processors that workers run on. The engine does not examine the machine: the user of a pool gives the locations. They
/// change speed, and nothing else.
///
/// A worker is not pinned to its location, nor is that checked later: one that the kernel has moved to another cache still takes
/// the earliest job there is, and has to fetch the block from afar, where a pinned one would wait for its processor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Topology {
    locations: Vec<CpuLocation>,
}

impl Topology {
    /// Worker `n`, counted from 0, is at `locations[n % locations.len()]`; without locations all workers are in one place.
    #[must_use]
    pub fn new(locations: Vec<CpuLocation>) -> Self {
        Self { locations }
    }

    /// The queue of each of `workers` workers, numbered from 0 in the order of their first workers.
    #[must_use]
    pub fn queues(&self, domain: QueueDomain, workers: usize) -> Vec<usize> {
        let mut domains = Vec::new();
        (0..workers).map(|worker| number(&mut domains, self.domain(domain, worker))).collect()
    }

    fn domain(&self, domain: QueueDomain, worker: usize) -> usize {
        let location =
            worker.checked_rem(self.locations.len()).map_or_else(CpuLocation::default, |index| self.locations[index]);
        match domain {
            QueueDomain::None => worker,
            QueueDomain::Smt => location.core,
            QueueDomain::Llc => location.cache,
            QueueDomain::Package => location.package,
            QueueDomain::All => 0,
        }
    }
}

/// The place of `domain` among those met so far.
fn number(domains: &mut Vec<usize>, domain: usize) -> usize {
    domains.iter().position(|&known| known == domain).unwrap_or_else(|| {
        domains.push(domain);
        domains.len() - 1
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two packages of two caches of two cores of two threads, in the order Linux numbers them: all first threads first.
    fn sixteen() -> Topology {
        let location = |n: usize| CpuLocation { core: n % 8, cache: n % 8 / 2, package: n % 8 / 4 };
        Topology::new((0..16).map(location).collect())
    }

    #[test]
    fn each_way_to_share_gives_its_number_of_queues() {
        let count = |domain| sixteen().queues(domain, 16).into_iter().max().map(|last| last + 1);
        assert_eq!(QueueDomain::EVERY.map(count), [Some(16), Some(8), Some(4), Some(2), Some(1)]);
        assert_eq!(sixteen().queues(QueueDomain::Smt, 10)[8..], [0, 1]);
        assert_eq!(sixteen().queues(QueueDomain::Package, 40)[32..], [0, 0, 0, 0, 1, 1, 1, 1]);
    }

    #[test]
    fn an_unknown_machine_is_one_place() {
        for domain in [QueueDomain::Smt, QueueDomain::Llc, QueueDomain::Package, QueueDomain::All] {
            assert_eq!(Topology::default().queues(domain, 3), [0, 0, 0]);
        }
        assert_eq!(Topology::default().queues(QueueDomain::None, 3), [0, 1, 2]);
    }

    #[test]
    fn names_lead_back() {
        assert!(QueueDomain::EVERY.iter().all(|&domain| QueueDomain::from_name(domain.name()) == Some(domain)));
        assert!(Policy::EVERY.iter().all(|&policy| Policy::from_name(policy.name()) == Some(policy)));
        assert_eq!((QueueDomain::from_name("numa"), Policy::from_name("")), (None, None));
    }
}
