//! Templates of web addresses, which the documents of a collection fill in.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use schemars::JsonSchema;
use serde::Deserialize;
use url::Url;

/// Characters that a value must not write into an address as they are: all but the unreserved ones.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Address with placeholders in its path, query or fragment. Scheme and host are those of the
/// settings: no document changes them.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(with = "String")]
pub struct UrlTemplate {
    /// Text before each placeholder.
    parts: Vec<(String, UrlField)>,
    /// Text after the last placeholder.
    rest: String,
}

/// Value of a document for which a placeholder stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UrlField {
    /// Path of the file below its folder.
    Path,
    /// The same path without the extension.
    Stem,
    /// Key of the row.
    Key,
    /// Identifier of the document.
    DocId,
    /// Project of the folder.
    Project,
    /// Version of the project.
    Version,
    /// Heading of the passage, in the form that it has as the target of a link.
    Anchor,
}

impl UrlField {
    const ALL: [(&'static str, Self); 7] = [
        ("path", Self::Path),
        ("stem", Self::Stem),
        ("key", Self::Key),
        ("doc_id", Self::DocId),
        ("project", Self::Project),
        ("version", Self::Version),
        ("anchor", Self::Anchor),
    ];

    fn name(self) -> &'static str {
        let mut all = Self::ALL.into_iter();
        all.find(|(_, field)| *field == self).map_or("", |(name, _)| name)
    }

    /// Returns whether documents of files have the value, and whether those of rows have it.
    fn availability(self) -> (bool, bool) {
        match self {
            Self::Path | Self::Stem | Self::Project | Self::Version => (true, false),
            Self::Key => (false, true),
            Self::DocId | Self::Anchor => (true, true),
        }
    }
}

impl UrlTemplate {
    /// Returns the address with the values of a document, percent-encoded. A document without an
    /// anchor has an address without one. Returns `None` if another value is missing, or if values make
    /// a path that leads upwards.
    pub fn fill(&self, value: impl Fn(UrlField) -> Option<String>) -> Option<String> {
        let mut address = String::new();
        for (text, field) in &self.parts {
            address.push_str(text);
            let value = match field {
                UrlField::Anchor => value(*field).unwrap_or_default(),
                _ => value(*field).filter(|value| !value.is_empty())?,
            };
            // The parts of a path stay parts of a path.
            let keeps_slashes = matches!(field, UrlField::Path | UrlField::Stem);
            let encoded = utf8_percent_encode(&value, RESERVED).to_string();
            address.push_str(&if keeps_slashes { encoded.replace("%2F", "/") } else { encoded });
        }
        address.push_str(&self.rest);
        if address.ends_with('#') {
            address.pop();
        }
        (!leads_upwards(&address)).then_some(address)
    }

    /// Returns what is wrong with the placeholders for documents of files, or of rows.
    pub(super) fn find_problem(&self, has_files: bool) -> Option<String> {
        let is_available = |field: UrlField| {
            let (of_files, of_rows) = field.availability();
            if has_files { of_files } else { of_rows }
        };
        let (_, wrong) = self.parts.iter().find(|(_, field)| !is_available(*field))?;
        let source = if has_files { "folders" } else { "a table" };
        Some(format!(
            "`url` has `{{{}}}`, which documents of {source} do not have; they have {}",
            wrong.name(),
            list_placeholders(is_available)
        ))
    }
}

/// Returns whether a part of the path is `.` or `..`, which browsers resolve.
fn leads_upwards(address: &str) -> bool {
    let path = address.split(['?', '#']).next().unwrap_or(address);
    path.split('/').any(|part| matches!(part, "." | ".."))
}

fn list_placeholders(is_listed: impl Fn(UrlField) -> bool) -> String {
    let listed = UrlField::ALL.into_iter().filter(|(_, field)| is_listed(*field));
    listed.map(|(name, _)| format!("{{{name}}}")).collect::<Vec<_>>().join(", ")
}

impl TryFrom<String> for UrlTemplate {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let wrong = |problem: &str| format!("`{text}` {problem}");
        let lower = text.to_ascii_lowercase();
        let Some(address) = ["https://", "http://"].iter().find_map(|it| lower.strip_prefix(it))
        else {
            return Err(wrong("is not a web address; begin it with https:// and the host"));
        };
        let host = address.split(['/', '?', '#']).next().unwrap_or_default();
        if text.chars().any(|sign| sign.is_control() || sign.is_whitespace() || sign == '\\') {
            return Err(wrong("has a space, a control character or `\\`; write %20 or the like"));
        }
        if host.contains(['{', '}']) {
            return Err(wrong(
                "has a placeholder in the host; write the host in full, and `/` after it",
            ));
        }
        if host.is_empty() || host.contains('@') {
            return Err(wrong("needs a host, without a user name"));
        }
        let (mut parts, mut rest) = (Vec::new(), text.as_str());
        while let Some((before, after)) = rest.split_once('{') {
            let (name, after) = after
                .split_once('}')
                .ok_or_else(|| wrong("has a `{` without a `}`; close the placeholder"))?;
            let known = UrlField::ALL.into_iter().find(|(known, _)| *known == name);
            let Some((_, field)) = known else {
                let all = list_placeholders(|_| true);
                return Err(wrong(&format!(
                    "has the unknown placeholder `{{{name}}}`; known are {all}"
                )));
            };
            parts.push((before.to_owned(), field));
            rest = after;
        }
        let template = Self { parts, rest: rest.to_owned() };
        if template.parts.iter().any(|(text, _)| text.contains('}')) || rest.contains('}') {
            return Err(wrong("has a `}` without a `{`; write %7D for the sign"));
        }
        if template.parts.iter().all(|(_, field)| *field == UrlField::Anchor) {
            return Err(wrong("is the same for all documents; add a placeholder such as {path}"));
        }
        let sample = template.fill(|_| Some("x".to_owned()));
        match sample.map(|address| Url::parse(&address)) {
            Some(Ok(_)) => Ok(template),
            Some(Err(error)) => Err(wrong(&format!("is not a web address: {error}"))),
            None => Err(wrong("has `.` or `..` in its path; remove it")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<UrlTemplate, String> {
        text.to_owned().try_into()
    }

    fn fill(template: &str, value: &str) -> Option<String> {
        parse(template).unwrap().fill(|_| Some(value.to_owned()))
    }

    #[test]
    fn values_are_encoded_and_stay_in_their_place() {
        for (template, value, address) in [
            ("https://d.example/{path}", "a b/ü.md", "https://d.example/a%20b/%C3%BC.md"),
            ("https://d.example/{path}", "//evil.example/x", "https://d.example///evil.example/x"),
            ("https://d.example/{doc_id}", "a/b?c#d&e", "https://d.example/a%2Fb%3Fc%23d%26e"),
            ("https://d.example?id={key}", "1&admin=1", "https://d.example?id=1%26admin%3D1"),
            ("https://d.example/{key}", "@evil.example", "https://d.example/%40evil.example"),
            ("https://d.example/{key}", "x\r\ny\u{202e}", "https://d.example/x%0D%0Ay%E2%80%AE"),
            ("http://d.example:8080/a.html#{key}", "x", "http://d.example:8080/a.html#x"),
            ("https://d.example/{key}", "%2e%2e", "https://d.example/%252e%252e"),
        ] {
            assert_eq!(fill(template, value).as_deref(), Some(address), "{template} {value}");
        }
        let template = "https://d.example/a/{path}";
        for value in ["..", ".", "../b", "b/../../c", "b/.."] {
            assert_eq!(fill(template, value), None, "{value}");
        }
        assert_eq!(fill("https://d.example/a/.{key}", "."), None);
    }

    #[test]
    fn missing_anchor_is_left_out() {
        let template = parse("https://d.example/{path}#{anchor}").unwrap();
        let path = |field| (field == UrlField::Path).then(|| "a.md".to_owned());
        assert_eq!(template.fill(path).as_deref(), Some("https://d.example/a.md"));
        assert_eq!(template.fill(|_| None), None, "a document without a path has no address");
        assert_eq!(template.fill(|_| Some(String::new())), None);
    }

    #[test]
    fn wrong_template_is_refused_with_advice() {
        for (text, advice) in [
            ("docs.example/{path}", "begin it with https://"),
            ("javascript://x/{path}", "begin it with https://"),
            ("{path}", "begin it with https://"),
            ("file:///{path}", "begin it with https://"),
            ("https://{path}", "write the host in full"),
            ("https://docs.example{path}", "write the host in full"),
            ("https://docs.example:{key}/", "write the host in full"),
            ("https:///{path}", "needs a host"),
            ("https://ada:pw@docs.example/{path}", "without a user name"),
            ("https://docs.example\\{path}", "has a space"),
            ("https://docs.example/a b/{path}", "write %20"),
            ("https://docs.example/{file}", "{path}, {stem}, {key}"),
            ("https://docs.example/{path", "close the placeholder"),
            ("https://docs.example/path}{path}", "%7D"),
            ("https://docs.example/", "add a placeholder"),
            ("https://docs.example/#{anchor}", "add a placeholder"),
            ("https://docs.example/../{path}", "remove it"),
            ("https://docs.example:99999/{path}", "is not a web address"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(advice) && error.contains(text), "{text}: {error}");
        }
    }

    #[test]
    fn placeholders_fit_source_of_documents() {
        let problem = |text: &str, has_files| parse(text).unwrap().find_problem(has_files);
        for (text, of_files, of_rows) in [
            ("https://d.example/{stem}.html#{anchor}", true, false),
            ("https://d.example/{project}/{version}/{path}", true, false),
            ("https://d.example/{key}", false, true),
            ("https://d.example/{doc_id}", true, true),
        ] {
            assert_eq!(problem(text, true).is_none(), of_files, "{text}");
            assert_eq!(problem(text, false).is_none(), of_rows, "{text}");
        }
        let error = problem("https://d.example/{key}", true).unwrap();
        assert!(error.contains("`{key}`") && error.contains("{path}, {stem}"), "{error}");
    }
}
