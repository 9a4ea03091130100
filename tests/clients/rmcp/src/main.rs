//! The client of the official Rust SDK does with the program what every other
//! client does: list, search, get, read, and run into two errors.

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

/// A connection to the program.
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
        let url = url.into_string().ok().context("the URL is no text")?;
        ().serve_with_lifecycle(StreamableHttpClientTransport::from_uri(url), lifecycle).await?
    } else {
        ().serve_with_lifecycle(pipe(program, data)?, lifecycle).await?
    };
    Client::new(service, &revision).await?.tell(&revision).await
}

/// How a connection begins in this mode.
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

fn pipe(program: OsString, data: OsString) -> Result<TokioChildProcess> {
    let mut command = Command::new(program);
    command.arg("mcp").arg("--data").arg(data);
    Ok(TokioChildProcess::new(command)?)
}

impl Client {
    async fn new(
        service: RunningService<RoleClient, ()>,
        revision: &ProtocolVersion,
    ) -> Result<Self> {
        let agreed = service.peer_info().context("nothing is known of the server")?;
        ensure!(agreed.protocol_version == *revision, "agreed on {}", agreed.protocol_version);
        let tools = service.list_all_tools().await?;
        Ok(Self { service, names: tools.into_iter().map(|tool| tool.name.into_owned()).collect() })
    }

    async fn tell(self, revision: &ProtocolVersion) -> Result<()> {
        let hit = self.search().await?;
        self.get(&hit).await?;
        self.read(hit["uri"].as_str().context("the hit has no URI")?).await?;
        self.refusal().await?;
        self.errors(revision).await?;
        self.service.cancel().await?;
        Ok(())
    }

    async fn search(&self) -> Result<Value> {
        let arguments = json!({ "query": "who wipes the prisms", "sources": ["notes"] });
        let result = self.call("knowledge.search", arguments).await?;
        ensure!(result.is_error != Some(true), "the search was refused: {result:?}");
        let hit =
            result.structured_content.context("the search has no structure")?["results"][0].take();
        ensure!(hit["title"] == "The lighthouse at Skerry", "the first hit is {hit}");
        Ok(hit)
    }

    async fn get(&self, hit: &Value) -> Result<()> {
        let arguments = json!({ "source": hit["source"], "id": hit["id"] });
        let result = self.call("knowledge.get", arguments).await?;
        ensure!(result.is_error != Some(true), "the item was refused: {result:?}");
        let item = result.structured_content.context("the item has no structure")?.to_string();
        ensure!(item.contains("Wipe the prisms"), "the item is {item}");
        Ok(())
    }

    async fn read(&self, uri: &str) -> Result<()> {
        let read = self.service.read_resource(ReadResourceRequestParams::new(uri)).await?;
        match read.contents.first() {
            Some(ResourceContents::TextResourceContents { uri: of, text, .. }) => {
                ensure!(of == uri && text.contains("Wipe the prisms"), "{uri} is {of}: {text}");
                Ok(())
            }
            other => bail!("{uri} is {other:?}"),
        }
    }

    async fn refusal(&self) -> Result<()> {
        let arguments = json!({ "query": "x", "sources": ["recipes"] });
        let result = self.call("knowledge.search", arguments).await?;
        let text: String = result
            .content
            .iter()
            .filter_map(|block| Some(block.as_text()?.text.as_str()))
            .collect();
        ensure!(result.is_error == Some(true), "an unknown source is no error: {text}");
        ensure!(text.contains("recipes"), "the refusal does not say what is wrong: {text}");
        Ok(())
    }

    async fn errors(&self, revision: &ProtocolVersion) -> Result<()> {
        let unknown = self.service.call_tool(CallToolRequestParams::new("no.such.tool")).await;
        fails(unknown, ErrorCode::INVALID_PARAMS, "no.such.tool")?;
        let nowhere = ReadResourceRequestParams::new("notes://nothing");
        let not_found = if *revision == ProtocolVersion::V_2026_07_28 {
            ErrorCode::INVALID_PARAMS
        } else {
            ErrorCode::RESOURCE_NOT_FOUND
        };
        fails(self.service.read_resource(nowhere).await, not_found, "nothing")
    }

    async fn call(&self, tool: &str, arguments: Value) -> Result<CallToolResult> {
        // Names are listed with dots, or with underscores for clients that refuse dots.
        let listed =
            self.names.iter().find(|name| *name == tool || **name == tool.replace('.', "_"));
        let name = listed.with_context(|| format!("`{tool}` is not listed: {:?}", self.names))?;
        let Value::Object(arguments) = arguments else { bail!("arguments are an object") };
        let params = CallToolRequestParams::new(name.clone()).with_arguments(arguments);
        Ok(self.service.call_tool(params).await?)
    }
}

/// Whether the server said this error about `name`.
fn fails<T>(outcome: Result<T, ServiceError>, code: ErrorCode, name: &str) -> Result<()> {
    match outcome {
        Err(ServiceError::McpError(error)) => {
            ensure!(error.code == code, "the code for `{name}` is {error:?}");
            ensure!(error.message.contains(name), "the message for `{name}` is {error:?}");
            Ok(())
        }
        Err(other) => bail!("`{name}`: not an error of the server: {other}"),
        Ok(_) => bail!("`{name}` is no error"),
    }
}
