//! Instructions for connecting clients to this server.

use maud::{Markup, html};

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
        (block("Cursor, VS Code and others", &html! {
            p { "Add this to the client's MCP settings:" }
            pre { code { (url_json) } }
        }))
        @if page.is_local {
            (block("Claude Desktop", &html! {
                p { "Make an extension, and open the file:" }
                pre { code { "vademecum bundle" } }
            }))
            (block("All of these, by command", &html! {
                p { "The command writes the settings of a client, and can add what the model should
                     recall at each prompt:" }
                pre { code { "vademecum connect --help" } }
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
