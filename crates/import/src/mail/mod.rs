//! Importers of mail.

mod email;
#[cfg(feature = "office")]
mod outlook;

pub(crate) use self::email::EmailImporter;
#[cfg(feature = "office")]
pub(crate) use self::outlook::OutlookImporter;
