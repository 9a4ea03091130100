//! Servers with the same settings and users, of which each has its data in a folder of its own.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::json;
use tempfile::TempDir;
use vademecum::app::open_data_folder;
use vademecum_core::config::Settings;
use vademecum_store::{DataFolder, Database, Store};

use super::{HttpClient, ServerProcess, create_users, rpc_message};

/// Servers with the same settings and users. With an archive in the settings, each serves all
/// libraries; otherwise only one that has its data in [`folder`](Self::folder).
#[derive(Debug)]
pub struct Deployment {
    folder: TempDir,
    data: DataFolder,
    settings: String,
    headers: Vec<String>,
}

impl Deployment {
    /// Creates the users. `settings` are additional sections of the configuration.
    pub fn new(users: &[String], settings: &str) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let mut parsed = Settings::parse(settings)?;
        parsed.storage.data = Some(folder.path().to_owned());
        let data = open_data_folder(&parsed)?;
        let headers = create_users(&data, users)?;
        Ok(Self { folder, data, settings: settings.to_owned(), headers })
    }

    /// Returns the folder with the data of this process.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the data folder of this process.
    pub fn data(&self) -> &DataFolder {
        &self.data
    }

    /// Returns the folder of a library.
    pub fn library(&self, user: &str) -> PathBuf {
        self.folder().join("users").join(user)
    }

    /// Returns a database of a library.
    pub fn store(&self, database: Database, user: &str) -> Store {
        self.data.library_store(database, &self.library(user), user)
    }

    /// Returns the authorization header of a user, with its line end.
    pub fn header(&self, user: usize) -> Result<&str> {
        Ok(self.headers.get(user).context("no such user")?)
    }

    /// Starts a server with its data in `folder`, and waits until it answers.
    pub fn start(&self, folder: &Path) -> Result<ServerProcess> {
        let server = ServerProcess::start(folder, &self.settings)?;
        let mut client = HttpClient::connect(server.address(), self.header(0)?)?;
        client.call(&rpc_message("ping", &json!({})))?;
        Ok(server)
    }

    /// Connects and opens a session.
    pub fn open_session(&self, server: &ServerProcess, user: usize) -> Result<HttpClient> {
        let mut client = HttpClient::connect(server.address(), self.header(user)?)?;
        let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": { "name": "bench", "version": "1" } });
        client.call(&rpc_message("initialize", &hello))?;
        client.session_header().context("no session")?;
        Ok(client)
    }
}
