//! The frame of every page.

use maud::{DOCTYPE, Markup, PreEscaped, html};
use vademecum_oauth::Endpoint;

use super::{FormContext, Script, StyleSheet};

/// A page: its title and its content.
#[derive(Debug)]
pub(crate) struct Page {
    title: String,
    content: Markup,
    frame: Option<Frame>,
}

/// Frame of the pages of the library: search, links to the other pages, and the user.
#[derive(Debug)]
pub(crate) struct Frame {
    /// The section of the page.
    pub(crate) section: Section,
    /// Query in the search field.
    pub(crate) query: String,
    /// Name of the user.
    pub(crate) user: String,
    /// Hidden fields of the form that logs out.
    pub(crate) logout: FormContext,
}

/// Sections of the pages of the library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Section {
    /// The first page.
    Home,
    /// Results of a search.
    Search,
    /// One item, which has a path of its own.
    Item,
    /// The editor of a new note.
    NewNote,
    /// Items by month.
    Timeline,
    /// Map of topics.
    Map,
    /// Imported files.
    Imports,
    /// Collections of documents.
    Collections,
    /// Calls of clients.
    Activity,
    /// Clients and keys.
    Clients,
    /// Settings of clients.
    Connect,
    /// State of the server.
    Health,
}

impl Section {
    /// Sections that every page links to, in order.
    const LINKED: [Self; 9] = [
        Self::NewNote,
        Self::Timeline,
        Self::Map,
        Self::Imports,
        Self::Collections,
        Self::Activity,
        Self::Clients,
        Self::Connect,
        Self::Health,
    ];

    /// Returns the path of the first page of the section; for an item, that of the library.
    pub(crate) fn path(self) -> &'static str {
        match self {
            Self::Home | Self::Item => "/",
            Self::Search => "/search",
            Self::NewNote => "/new",
            Self::Timeline => "/timeline",
            Self::Map => "/map",
            Self::Imports => "/imports",
            Self::Collections => "/collections",
            Self::Activity => "/activity",
            Self::Clients => "/clients",
            Self::Connect => "/connect",
            Self::Health => "/health",
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::Home => "Library",
            Self::Search => "Search",
            Self::Item => "Item",
            Self::NewNote => "New note",
            Self::Timeline => "Timeline",
            Self::Map => "Map",
            Self::Imports => "Imports",
            Self::Collections => "Collections",
            Self::Activity => "Activity",
            Self::Clients => "Clients",
            Self::Connect => "Connect",
            Self::Health => "Health",
        }
    }
}

impl Page {
    /// Creates a page without a frame.
    pub(crate) fn new(title: impl Into<String>, content: Markup) -> Self {
        Self { title: title.into(), content, frame: None }
    }

    /// Puts the page into the frame of the library.
    pub(crate) fn framed(self, frame: Frame) -> Self {
        Self { frame: Some(frame), ..self }
    }

    /// Converts the title and the content, which is HTML.
    pub(crate) fn map_texts(self, convert: impl Fn(String) -> String) -> Self {
        let content = PreEscaped(convert(self.content.into_string()));
        Self { title: convert(self.title), content, ..self }
    }

    /// Renders the whole document.
    pub(crate) fn render(&self) -> String {
        let document = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    meta name="robots" content="noindex";
                    title { (self.title) " – Vademecum" }
                    link rel="stylesheet" href=(StyleSheet::path());
                    link rel="icon" href="data:,";
                    script src=(Script::path()) defer {}
                }
                @match &self.frame {
                    None => body {
                        header { p.brand { "Vademecum" } }
                        main { (self.content) }
                    },
                    Some(frame) => (self.library_body(frame)),
                }
            }
        };
        document.into_string()
    }

    fn library_body(&self, frame: &Frame) -> Markup {
        html! {
            body.library {
                a.skip href="#main" { "Skip to the content" }
                header.top {
                    a.brand href="/" { "Vademecum" }
                    form.search role="search" action="/search" method="get" {
                        label.hidden for="q" { "Search the library" }
                        input #q type="search" name="q" value=(frame.query) autocomplete="off"
                            placeholder="Search the library" maxlength="2000";
                        button type="submit" { "Search" }
                    }
                }
                nav.sections aria-label="Pages" {
                    @for section in Section::LINKED {
                        a href=(section.path())
                            aria-current=[(section == frame.section).then_some("page")] {
                            (section.title())
                        }
                    }
                }
                main #main tabindex="-1" { (self.content) }
                footer {
                    p.muted { "Logged in as " strong { (frame.user) } "." }
                    form method="post" action=(Endpoint::Logout.path()) {
                        (frame.logout.hidden_fields())
                        button.quiet type="submit" { "Log out" }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_escapes_title_and_content() {
        let page = Page::new("<b>&", html! { p { ("<script>") } }).render();
        assert!(page.contains("<title>&lt;b&gt;&amp; – Vademecum</title>"), "{page}");
        assert!(page.contains("<p>&lt;script&gt;</p>") && !page.contains("<script>"), "{page}");
    }
}
