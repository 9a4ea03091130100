//! CPU time of another process, as Linux reports it.

use std::{process::Child, time::Duration};

/// Returns the CPU time that all threads of a process have used; `None` if the system does not
/// report it.
#[cfg(target_os = "linux")]
pub(crate) fn cpu_time(child: &Child) -> Option<Duration> {
    // The name of the program, in parentheses, may contain spaces. User and system time are the
    // fields 14 and 15 of `proc_pid_stat(5)`, in ticks.
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).ok()?;
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_ascii_whitespace().skip(11);
    let mut ticks = || fields.next()?.parse::<u64>().ok();
    let used = ticks()?.checked_add(ticks()?)?;
    let rate = rustix::param::clock_ticks_per_second();
    Some(Duration::from_millis(used.saturating_mul(1_000).checked_div(rate)?))
}

/// Returns `None`: this system has no such interface, or none without unsafe code.
#[cfg(not(target_os = "linux"))]
pub(crate) fn cpu_time(_: &Child) -> Option<Duration> {
    None
}
