//! What the suite asks for, as an offer.

use futures_util::{FutureExt, future::LocalBoxFuture};
use serde_json::{Value, value::RawValue};
use tokio::sync::watch;
use vademecum_core::auth::Principal;
use vademecum_mcp::{
    Answer, Call, Catalog, Completion, Contents, Failure, Messages, Offer, Prompt, PromptArguments,
    Resource, Scope, Template, Unfinished,
};

use crate::{prompts, resources, tools};

/// What the suite asks for.
#[derive(Debug)]
pub(crate) struct Fixtures {
    catalog: Catalog,
    changes: watch::Sender<u64>,
}

impl Fixtures {
    pub(crate) fn new() -> Self {
        Self { catalog: Catalog::new(tools::entries()), changes: watch::Sender::new(0) }
    }
}

impl Offer for Fixtures {
    fn tools(&self) -> &Catalog {
        &self.catalog
    }

    fn call<'a>(
        &'a self,
        tool: &'a str,
        arguments: &'a RawValue,
        call: &'a Call,
    ) -> LocalBoxFuture<'a, Result<Answer, Failure>> {
        let arguments: Value = serde_json::from_str(arguments.get()).unwrap_or_default();
        tools::call(tool, arguments, call).boxed_local()
    }

    fn resources(&self, _: &Principal) -> Vec<Resource> {
        resources::listed()
    }

    fn templates(&self) -> Vec<Template> {
        resources::templates()
    }

    fn read<'a>(
        &'a self,
        uri: &'a str,
        _: &'a Call,
    ) -> LocalBoxFuture<'a, Result<Contents, Failure>> {
        std::future::ready(resources::read(uri)).boxed_local()
    }

    fn prompts<'a>(&'a self, _: &'a Call) -> LocalBoxFuture<'a, Result<Vec<Prompt>, Failure>> {
        std::future::ready(Ok(prompts::listed())).boxed_local()
    }

    fn prompt<'a>(
        &'a self,
        name: &'a str,
        arguments: &'a PromptArguments,
        call: &'a Call,
    ) -> LocalBoxFuture<'a, Result<Messages, Failure>> {
        prompts::get(name, arguments, call).boxed_local()
    }

    fn complete<'a>(
        &'a self,
        unfinished: &'a Unfinished,
        _: &'a Call,
    ) -> LocalBoxFuture<'a, Result<Completion, Failure>> {
        let typed = &unfinished.argument.value;
        let values = vec![format!("{typed}-one"), format!("{typed}-two")];
        std::future::ready(Ok(Completion { values, total: Some(2) })).boxed_local()
    }

    fn changes(&self, _: &Principal) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    fn forget(&self, _: &Principal, _: &Scope) {}
}
