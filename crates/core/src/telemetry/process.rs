//! What the process itself takes, as far as the system tells.

use std::{fs, time::SystemTime};

use super::{Figure, figure::number};

/// What the process takes at this moment. Where there is no `/proc`, less is known.
pub(super) fn figures(started: SystemTime) -> Vec<Figure> {
    let since = started.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs_f64();
    let version = vec![("version", env!("CARGO_PKG_VERSION").to_owned())];
    let mut figures = vec![
        Figure::labelled("vademecum_build_info", "Which version runs.", vec![(version, 1.0)]),
        Figure::gauge(
            "process_start_time_seconds",
            "When the process began, in seconds since 1970.",
            since,
        ),
    ];
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let resident = kibibytes(&status, "VmRSS:");
    figures.extend(resident.map(|kibibytes| {
        let help = "Memory of the process that is not swapped out.";
        Figure::gauge("process_resident_memory_bytes", help, number(kibibytes) * 1_024.0)
    }));
    if let Ok(open) = fs::read_dir("/proc/self/fd") {
        // The folder itself is open while it is read.
        let open = open.count().saturating_sub(1);
        figures.push(Figure::count("process_open_fds", "Files and sockets that are open.", open));
    }
    figures
}

/// A line such as `VmRSS:     1234 kB`.
fn kibibytes(status: &str, name: &str) -> Option<usize> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_as_the_kernel_writes_it() {
        let status = "Name:\tvademecum\nVmHWM:\t   99 kB\nVmRSS:\t   12345 kB\n";
        assert_eq!(kibibytes(status, "VmRSS:"), Some(12_345));
        assert_eq!(kibibytes("", "VmRSS:"), None);
    }
}
