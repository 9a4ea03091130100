//! Function deny lists for each engine.
//!
//! Denied are functions that change something, take locks, wait, access files or other servers, or
//! run text as a statement; all others may be called. In `PostgreSQL` the driver also checks which
//! called functions are VOLATILE, and rejects those that [`may_be_volatile`] does not allow.

use super::token::{Token, TokenKind};
use crate::Engine;

/// Reasons and the function names they apply to. A trailing `*` matches any ending.
type DenyList = &'static [(&'static str, &'static [&'static str])];

const CHANGES: &str = "changes the server or the session";
const WAITS: &str = "only waits or keeps the server busy";
const LOCKS: &str = "takes or releases locks";
const FILES: &str = "reads or writes files of the server";
const REMOTE: &str = "talks to other servers";
const RUNS: &str = "runs a text as a statement that is not checked";
const OBJECTS: &str = "works on large objects, even in read-only transactions";
const SEQUENCES: &str = "advances a sequence";
const STATEMENTS: &str = "shows statements of other accounts";
const DUMPS: &str = "exports whole tables";

static POSTGRES_DENIED: DenyList = &[
    (OBJECTS, &["lo_*", "loread", "lowrite", "lo"]),
    (SEQUENCES, &["nextval", "setval"]),
    (LOCKS, &["pg_advisory_*", "pg_try_advisory_*"]),
    (WAITS, &["pg_sleep*", "pg_isolation_test_session_is_blocked"]),
    (REMOTE, &["dblink*", "postgres_fdw_*", "http", "http_*"]),
    (
        RUNS,
        &[
            "query_to_xml*",
            "cursor_to_xml*",
            "ts_stat",
            "ts_rewrite",
            "crosstab*",
            "connectby",
            "xpath_table",
            "pg_execute_*",
            "run_command_on_*",
            "pathman_*",
            "plv8_*",
        ],
    ),
    (DUMPS, &["table_to_xml*", "schema_to_xml*", "database_to_xml*"]),
    (
        FILES,
        &[
            "pg_read_file*",
            "pg_read_binary_file",
            "pg_ls_*",
            "pg_stat_file",
            "pg_file_*",
            "pg_logdir_ls",
            "pg_hba_file_rules",
            "pg_ident_file_mappings",
            "pg_show_all_file_settings",
            "pg_current_logfile",
            "get_raw_page",
            "pg_tablespace_databases",
        ],
    ),
    (
        CHANGES,
        &[
            "set_config",
            "setseed",
            "set_limit",
            "pg_notify",
            "pg_terminate_backend",
            "pg_cancel_backend",
            "pg_reload_conf",
            "pg_rotate_logfile*",
            "pg_switch_wal",
            "pg_switch_xlog",
            "pg_create_*",
            "pg_drop_*",
            "pg_copy_*",
            "pg_logical_*",
            "pg_replication_origin_*",
            "pg_replication_slot_advance",
            "pg_sync_replication_slots",
            "pg_backup_*",
            "pg_start_backup",
            "pg_stop_backup",
            "pg_promote",
            "pg_wal_replay_*",
            "pg_log_backend_memory_contexts",
            "pg_log_standby_snapshot",
            "pg_stat_reset*",
            "pg_stat_clear_snapshot",
            "pg_stat_force_next_flush",
            "pg_stat_statements_reset",
            "pg_export_snapshot",
            "pg_import_system_collations",
            "pg_extension_config_dump",
            "pg_nextoid",
            "pg_stop_making_pinned_objects",
            "pg_set_*",
            "pg_restore_*",
            "pg_clear_*",
            "pg_current_xact_id",
            "txid_current",
            "brin_summarize_*",
            "brin_desummarize_range",
            "gin_clean_pending_list",
            "pg_prewarm",
            "autoprewarm_*",
            "pg_truncate_visibility_map",
            "heap_force_*",
            "pg_buffercache_evict*",
            "binary_upgrade_*",
            "currtid*",
            "pg_event_trigger_*",
        ],
    ),
];

static MYSQL_DENIED: DenyList = &[
    (STATEMENTS, &["ps_thread_stack", "ps_thread_trx_info"]),
    (SEQUENCES, &["nextval", "setval", "gen_uuid_short", "uuid_short"]),
    (
        LOCKS,
        &["get_lock", "release_lock", "release_all_locks", "service_get_*", "service_release_*"],
    ),
    (
        WAITS,
        &[
            "sleep",
            "benchmark",
            "master_pos_wait",
            "source_pos_wait",
            "master_gtid_wait",
            "wait_for_executed_gtid_set",
            "wait_until_sql_thread_after_gtids",
            "wsrep_sync_wait_upto_gtid",
        ],
    ),
    (FILES, &["load_file", "dumpfile"]),
    (REMOTE, &["spider_*", "http_*", "mysqlx_*"]),
    (RUNS, &["sys_exec", "sys_eval", "sys_get", "sys_set", "lib_mysqludf_*"]),
    (
        CHANGES,
        &[
            "group_replication_*",
            "innodb_*",
            "asynchronous_connection_failover_*",
            "keyring_*",
            "version_tokens_*",
            "audit_log_*",
            "audit_api_*",
            "set_firewall_mode",
            "mysql_firewall_*",
            "read_firewall_*",
            "load_rewrite_rules",
            "flush_rewrite_rules",
            "rotate_system_key",
            "mysql_query_attribute_set",
            "wsrep_last_*_set",
            "firewall_*",
        ],
    ),
];

static SQLITE_DENIED: DenyList = &[
    (
        FILES,
        &["readfile", "writefile", "edit", "fsdir", "lsmode", "zipfile*", "sqlar_*", "export*"],
    ),
    (RUNS, &["load_extension", "eval", "sha3_query", "sha1_query", "shell_*"]),
    (
        CHANGES,
        &["fts3_tokenizer", "fts5", "fts5_expr*", "icu_load_collation", "sqlite_log", "lsm1*"],
    ),
    (WAITS, &["rtreecheck", "sqlite_dbpage", "usleep"]),
];

/// Returns the reason to reject a call of this function with these arguments, if any.
pub(super) fn rejection_reason(
    engine: Engine,
    name: &str,
    arguments: Option<&[Token]>,
) -> Option<&'static str> {
    let name = name.to_ascii_lowercase();
    let list = match engine {
        Engine::Postgres => POSTGRES_DENIED,
        Engine::MySql => MYSQL_DENIED,
        Engine::Sqlite => SQLITE_DENIED,
    };
    let refused = list
        .iter()
        .find(|(_, names)| names.iter().any(|pattern| matches_pattern(pattern, &name)))
        .map(|(why, _)| *why);
    refused
        .or_else(|| argument_rejection_reason(engine, &name, arguments.and_then(<[Token]>::first)))
}

/// Returns a reason that depends on the first argument, if any.
fn argument_rejection_reason(
    engine: Engine,
    name: &str,
    first: Option<&Token>,
) -> Option<&'static str> {
    match (engine, name) {
        (Engine::MySql, "last_insert_id") => {
            let is_asked = first.is_some_and(|token| token.is_symbol(")"));
            (!is_asked).then_some("sets the last insert id of the session if it has an argument")
        }
        (Engine::Sqlite, "printf" | "format") => {
            let is_wide = first.is_some_and(|token| {
                token.kind == TokenKind::Literal
                    && (token.text.contains('*') || has_long_number(&token.text))
            });
            is_wide.then_some("may produce a text of any length, with `*` or a very long width")
        }
        _ => None,
    }
}

/// Returns true if the text contains at least five consecutive digits.
fn has_long_number(text: &str) -> bool {
    text.split(|sign: char| !sign.is_ascii_digit()).any(|digits| digits.len() > 4)
}

fn matches_pattern(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(beginning) => name.starts_with(beginning),
        None => name == pattern,
    }
}

/// VOLATILE functions of `PostgreSQL` that only report state or return a different value on each
/// call.
static HARMLESS_VOLATILE: &[&str] = &[
    "bernoulli",
    "clock_timestamp",
    "current_query",
    "currval",
    "gen_random_uuid",
    "lastval",
    "pg_blocking_pids",
    "pg_collation_actual_version",
    "pg_control_checkpoint",
    "pg_control_init",
    "pg_control_recovery",
    "pg_control_system",
    "pg_current_wal_flush_lsn",
    "pg_current_wal_insert_lsn",
    "pg_current_wal_lsn",
    "pg_database_collation_actual_version",
    "pg_database_size",
    "pg_get_backend_memory_contexts",
    "pg_get_multixact_members",
    "pg_get_shmem_allocations",
    "pg_get_wal_replay_pause_state",
    "pg_get_wal_resource_managers",
    "pg_indexes_size",
    "pg_is_in_recovery",
    "pg_is_wal_replay_paused",
    "pg_jit_available",
    "pg_last_committed_xact",
    "pg_last_wal_receive_lsn",
    "pg_last_wal_replay_lsn",
    "pg_last_xact_replay_timestamp",
    "pg_lock_status",
    "pg_notification_queue_usage",
    "pg_partition_ancestors",
    "pg_partition_tree",
    "pg_prepared_xact",
    "pg_relation_size",
    "pg_safe_snapshot_blocking_pids",
    "pg_sequence_last_value",
    "pg_show_replication_origin_status",
    "pg_stat_get_*",
    "pg_stat_have_stats",
    "pg_table_size",
    "pg_tablespace_size",
    "pg_total_relation_size",
    "pg_xact_commit_timestamp",
    "pg_xact_status",
    "random",
    "random_normal",
    "system",
    "timeofday",
    "txid_status",
    "uuidv4",
    "uuidv7",
];

/// The same for functions of extensions, which may be installed in any schema.
static HARMLESS_VOLATILE_EXTENSIONS: &[&str] = &[
    "gen_random_bytes",
    "gen_random_uuid",
    "gen_salt",
    "pg_buffercache_pages",
    "pg_buffercache_summary",
    "pg_stat_statements",
    "pg_stat_statements_info",
    "pgis_geometry_accum_transfn",
    "pgis_geometry_clusterintersecting_finalfn",
    "pgis_geometry_clusterwithin_finalfn",
    "pgis_geometry_collect_finalfn",
    "pgis_geometry_coverageunion_finalfn",
    "pgis_geometry_makeline_finalfn",
    "pgis_geometry_polygonize_finalfn",
    "pgp_pub_encrypt",
    "pgp_pub_encrypt_bytea",
    "pgp_sym_encrypt",
    "pgp_sym_encrypt_bytea",
    "pgrowlocks",
    "pgstatginindex",
    "pgstathashindex",
    "pgstatindex",
    "pgstattuple",
    "pgstattuple_approx",
    "pg_freespace",
    "pg_relpages",
    "pg_visibility",
    "pg_visibility_map",
    "pg_visibility_map_summary",
    "st_clusterkmeans",
    "st_generatepoints",
    "system_rows",
    "system_time",
    "uuid_generate_v1",
    "uuid_generate_v1mc",
    "uuid_generate_v4",
];

/// Returns true if the function may be called although `PostgreSQL` declares it VOLATILE.
pub(super) fn may_be_volatile(schema: &str, name: &str) -> bool {
    let list =
        if schema == "pg_catalog" { HARMLESS_VOLATILE } else { HARMLESS_VOLATILE_EXTENSIONS };
    list.iter().any(|pattern| matches_pattern(pattern, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn volatile_function_needs_harmless_entry() {
        assert!(may_be_volatile("pg_catalog", "random"));
        assert!(may_be_volatile("public", "uuid_generate_v4"));
        assert!(!may_be_volatile("public", "random"));
        assert!(!may_be_volatile("public", "delete_all"));
        assert!(!may_be_volatile("pg_catalog", "nextval"));
    }
}
