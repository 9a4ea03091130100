//! `vademecum help`: topics, and the help of commands.

use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::{Command, error::ErrorKind};

use super::output::print_line;

/// The topics: name, and text.
const TOPICS: [(&str, &str); 6] = [
    ("import", include_str!("topics/import.txt")),
    ("search", include_str!("topics/search.txt")),
    ("agents", include_str!("topics/agents.txt")),
    ("vault", include_str!("topics/vault.txt")),
    ("backup", include_str!("topics/backup.txt")),
    ("security", include_str!("topics/security.txt")),
];

/// Explain a topic (import, search, agents, vault, backup, security) or a command
#[derive(Debug, clap::Args)]
pub(super) struct Help {
    /// A topic, or a command and its subcommands [default: the whole program]
    #[arg(value_name = "TOPIC")]
    words: Vec<String>,
}

impl Help {
    /// Prints a topic, else the help of a command of `program`.
    pub(super) fn run(self, mut program: Command) -> Result<ExitCode> {
        let words: Vec<&str> = self.words.iter().map(String::as_str).collect();
        if let [name] = words.as_slice()
            && let Some((_, text)) = TOPICS.iter().find(|(topic, _)| topic == name)
        {
            print_line(text.trim_end());
            return Ok(ExitCode::SUCCESS);
        }
        let line = ["vademecum"].into_iter().chain(words.iter().copied()).chain(["--help"]);
        match program.try_get_matches_from_mut(line) {
            Err(help) if help.kind() == ErrorKind::DisplayHelp => {
                print_line(help.render().to_string().trim_end());
                Ok(ExitCode::SUCCESS)
            }
            Ok(_) | Err(_) => bail!(
                "there is no topic and no command `{}`; topics are {}, and `vademecum --help` lists \
                 the commands",
                words.join(" "),
                TOPICS.map(|(name, _)| name).join(", "),
            ),
        }
    }
}
