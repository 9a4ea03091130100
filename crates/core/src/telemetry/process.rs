//! Resource usage of the process.

use std::{fs, time::SystemTime};

use super::{Gauge, gauge::count_to_f64};

/// Returns the current gauges of the process. Without `/proc`, memory and open files are missing.
pub(super) fn process_gauges(started: SystemTime) -> Vec<Gauge> {
    let since = started.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs_f64();
    let version = vec![("version", env!("CARGO_PKG_VERSION").to_owned())];
    let mut figures = vec![
        Gauge::with_labels("vademecum_build_info", "Version of the server.", vec![(version, 1.0)]),
        Gauge::from_value(
            "process_start_time_seconds",
            "Start time of the process since the Unix epoch in seconds.",
            since,
        ),
    ];
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let resident = parse_kibibytes(&status, "VmRSS:");
    figures.extend(resident.map(|kibibytes| {
        let help = "Resident memory size in bytes.";
        Gauge::from_value("process_resident_memory_bytes", help, count_to_f64(kibibytes) * 1_024.0)
    }));
    if let Ok(open) = fs::read_dir("/proc/self/fd") {
        // Reading the directory opens it, which adds one.
        let open = open.count().saturating_sub(1);
        figures.push(Gauge::from_count(
            "process_open_fds",
            "Number of open file descriptors.",
            open,
        ));
    }
    figures
}

/// Parses a line such as `VmRSS:     1234 kB`.
fn parse_kibibytes(status: &str, name: &str) -> Option<usize> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_parsed_from_kernel_format() {
        let status = "Name:\tvademecum\nVmHWM:\t   99 kB\nVmRSS:\t   12345 kB\n";
        assert_eq!(parse_kibibytes(status, "VmRSS:"), Some(12_345));
        assert_eq!(parse_kibibytes("", "VmRSS:"), None);
    }
}
