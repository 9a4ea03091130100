//! Scenario of the official Rust SDK client, the same as for every other client: list, search, get,
//! read, and two errors.

use std::{env, ffi::OsString};

use anyhow::{Context, Result, bail, ensure};
use rmcp::{
    ClientLifecycleMode, ClientServiceExt, RoleClient,
    model::{
        CallToolRequestParams, CallToolResult, ErrorCode, ProtocolVersion,
        ReadResourceRequestParams, ResourceContents,
    },
    service::{RunningService, ServiceError},
    transport::{StreamableHttpClientTransport, TokioChildProcess},
};
use serde_json::{Value, json};
use tokio::process::Command;

/// A connection to the server with the listed tool names.
struct Client {
    service: RunningService<RoleClient, ()>,
    names: Vec<String>,
}

const USAGE: &str = "usage: vademecum-rmcp-client MODE URL PROGRAM DATA";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let mut line = env::args_os().skip(1);
    let mut next = || line.next().context(USAGE);
    let (mode, url, program, data) = (next()?, next()?, next()?, next()?);
    let mode = mode.to_string_lossy();
    let lifecycle = lifecycle(&mode)?;
    let revision = match lifecycle {
        ClientLifecycleMode::Initialize => ProtocolVersion::V_2025_11_25,
        _ => ProtocolVersion::V_2026_07_28,
    };
    let service = if mode.starts_with("http") {
        let url = url.into_string().ok().context("the URL is not valid UTF-8")?;
        ().serve_with_lifecycle(StreamableHttpClientTransport::from_uri(url), lifecycle).await?
    } else {
        ().serve_with_lifecycle(spawn_server(program, data)?, lifecycle).await?
    };
    Client::new(service, &revision).await?.run_scenario(&revision).await
}

/// Returns the lifecycle of a connection mode.
fn lifecycle(mode: &str) -> Result<ClientLifecycleMode> {
    let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
    Ok(match mode {
        "http" | "stdio" => ClientLifecycleMode::Initialize,
        "http-pinned" => ClientLifecycleMode::Discover { preferred_versions },
        "http-auto" | "stdio-auto" => {
            ClientLifecycleMode::Auto { preferred_versions, legacy_version: None }
        }
        unknown => bail!("unknown mode `{unknown}`; {USAGE}"),
    })
}

fn spawn_server(program: OsString, data: OsString) -> Result<TokioChildProcess> {
    let mut command = Command::new(program);
    command.arg("mcp").arg("--data").arg(data);
    Ok(TokioChildProcess::new(command)?)
}

impl Client {
    async fn new(
        service: RunningService<RoleClient, ()>,
        revision: &ProtocolVersion,
    ) -> Result<Self> {
        let agreed = service.peer_info().context("the server has sent no initialize result")?;
        ensure!(agreed.protocol_version == *revision, "agreed on {}", agreed.protocol_version);
        let tools = service.list_all_tools().await?;
        Ok(Self { service, names: tools.into_iter().map(|tool| tool.name.into_owned()).collect() })
    }

    async fn run_scenario(self, revision: &ProtocolVersion) -> Result<()> {
        let hit = self.search().await?;
        self.get_item(&hit).await?;
        self.read_resource(hit["uri"].as_str().context("the hit has no URI")?).await?;
        self.expect_tool_error().await?;
        self.expect_protocol_errors(revision).await?;
        self.service.cancel().await?;
        Ok(())
    }

    async fn search(&self) -> Result<Value> {
        let arguments = json!({ "query": "who wipes the prisms", "sources": ["notes"] });
        let result = self.call_tool("knowledge.search", arguments).await?;
        ensure!(result.is_error != Some(true), "the search was refused: {result:?}");
        let hit = result
            .structured_content
            .context("the search result has no structured content")?["results"][0]
            .take();
        ensure!(hit["title"] == "The lighthouse at Skerry", "the first hit is {hit}");
        Ok(hit)
    }

    async fn get_item(&self, hit: &Value) -> Result<()> {
        let arguments = json!({ "source": hit["source"], "id": hit["id"] });
        let result = self.call_tool("knowledge.get", arguments).await?;
        ensure!(result.is_error != Some(true), "the item was refused: {result:?}");
        let item =
            result.structured_content.context("the item has no structured content")?.to_string();
        ensure!(item.contains("Wipe the prisms"), "the item is {item}");
        Ok(())
    }

    async fn read_resource(&self, uri: &str) -> Result<()> {
        let read = self.service.read_resource(ReadResourceRequestParams::new(uri)).await?;
        match read.contents.first() {
            Some(ResourceContents::TextResourceContents { uri: of, text, .. }) => {
                ensure!(of == uri && text.contains("Wipe the prisms"), "{uri} is {of}: {text}");
                Ok(())
            }
            other => bail!("{uri} is {other:?}"),
        }
    }

    async fn expect_tool_error(&self) -> Result<()> {
        let arguments = json!({ "query": "x", "sources": ["recipes"] });
        let result = self.call_tool("knowledge.search", arguments).await?;
        let text: String = result
            .content
            .iter()
            .filter_map(|block| Some(block.as_text()?.text.as_str()))
            .collect();
        ensure!(result.is_error == Some(true), "an unknown source must be a tool error: {text}");
        ensure!(text.contains("recipes"), "the refusal does not say what is wrong: {text}");
        Ok(())
    }

    async fn expect_protocol_errors(&self, revision: &ProtocolVersion) -> Result<()> {
        let unknown = self.service.call_tool(CallToolRequestParams::new("no.such.tool")).await;
        expect_error(unknown, ErrorCode::INVALID_PARAMS, "no.such.tool")?;
        let nowhere = ReadResourceRequestParams::new("notes://nothing");
        let not_found = if *revision == ProtocolVersion::V_2026_07_28 {
            ErrorCode::INVALID_PARAMS
        } else {
            ErrorCode::RESOURCE_NOT_FOUND
        };
        expect_error(self.service.read_resource(nowhere).await, not_found, "nothing")
    }

    async fn call_tool(&self, tool: &str, arguments: Value) -> Result<CallToolResult> {
        // Names are listed with dots, or with underscores for clients that refuse dots.
        let listed =
            self.names.iter().find(|name| *name == tool || **name == tool.replace('.', "_"));
        let name = listed.with_context(|| format!("`{tool}` is not listed: {:?}", self.names))?;
        let Value::Object(arguments) = arguments else { bail!("arguments must be an object") };
        let params = CallToolRequestParams::new(name.clone()).with_arguments(arguments);
        Ok(self.service.call_tool(params).await?)
    }
}

/// Fails unless the outcome is a server error with this code whose message contains `name`.
fn expect_error<T>(outcome: Result<T, ServiceError>, code: ErrorCode, name: &str) -> Result<()> {
    match outcome {
        Err(ServiceError::McpError(error)) => {
            ensure!(error.code == code, "the error code for `{name}` is {error:?}");
            ensure!(error.message.contains(name), "the message for `{name}` is {error:?}");
            Ok(())
        }
        Err(other) => bail!("`{name}`: not an error of the server: {other}"),
        Ok(_) => bail!("`{name}` must be an error"),
    }
}
