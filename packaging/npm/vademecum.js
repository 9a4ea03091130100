#!/usr/bin/env node
// Starts the program of the package for this platform, with the same input, output and exit code.
"use strict";
const { spawn } = require("node:child_process");
const fs = require("node:fs");

const musl = process.platform === "linux" && !process.report.getReport().header.glibcVersionRuntime;
const name = `vademecum-${process.platform}-${process.arch}${musl ? "-musl" : ""}`;
const file = process.platform === "win32" ? "vademecum.exe" : "vademecum";
let program;
try {
  program = require.resolve(`${name}/bin/${file}`);
} catch {
  console.error(`vademecum: there is no package ${name}; was npm run with --omit=optional?`);
  process.exit(1);
}
try {
  fs.accessSync(program, fs.constants.X_OK);
} catch {
  fs.chmodSync(program, 0o755);
}
const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => child.kill(signal));
}
child.on("error", (error) => {
  console.error(`vademecum: cannot start ${program}: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => {
  if (signal) {
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  } else {
    process.exit(code);
  }
});
