//! Another process, as the system sees it.

use std::{fs, time::Duration};

use anyhow::{Context, Result};

/// A process that runs, or this one.
#[derive(Clone, Copy, Debug)]
pub struct Process(Option<u32>);

impl Process {
    /// This one.
    pub const OWN: Self = Self(None);

    /// The one of that number.
    pub fn of(id: u32) -> Self {
        Self(Some(id))
    }

    /// Bytes that it has in memory.
    pub fn resident(self) -> Result<u64> {
        let pages = self.read("statm")?;
        let pages: u64 = pages.split(' ').nth(1).context("no pages")?.parse()?;
        Ok(pages * rustix::param::page_size() as u64)
    }

    /// How long processors were at it, in hundredths of a second.
    pub fn cpu(self) -> Result<Duration> {
        let stat = self.read("stat")?;
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split(' ').collect();
        let ticks =
            |place: usize| -> Result<u64> { Ok(fields.get(place).context("ticks")?.parse()?) };
        // Fields 14 and 15 of the whole line; the name in braces is the second.
        let ticks = ticks(12)? + ticks(13)?;
        Ok(Duration::from_millis(ticks * 1_000 / rustix::param::clock_ticks_per_second()))
    }

    /// Files and sockets that it has open.
    pub fn open_files(self) -> Result<usize> {
        Ok(fs::read_dir(self.path("fd"))?.count())
    }

    fn read(self, name: &str) -> Result<String> {
        Ok(fs::read_to_string(self.path(name))?)
    }

    fn path(self, name: &str) -> String {
        match self.0 {
            Some(id) => format!("/proc/{id}/{name}"),
            None => format!("/proc/self/{name}"),
        }
    }
}
