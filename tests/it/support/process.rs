//! Process control and memory use, as the operating system reports them.

use std::process::Command;

/// Sends SIGTERM to a process.
pub(crate) fn terminate(process: u32) {
    assert!(Command::new("kill").arg(process.to_string()).status().unwrap().success());
}

/// Returns the resident memory of a process, in MiB.
#[cfg(target_os = "linux")]
pub(crate) fn resident_mb(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() / 1_024
}
