//! Instructions for connecting clients to this server.

use base64::{Engine, engine::general_purpose::STANDARD};
use maud::{Markup, html};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::json;

use super::{CLIP_PATH, Page};

/// Addresses that clients need.
#[derive(Debug)]
pub(crate) struct ConnectPage {
    /// Address of the server.
    pub(crate) site: String,
    /// Address of the MCP endpoint.
    pub(crate) address: String,
    /// Whether clients elsewhere reach the server and let the user log in.
    pub(crate) is_public: bool,
    /// Whether clients on this machine may start the server themselves.
    pub(crate) is_local: bool,
}

/// Returns the page that shows how clients are connected.
pub(crate) fn connect_page(page: &ConnectPage) -> Page {
    let address = &page.address;
    let url_json =
        format!("{{ \"mcpServers\": {{ \"vademecum\": {{ \"url\": \"{address}\" }} }} }}");
    let content = html! {
        h1 { "Connect a client" }
        p { "The server is at " code { (address) } "." }
        (block("Claude Code", &html! { pre { code {
            "claude mcp add --transport http vademecum " (address)
        } } }))
        (block("Codex", &html! { pre { code { "codex mcp add vademecum --url " (address) } } }))
        (block("Cursor, VS Code, LM Studio and Goose", &html! {
            p { "These links open the client, which asks before it adds the server:" }
            p {
                @for (client, link) in install_links(address) {
                    a.button.secondary href=(link) { "Add to " (client) } " "
                }
            }
        }))
        (block("Others", &html! {
            p { "Add this to the client's MCP settings:" }
            pre { code { (url_json) } }
        }))
        @if page.is_local {
            (block("Claude Desktop", &html! {
                p { "Make an extension, and open the file:" }
                pre { code { "vademecum bundle" } }
            }))
            (block("All of these, by command", &html! {
                p { "The command finds the clients on this machine, shows the change to their settings,
                     and asks before it writes them:" }
                pre { code { "vademecum connect --all" } }
            }))
        }
        (block("Save web pages", &html! {
            p {
                "Drag this to the bookmarks: "
                a.button.secondary href=(bookmarklet(&page.site)) { "Save to Vademecum" }
            }
            p.muted {
                "It sends the address, the title and the selected text, or all text."
            }
            p.muted {
                "The extension SingleFile sends whole pages, if you choose “Upload to a REST form API”
                 with the address " code { (page.site) (CLIP_PATH) } ", the fields "
                code { "file" } " and " code { "url" } ", and as token "
                @if page.is_local { "the text of the file " code { "local.token" } " in the data folder." }
                @else { "a key that may write." }
            }
        }))
        (block("claude.ai, ChatGPT and phones", &html! {
            @if page.is_public {
                p {
                    "Add a custom connector with the address " code { (address) }
                    ". The client sends you to this server to log in, and you choose what it may do."
                }
            } @else {
                p {
                    "They need a public https address: set " code { "server.public_url" } " and "
                    code { "auth.oauth = true" } " (docs/connecting.md says how)."
                }
            }
        }))
    };
    Page::new("Connect", content)
}

/// Returns the links by which clients add a server: the name of each client, and the link.
fn install_links(address: &str) -> [(&'static str, String); 4] {
    let escape = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
    let entry = json!({ "url": address }).to_string();
    let encoded = escape(&STANDARD.encode(entry));
    let named = json!({ "name": "vademecum", "type": "http", "url": address }).to_string();
    [
        (
            "Cursor",
            format!(
                "cursor://anysphere.cursor-deeplink/mcp/install?name=vademecum&config={encoded}"
            ),
        ),
        ("VS Code", format!("vscode:mcp/install?{}", escape(&named))),
        ("LM Studio", format!("lmstudio://add_mcp?name=vademecum&config={encoded}")),
        (
            "Goose",
            format!(
                "goose://extension?url={}&type=streamable_http&id=vademecum&name=Vademecum\
                 &description=Your%20library",
                escape(address)
            ),
        ),
    ]
}

/// Returns a bookmark that opens the page for saving another page, with what it found there.
fn bookmarklet(site: &str) -> String {
    format!(
        "javascript:void open('{site}{CLIP_PATH}?url='+encodeURIComponent(location.href)+'&title='+\
         encodeURIComponent(document.title)+'&text='+encodeURIComponent((String(getSelection())||\
         document.body.innerText).slice(0,6000)))"
    )
}

fn block(title: &str, content: &Markup) -> Markup {
    html! { section.card { h2 { (title) } (content) } }
}

#[cfg(test)]
mod tests {
    use percent_encoding::percent_decode_str;
    use serde_json::Value;

    use super::*;

    #[test]
    fn install_links_contain_the_entry_of_each_client() {
        let address = "http://127.0.0.1:7744/mcp?config=a&b";
        let links = install_links(address);
        let after = |client: &str, mark: &str| {
            let (_, link) = links.iter().find(|(name, _)| *name == client).unwrap();
            let (_, rest) = link.split_once(mark).unwrap();
            let rest = rest.split('&').next().unwrap();
            percent_decode_str(rest).decode_utf8().unwrap().into_owned()
        };
        for client in ["Cursor", "LM Studio"] {
            let entry = STANDARD.decode(after(client, "&config=")).unwrap();
            let entry: Value = serde_json::from_slice(&entry).unwrap();
            assert_eq!(entry, json!({ "url": address }), "{client}");
        }
        let entry: Value = serde_json::from_str(&after("VS Code", "install?")).unwrap();
        assert_eq!(entry, json!({ "name": "vademecum", "type": "http", "url": address }));
        assert_eq!(after("Goose", "?url="), address);
    }
}
