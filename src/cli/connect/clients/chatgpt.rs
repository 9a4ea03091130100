//! ChatGPT in the browser: it calls servers from the company's machines, and
//! keeps their addresses in the account.

use super::super::{
    client::{Client, Way},
    entry::EntryName,
    link::Link,
};

/// ChatGPT.
pub(in super::super) const CLIENT: Client =
    Client { title: "ChatGPT", place: None, way, afterwards: "" };

fn way(link: &Link, name: &EntryName) -> Way {
    let url = match link {
        Link::Http { url, .. } if url.is_public() => url.as_str(),
        Link::Http { .. } | Link::Stdio(_) => "https://<your host>/mcp",
    };
    Way::ByHand {
        reason: "it keeps the addresses of its servers in your account, not in a file on this \
                 machine",
        steps: format!(
            "\
1. Start `vademecum serve` and make it reachable by HTTPS, behind a proxy or a tunnel of yours,
   with its host in `allowed_hosts` of the settings. OpenAI's Secure MCP Tunnel does it without
   an open port. ChatGPT signs in by OAuth or not at all, it sends no fixed key: who knows the
   address of a server that asks nobody can read your library.
2. In ChatGPT on the web: Plugins > + > Add custom MCP server. Where that is missing: Settings >
   Apps > Advanced settings > Developer mode, then Create app.
3. Name it `{name}`, and give it this address:

{url}

4. Choose how it signs in, confirm, and switch it on in a chat. `search` and `fetch` are what
   deep research and company knowledge use.
The ChatGPT app for the desktop reads the settings of Codex: vademecum connect codex",
            name = name.as_str(),
        ),
    }
}
