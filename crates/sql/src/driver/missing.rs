//! Driver of an engine that this build leaves out: opening a database reports it.

use std::time::Duration;

use serde_json::Value;

use crate::{
    ErrorCode, Parameter, QueryCaps, Rows, ServerTarget, SqlError,
    driver::{DatabaseRights, GuardReport, HypotheticalIndexes, PoolLoad, RowSender, WriteResult},
    guard::{ReadOnlyQuery, WriteStatement},
};

/// Driver that cannot be created.
pub(super) enum MissingDriver {}

impl MissingDriver {
    /// Always fails.
    pub(super) fn new(_: ServerTarget, _: usize, _: Duration) -> Result<Self, SqlError> {
        let message = "this program was built without a driver for this engine; \
                       build it with the features `mysql` and `postgres`";
        Err(SqlError::new(ErrorCode::XsqlDbDriverUnsupported, message))
    }

    pub(super) fn pool_load(&self) -> PoolLoad {
        match *self {}
    }

    pub(super) async fn run_query(
        &self,
        _: &ReadOnlyQuery,
        _: &[Parameter],
        _: QueryCaps,
        _: Option<&RowSender>,
    ) -> Result<Rows, SqlError> {
        match *self {}
    }

    pub(super) async fn run_write(
        &self,
        _: &WriteStatement,
        _: &[Parameter],
        _: QueryCaps,
    ) -> Result<WriteResult, SqlError> {
        match *self {}
    }

    pub(super) async fn plan_statement(
        &self,
        _: &ReadOnlyQuery,
        _: &HypotheticalIndexes,
        _: QueryCaps,
    ) -> Result<Vec<Option<Value>>, SqlError> {
        match *self {}
    }

    pub(super) async fn server_version(&self, _: Duration) -> Result<String, SqlError> {
        match *self {}
    }

    pub(super) async fn check_tables(&self, _: QueryCaps) -> Result<GuardReport, SqlError> {
        match *self {}
    }

    pub(super) async fn fetch_rights(&self, _: Duration) -> Result<DatabaseRights, SqlError> {
        match *self {}
    }
}
