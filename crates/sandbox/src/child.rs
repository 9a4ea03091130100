//! The child process: restriction before it reads untrusted data, and its requests.

use std::{
    io::{self, BufRead, BufWriter, Stdout, Write as _},
    panic::{self, AssertUnwindSafe, catch_unwind},
    process::exit,
    sync::mpsc,
    thread,
};

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{
    Restrictions,
    line::{read_line, write_line},
};

/// Beginning of the reply of a child that has restricted itself. Its layers follow as JSON.
pub(crate) const READY: &[u8] = b"ready";
/// Maximum length of that reply, in bytes.
pub(crate) const MAX_READY_BYTES: usize = 512;
/// Size of the buffer for replies, in bytes.
const OUTPUT_BUFFER_BYTES: usize = 64 * 1_024;

/// Settings of a child process: the first line that it receives.
#[derive(Debug, Serialize, Deserialize)]
pub struct ChildSettings<T> {
    /// Restrictions of the process.
    pub restrictions: Restrictions,
    /// Settings for the code that answers the requests.
    pub work: T,
}

/// Reads the settings of this process, restricts it irrevocably and replies to the parent. It must
/// have one thread only. Returns `None` if the parent has ended.
pub fn enter_sandbox<T: DeserializeOwned>(
    input: &mut impl BufRead,
) -> io::Result<Option<ChildSettings<T>>> {
    let Some(settings) = read_line::<ChildSettings<T>>(input)? else { return Ok(None) };
    // The message of a panic would be written to the pipe of standard error, which is not read.
    panic::set_hook(Box::new(|_| {}));
    let layers = settings.restrictions.apply()?;
    let mut output = io::stdout();
    output.write_all(READY)?;
    write_line(&mut output, &layers)?;
    Ok(Some(settings))
}

/// Calls `work` for each request, on a thread with a stack of this size. Returns when the parent has
/// ended, even while a request is running. Ends the process when `work` returns `false` or fails.
pub fn serve_requests<T: DeserializeOwned + Send + 'static>(
    input: &mut impl BufRead,
    stack_bytes: usize,
    mut work: impl FnMut(T, &mut BufWriter<Stdout>) -> io::Result<bool> + Send + 'static,
) -> io::Result<()> {
    let (requests, received) = mpsc::channel();
    let run = move || -> io::Result<()> {
        let mut output = BufWriter::with_capacity(OUTPUT_BUFFER_BYTES, io::stdout());
        let mut goes_on = true;
        while let (true, Ok(request)) = (goes_on, received.recv()) {
            goes_on = work(request, &mut output)?;
            output.flush()?;
        }
        Ok(())
    };
    thread::Builder::new().stack_size(stack_bytes).spawn(move || {
        let done = catch_unwind(AssertUnwindSafe(run));
        exit(i32::from(!matches!(done, Ok(Ok(())))))
    })?;
    while let Some(request) = read_line(input)? {
        if requests.send(request).is_err() {
            break;
        }
    }
    Ok(())
}
