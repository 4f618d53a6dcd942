//! Which workers share a run queue: those whose processors share a core, a cache or a package.

/// The part of the machine that the workers of one run queue share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QueueDomain {
    /// No part: each worker has a queue of its own.
    None,
    /// A core: its hardware threads share a queue.
    Smt,
    /// The last level of cache, which still holds the bytes that one of its workers has just touched.
    #[default]
    Llc,
    Package,
    /// The machine: there is one queue.
    All,
}

impl QueueDomain {
    /// All values, from most queues to one queue.
    pub const EVERY: [Self; 5] = [Self::None, Self::Smt, Self::Llc, Self::Package, Self::All];

    /// `none`, `smt`, `llc`, `package` or `all`.
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

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::EVERY.into_iter().find(|domain| domain.name() == name)
    }
}

/// Which of several queues a worker takes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// The queue with the earliest visible job: results come soonest.
    #[default]
    Earliest,
    /// The worker's own queue, whose cache holds the block, unless another queue is longer and has an earlier job.
    Local,
}

impl Policy {
    pub const EVERY: [Self; 2] = [Self::Earliest, Self::Local];

    /// `earliest` or `local`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Earliest => "earliest",
            Self::Local => "local",
        }
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::EVERY.into_iter().find(|policy| policy.name() == name)
    }
}

/// The location of a processor. The numbers are compared only for equality; each is unique in the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuLocation {
    pub core: usize,
    /// The last level of cache.
    pub cache: usize,
    pub package: usize,
}

/// The processors that workers run on. The engine does not examine the machine: the user of a pool gives the locations, which
/// change only speed.
///
/// A worker is not pinned to its location, and the engine does not check the location later. A worker that the kernel has moved
/// to another cache still takes the earliest job, and fetches the block from farther away. A pinned worker would wait for its
/// processor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Topology {
    locations: Vec<CpuLocation>,
}

impl Topology {
    /// Worker `n`, counted from 0, is at `locations[n % locations.len()]`. Without locations all workers share one location.
    #[must_use]
    pub fn new(locations: Vec<CpuLocation>) -> Self {
        Self { locations }
    }

    /// The queue of each of `workers` workers. Queues are numbered from 0 in the order of their first workers.
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

/// The index of `domain` in `domains`, to which it is added if it is new.
fn number(domains: &mut Vec<usize>, domain: usize) -> usize {
    domains.iter().position(|&known| known == domain).unwrap_or_else(|| {
        domains.push(domain);
        domains.len() - 1
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two packages of two caches of two cores of two threads, numbered as Linux does: all first threads first.
    fn sixteen() -> Topology {
        let location = |n: usize| CpuLocation { core: n % 8, cache: n % 8 / 2, package: n % 8 / 4 };
        Topology::new((0..16).map(location).collect())
    }

    #[test]
    fn each_domain_has_its_number_of_queues() {
        let count = |domain| sixteen().queues(domain, 16).into_iter().max().map(|last| last + 1);
        assert_eq!(QueueDomain::EVERY.map(count), [Some(16), Some(8), Some(4), Some(2), Some(1)]);
        assert_eq!(sixteen().queues(QueueDomain::Smt, 10)[8..], [0, 1]);
        assert_eq!(sixteen().queues(QueueDomain::Package, 40)[32..], [0, 0, 0, 0, 1, 1, 1, 1]);
    }

    #[test]
    fn an_unknown_machine_is_one_location() {
        for domain in [QueueDomain::Smt, QueueDomain::Llc, QueueDomain::Package, QueueDomain::All] {
            assert_eq!(Topology::default().queues(domain, 3), [0, 0, 0]);
        }
        assert_eq!(Topology::default().queues(QueueDomain::None, 3), [0, 1, 2]);
    }

    #[test]
    fn from_name_inverts_name() {
        assert!(QueueDomain::EVERY.iter().all(|&domain| QueueDomain::from_name(domain.name()) == Some(domain)));
        assert!(Policy::EVERY.iter().all(|&policy| Policy::from_name(policy.name()) == Some(policy)));
        assert_eq!((QueueDomain::from_name("numa"), Policy::from_name("")), (None, None));
    }
}
