//! Shutdown signals of the process.

use std::{io, process, sync::mpsc, thread, time::Duration};

use tokio::{runtime::Builder, sync::watch};

/// Extra time after the grace period before the process is terminated forcibly.
const FORCED_EXIT_DELAY: Duration = Duration::from_secs(5);

/// Shutdown signal of the process. A second signal ends the process at once; it also ends if
/// shutdown takes more than `grace` plus [`FORCED_EXIT_DELAY`]. A separate thread waits for this,
/// so it works even if the runtime hangs.
#[derive(Clone, Debug)]
pub(super) struct ShutdownSignal(watch::Receiver<bool>);

impl ShutdownSignal {
    /// Installs the signal handlers.
    pub(super) fn install(grace: Duration) -> io::Result<Self> {
        let (sender, receiver) = watch::channel(false);
        let (ready, listens) = mpsc::channel();
        let runtime = Builder::new_current_thread().enable_all().build()?;
        thread::Builder::new().name("stop".to_owned()).spawn(move || {
            runtime.block_on(async move {
                let mut signals = SignalSources::subscribe();
                // The caller of this function waits for it.
                let _ = ready.send(());
                signals.next_signal().await;
                sender.send_replace(true);
                tokio::select! {
                    () = signals.next_signal() => tracing::warn!("second stop signal: exiting immediately"),
                    () = tokio::time::sleep(grace + FORCED_EXIT_DELAY) => {
                        tracing::error!("shutdown timed out: exiting immediately");
                    }
                }
                process::exit(1);
            });
        })?;
        // If the thread has died, the process can still be killed from outside.
        let _ = listens.recv();
        Ok(Self(receiver))
    }

    /// Waits for the first shutdown signal.
    pub(super) async fn wait_for_signal(&self) {
        // Without a signal thread, no signal ever arrives.
        if self.0.clone().wait_for(|is_stopping| *is_stopping).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// Sources of shutdown signals.
struct SignalSources {
    #[cfg(unix)]
    terminate: Option<tokio::signal::unix::Signal>,
    #[cfg(unix)]
    interrupt: Option<tokio::signal::unix::Signal>,
}

#[cfg(unix)]
impl SignalSources {
    fn subscribe() -> Self {
        use tokio::signal::unix::{SignalKind, signal};

        let listen = |kind| {
            signal(kind)
                .inspect_err(
                    |error| tracing::warn!(%error, "signal handler could not be installed"),
                )
                .ok()
        };
        let (terminate, interrupt) =
            (listen(SignalKind::terminate()), listen(SignalKind::interrupt()));
        Self { terminate, interrupt }
    }

    async fn next_signal(&mut self) {
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
impl SignalSources {
    fn subscribe() -> Self {
        Self {}
    }

    async fn next_signal(&mut self) {
        // Without a signal handler, the process is killed from outside.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
