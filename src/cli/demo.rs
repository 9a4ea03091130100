//! `vademecum demo`.

use std::{
    net::{SocketAddr, TcpListener},
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, Result};
use serde_json::json;
use vademecum_accounts::LocalToken;
use vademecum_core::config::{Archive, Auth, ListenAddress, Settings};
use vademecum_model::SourceName;
use vademecum_oauth::CodeLifetime;
use vademecum_services::{
    import::{ImportOptions, SecretHandling, StopSignal, import_files},
    text::format_count,
};
use vademecum_vault::journal::ConflictCopies;
use vademecum_web::Listener;

use super::{
    common::CommonOptions, get::parse_tool_reply, login::create_login_link, output::print_line,
    progress::progress_callback, search,
};
use crate::app::App;

/// Query that the demo runs.
const DEMO_QUERY: &str = "how do I keep a sourdough starter alive?";

/// Files of the demo library: source, path and content.
const DEMO_FILES: [(SourceName, &str, &str); 9] = [
    (SourceName::Notes, "notes/Sourdough.md", include_str!("demo_library/sourdough.md")),
    (SourceName::Notes, "notes/Rye bread.md", include_str!("demo_library/rye_bread.md")),
    (SourceName::Notes, "notes/Balcony.md", include_str!("demo_library/balcony.md")),
    (SourceName::Media, "media/flour.html", include_str!("demo_library/flour.html")),
    (SourceName::Media, "media/baking talk.vtt", include_str!("demo_library/baking_talk.vtt")),
    (SourceName::Chats, "chats/conversations.json", include_str!("demo_library/chats.json")),
    (SourceName::Characters, "characters/mara.json", include_str!("demo_library/mara.json")),
    (SourceName::Characters, "characters/orrin.json", include_str!("demo_library/orrin.json")),
    (SourceName::Prompts, "prompts/prompts.csv", include_str!("demo_library/prompts.csv")),
];

/// Try the server on a small library
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Without --data, the library is created in a temporary folder and removed on exit.")]
pub(super) struct Demo {
    /// Exit after the search instead of serving
    #[arg(long)]
    once: bool,
    /// Address to listen on [default: 127.0.0.1:7744, or a free port if that is taken]
    #[arg(long, value_name = "ADDR:PORT")]
    listen: Option<SocketAddr>,
}

impl Demo {
    pub(super) async fn run(self, common: &CommonOptions) -> Result<ExitCode> {
        let mut settings = common.load_settings()?;
        let temporary = tempfile::Builder::new().prefix("vademecum-demo-").tempdir()?;
        let folder = match &settings.storage.data {
            Some(folder) => folder.clone(),
            None => temporary.path().to_owned(),
        };
        // A log in a temporary folder would be removed before it could be read.
        settings.audit.enabled &= settings.storage.data.is_some();
        settings.storage.data = Some(folder.clone());
        // The demo serves only the person who runs it, so authentication is off.
        settings.auth = Auth::default();
        settings.archive = Archive::default();
        let listener = self.listen(&mut settings)?;
        let address = listener.local_addr()?;
        let app = App::new(settings)?;
        import_demo_library(&app, &folder.join("demo")).await?;
        print_line(&format!("\nServing at http://{address}/mcp. Searching for: {DEMO_QUERY}\n"));
        let listener = Listener::from(listener);
        let site = listener.site_address()?;
        let server_state = app.server_state(site.clone())?;
        let serving = app.serve(server_state, listener);
        let asking = search_over_http(address, LocalToken::open(&folder)?);
        tokio::pin!(serving, asking);
        let found = tokio::select! {
            served = &mut serving => return Ok(served.map(|()| ExitCode::SUCCESS)?),
            found = &mut asking => found?,
        };
        search::print_results(&found);
        if self.once {
            app.audit_log().flush();
            return Ok(ExitCode::SUCCESS);
        }
        print_connection_help(address, common.data.as_deref());
        // The last line is the one that a person is to open, who may come back to it later.
        let link = create_login_link(&app, &site, CodeLifetime::Long, None)?;
        print_line(&format!(
            "Open the library in a browser (once, {}): {link}",
            CodeLifetime::Long
        ));
        serving.await?;
        print_line("Stopped.");
        Ok(ExitCode::SUCCESS)
    }

    fn listen(&self, settings: &mut Settings) -> Result<TcpListener> {
        if let Some(listen) = self.listen {
            settings.server.listen = ListenAddress::Tcp(listen);
        }
        let address = settings.server.local_address()?.tcp();
        let address = address.context("the demo listens on an address and a port only")?;
        match TcpListener::bind(address) {
            Ok(listener) => Ok(listener),
            Err(_) if self.listen.is_none() => {
                Ok(TcpListener::bind((address.ip(), 0)).context("no free port")?)
            }
            Err(error) => Err(error).with_context(|| format!("cannot listen on {address}")),
        }
    }
}

/// Writes the files of the demo library and imports them, one source at a time.
async fn import_demo_library(app: &App, folder: &Path) -> Result<()> {
    let library = app.library();
    for source in SourceName::ALL {
        let mut paths: Vec<PathBuf> = Vec::new();
        for (_, name, text) in DEMO_FILES.iter().filter(|(kind, ..)| *kind == source) {
            let path = folder.join(name);
            if let Some(parent) = path.parent() {
                std::fs::create_dir_all(parent)?;
            }
            std::fs::write(&path, text)?;
            paths.push(path);
        }
        let files = format_count(paths.len(), "file");
        let options = ImportOptions {
            conflict_copies: ConflictCopies::InLibrary,
            quota: None,
            secrets: SecretHandling::Redact,
            stop: StopSignal::default(),
            kind: Some(source),
            paths,
            dry_run: false,
            follow_deletions: false,
            limits: app.reader_limits(),
        };
        let items = import_files(&library, &options, &progress_callback()).await?.items();
        print_line(&format!("{source}: {items} from {files}"));
    }
    Ok(())
}

/// Searches over HTTP, as a client without a session does.
async fn search_over_http(address: SocketAddr, token: LocalToken) -> Result<serde_json::Value> {
    let message = json!({
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": { "name": "knowledge.search", "arguments": { "query": DEMO_QUERY, "limit": 5 } },
    });
    let url = format!("http://{address}/mcp");
    // The client blocks, and the server runs on this event loop.
    let body = tokio::task::spawn_blocking(move || {
        let request = ureq::post(url)
            .header("content-type", "application/json")
            .header("authorization", format!("Bearer {}", token.expose()));
        let mut reply = request.send(message.to_string()).context("the server sent no reply")?;
        reply.body_mut().read_to_string().context("the reply was incomplete")
    });
    parse_tool_reply(&body.await??)
}

fn print_connection_help(address: SocketAddr, data: Option<&Path>) {
    let data = data.map(|folder| format!(" --data {}", folder.display())).unwrap_or_default();
    print_line(&format!(
        "
Connect a client while this runs:
  Claude Code   claude mcp add --transport http vademecum http://{address}/mcp
  any client    {{ \"mcpServers\": {{ \"vademecum\": {{ \"url\": \"http://{address}/mcp\" }} }} }}
  WebSocket     ws://{address}/mcp/ws (subprotocol mcp)
  curl          curl http://{address}/mcp -H 'content-type: application/json' -d \\
                '{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":\
                 {{\"name\":\"knowledge.search\",\"arguments\":{{\"query\":\"rye bread\"}}}}}}'

Then install it (cargo install --path .), import your own files, and let clients start it:
  vademecum import notes ~/Documents/Vault{data}
  {{ \"mcpServers\": {{ \"vademecum\": {{ \"command\": \"vademecum\", \"args\": [\"mcp\"] }} }} }}

Serving until Ctrl-C."
    ));
}
