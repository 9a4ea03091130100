//! Blocking calls of an asynchronous driver.

use std::{io, thread};

use tokio::{
    runtime::{Builder, Handle},
    sync::oneshot,
};

/// A thread that runs the connections. Callers wait in their own threads.
#[derive(Debug)]
pub(crate) struct ConnectionThread {
    runtime: Handle,
    /// The thread ends when this is dropped.
    _stop: oneshot::Sender<()>,
}

impl ConnectionThread {
    /// Starts the thread. Fails if the system refuses it.
    pub(crate) fn start() -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel();
        thread::Builder::new().name("archive".to_owned()).spawn(move || {
            runtime.block_on(stopped).ok();
        })?;
        Ok(Self { runtime: handle, _stop: stop })
    }

    /// Waits for a future. Works in every thread, also in those of other runtimes.
    pub(crate) fn block_on<T>(&self, future: impl Future<Output = T>) -> T {
        let _entered = self.runtime.enter();
        // The caller may be a task of another runtime, whose scheduler would grant more budget only
        // after the task has yielded.
        futures_executor::block_on(tokio::task::unconstrained(future))
    }

    /// Runs a future in the background.
    pub(crate) fn spawn(&self, future: impl Future<Output = ()> + Send + 'static) {
        drop(self.runtime.spawn(future));
    }
}
