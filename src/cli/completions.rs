//! `vademecum completions`.

use std::process::ExitCode;

use clap::{Command, ValueEnum};
use clap_complete::Shell;

use super::output::print_exact;

/// Print the completions of a shell
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  vademecum completions bash > ~/.local/share/bash-completion/completions/vademecum
  vademecum completions zsh > ~/.zfunc/_vademecum          # with fpath+=~/.zfunc in ~/.zshrc
  vademecum completions fish > ~/.config/fish/completions/vademecum.fish
  vademecum completions powershell >> $PROFILE")]
pub(super) struct Completions {
    /// The shell
    #[arg(value_enum)]
    shell: CompletedShell,
}

/// A shell with completions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "lower")]
enum CompletedShell {
    /// bash, with the package bash-completion
    Bash,
    /// zsh
    Zsh,
    /// fish
    Fish,
    /// PowerShell
    PowerShell,
}

impl Completions {
    /// Prints the completions of `command`, which is the whole command line.
    pub(super) fn run(self, mut command: Command) -> ExitCode {
        let shell = match self.shell {
            CompletedShell::Bash => Shell::Bash,
            CompletedShell::Zsh => Shell::Zsh,
            CompletedShell::Fish => Shell::Fish,
            CompletedShell::PowerShell => Shell::PowerShell,
        };
        let name = command.get_name().to_owned();
        let mut script = Vec::new();
        clap_complete::generate(shell, &mut command, name, &mut script);
        print_exact(String::from_utf8_lossy(&script).trim_end());
        ExitCode::SUCCESS
    }
}
