//! The cost of the audit log on the calling thread: a `tools/call` with ten hits, answered from
//! memory, with and without the log, measured alternately in one run.
//!
//! The writer thread is not measured. Calls come in bursts that fit into its queue, because a full
//! queue drops entries, which is cheaper than queueing them.
//!
//! `cargo bench -p vademecum-benches --bench audit`

use std::{sync::Arc, time::Duration};

use anyhow::{Result, ensure};
use futures_util::FutureExt as _;
use vademecum_benches::{CannedTool, call_message, measure_thread_cpu};
use vademecum_core::{audit::AuditLog, auth::local_principal, config};
use vademecum_mcp::{
    Outbound, Peer, PeerConnection, RequestDefaults, RequestObserver, Service, ServiceOptions,
};

/// Number of calls in a burst.
const CALLS: u32 = 1_000;
/// Number of bursts of each kind; the median counts.
const BURSTS: usize = 101;
/// Maximum difference for each call.
const MAX_DIFFERENCE: Duration = Duration::from_micros(5);

fn service(audit: AuditLog) -> Service {
    let observer = RequestObserver { audit, ..RequestObserver::default() };
    let options = ServiceOptions { observer, ..ServiceOptions::default() };
    Service::new(Arc::new(CannedTool::default()), options)
}

/// Makes a burst of calls and returns the CPU time of each on this thread.
fn measure_burst(service: &Service, peer: &Peer, message: &str) -> Result<Duration> {
    let link = Outbound::default();
    let (done, spent) = measure_thread_cpu(|| {
        (0..CALLS).all(|_| {
            // Nothing in this call waits.
            let reply = service.handle(peer, message, &link).now_or_never();
            reply.is_some_and(|reply| reply.message.is_some())
        })
    });
    ensure!(done, "a call was not answered at once");
    Ok(spent / CALLS)
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

#[expect(clippy::print_stdout, reason = "the result")]
fn main() -> Result<()> {
    actix::System::new().block_on(async {
        let folder = tempfile::tempdir()?;
        let log =
            vademecum_accounts::audit::open_audit_log(&config::Audit::default(), folder.path());
        let (plain, audited) = (service(AuditLog::default()), service(log.clone()));
        let peer = Peer {
            principal: local_principal("bench".parse()?),
            session: None,
            defaults: RequestDefaults::default(),
            ignored_config: Vec::new(),
            name_style: None,
            headers: None,
            call_permits: None,
            connection: Some(PeerConnection { transport: "http", address: None }),
        };
        let message = call_message();
        let (mut without, mut with) = (Vec::new(), Vec::new());
        for _ in 0..BURSTS {
            without.push(measure_burst(&plain, &peer, &message)?);
            with.push(measure_burst(&audited, &peer, &message)?);
            log.flush();
        }
        let (without, with) = (median(without), median(with));
        let difference = with.saturating_sub(without);
        println!("CPU of a call without the audit log: {without:?}");
        println!("CPU of a call with the audit log:    {with:?}");
        println!("difference: {difference:?}, at most {MAX_DIFFERENCE:?}");
        ensure!(log.lost_entries() == 0, "entries were lost, so the calls were too fast");
        ensure!(difference <= MAX_DIFFERENCE, "the audit log is too slow");
        Ok(())
    })
}
