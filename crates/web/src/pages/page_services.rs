//! What the pages show.

use std::sync::Arc;

use vademecum_accounts::{Accounts, audit::AuditStore};
use vademecum_actors::{Library, UserRegistry, collections::Catalogue};
use vademecum_core::auth::Principal;
use vademecum_import::ReaderLimits;
use vademecum_tools::ToolRegistry;

/// What the pages show.
#[derive(Clone, Debug)]
pub struct PageServices {
    /// The tools that pages run.
    pub tools: Arc<ToolRegistry>,
    /// Libraries of the users.
    pub registry: Arc<UserRegistry>,
    /// Catalogue of collections.
    pub collections: Arc<Catalogue>,
    /// Users and their keys.
    pub accounts: Arc<Accounts>,
    /// The audit log; `None` if it is off.
    pub audit: Option<Arc<AuditStore>>,
    /// Limits of parsing files.
    pub reader_limits: ReaderLimits,
}

impl PageServices {
    /// Returns the library of a user.
    pub(super) fn library(&self, principal: &Principal) -> Library {
        self.registry.library(principal)
    }
}
