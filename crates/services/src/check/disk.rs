//! Disk space check.

use std::path::Path;

use super::findings::CheckFindings;

/// Minimum free space, in bytes.
#[cfg(unix)]
const MIN_FREE_BYTES: u64 = 1 << 30;
/// Minimum free space as a fraction of the disk: one part in this many.
#[cfg(unix)]
const MIN_FREE_FRACTION: u64 = 20;

/// Checks the free space of the disk with this folder.
#[cfg(unix)]
pub(super) fn check_disk_space(data: &Path, findings: &mut CheckFindings) {
    // A missing folder will be on the disk of its nearest existing ancestor.
    let Some(there) = data.ancestors().find(|folder| folder.is_dir()) else { return };
    let place = format!("disk of {}", data.display());
    match rustix::fs::statvfs(there) {
        Ok(disk) => {
            let (free, all) = (disk.f_bavail * disk.f_frsize, disk.f_blocks * disk.f_frsize);
            let what = format!("{} of {} free", format_size(free), format_size(all));
            if free < MIN_FREE_BYTES || free < all / MIN_FREE_FRACTION {
                findings.add_warning(
                    &place,
                    &what,
                    "free some space: on a full disk nothing can be written",
                );
            } else {
                findings.add_ok(&place, &what);
            }
        }
        Err(error) => {
            findings.add_warning(&place, &error.to_string(), "check the free space of the disk");
        }
    }
}

/// Other systems have no check of disk space.
#[cfg(not(unix))]
pub(super) fn check_disk_space(_: &Path, _: &mut CheckFindings) {}

/// Formats a size in MiB or GiB.
#[cfg(unix)]
fn format_size(bytes: u64) -> String {
    match bytes {
        0..0x4000_0000 => format!("{} MiB", bytes >> 20),
        _ => format!("{} GiB", bytes >> 30),
    }
}
