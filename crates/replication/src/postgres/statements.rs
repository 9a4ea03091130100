//! The statements of a connection, each prepared on first use.

use tokio::sync::OnceCell;
use tokio_postgres::{Client, Error, Statement};

/// The time by the clock of the server. `clock_timestamp` does not stand still in a transaction.
const CLOCK_SQL: &str =
    "SELECT (extract(EPOCH FROM pg_catalog.clock_timestamp()) * 1000)::bigint AS milliseconds";
/// The number of rows of the database ($1, $2).
const ROW_COUNT_SQL: &str = "SELECT count(*) AS row_count FROM entry \
     WHERE user_id = $1 AND part = $2 AND content IS NOT NULL";
/// Removes the marks of rows of the database ($1, $2) that were deleted up to the write $3. A
/// server that has not seen them has no receipt either, and fetches all rows.
const FORGET_DELETED_SQL: &str =
    "DELETE FROM entry WHERE user_id = $1 AND part = $2 AND seq <= $3 AND content IS NULL";
/// Removes the receipts of the database ($1, $2) up to the write $3.
const FORGET_RECEIPTS_SQL: &str =
    "DELETE FROM receipt WHERE user_id = $1 AND part = $2 AND seq <= $3";
/// Removes the rows of the database ($1, $2).
const REMOVE_ENTRIES_SQL: &str = "DELETE FROM entry WHERE user_id = $1 AND part = $2";
/// Removes the values of all users that have expired.
const REMOVE_EXPIRED_SQL: &str =
    "DELETE FROM shared_value WHERE user_id IS NOT NULL AND expires_at <= now()";
/// Removes the head of the database ($1, $2), before its rows, so that no write can add to them.
const REMOVE_PART_SQL: &str = "DELETE FROM part WHERE user_id = $1 AND part = $2";
/// Removes the receipts of the database ($1, $2).
const REMOVE_RECEIPTS_SQL: &str = "DELETE FROM receipt WHERE user_id = $1 AND part = $2";
/// Removes the value $4 if it is still there.
const RELEASE_VALUE_SQL: &str =
    "DELETE FROM shared_value WHERE user_id = $1 AND kind = $2 AND key = $3 AND content = $4";
/// Removes a value.
const REMOVE_VALUE_SQL: &str =
    "DELETE FROM shared_value WHERE user_id = $1 AND kind = $2 AND key = $3";
/// Removes the values of the user $1, of the kind $2 or of all kinds.
const REMOVE_VALUES_SQL: &str =
    "DELETE FROM shared_value WHERE user_id = $1 AND ($2::text IS NULL OR kind = $2)";

/// A statement of the archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ArchiveStatement {
    Clock,
    RowCount,
    Heads,
    Since,
    Put,
    AddEntries,
    Settle,
    ForgetReceipts,
    ForgetDeleted,
    Parts,
    Users,
    RemovePart,
    RemoveEntries,
    RemoveReceipts,
    Values,
    SetValues,
    InsertValue,
    ExtendValue,
    ReleaseValue,
    NextNumber,
    RemoveValue,
    RemoveValues,
    RemoveExpired,
}

impl ArchiveStatement {
    const COUNT: usize = Self::RemoveExpired as usize + 1;

    /// All statements.
    #[cfg(test)]
    const ALL: [Self; Self::COUNT] = [
        Self::Clock,
        Self::RowCount,
        Self::Heads,
        Self::Since,
        Self::Put,
        Self::AddEntries,
        Self::Settle,
        Self::ForgetReceipts,
        Self::ForgetDeleted,
        Self::Parts,
        Self::Users,
        Self::RemovePart,
        Self::RemoveEntries,
        Self::RemoveReceipts,
        Self::Values,
        Self::SetValues,
        Self::InsertValue,
        Self::ExtendValue,
        Self::ReleaseValue,
        Self::NextNumber,
        Self::RemoveValue,
        Self::RemoveValues,
        Self::RemoveExpired,
    ];

    const fn sql(self) -> &'static str {
        match self {
            Self::Clock => CLOCK_SQL,
            Self::RowCount => ROW_COUNT_SQL,
            Self::Heads => include_str!("sql/heads.sql"),
            Self::Since => include_str!("sql/since.sql"),
            Self::Put => include_str!("sql/put.sql"),
            Self::AddEntries => include_str!("sql/add_entries.sql"),
            Self::Settle => include_str!("sql/settle.sql"),
            Self::ForgetReceipts => FORGET_RECEIPTS_SQL,
            Self::ForgetDeleted => FORGET_DELETED_SQL,
            Self::Parts => include_str!("sql/parts.sql"),
            Self::Users => include_str!("sql/users.sql"),
            Self::RemovePart => REMOVE_PART_SQL,
            Self::RemoveEntries => REMOVE_ENTRIES_SQL,
            Self::RemoveReceipts => REMOVE_RECEIPTS_SQL,
            Self::Values => include_str!("sql/values.sql"),
            Self::SetValues => include_str!("sql/set_values.sql"),
            Self::InsertValue => include_str!("sql/insert_value.sql"),
            Self::ExtendValue => include_str!("sql/extend_value.sql"),
            Self::ReleaseValue => RELEASE_VALUE_SQL,
            Self::NextNumber => include_str!("sql/next_number.sql"),
            Self::RemoveValue => REMOVE_VALUE_SQL,
            Self::RemoveValues => REMOVE_VALUES_SQL,
            Self::RemoveExpired => REMOVE_EXPIRED_SQL,
        }
    }
}

/// The prepared statements of a connection.
#[derive(Default)]
pub(crate) struct PreparedStatements([OnceCell<Statement>; ArchiveStatement::COUNT]);

impl PreparedStatements {
    /// Returns a statement, which is prepared on first use.
    pub(crate) async fn get(
        &self,
        client: &Client,
        statement: ArchiveStatement,
    ) -> Result<&Statement, Error> {
        self.0[statement as usize].get_or_try_init(|| client.prepare(statement.sql())).await
    }
}

#[cfg(test)]
mod tests {
    use sqlparser::{
        ast::{Expr, SetExpr, Statement as Parsed, TableConstraint},
        dialect::PostgreSqlDialect,
        parser::Parser,
    };

    use super::*;

    fn parse(sql: &str) -> Vec<Parsed> {
        Parser::parse_sql(&PostgreSqlDialect {}, sql).unwrap()
    }

    /// Returns the first comparison of a condition.
    fn first_condition(condition: &Expr) -> String {
        match condition {
            Expr::BinaryOp { left, op, .. } if op.to_string() == "AND" => first_condition(left),
            other => other.to_string(),
        }
    }

    /// Panics if a condition does not begin with the user.
    fn assert_user_first(condition: Option<&Expr>, sql: &str) {
        let first = first_condition(condition.unwrap_or_else(|| panic!("no condition: {sql}")));
        let column = first.split([' ', '(']).next().unwrap().rsplit('.').next().unwrap();
        assert_eq!(column, "user_id", "{sql}");
    }

    #[test]
    fn statements_name_user_first() {
        for statement in ArchiveStatement::ALL {
            let sql = statement.sql();
            for parsed in parse(sql) {
                match &parsed {
                    Parsed::Delete(delete) => assert_user_first(delete.selection.as_ref(), sql),
                    Parsed::Update(update) => assert_user_first(update.selection.as_ref(), sql),
                    Parsed::Insert(insert) => {
                        assert_eq!(insert.columns[0].to_string(), "user_id", "{sql}");
                    }
                    Parsed::Query(query) => {
                        let parts = query.with.iter().flat_map(|with| &with.cte_tables);
                        for part in parts {
                            let SetExpr::Insert(Parsed::Insert(insert)) = &*part.query.body else {
                                panic!("another statement in WITH: {sql}");
                            };
                            assert_eq!(insert.columns[0].to_string(), "user_id", "{sql}");
                        }
                        // Conditions of joins are compared as text.
                        for joined in sql.split("ON\n").skip(1) {
                            let first = joined.split_whitespace().next().unwrap();
                            assert!(first.ends_with("user_id"), "{sql}");
                        }
                        if let SetExpr::Select(select) = &*query.body
                            && query.with.is_none()
                            && !select.from.is_empty()
                            && !sql.contains("wanted")
                        {
                            assert_user_first(select.selection.as_ref(), sql);
                        }
                    }
                    other => panic!("another kind of statement: {other}"),
                }
            }
        }
    }

    #[test]
    fn primary_keys_begin_with_user() {
        let mut tables = 0;
        for parsed in parse(include_str!("../../../../schemas/postgres/0001_archive.sql")) {
            if let Parsed::CreateTable(table) = parsed {
                tables += 1;
                let key = table.constraints.iter().find_map(|constraint| match constraint {
                    TableConstraint::PrimaryKey(key) => Some(key.columns[0].to_string()),
                    _ => None,
                });
                assert_eq!(key.as_deref(), Some("user_id"), "{}", table.name);
            }
        }
        assert_eq!(tables, 4);
    }
}
