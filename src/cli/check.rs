//! `vademecum check`.

use std::process::ExitCode;

use anyhow::Result;

use super::{command::Common, output::say};
use crate::actors::chain;

/// Looks whether settings and databases are sound.
#[derive(Debug, clap::Args)]
#[command(after_help = "Ends with 0 if all is well, with 1 if anything is wrong.")]
pub(super) struct Check {}

impl Check {
    pub(super) fn run(self, common: &Common) -> Result<ExitCode> {
        let Self {} = self;
        let app = common.app()?;
        app.settings().listen()?;
        app.door()?;
        say("settings: sound");
        let mut sound = true;
        for store in app.library().stores() {
            let path = store.path().display();
            if !store.path().exists() {
                say(&format!("{path}: not there yet; it is made when it is first needed"));
                continue;
            }
            match store.check() {
                Ok(health) if health.problems.is_empty() => {
                    say(&format!("{path}: sound, schema {}", health.schema));
                }
                Ok(health) => {
                    sound = false;
                    health.problems.iter().for_each(|problem| say(&format!("{path}: {problem}")));
                }
                Err(error) => {
                    sound = false;
                    say(&format!("{path}: {}", chain(&error)));
                }
            }
        }
        Ok(if sound { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}
