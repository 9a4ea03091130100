//! Elements of an XML file, as a bounded tree for each.

use quick_xml::{Reader, events::Event};

use crate::format::FormatError;

/// Maximum number of elements in one another.
const MAX_DEPTH: usize = 128;

/// An element with its attributes and content.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct XmlElement {
    /// Name without its namespace.
    pub(crate) name: String,
    attributes: Vec<(String, String)>,
    pub(crate) nodes: Vec<XmlNode>,
}

/// A part of the content of an element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum XmlNode {
    Element(XmlElement),
    Text(String),
}

impl XmlElement {
    /// Returns the value of an attribute; empty if it is missing.
    pub(crate) fn attribute(&self, name: &str) -> &str {
        let found = self.attributes.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str()).unwrap_or_default()
    }

    /// Returns the elements of this name in it.
    pub(crate) fn children<'e>(&'e self, name: &'e str) -> impl Iterator<Item = &'e Self> {
        self.elements().filter(move |it| it.name == name)
    }

    /// Returns the elements in it.
    pub(crate) fn elements(&self) -> impl Iterator<Item = &Self> {
        self.nodes.iter().filter_map(|node| match node {
            XmlNode::Element(element) => Some(element),
            XmlNode::Text(_) => None,
        })
    }

    /// Returns the text of the first element of this name in it; empty if there is none.
    pub(crate) fn child_text(&self, name: &str) -> String {
        self.children(name).next().map(Self::text).unwrap_or_default()
    }

    /// Returns its text with that of the elements in it.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        self.push_text(&mut text);
        text
    }

    fn push_text(&self, text: &mut String) {
        for node in &self.nodes {
            match node {
                XmlNode::Text(part) => text.push_str(part),
                XmlNode::Element(element) => element.push_text(text),
            }
        }
    }
}

/// Calls `read` with each outermost element of one of `names` at any depth. Fails if the file is not
/// XML; the elements before the damage are read.
pub(crate) fn for_each_element(
    xml: &str,
    names: &[&str],
    mut read: impl FnMut(XmlElement),
) -> Result<(), FormatError> {
    read_elements(xml, names, &mut Vec::new(), &mut read)
}

/// As [`for_each_element`], also with the beginning of an element that is damaged or has no end, which is an
/// error.
pub(crate) fn for_each_element_to_damage(
    xml: &str,
    names: &[&str],
    mut read: impl FnMut(XmlElement),
) -> Result<(), FormatError> {
    let mut open = Vec::new();
    let outcome = read_elements(xml, names, &mut open, &mut read);
    let is_whole = open.is_empty();
    while let Some(element) = open.pop() {
        match open.last_mut() {
            Some(outer) => outer.nodes.push(XmlNode::Element(element)),
            None => read(element),
        }
    }
    if is_whole { outcome } else { outcome.and(Err(FormatError::new("at its end: it is cut"))) }
}

/// Reads elements. `open` are those that have begun, from the wanted one on.
fn read_elements(
    xml: &str,
    names: &[&str],
    open: &mut Vec<XmlElement>,
    read: &mut impl FnMut(XmlElement),
) -> Result<(), FormatError> {
    let mut reader = Reader::from_str(xml);
    reader.config_mut().check_end_names = false;
    loop {
        let event = reader.read_event().map_err(|error| {
            FormatError::new(format!("at byte {}: {error}", reader.error_position()))
        })?;
        match event {
            Event::Start(tag) => {
                let element = new_element(&tag);
                if !open.is_empty() || names.contains(&element.name.as_str()) {
                    open.push(element);
                }
                if open.len() > MAX_DEPTH {
                    let reason = format!("it nests more than {MAX_DEPTH} elements in one another");
                    return Err(FormatError::new(reason));
                }
            }
            Event::Empty(tag) => {
                let element = new_element(&tag);
                match open.last_mut() {
                    Some(outer) => outer.nodes.push(XmlNode::Element(element)),
                    None if names.contains(&element.name.as_str()) => read(element),
                    None => {}
                }
            }
            Event::End(_) => {
                if let Some(element) = open.pop() {
                    match open.last_mut() {
                        Some(outer) => outer.nodes.push(XmlNode::Element(element)),
                        None => read(element),
                    }
                }
            }
            Event::Text(text) => push_text(open, &text),
            Event::CData(text) => push_text(open, &text),
            Event::GeneralRef(reference) => {
                push_text(open, &resolve_reference(&reference));
            }
            Event::Eof => return Ok(()),
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => {}
        }
    }
}

fn new_element(tag: &quick_xml::events::BytesStart<'_>) -> XmlElement {
    let local = |name: &str| name.rsplit(':').next().unwrap_or(name).to_owned();
    let attributes = tag
        .attributes()
        .with_checks(false)
        .flatten()
        .map(|attribute| (local(attribute.key.as_ref()), resolve_references(&attribute.value)))
        .collect();
    XmlElement { name: local(tag.name().as_ref()), attributes, nodes: Vec::new() }
}

fn push_text(open: &mut [XmlElement], text: &str) {
    let Some(element) = open.last_mut() else { return };
    match element.nodes.last_mut() {
        Some(XmlNode::Text(known)) => known.push_str(text),
        _ => element.nodes.push(XmlNode::Text(text.to_owned())),
    }
}

/// Returns the text of a reference such as `amp` or `#x41`; an unknown one as it is written.
fn resolve_reference(name: &str) -> String {
    let code = name.strip_prefix('#').and_then(|code| match code.strip_prefix(['x', 'X']) {
        Some(hex) => u32::from_str_radix(hex, 16).ok(),
        None => code.parse().ok(),
    });
    match (name, code.and_then(char::from_u32)) {
        (_, Some(found)) => found.to_string(),
        ("amp", _) => "&".to_owned(),
        ("lt", _) => "<".to_owned(),
        ("gt", _) => ">".to_owned(),
        ("quot", _) => "\"".to_owned(),
        ("apos", _) => "'".to_owned(),
        ("nbsp", _) => " ".to_owned(),
        _ => format!("&{name};"),
    }
}

/// Returns a text with its references resolved.
pub(crate) fn resolve_references(text: &str) -> String {
    let mut resolved = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        resolved.push_str(before);
        let name = after.split(';').next().unwrap_or_default();
        let is_letter = |next: char| next.is_ascii_alphanumeric() || next == '#';
        let is_closed = !name.is_empty() && name.len() < after.len();
        if is_closed && name.chars().all(is_letter) {
            resolved.push_str(&resolve_reference(name));
            rest = &after[name.len() + 1..];
        } else {
            resolved.push('&');
            rest = after;
        }
    }
    resolved + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(xml: &str) -> Result<Vec<XmlElement>, FormatError> {
        let mut found = Vec::new();
        for_each_element(xml, &["note"], |element| found.push(element))?;
        Ok(found)
    }

    #[test]
    fn element_keeps_attributes_texts_and_order() {
        let xml = "<?xml version='1.0'?><x:all><note v='a &amp; b'>1 &lt; <y:b>2</y:b><![CDATA[<3>]]>&#x41;\
                   <e/></note><other/><note/></x:all>";
        let found = read(xml).unwrap();
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].attribute("v"), found[0].attribute("none")), ("a & b", ""));
        assert_eq!(found[0].text(), "1 < 2<3>A");
        assert_eq!(found[0].child_text("b"), "2");
        assert_eq!(found[0].elements().count(), 2);
    }

    #[test]
    fn deep_or_damaged_xml_is_rejected() {
        assert!(read(&"<note>".repeat(100_000)).is_err());
        assert!(read("<note <").is_err());
        assert!(read("<!DOCTYPE x [<!ENTITY a 'b'>]><note>&a;</note>").unwrap()[0].text() == "&a;");
        assert_eq!(resolve_references("a & b &amp;&unknown; &"), "a & b &&unknown; &");
    }
}
