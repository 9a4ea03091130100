//! The server as a client sees it: the real program, real sockets, real pipes,
//! each test with a library of its own in a temporary folder.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test may fail loudly, its helpers too"
)]

mod program;

mod architecture;
mod at_random;
mod awkward;
mod backup;
mod budget;
mod bundle;
mod cancellation;
mod changes;
mod cli;
mod collection_reading;
mod collections;
mod completion;
mod connect;
mod conversations;
mod databases;
mod deep_research;
mod embeddings;
mod errors;
mod eval;
mod export;
mod faults;
mod files;
mod filters;
#[cfg(target_os = "linux")]
mod floods;
mod forgiving;
mod get;
mod guard;
mod handshake;
mod highlights;
#[cfg(unix)]
mod hostile_files;
mod import;
mod jwt;
mod keys;
mod knowledgebase;
mod local_model;
mod methods;
mod migration;
mod notes_and_chats;
mod nothing_lost;
mod oauth;
mod observing;
mod one_door;
mod one_ranking;
mod overload;
mod profiles;
mod progress;
mod prompts;
mod query;
mod query_cli;
mod rag;
mod rag_admin;
mod rate_limits;
mod resources;
mod revisions;
mod schemas;
mod search;
mod security;
mod segments;
mod sessions;
#[cfg(unix)]
mod shutdown;
mod similarity;
mod spelling;
mod sql_driver;
mod stdio;
mod streams;
mod switches;
mod table_collections;
mod table_rows;
mod tldw;
mod tools;
#[cfg(unix)]
mod tunnels;
mod users;
mod vectors;
mod websocket;
mod writing;
