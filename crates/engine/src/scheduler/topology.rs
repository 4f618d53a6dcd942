//! How many run queues there are and whose they are: what the workers' processors share.

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
    /// The package.
    Package,
    /// The machine: one queue.
    All,
}

impl QueueDomain {
    /// Every way, from most queues to one.
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
        Self::EVERY.into_iter().find(|share| share.name() == name)
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
    /// Both.
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
    /// The core.
    pub core: usize,
    /// The last level of cache.
    pub cache: usize,
    /// The package.
    pub package: usize,
}

/// The processors that workers run on. The engine does not examine the machine: the user of a pool gives the locations. They
/// change speed, and nothing else.
///
/// A worker is not pinned to its location, nor is that checked later: one that the kernel has moved to another cache still takes
/// the earliest job there is, and has to fetch the block from afar, where a pinned one would wait for its processor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Topology {
    sites: Vec<CpuLocation>,
}

impl Topology {
    /// Worker `n`, counted from 0, is at `sites[n % sites.len()]`. Without sites all are in one place.
    #[must_use]
    pub fn new(sites: Vec<CpuLocation>) -> Self {
        Self { sites }
    }

    /// The queue of each of `workers` workers, numbered from 0 in the order of their first workers.
    #[must_use]
    pub fn queues(&self, share: QueueDomain, workers: usize) -> Vec<usize> {
        let mut domains = Vec::new();
        (0..workers).map(|worker| number(&mut domains, self.domain(share, worker))).collect()
    }

    fn domain(&self, share: QueueDomain, worker: usize) -> usize {
        let site = worker.checked_rem(self.sites.len()).map_or_else(CpuLocation::default, |index| self.sites[index]);
        match share {
            QueueDomain::None => worker,
            QueueDomain::Smt => site.core,
            QueueDomain::Llc => site.cache,
            QueueDomain::Package => site.package,
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
        let site = |n: usize| CpuLocation { core: n % 8, cache: n % 8 / 2, package: n % 8 / 4 };
        Topology::new((0..16).map(site).collect())
    }

    #[test]
    fn each_way_to_share_gives_its_number_of_queues() {
        let count = |share| sixteen().queues(share, 16).into_iter().max().map(|last| last + 1);
        assert_eq!(QueueDomain::EVERY.map(count), [Some(16), Some(8), Some(4), Some(2), Some(1)]);
        assert_eq!(sixteen().queues(QueueDomain::Smt, 10)[8..], [0, 1]);
        assert_eq!(sixteen().queues(QueueDomain::Package, 40)[32..], [0, 0, 0, 0, 1, 1, 1, 1]);
    }

    #[test]
    fn an_unknown_machine_is_one_place() {
        for share in [QueueDomain::Smt, QueueDomain::Llc, QueueDomain::Package, QueueDomain::All] {
            assert_eq!(Topology::default().queues(share, 3), [0, 0, 0]);
        }
        assert_eq!(Topology::default().queues(QueueDomain::None, 3), [0, 1, 2]);
    }

    #[test]
    fn names_lead_back() {
        assert!(QueueDomain::EVERY.iter().all(|&share| QueueDomain::from_name(share.name()) == Some(share)));
        assert!(Policy::EVERY.iter().all(|&policy| Policy::from_name(policy.name()) == Some(policy)));
        assert_eq!((QueueDomain::from_name("numa"), Policy::from_name("")), (None, None));
    }
}
