//! A page that only says something.

use maud::html;

use super::Page;

/// Returns a page with a message.
pub(crate) fn message_page(title: &str, text: &str) -> Page {
    let content = html! {
        div.card {
            h1 { (title) }
            p { (text) }
        }
    };
    Page::new(title, content)
}
