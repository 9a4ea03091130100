//! Mail as Outlook saves it (.msg): the fields of a message as streams of a
//! compound file, each under the number of its property.

use std::io::Cursor;

use office_oxide::cfb::CfbReader;
use vademecum_kit::model::{MediaDraft, SourceName, Timestamp};

use super::{
    document::{titled, unreadable, whole},
    email::under_head,
};
use crate::{Fit, Glance, ImportError, Importer, Reading, SourceFile};

/// Goes up when the same file makes another document than before.
const VERSION: &str = "outlook/1";

/// What every compound file begins with.
pub(super) const COMPOUND: &[u8] = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1";

/// The numbers of the properties that are read.
const SUBJECT: &str = "0037";
const BODY: &str = "1000";
const SENDER_NAME: &str = "0C1A";
const SENDER_ADDRESS: &str = "5D01";
const RECIPIENTS: &str = "0E04";
const HEADERS: &str = "007D";

/// Reads messages of Outlook.
#[derive(Debug)]
pub(crate) struct Outlook;

type Streams<'a> = CfbReader<Cursor<&'a [u8]>>;

impl Importer for Outlook {
    fn source(&self) -> SourceName {
        SourceName::Media
    }

    fn format(&self) -> &'static str {
        "mail of Outlook (.msg)"
    }

    fn recognise(&self, glance: &Glance) -> Fit {
        Fit::Name.when(glance.ends_in(&["msg"]) && glance.head().starts_with(COMPOUND))
    }

    fn read(&self, file: &SourceFile) -> Result<Reading, ImportError> {
        let refused =
            |error: &dyn ToString| unreadable(file, "a message of Outlook", &error.to_string());
        let mut streams =
            CfbReader::new(Cursor::new(file.bytes.as_slice())).map_err(|error| refused(&error))?;
        let body = property(&mut streams, BODY).unwrap_or_default();
        if body.trim().is_empty() {
            return Err(refused(&"it has no plain text; save it as .eml instead"));
        }
        let name = property(&mut streams, SENDER_NAME);
        let address = property(&mut streams, SENDER_ADDRESS);
        let from = match (name, address) {
            (Some(name), Some(address)) if name != address => Some(format!("{name} <{address}>")),
            (one, other) => one.or(other),
        };
        let to = property(&mut streams, RECIPIENTS);
        let document = MediaDraft {
            title: titled(property(&mut streams, SUBJECT).as_deref(), file),
            media_type: "email".to_owned(),
            content: under_head(from.as_deref(), to.as_deref(), &body),
            author: from,
            modified_at: sent_at(&mut streams).or(file.modified),
            ..MediaDraft::default()
        };
        whole(file, VERSION, document, Vec::new())
    }
}

/// A property of the message itself, which is text: in UTF-16, or in whatever
/// its writer used.
fn property(streams: &mut Streams<'_>, number: &str) -> Option<String> {
    let wide = format!("__substg1.0_{number}001F");
    let narrow = format!("__substg1.0_{number}001E");
    let text = if streams.has_root_entry(&wide) {
        let bytes = streams.open_stream_by_path(&wide).ok()?;
        encoding_rs::UTF_16LE.decode_without_bom_handling(&bytes).0.into_owned()
    } else if streams.has_root_entry(&narrow) {
        let bytes = streams.open_stream_by_path(&narrow).ok()?;
        crate::encoding::decode(bytes.trim_ascii_end(), None).ok()?.into_owned()
    } else {
        return None;
    };
    let text = text.trim_matches(['\0', ' ', '\r', '\n']);
    (!text.is_empty()).then(|| text.to_owned())
}

/// When it was sent, as the header of the message says.
fn sent_at(streams: &mut Streams<'_>) -> Option<Timestamp> {
    let header = property(streams, HEADERS)?;
    let message = mail_parser::MessageParser::new().parse_headers(header.as_bytes())?;
    Timestamp::parse(&message.date()?.to_rfc3339()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::media::document::tests::refused;

    #[test]
    fn what_is_no_message_is_refused() {
        assert!(refused(&Outlook, "/a.msg", "words").contains("as a message of Outlook"));
        let lies = [COMPOUND, [0xff; 504].as_slice()].concat();
        assert!(refused(&Outlook, "/a.msg", lies).contains("as a message of Outlook"));
    }
}
