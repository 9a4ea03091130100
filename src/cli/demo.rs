//! `vademecum demo`.

use std::{
    net::{SocketAddr, TcpListener},
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, Result};
use serde_json::json;
use vademecum_kit::model::SourceName;

use super::{
    command::Common,
    get::answer_of,
    import::{Wish, bring_in},
    output::{count, say},
    search,
};
use crate::app::App;
use vademecum_core::config::{Auth, Settings};

/// What the demo looks for.
const QUESTION: &str = "how do I keep a sourdough starter alive?";

/// The files of the demo's library: where each goes and what it says.
const FILES: [(SourceName, &str, &str); 9] = [
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

/// Shows what it does, on a small library.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Without --data, the library is made in a temporary folder and removed again.")]
pub(super) struct Demo {
    /// End after the search instead of serving on
    #[arg(long)]
    once: bool,
    /// Address to listen on [default: 127.0.0.1:7744, or a free port if that is taken]
    #[arg(long, value_name = "ADDR:PORT")]
    listen: Option<SocketAddr>,
}

impl Demo {
    pub(super) async fn run(self, common: &Common) -> Result<ExitCode> {
        let mut settings = common.settings()?;
        let temporary = tempfile::Builder::new().prefix("vademecum-demo-").tempdir()?;
        let folder = match &settings.storage.data {
            Some(folder) => folder.clone(),
            None => temporary.path().to_owned(),
        };
        settings.storage.data = Some(folder.clone());
        // A try is for whoever tries.
        settings.auth = Auth::default();
        let listener = self.listen(&mut settings)?;
        let address = listener.local_addr()?;
        let app = App::new(settings)?;
        seed(&app, &folder.join("demo")).await?;
        say(&format!("\nServing at http://{address}/mcp. Asking it: {QUESTION}\n"));
        let serving = app.serve(app.door()?, listener);
        let asking = ask(address);
        tokio::pin!(serving, asking);
        let found = tokio::select! {
            served = &mut serving => return Ok(served.map(|()| ExitCode::SUCCESS)?),
            found = &mut asking => found?,
        };
        search::print(&found);
        if self.once {
            return Ok(ExitCode::SUCCESS);
        }
        explain(address, common.data.as_deref());
        serving.await?;
        say("Stopped.");
        Ok(ExitCode::SUCCESS)
    }

    fn listen(&self, settings: &mut Settings) -> Result<TcpListener> {
        if let Some(listen) = self.listen {
            settings.server.listen = listen;
        }
        let address = settings.server.loopback()?;
        match TcpListener::bind(address) {
            Ok(listener) => Ok(listener),
            Err(_) if self.listen.is_none() => {
                Ok(TcpListener::bind((address.ip(), 0)).context("no port is free")?)
            }
            Err(error) => Err(error).with_context(|| format!("cannot listen on {address}")),
        }
    }
}

/// Writes the files of the library and imports them, as a user would.
async fn seed(app: &App, folder: &Path) -> Result<()> {
    let library = app.library();
    for source in SourceName::ALL {
        let mut paths: Vec<PathBuf> = Vec::new();
        for (_, name, text) in FILES.iter().filter(|(kind, ..)| *kind == source) {
            let path = folder.join(name);
            if let Some(parent) = path.parent() {
                std::fs::create_dir_all(parent)?;
            }
            std::fs::write(&path, text)?;
            paths.push(path);
        }
        let files = count(paths.len(), "file");
        let wish = Wish { kind: Some(source), paths, dry_run: false, follow: false };
        let items = bring_in(&library, &wish).await?.items();
        say(&format!("{source}: {items} from {files}"));
    }
    Ok(())
}

/// Searches through the server, as a client without a session does.
async fn ask(address: SocketAddr) -> Result<serde_json::Value> {
    let message = json!({
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": { "name": "knowledge.search", "arguments": { "query": QUESTION, "limit": 5 } },
    });
    let url = format!("http://{address}/mcp");
    let sent = awc::Client::default().post(url).send_json(&message).await;
    let mut answer = sent.map_err(|error| anyhow::anyhow!("the server gave no answer: {error}"))?;
    let body = answer.body().await.context("the answer broke off")?;
    answer_of(std::str::from_utf8(&body)?)
}

fn explain(address: SocketAddr, data: Option<&Path>) {
    let data = data.map(|folder| format!(" --data {}", folder.display())).unwrap_or_default();
    say(&format!(
        "
Connect a client while this runs:
  Claude Code   claude mcp add --transport http vademecum http://{address}/mcp
  any client    {{ \"mcpServers\": {{ \"vademecum\": {{ \"url\": \"http://{address}/mcp\" }} }} }}
  WebSocket     ws://{address}/mcp/ws (subprotocol mcp)
  curl          curl http://{address}/mcp -H 'content-type: application/json' -d \\
                '{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":\
                 {{\"name\":\"knowledge.search\",\"arguments\":{{\"query\":\"rye bread\"}}}}}}'

Then install it (cargo install --path .), bring in what is yours, and let clients start it:
  vademecum import notes ~/Documents/Vault{data}
  {{ \"mcpServers\": {{ \"vademecum\": {{ \"command\": \"vademecum\", \"args\": [\"mcp\"] }} }} }}

Serving until Ctrl-C."
    ));
}
