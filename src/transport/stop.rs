//! Being told to stop, once and again.

use std::{io, process, sync::mpsc, thread, time::Duration};

use tokio::{runtime::Builder, sync::watch};

/// How much longer than it should the end may take before it is forced.
const AT_LAST: Duration = Duration::from_secs(5);

/// Whether the process was told to stop. Told a second time, it ends at once, and
/// so it does if its end takes much longer than `grace`: whatever hangs then, a
/// thread of its own waits for that.
#[derive(Clone, Debug)]
pub(super) struct Stop(watch::Receiver<bool>);

impl Stop {
    /// Listens from now on.
    pub(super) fn listen(grace: Duration) -> io::Result<Self> {
        let (tell, told) = watch::channel(false);
        let (ready, listens) = mpsc::channel();
        let runtime = Builder::new_current_thread().enable_all().build()?;
        thread::Builder::new().name("stop".to_owned()).spawn(move || {
            runtime.block_on(async move {
                let mut signals = Signals::listen();
                // Whoever started this waits for it.
                let _ = ready.send(());
                signals.next().await;
                tell.send_replace(true);
                tokio::select! {
                    () = signals.next() => tracing::warn!("told to stop again: ending at once"),
                    () = tokio::time::sleep(grace + AT_LAST) => {
                        tracing::error!("stopping takes too long: ending at once");
                    }
                }
                process::exit(1);
            });
        })?;
        // If the thread is gone, the process is ended from outside.
        let _ = listens.recv();
        Ok(Self(told))
    }

    /// Waits until the process is told to stop.
    pub(super) async fn asked(&self) {
        // Without anybody who could tell, nobody does.
        if self.0.clone().wait_for(|told| *told).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// What tells a process to stop.
struct Signals {
    #[cfg(unix)]
    terminate: Option<tokio::signal::unix::Signal>,
    #[cfg(unix)]
    interrupt: Option<tokio::signal::unix::Signal>,
}

#[cfg(unix)]
impl Signals {
    fn listen() -> Self {
        use tokio::signal::unix::{SignalKind, signal};

        let listen =
            |kind| signal(kind).inspect_err(|error| tracing::warn!(%error, "no signal")).ok();
        let (terminate, interrupt) =
            (listen(SignalKind::terminate()), listen(SignalKind::interrupt()));
        Self { terminate, interrupt }
    }

    async fn next(&mut self) {
        async fn one(signal: &mut Option<tokio::signal::unix::Signal>) {
            match signal {
                Some(signal) => drop(signal.recv().await),
                None => std::future::pending().await,
            }
        }
        tokio::select! {
            () = one(&mut self.terminate) => {}
            () = one(&mut self.interrupt) => {}
        }
    }
}

#[cfg(not(unix))]
impl Signals {
    fn listen() -> Self {
        Self {}
    }

    async fn next(&mut self) {
        // Without a way to be told, the process is ended from outside.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
