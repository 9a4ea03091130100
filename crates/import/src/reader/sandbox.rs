//! Limits of a reader process. On every Unix: memory, CPU time, files written, open files. On
//! Linux also: no network, no processes, no write access, and read access to the given folders only
//! (Landlock and seccomp, as far as the kernel has them).

use std::{io, time::Duration};

use rustix::{
    process::{Resource, Rlimit, getrlimit, nice, setrlimit},
    time::{ClockId, clock_gettime},
};

use super::message::ReaderSettings;

/// Address space for stacks and for memory that is reserved but not used, in bytes.
const RESERVED_BYTES: u64 = 128 * 1_024 * 1_024;
/// Maximum number of open files.
const MAX_OPEN_FILES: u64 = 64;
/// Increment of the nice value: the parent process and other users go first.
const NICE_INCREMENT: i32 = 10;

/// Restricts this process. It must have one thread only.
pub(super) fn restrict(settings: &ReaderSettings) -> io::Result<()> {
    nice(NICE_INCREMENT).ok();
    limit(Resource::Fsize, 0)?;
    limit(Resource::Core, 0)?;
    limit(Resource::Nofile, MAX_OPEN_FILES)?;
    let memory = u64::from(settings.memory_mb) * 1_024 * 1_024;
    limit(Resource::As, memory + RESERVED_BYTES + mapped_bytes())?;
    #[cfg(target_os = "linux")]
    {
        super::linux_sandbox::deny_file_access(&settings.folders)?;
        super::linux_sandbox::deny_system_calls()?;
    }
    Ok(())
}

/// Limits the CPU time from now on. The hard limit is kept, so that the limit can be moved for the
/// next file.
pub(super) fn limit_cpu_time(seconds: u32) -> io::Result<()> {
    let used = clock_gettime(ClockId::ProcessCPUTime);
    let used = Duration::try_from(used).unwrap_or_default();
    // Rounded up twice: the limit has whole seconds.
    let current = Some(used.as_secs() + u64::from(seconds) + 2);
    let Rlimit { maximum, .. } = getrlimit(Resource::Cpu);
    Ok(setrlimit(Resource::Cpu, Rlimit { current, maximum })?)
}

fn limit(resource: Resource, value: u64) -> io::Result<()> {
    let maximum = getrlimit(resource).maximum.map_or(value, |maximum| maximum.min(value));
    Ok(setrlimit(resource, Rlimit { current: Some(maximum), maximum: Some(maximum) })?)
}

/// Returns the size of the address space in use, in bytes; 0 if the system does not report it.
fn mapped_bytes() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm.split(' ').next().and_then(|pages| pages.parse::<u64>().ok());
    pages.unwrap_or(0) * rustix::param::page_size() as u64
}
