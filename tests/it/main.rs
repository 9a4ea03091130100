//! The server as a client sees it.

fn main() {}
