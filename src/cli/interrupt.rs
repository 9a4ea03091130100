//! Ctrl-C during an import: the first ends it after the files that were read, the second at once.

use std::process;

use vademecum_services::import::StopSignal;

use super::output::print_error;

/// Exit code of a command that Ctrl-C ended: 128 and the number of the signal.
const INTERRUPTED: i32 = 130;

/// Gives the signal at the first Ctrl-C from now on, and ends the program at the second one.
pub(super) fn stop_at_interrupt(stop: &StopSignal) {
    let stop = stop.clone();
    actix::spawn(async move {
        if let Err(error) = tokio::signal::ctrl_c().await {
            tracing::warn!(%error, "cannot wait for Ctrl-C");
            return;
        }
        print_error("saving what was read; press Ctrl-C again to end at once");
        stop.stop();
        if tokio::signal::ctrl_c().await.is_ok() {
            exit_interrupted();
        }
    });
}

/// Ends the program. What was saved is on the disk; files that are still being read are left.
pub(super) fn exit_interrupted() -> ! {
    process::exit(INTERRUPTED)
}
