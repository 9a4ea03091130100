//! A process as the system sees it.

use std::process::Command;

/// Tells a process to stop.
pub(crate) fn terminate(process: u32) {
    assert!(Command::new("kill").arg(process.to_string()).status().unwrap().success());
}

/// How much memory a process has, in MB.
#[cfg(target_os = "linux")]
pub(crate) fn resident_mb(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() / 1_024
}
