//! Process control and memory use, as the operating system reports them.

use std::process::Command;

/// Sends SIGTERM to a process.
pub(crate) fn terminate(process: u32) {
    assert!(Command::new("kill").arg(process.to_string()).status().unwrap().success());
}

/// Returns the resident memory of a process, in MiB.
#[cfg(target_os = "linux")]
pub(crate) fn resident_mb(process: u32) -> u64 {
    memory_mb(process, "VmRSS:")
}

/// Returns the largest resident memory that a process has had, in MiB.
#[cfg(target_os = "linux")]
pub(crate) fn peak_resident_mb(process: u32) -> u64 {
    memory_mb(process, "VmHWM:")
}

#[cfg(target_os = "linux")]
fn memory_mb(process: u32, field: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(field)).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() / 1_024
}

/// A child process, as it was when the system was asked.
#[cfg(target_os = "linux")]
#[derive(Debug)]
pub(crate) struct ChildProcess {
    /// Process id.
    pub(crate) id: u32,
    /// Processor time in user mode, in hundredths of a second.
    pub(crate) cpu_ticks: u64,
    /// Resident memory, in MiB.
    pub(crate) resident_mb: u64,
}

#[cfg(target_os = "linux")]
impl ChildProcess {
    /// Returns the value of a variable of its environment.
    pub(crate) fn variable(&self, name: &str) -> Option<String> {
        let environment = std::fs::read_to_string(format!("/proc/{}/environ", self.id)).ok()?;
        let mut variables = environment.split('\0').filter_map(|entry| entry.split_once('='));
        variables.find_map(|(known, value)| (known == name).then(|| value.to_owned()))
    }

    /// Returns true until the process has ended.
    pub(crate) fn is_running(&self) -> bool {
        std::path::Path::new(&format!("/proc/{}/fd/0", self.id)).exists()
    }
}

/// Returns the running child processes of a process.
#[cfg(target_os = "linux")]
pub(crate) fn child_processes(parent: u32) -> Vec<ChildProcess> {
    let names = std::fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().file_name());
    let ids = names.filter_map(|name| name.to_str()?.parse::<u32>().ok());
    ids.filter_map(|id| {
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        // The name of the program is in parentheses, and may contain some.
        let fields: Vec<&str> = stat.rsplit_once(") ")?.1.split(' ').collect();
        let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
        let is_child = number(1)? == u64::from(parent) && *fields.first()? != "Z";
        let resident_mb = number(21)? * 4 / 1_024;
        is_child.then_some(ChildProcess { id, cpu_ticks: number(11)?, resident_mb })
    })
    .collect()
}
