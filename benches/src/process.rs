//! Resource usage of a process, read from `/proc`.

use std::{fs, time::Duration};

use anyhow::{Context, Result};

/// A running process.
#[derive(Clone, Copy, Debug)]
pub struct Process(Option<u32>);

impl Process {
    /// The current process.
    pub const CURRENT: Self = Self(None);

    /// Returns the process with this id.
    pub fn with_id(id: u32) -> Self {
        Self(Some(id))
    }

    /// Returns the resident memory, in bytes.
    pub fn resident_bytes(self) -> Result<u64> {
        let pages = self.read_proc_file("statm")?;
        let pages: u64 = pages.split(' ').nth(1).context("no pages")?.parse()?;
        Ok(pages * rustix::param::page_size() as u64)
    }

    /// Returns the CPU time used by all threads, with the resolution of a clock tick.
    pub fn cpu_time(self) -> Result<Duration> {
        let stat = self.read_proc_file("stat")?;
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split(' ').collect();
        let ticks =
            |place: usize| -> Result<u64> { Ok(fields.get(place).context("ticks")?.parse()?) };
        // Fields 14 and 15 of the line, utime and stime. Splitting starts after field 2, the name
        // in parentheses.
        let ticks = ticks(12)? + ticks(13)?;
        Ok(Duration::from_millis(ticks * 1_000 / rustix::param::clock_ticks_per_second()))
    }

    /// Returns the present child processes.
    pub fn children(self) -> Result<Vec<Self>> {
        let mut children = Vec::new();
        for entry in fs::read_dir("/proc")? {
            let Ok(id) = entry?.file_name().to_string_lossy().parse() else { continue };
            // A process may have ended since.
            let Ok(stat) = Self::with_id(id).read_proc_file("stat") else { continue };
            // The parent is field 4 of the line.
            let parent = stat.rsplit(')').next().and_then(|fields| fields.split(' ').nth(2));
            if parent.and_then(|parent| parent.parse().ok()) == self.0 {
                children.push(Self::with_id(id));
            }
        }
        Ok(children)
    }

    /// Counts the open files and sockets.
    pub fn count_open_files(self) -> Result<usize> {
        Ok(fs::read_dir(self.proc_path("fd"))?.count())
    }

    fn read_proc_file(self, name: &str) -> Result<String> {
        Ok(fs::read_to_string(self.proc_path(name))?)
    }

    fn proc_path(self, name: &str) -> String {
        match self.0 {
            Some(id) => format!("/proc/{id}/{name}"),
            None => format!("/proc/self/{name}"),
        }
    }
}
