//! Integration tests from a client's point of view: the real program over real sockets and pipes.
//! Each test has its own library in a temporary folder.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test may fail loudly, its helpers too"
)]

mod support;

mod access_rules;
mod accounts;
mod agent_sessions;
mod answer_budget;
mod architecture;
mod archive_migration;
mod argument_coercion;
mod audit;
mod awkward_input;
mod backup;
mod browser_logins;
mod bundle;
#[cfg(target_os = "linux")]
mod bytes_in_flight;
mod cancellation;
mod cli;
mod client_names;
mod cluster;
mod collection_access;
mod collection_reading;
mod collection_rights;
mod collections;
mod completion;
mod connect;
mod connect_all;
#[cfg(target_os = "linux")]
mod connection_limits;
mod contents_are_data;
mod context_search_contract;
mod conversations;
mod custom_tools;
mod databases;
mod deep_research;
mod delegation;
#[cfg(target_os = "linux")]
mod desktop_door;
mod doc_names;
mod documented_tests;
mod downgrade;
mod embeddings;
mod errors;
mod eval;
mod everyday_tasks;
mod export;
mod fair_pools;
mod faults;
mod file_names;
mod filters;
mod first_run;
mod get;
mod guard_enforcement;
mod handshake;
mod help;
mod highlights;
#[cfg(unix)]
mod hostile_databases;
#[cfg(unix)]
mod hostile_files;
#[cfg(target_os = "linux")]
mod hostile_tenant;
mod import;
mod import_files;
mod import_reports;
mod import_web;
mod item_filters;
mod item_language;
mod journal;
mod jwt;
mod keys;
mod knowledgebase;
mod links;
mod lists;
mod local_access;
mod local_model;
mod long_imports;
mod lost_updates;
mod manual;
mod match_scores;
mod mcp_app;
mod media_migration;
mod methods;
mod migration;
mod model_install;
mod named_items;
mod oauth;
mod oauth_attacks;
mod oauth_logins;
mod oauth_provider;
mod oauth_resource;
mod observability;
mod origin_check;
mod output_size;
mod overload;
mod page_edits;
mod page_limits;
mod pages;
mod passkeys;
mod past_items;
mod plain_sqlite;
mod plugin;
mod privacy;
mod profiles;
mod program_stores;
mod progress;
mod prompts;
mod provenance;
mod public_errors;
mod query;
mod query_cli;
mod query_signs;
mod query_syntax;
mod rag;
mod rag_admin;
mod randomized;
mod rate_limits;
mod read_growth;
mod reader_process;
mod recall;
#[cfg(target_os = "linux")]
mod relay;
mod repeated_results;
#[cfg(target_os = "linux")]
mod resource_exhaustion;
mod resource_subscriptions;
mod resources;
mod revisions;
mod rfc9700;
mod schemas;
mod search;
mod second_factors;
mod sections;
mod security;
mod segments;
#[cfg(target_os = "linux")]
mod service;
mod sessions;
mod settings_files;
#[cfg(unix)]
mod shutdown;
mod similarity;
mod single_table_ranking;
mod skills;
mod sql_driver;
#[cfg(target_os = "linux")]
mod sqlite_limits;
mod stdio;
mod stored_links;
mod streams;
mod superseded_items;
#[cfg(unix)]
mod sync;
mod table_collections;
mod table_rows;
mod third_party_exports;
mod titles;
mod tldw;
mod tldw_conversations;
mod tool_availability;
mod tools;
#[cfg(unix)]
mod transcripts;
mod tunnels;
mod two_way;
mod users;
mod vault_lists;
mod vault_tasks;
mod vectors;
mod websocket;
mod word_languages;
mod writing;
