//! Limits of a child process. On every Unix: memory, size of written files, open files. On Linux
//! also: no network, no processes, and access to the given folders only (Landlock and seccomp, as
//! far as the kernel has them).

use std::{ffi::OsString, io, path::PathBuf};

use serde::{Deserialize, Serialize};

use crate::SandboxLayers;

/// Address space for stacks and for memory that is reserved but not used, in bytes.
#[cfg(unix)]
const RESERVED_BYTES: u64 = 128 * 1_024 * 1_024;
/// Maximum number of open files.
#[cfg(unix)]
const MAX_OPEN_FILES: u64 = 64;
/// Increment of the nice value: the parent process and other users go first.
#[cfg(unix)]
const NICE_INCREMENT: i32 = 10;

/// The resources that a child process keeps.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Restrictions {
    /// Maximum memory, in megabytes (2^20 bytes).
    pub memory_mb: u32,
    /// Maximum size of a written file, in megabytes; 0 permits no written byte. A write beyond the
    /// limit ends the process with `SIGXFSZ`.
    pub max_file_mb: u32,
    /// Folders and files that may be read. Without any folder, the process can open no file at all,
    /// and reads those that its parent sends.
    pub readable: Vec<OsString>,
    /// Folders in which files may be created, read and written.
    pub writable: Vec<OsString>,
    /// Folder for temporary files, which the process may remove. Without it and without writable
    /// folders, the process cannot open any file for writing.
    pub temp_folder: Option<PathBuf>,
}

impl Restrictions {
    /// Restricts this process, irrevocably. It must have one thread only. Returns the layers that the
    /// system has.
    #[cfg(unix)]
    pub fn apply(&self) -> io::Result<SandboxLayers> {
        use rustix::process::{Resource, nice};

        nice(NICE_INCREMENT).ok();
        limit(Resource::Fsize, megabytes(self.max_file_mb))?;
        limit(Resource::Core, 0)?;
        limit(Resource::Nofile, MAX_OPEN_FILES)?;
        limit(Resource::As, megabytes(self.memory_mb) + RESERVED_BYTES + mapped_bytes())?;
        let layers = SandboxLayers { limits: true, ..SandboxLayers::default() };
        #[cfg(target_os = "linux")]
        {
            let temp_folder = self.temp_folder.as_deref();
            let landlock = crate::linux::deny_file_access(
                crate::linux::LANDLOCK_ABI,
                &self.readable,
                &self.writable,
                temp_folder,
            )?;
            let system_calls = crate::linux::deny_system_calls(self.file_calls())?;
            Ok(SandboxLayers {
                no_new_privileges: landlock.no_new_privileges || system_calls,
                landlock: landlock.version,
                system_calls,
                ..layers
            })
        }
        #[cfg(not(target_os = "linux"))]
        Ok(layers)
    }

    /// Returns the access to files by their paths that the folders need.
    #[cfg(target_os = "linux")]
    fn file_calls(&self) -> crate::linux::FileCalls {
        use crate::linux::FileCalls;

        if self.temp_folder.is_some() || !self.writable.is_empty() {
            FileCalls::Write
        } else if self.readable.is_empty() {
            FileCalls::None
        } else {
            FileCalls::Read
        }
    }

    /// Does nothing: this system has no such limits.
    #[cfg(not(unix))]
    pub fn apply(&self) -> io::Result<SandboxLayers> {
        Ok(SandboxLayers::default())
    }
}

/// Limits the CPU time from now on. The hard limit is kept, so that the limit can be moved for the
/// next file.
#[cfg(unix)]
pub fn limit_cpu_time(seconds: u32) -> io::Result<()> {
    use std::time::Duration;

    use rustix::{
        process::{Resource, Rlimit, getrlimit, setrlimit},
        time::{ClockId, clock_gettime},
    };

    let used = clock_gettime(ClockId::ProcessCPUTime);
    let used = Duration::try_from(used).unwrap_or_default();
    // Rounded up twice: the limit has whole seconds.
    let current = Some(used.as_secs() + u64::from(seconds) + 2);
    let Rlimit { maximum, .. } = getrlimit(Resource::Cpu);
    Ok(setrlimit(Resource::Cpu, Rlimit { current, maximum })?)
}

#[cfg(unix)]
fn limit(resource: rustix::process::Resource, value: u64) -> io::Result<()> {
    use rustix::process::{Rlimit, getrlimit, setrlimit};

    let maximum = getrlimit(resource).maximum.map_or(value, |maximum| maximum.min(value));
    Ok(setrlimit(resource, Rlimit { current: Some(maximum), maximum: Some(maximum) })?)
}

#[cfg(unix)]
fn megabytes(count: u32) -> u64 {
    u64::from(count) * 1_024 * 1_024
}

/// Returns the size of the address space in use, in bytes; 0 if the system does not report it.
#[cfg(unix)]
fn mapped_bytes() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm.split(' ').next().and_then(|pages| pages.parse::<u64>().ok());
    pages.unwrap_or(0) * rustix::param::page_size() as u64
}
