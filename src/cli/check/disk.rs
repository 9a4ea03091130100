//! How much room there is.

use std::path::Path;

use super::finding::Findings;

/// Less than this is little, in bytes.
#[cfg(unix)]
const LITTLE: u64 = 1 << 30;
/// Less than this part of the disk is little.
#[cfg(unix)]
const PART: u64 = 20;

/// Looks how much room there is on the disk that this folder is on.
#[cfg(unix)]
pub(super) fn look(data: &Path, findings: &mut Findings) {
    // One that is not there yet will be on the disk of the folder that it is in.
    let Some(there) = data.ancestors().find(|folder| folder.is_dir()) else { return };
    let place = format!("disk of {}", data.display());
    match rustix::fs::statvfs(there) {
        Ok(disk) => {
            let (free, all) = (disk.f_bavail * disk.f_frsize, disk.f_blocks * disk.f_frsize);
            let what = format!("{} of {} free", size(free), size(all));
            if free < LITTLE || free < all / PART {
                findings.warn(&place, &what, "make room: without any, nothing can be written");
            } else {
                findings.sound(&place, &what);
            }
        }
        Err(error) => findings.warn(&place, &error.to_string(), "look how much room there is"),
    }
}

/// Elsewhere nobody tells.
#[cfg(not(unix))]
pub(super) fn look(_: &Path, _: &mut Findings) {}

/// So many bytes, as people say it.
#[cfg(unix)]
fn size(bytes: u64) -> String {
    match bytes {
        0..0x4000_0000 => format!("{} MiB", bytes >> 20),
        _ => format!("{} GiB", bytes >> 30),
    }
}
