//! A client over standard input and output.

use std::{
    cell::RefCell,
    io::{BufRead, BufReader, Read, Write},
    path::Path,
    process::{Child, ChildStdin, Stdio},
    rc::Rc,
    sync::mpsc::{Receiver, channel},
    thread::{self, JoinHandle},
};

use serde_json::Value;
use tempfile::TempDir;

use super::{
    Caller, PATIENCE, program,
    wire::{From, Line},
};

/// The program as a client starts it: a line in, a line out.
pub(crate) struct Pipe {
    process: Child,
    input: RefCell<Option<ChildStdin>>,
    output: Receiver<String>,
    log: Option<JoinHandle<String>>,
    line: Line,
    _folder: Rc<TempDir>,
}

impl Pipe {
    pub(crate) fn start(data: &Path, arguments: &[&str], folder: Rc<TempDir>) -> Self {
        let mut process = program()
            .args(["mcp", "--data"])
            .arg(data)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let input = RefCell::new(process.stdin.take());
        let (sender, output) = channel();
        let line = Line::over("stdio");
        let heard = line.clone();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        thread::spawn(move || {
            lines.map_while(Result::ok).try_for_each(|text| {
                heard.record(From::Server, &text);
                sender.send(text)
            })
        });
        let mut stderr = process.stderr.take().unwrap();
        let log = Some(thread::spawn(move || {
            let mut text = String::new();
            stderr.read_to_string(&mut text).unwrap();
            text
        }));
        Self { process, input, output, log, line, _folder: folder }
    }

    /// Sends a line.
    pub(crate) fn write(&self, line: &str) {
        self.write_bare(&format!("{line}\n"));
    }

    /// Sends a text as it is.
    pub(crate) fn write_bare(&self, text: &str) {
        self.line.record(From::Client, text);
        self.input.borrow_mut().as_mut().unwrap().write_all(text.as_bytes()).unwrap();
    }

    /// The next line of standard output, which is a message and nothing else.
    pub(crate) fn read(&self) -> Value {
        let line = self.output.recv_timeout(PATIENCE).expect("an answer in time");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    /// The number of the process.
    pub(crate) fn process(&self) -> u32 {
        self.process.id()
    }

    /// Waits until the process ends by itself; what it ends with.
    pub(crate) fn wait(&mut self) -> Option<i32> {
        self.process.wait().unwrap().code()
    }

    /// Hangs up, and gives back what was still to be read and what the
    /// process ended with.
    pub(crate) fn hang_up(mut self) -> (Vec<Value>, Option<i32>) {
        drop(self.input.take());
        let rest = self.output.iter().map(|line| serde_json::from_str(&line).unwrap()).collect();
        (rest, self.process.wait().unwrap().code())
    }
}

impl Pipe {
    /// Kills the process without asking; the answers that were still to be read. What it
    /// had not written to its end is none.
    pub(crate) fn kill(mut self) -> Vec<Value> {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        self.output.iter().filter_map(|line| serde_json::from_str(&line).ok()).collect()
    }

    /// Hangs up; what the process has logged.
    pub(crate) fn stop(mut self) -> String {
        drop(self.input.take());
        self.process.wait().unwrap();
        self.log.take().unwrap().join().unwrap()
    }
}

impl Caller for Pipe {
    fn exchange(&self, request: &Value) -> Value {
        self.write(&request.to_string());
        self.read()
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        // It may have ended by itself.
        drop(self.process.kill());
        self.process.wait().unwrap();
    }
}
