//! Reads CPU locations from sysfs: which CPUs share a core, a last-level cache, a package.

use std::fs;
use std::path::Path;

use packline_engine::{CpuLocation, Topology};

/// Returns the locations of the CPUs that this process may use, in the order of their numbers. Without information from the system, all
/// CPUs have the same location.
pub fn topology() -> Topology {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    topology_below(Path::new("/sys/devices/system/cpu"), &status)
}

fn topology_below(root: &Path, status: &str) -> Topology {
    let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap_or_default();
    let sites: Option<Vec<CpuLocation>> =
        numbers(allowed).map(|number| location(&root.join(format!("cpu{number}")))).collect();
    Topology::new(sites.unwrap_or_default())
}

/// Returns the location of a CPU, named by the first CPU there; `None` without information from the system.
fn location(processor: &Path) -> Option<CpuLocation> {
    let first = |name: &str| numbers(&fs::read_to_string(processor.join(name)).ok()?).next();
    let core = first("topology/core_cpus_list").or_else(|| first("topology/thread_siblings_list"))?;
    let package = first("topology/package_cpus_list").or_else(|| first("topology/core_siblings_list"))?;
    Some(CpuLocation { core, cache: last_cache(&processor.join("cache")).unwrap_or(package), package })
}

/// Returns the first processor that shares the cache of the highest level.
fn last_cache(caches: &Path) -> Option<usize> {
    let read = |path: &Path, name: &str| fs::read_to_string(path.join(name)).ok();
    let indices = fs::read_dir(caches).ok()?.flatten().map(|entry| entry.path());
    let levels = indices.filter_map(|path| {
        let level: u32 = read(&path, "level")?.trim().parse().ok()?;
        Some((level, numbers(&read(&path, "shared_cpu_list")?).next()?))
    });
    levels.max_by_key(|&(level, _)| level).map(|(_, first)| first)
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
    use packline_engine::QueueDomain;
    use packline_testkit::Sandbox;

    /// Two packages with one cache each; a core has the processors n and n + 2.
    fn machine() -> Sandbox {
        let root = Sandbox::new("");
        for number in 0..4 {
            let put = |name: &str, text: &str| drop(root.write(format!("cpu{number}/{name}"), text));
            let siblings = format!("{},{}\n", number % 2, number % 2 + 2);
            put("topology/core_cpus_list", &siblings);
            put("topology/package_cpus_list", &siblings);
            put("cache/index0/level", "1\n");
            put("cache/index0/shared_cpu_list", &format!("{number}\n"));
            put("cache/index3/level", "3\n");
            put("cache/index3/shared_cpu_list", &siblings);
        }
        root
    }

    #[test]
    fn reads_locations_from_sysfs() {
        let top = machine();
        let found = topology_below(top.path(), "Name:\tx\nCpus_allowed_list:\t0-3\n");
        let location = |first| CpuLocation { core: first, cache: first, package: first };
        assert_eq!(found, Topology::new([0, 1, 0, 1].map(location).to_vec()));
        assert_eq!(found.queues(QueueDomain::Llc, 4), [0, 1, 0, 1]);
        let some = topology_below(top.path(), "Cpus_allowed_list:\t1,3\n");
        assert_eq!(some.queues(QueueDomain::Llc, 2), [0, 0]);
    }

    #[test]
    fn uses_one_location_without_sysfs() {
        let top = Sandbox::new("");
        assert_eq!(topology_below(top.path(), "Cpus_allowed_list:\t0-3\n"), Topology::default());
        assert_eq!(topology_below(top.path(), ""), Topology::default());
    }

    #[test]
    fn parses_processor_lists() {
        assert_eq!(numbers("0-2,7,9-10\n").collect::<Vec<_>>(), [0, 1, 2, 7, 9, 10]);
        assert_eq!(numbers("").count(), 0);
    }
}
