//! An MCP client over standard input and output.

use std::{
    cell::RefCell,
    io::{BufRead, BufReader, Read, Write},
    path::Path,
    process::{Child, ChildStdin, Stdio},
    sync::{
        Arc,
        mpsc::{Receiver, channel},
    },
    thread::{self, JoinHandle},
};

use serde_json::Value;
use tempfile::TempDir;

use super::{
    McpClient, REPLY_TIMEOUT, vademecum_command,
    wire_recorder::{MessageSender, WireRecorder},
};

/// A program run in stdio mode: one message per line in both directions.
pub(crate) struct StdioClient {
    process: Child,
    input: RefCell<Option<ChildStdin>>,
    output: Receiver<String>,
    log: Option<JoinHandle<String>>,
    recorder: WireRecorder,
    _folder: Arc<TempDir>,
}

impl StdioClient {
    pub(crate) fn start(data: &Path, arguments: &[&str], folder: Arc<TempDir>) -> Self {
        let mut process = vademecum_command()
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
        let line = WireRecorder::for_transport("stdio");
        let heard = line.clone();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        thread::spawn(move || {
            lines.map_while(Result::ok).try_for_each(|text| {
                heard.record(MessageSender::Server, &text);
                sender.send(text)
            })
        });
        let mut stderr = process.stderr.take().unwrap();
        let log = Some(thread::spawn(move || {
            let mut text = String::new();
            stderr.read_to_string(&mut text).unwrap();
            text
        }));
        Self { process, input, output, log, recorder: line, _folder: folder }
    }

    /// Sends a line.
    pub(crate) fn write_line(&self, line: &str) {
        self.write_raw(&format!("{line}\n"));
    }

    /// Sends text without adding a line break.
    pub(crate) fn write_raw(&self, text: &str) {
        self.recorder.record(MessageSender::Client, text);
        self.input.borrow_mut().as_mut().unwrap().write_all(text.as_bytes()).unwrap();
    }

    /// Returns the next line of standard output, parsed as a message.
    pub(crate) fn read_message(&self) -> Value {
        let line = self.output.recv_timeout(REPLY_TIMEOUT).expect("an answer in time");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    /// Returns the process id.
    pub(crate) fn process(&self) -> u32 {
        self.process.id()
    }

    /// Waits until the process exits and returns its exit code.
    pub(crate) fn wait_for_exit(&mut self) -> Option<i32> {
        self.process.wait().unwrap().code()
    }

    /// Closes standard input and returns the remaining messages and the exit code.
    pub(crate) fn close_input(mut self) -> (Vec<Value>, Option<i32>) {
        drop(self.input.take());
        let rest = self.output.iter().map(|line| serde_json::from_str(&line).unwrap()).collect();
        (rest, self.process.wait().unwrap().code())
    }
}

impl StdioClient {
    /// Kills the process and returns the messages it had written. An incomplete last line is
    /// dropped.
    pub(crate) fn kill(mut self) -> Vec<Value> {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        self.output.iter().filter_map(|line| serde_json::from_str(&line).ok()).collect()
    }

    /// Closes standard input, waits for the exit and returns the log.
    pub(crate) fn close_and_read_log(mut self) -> String {
        drop(self.input.take());
        self.process.wait().unwrap();
        self.log.take().unwrap().join().unwrap()
    }
}

impl McpClient for StdioClient {
    fn exchange(&self, request: &Value) -> Value {
        self.write_line(&request.to_string());
        self.read_message()
    }
}

impl Drop for StdioClient {
    fn drop(&mut self) {
        // The process may have exited already.
        drop(self.process.kill());
        self.process.wait().unwrap();
    }
}
