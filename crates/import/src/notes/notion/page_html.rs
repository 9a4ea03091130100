//! Pages of Notion in HTML, converted to the Markdown that Notion exports itself.

use dom_smoothie::Readability;

use crate::{
    ImportError, SourceFile,
    documents::html_markdown::{MAX_DEPTH, body_markdown, parse_html},
};

/// The title and the text of a page.
#[derive(Debug)]
pub(super) struct NotionPage {
    /// Title, if the page has one.
    pub(crate) title: Option<String>,
    /// Markdown: title, properties as `Name: value`, text.
    pub(crate) content: String,
}

/// Reads a page. Fails if it is not text, nested too deeply or empty.
pub(crate) fn read_page(file: &SourceFile) -> Result<NotionPage, ImportError> {
    let text = file.text_with_encoding(Some("utf-8"))?;
    let too_deep = |_| ImportError::TooDeep { path: file.path.clone(), max_depth: MAX_DEPTH };
    let page = parse_html(&text).map_err(too_deep)?;
    let title = page.doc.select_single(".page-title").text().trim().to_owned();
    let properties = properties(&page);
    page.doc.select(".page-title, table.properties").remove();
    for (class, mark) in [(".checkbox-on", "[x] "), (".checkbox-off", "[ ] ")] {
        page.doc.select(class).replace_with_html(mark);
    }
    let body = body_markdown(&page, None);
    if title.is_empty() && body.is_empty() {
        return Err(ImportError::NoText { path: file.path.clone() });
    }
    let heading = if title.is_empty() { String::new() } else { format!("# {title}") };
    let parts = [heading, properties, body];
    let parts: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    Ok(NotionPage {
        title: Some(title).filter(|title| !title.is_empty()),
        content: parts.join("\n\n"),
    })
}

/// Returns the properties of a page, one per line. Several values are separated by commas.
fn properties(page: &Readability) -> String {
    let mut lines = Vec::new();
    for row in &page.doc.select("table.properties tr") {
        let cell = row.select("td");
        let values: Vec<_> = cell.select("span, time, a").iter().map(|it| it.text()).collect();
        let values: Vec<_> = values
            .iter()
            .map(|it| it.trim().trim_start_matches('@'))
            .filter(|it| !it.is_empty())
            .collect();
        let whole = cell.text();
        let value = if values.is_empty() { whole.trim().to_owned() } else { values.join(", ") };
        if !value.is_empty() {
            lines.push(format!("{}: {value}", row.select("th").text().trim()));
        }
    }
    lines.join("\n")
}
