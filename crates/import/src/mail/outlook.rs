//! Mail saved by Outlook (.msg): the fields of a message are streams of a compound file, named by
//! the number of the property.

use std::io::Cursor;

use office_oxide::cfb::CfbReader;
use vademecum_model::{MediaDraft, SourceName, Timestamp};

use super::email::{sent_at, text_with_header};
use crate::{
    Confidence, FileProbe, ImportError, Importer, ParsedFile, SourceFile,
    documents::{
        COMPOUND_SIGNATURE,
        document::{ImporterVersion, single_document, title_or_stem, unreadable_error},
    },
};

/// Version of the importer; increment when the same file produces a different document.
const VERSION: ImporterVersion =
    ImporterVersion { current: "outlook/2", former: Some("outlook/1") };

/// Property numbers, in hexadecimal.
const SUBJECT: &str = "0037";
const BODY: &str = "1000";
const SENDER_NAME: &str = "0C1A";
const SENDER_ADDRESS: &str = "5D01";
const RECIPIENTS: &str = "0E04";
const HEADERS: &str = "007D";

/// Importer of Outlook messages.
#[derive(Debug)]
pub(crate) struct OutlookImporter;

type MessageStreams<'a> = CfbReader<Cursor<&'a [u8]>>;

impl Importer for OutlookImporter {
    fn source(&self) -> SourceName {
        SourceName::Media
    }

    fn format_name(&self) -> &'static str {
        "mail of Outlook (.msg)"
    }

    fn detect(&self, probe: &FileProbe) -> Confidence {
        Confidence::ByName
            .when(probe.has_extension(&["msg"]) && probe.head().starts_with(COMPOUND_SIGNATURE))
    }

    fn parse(&self, file: &SourceFile) -> Result<ParsedFile, ImportError> {
        let refused = |error: &dyn ToString| {
            unreadable_error(file, "a message of Outlook", &error.to_string())
        };
        let mut streams =
            CfbReader::new(Cursor::new(file.bytes.as_slice())).map_err(|error| refused(&error))?;
        let body = text_property(&mut streams, BODY).unwrap_or_default();
        if body.trim().is_empty() {
            return Err(refused(&"it has no plain text; save it as .eml instead"));
        }
        let name = text_property(&mut streams, SENDER_NAME);
        let address = text_property(&mut streams, SENDER_ADDRESS);
        let from = match (name, address) {
            (Some(name), Some(address)) if name != address => Some(format!("{name} <{address}>")),
            (one, other) => one.or(other),
        };
        let to = text_property(&mut streams, RECIPIENTS);
        let sent_at = header_date(&mut streams).or(file.modified);
        let document = MediaDraft {
            title: title_or_stem(text_property(&mut streams, SUBJECT).as_deref(), file),
            media_type: "email".to_owned(),
            content: text_with_header(from.as_deref(), to.as_deref(), &body),
            author: from,
            created_at: sent_at,
            modified_at: sent_at,
            ..MediaDraft::default()
        };
        single_document(file, VERSION, document, Vec::new())
    }
}

/// Returns a text property of the message, encoded in UTF-16 or an 8-bit encoding that is detected.
fn text_property(streams: &mut MessageStreams<'_>, number: &str) -> Option<String> {
    let wide = format!("__substg1.0_{number}001F");
    let narrow = format!("__substg1.0_{number}001E");
    let text = if streams.has_root_entry(&wide) {
        let bytes = streams.open_stream_by_path(&wide).ok()?;
        encoding_rs::UTF_16LE.decode_without_bom_handling(&bytes).0.into_owned()
    } else if streams.has_root_entry(&narrow) {
        let bytes = streams.open_stream_by_path(&narrow).ok()?;
        crate::text::encoding::decode_text(bytes.trim_ascii_end(), None).ok()?.into_owned()
    } else {
        return None;
    };
    let text = text.trim_matches(['\0', ' ', '\r', '\n']);
    (!text.is_empty()).then(|| text.to_owned())
}

/// Returns the date in the header of the message; `None` without a header.
fn header_date(streams: &mut MessageStreams<'_>) -> Option<Timestamp> {
    let header = text_property(streams, HEADERS)?;
    let message = mail_parser::MessageParser::new().parse_headers(header.as_bytes())?;
    sent_at(&message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::documents::document::tests::read_error;

    #[test]
    fn invalid_message_is_rejected() {
        assert!(
            read_error(&OutlookImporter, "/a.msg", "words").contains("as a message of Outlook")
        );
        let lies = [COMPOUND_SIGNATURE, [0xff; 504].as_slice()].concat();
        assert!(read_error(&OutlookImporter, "/a.msg", lies).contains("as a message of Outlook"));
    }
}
