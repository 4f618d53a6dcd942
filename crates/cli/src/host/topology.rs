//! Reads from sysfs which CPUs share a core, a last-level cache or a package.

use std::fs;
use std::path::Path;

use packline_engine::{CpuLocation, QueueDomain, Topology};

/// Returns which of the CPUs that this process may use share a part of the machine, in the order of their numbers. Without information from
/// the system, all CPUs share it.
pub fn topology(domain: QueueDomain) -> Topology {
    if matches!(domain, QueueDomain::None | QueueDomain::All) {
        return Topology::default();
    }
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    topology_below(Path::new("/sys/devices/system/cpu"), &status, domain)
}

/// Reads the files of only one CPU of each part: there may be hundreds of CPUs.
fn topology_below(root: &Path, status: &str, domain: QueueDomain) -> Topology {
    let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap_or_default();
    let mut parts: Vec<Vec<usize>> = Vec::new();
    let locations: Option<Vec<CpuLocation>> = numbers(allowed)
        .map(|number| {
            let known = parts.iter().position(|part| part.contains(&number));
            if known.is_none() {
                parts.push(part_of(&root.join(format!("cpu{number}")), domain)?);
            }
            let first = *parts[known.unwrap_or(parts.len() - 1)].first()?;
            Some(CpuLocation { core: first, cache: first, package: first })
        })
        .collect();
    Topology::new(locations.unwrap_or_default())
}

/// Returns the CPUs that share a part of the machine with a CPU; `None` without information from the system.
fn part_of(processor: &Path, domain: QueueDomain) -> Option<Vec<usize>> {
    let listed = |name: &str| fs::read_to_string(processor.join(name)).ok().map(|list| numbers(&list).collect());
    let package = || listed("topology/package_cpus_list").or_else(|| listed("topology/core_siblings_list"));
    match domain {
        QueueDomain::Smt => listed("topology/core_cpus_list").or_else(|| listed("topology/thread_siblings_list")),
        QueueDomain::Llc => last_cache(&processor.join("cache")).or_else(package),
        QueueDomain::None | QueueDomain::Package | QueueDomain::All => package(),
    }
}

/// Returns the processors that share the cache of the highest level.
fn last_cache(caches: &Path) -> Option<Vec<usize>> {
    let read = |path: &Path, name: &str| fs::read_to_string(path.join(name)).ok();
    let indices = fs::read_dir(caches).ok()?.flatten().map(|entry| entry.path());
    let levels = indices.filter_map(|path| Some((read(&path, "level")?.trim().parse::<u32>().ok()?, path)));
    let (_, last) = levels.max_by_key(|&(level, _)| level)?;
    Some(numbers(&read(&last, "shared_cpu_list")?).collect())
}

/// Parses a list of numbers such as `0-3,8`. Invalid parts are skipped.
fn numbers(list: &str) -> impl Iterator<Item = usize> + '_ {
    list.trim().split(',').filter_map(range).flatten()
}

fn range(part: &str) -> Option<std::ops::RangeInclusive<usize>> {
    let (first, last) = part.split_once('-').unwrap_or((part, part));
    Some(first.parse().ok()?..=last.parse().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use packline_testkit::Sandbox;

    /// A package of four cores and two caches; a core has the processors n and n + 4.
    fn machine() -> Sandbox {
        let root = Sandbox::new("");
        for number in 0..8 {
            let put = |name: &str, text: &str| drop(root.write(format!("cpu{number}/{name}"), text));
            let core = number % 4;
            put("topology/core_cpus_list", &format!("{core},{}\n", core + 4));
            put("topology/package_cpus_list", "0-7\n");
            put("cache/index0/level", "1\n");
            put("cache/index0/shared_cpu_list", &format!("{number}\n"));
            put("cache/index3/level", "3\n");
            let cache = number & 1;
            put("cache/index3/shared_cpu_list", &format!("{cache},{},{},{}\n", cache + 2, cache + 4, cache + 6));
        }
        root
    }

    fn queues(root: &Sandbox, allowed: &str, domain: QueueDomain, workers: usize) -> Vec<usize> {
        topology_below(root.path(), &format!("Name:\tx\nCpus_allowed_list:\t{allowed}\n"), domain)
            .queues(domain, workers)
    }

    #[test]
    fn reads_shared_parts_from_sysfs() {
        let root = machine();
        assert_eq!(queues(&root, "0-7", QueueDomain::Smt, 8), [0, 1, 2, 3, 0, 1, 2, 3]);
        assert_eq!(queues(&root, "0-3", QueueDomain::Llc, 4), [0, 1, 0, 1]);
        assert_eq!(queues(&root, "0-3", QueueDomain::Package, 4), [0, 0, 0, 0]);
        assert_eq!(queues(&root, "1,3", QueueDomain::Llc, 2), [0, 0]);
    }

    #[test]
    fn uses_one_location_without_sysfs() {
        let root = Sandbox::new("");
        for domain in [QueueDomain::Smt, QueueDomain::Llc, QueueDomain::Package] {
            assert_eq!(queues(&root, "0-3", domain, 3), [0, 0, 0]);
            assert_eq!(queues(&root, "", domain, 3), [0, 0, 0]);
        }
    }

    #[test]
    fn parses_processor_lists() {
        assert_eq!(numbers("0-2,7,9-10\n").collect::<Vec<_>>(), [0, 1, 2, 7, 9, 10]);
        assert_eq!(numbers("").count(), 0);
    }
}
