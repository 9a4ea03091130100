//! ChatGPT in the browser. It calls servers from its provider's machines and stores their
//! addresses in the user's account.

use super::super::{
    client::{Client, ConnectionMethod},
    endpoint::ServerEndpoint,
    entry::EntryName,
};

/// Definition of ChatGPT.
pub(in super::super) const CLIENT: Client =
    Client { title: "ChatGPT", settings: None, hooks: None, connection_method, next_steps: "" };

fn connection_method(link: &ServerEndpoint, name: &EntryName) -> ConnectionMethod {
    let url = match link {
        ServerEndpoint::Http { url, .. } if url.is_public() => url.as_str(),
        ServerEndpoint::Http { .. } | ServerEndpoint::Stdio(_) => "https://<your host>/mcp",
    };
    ConnectionMethod::Manual {
        reason: "it keeps the addresses of its servers in your account, not in a file on this \
                 machine",
        steps: format!(
            "\
1. Start `vademecum serve` and make it reachable by HTTPS, behind a proxy or a tunnel of yours,
   with `server.public_url` and `auth.oauth = true` in the settings: ChatGPT then sends you to
   this server to log in. It sends no fixed key: without `auth.oauth`, anyone who knows the
   address of a reachable server can read your library.
2. In ChatGPT on the web: Plugins > + > Add custom MCP server. Where that is missing: Settings >
   Apps > Advanced settings > Developer mode, then Create app.
3. Name it `{name}`, and give it this address:

{url}

4. Choose OAuth, confirm, log in, and switch it on in a chat. `search` and `fetch` are what
   deep research and company knowledge use.
The ChatGPT app for the desktop reads the settings of Codex: vademecum connect codex",
            name = name.as_str(),
        ),
    }
}
