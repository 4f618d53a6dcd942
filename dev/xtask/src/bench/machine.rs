//! A description of this machine in one line.

pub fn description() -> String {
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let processors = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let count = processors.lines().filter(|line| line.starts_with("processor")).count();
    format!("{count} x {}, Linux {}", model_in(&processors), kernel.trim())
}

pub fn model() -> String {
    model_in(&std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default()).to_owned()
}

fn model_in(processors: &str) -> &str {
    let line = processors.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or(": unknown");
    line.trim_start_matches([' ', '\t', ':'])
}
