//! Calendars and address books. Each event, task or contact is a small document.
//!
//! Start with `content_line`, which both formats share.

mod content_line;
mod icalendar;
mod vcard;

pub(crate) use self::{icalendar::Calendar, vcard::Contacts};
