//! The definition of a client: where its settings are, and how its entry names a server.

use std::path::{Path, PathBuf};

use clap::{ValueEnum, builder::PossibleValue};
use serde_json::{Map, Value, json};

use super::{
    clients::CLIENTS,
    endpoint::{HttpCredential, LaunchCommand, ServerEndpoint, ServerUrl},
    entry::{EntryName, ServerEntry},
    layout::SettingsLayout,
};

/// Definition of a client.
#[derive(Debug)]
pub(super) struct Client {
    /// Name on the command line.
    pub(super) name: &'static str,
    /// Display name.
    pub(super) title: &'static str,
    /// Settings and their entries, or the steps of a person.
    pub(super) connection: Connection,
    /// Returns the path of the file with its hooks; `None` if it has none for prompts.
    pub(super) hooks: Option<ClientPath>,
    /// Instructions for the user after the settings have changed.
    pub(super) next_steps: &'static str,
}

/// Returns a path in the folders of this machine; `None` if it has no such folder.
pub(super) type ClientPath = fn() -> Option<PathBuf>;

/// Ways of connecting a client.
#[derive(Debug)]
pub(super) enum Connection {
    /// An entry in its settings file.
    Settings(Settings),
    /// Steps in the account of the user.
    Account(fn(&ServerEndpoint, &EntryName) -> Manual),
}

/// The settings file of a client.
#[derive(Debug)]
pub(super) struct Settings {
    /// Returns the path of the file.
    pub(super) file: ClientPath,
    /// Returns a folder or file that exists where the client is installed.
    pub(super) sign: ClientPath,
    /// Layout of the file.
    pub(super) layout: SettingsLayout,
    /// Fields of an entry whose server the client starts.
    pub(super) stdio: &'static [(&'static str, Field)],
    /// Fields of an entry whose server the client connects to.
    pub(super) http: Http,
    /// Returns the reference to an environment variable in the client's syntax; `None` if headers
    /// are sent as they are written.
    pub(super) reference: Option<fn(&str) -> String>,
    /// First words of the client's own command that adds the entry.
    pub(super) add_command: Option<AddCommand>,
}

/// How a client connects to a server by its address.
#[derive(Debug)]
pub(super) enum Http {
    /// An entry with these fields.
    Fields(&'static [(&'static str, Field)]),
    /// Steps of a person.
    Manual(fn(&ServerUrl) -> Manual),
}

/// Returns the words of the client's own command that adds an entry; none if it cannot add it.
pub(super) type AddCommand = fn(&ServerEndpoint, &EntryName) -> Vec<String>;

/// Value of a field of an entry. A field without a value is left out.
#[derive(Clone, Copy, Debug)]
pub(super) enum Field {
    /// This text.
    Text(&'static str),
    /// This list of one text.
    List(&'static str),
    /// True.
    True,
    /// This number of seconds.
    Seconds(u32),
    /// The name of the entry.
    Name,
    /// The program.
    Program,
    /// The arguments of the program.
    Arguments,
    /// The program and its arguments in one list.
    CommandLine,
    /// The address of the server.
    Url,
    /// The header `Authorization`, if there is a credential.
    Headers,
    /// The header `Authorization`, if it is the token for callers on this machine.
    TokenHeader,
    /// The name of the environment variable with the key, if there is one.
    KeyVariable,
    /// A list with the name of the environment variable with the key, if there is one.
    KeyVariables,
}

/// Steps that only a person can do.
#[derive(Debug)]
pub(super) struct Manual {
    /// The reason.
    pub(super) reason: &'static str,
    /// Instructions for the user.
    pub(super) steps: String,
}

impl Client {
    /// Returns the client's settings; `None` if they are in the user's account.
    pub(super) fn settings(&self) -> Option<&Settings> {
        match &self.connection {
            Connection::Settings(settings) => Some(settings),
            Connection::Account(_) => None,
        }
    }

    /// Returns true if the client is installed, as far as its folders show.
    pub(super) fn is_found(&self) -> bool {
        let sign = self.settings().and_then(|settings| (settings.sign)());
        sign.is_some_and(|path| path.exists())
    }
}

impl Settings {
    /// Returns the entry for a server.
    pub(super) fn entry(
        &self,
        link: &ServerEndpoint,
        name: &EntryName,
    ) -> Result<ServerEntry, Manual> {
        let fields = match (link, &self.http) {
            (ServerEndpoint::Stdio(_), _) => self.stdio,
            (ServerEndpoint::Http { .. }, Http::Fields(fields)) => fields,
            (ServerEndpoint::Http { url, .. }, Http::Manual(steps)) => return Err(steps(url)),
        };
        if let ServerEndpoint::Http { credential: Some(HttpCredential::Variable(_)), url } = link
            && self.reference.is_none()
        {
            return Err(no_variables(url));
        }
        let reference = self.reference.unwrap_or(str::to_owned);
        let value = |field: &Field| match link {
            ServerEndpoint::Stdio(start) => field.started(start),
            ServerEndpoint::Http { url, credential } => {
                field.connected(url, credential.as_ref(), reference)
            }
        };
        let fields = fields.iter().filter_map(|(key, field)| {
            let value = match field {
                Field::Name => Some(json!(name.as_str())),
                field => field.constant().or_else(|| value(field)),
            };
            Some(((*key).to_owned(), value?))
        });
        Ok(ServerEntry { fields: fields.collect() })
    }
}

impl Field {
    /// Returns a value that does not depend on the server.
    fn constant(self) -> Option<Value> {
        match self {
            Self::Text(text) => Some(json!(text)),
            Self::List(text) => Some(json!([text])),
            Self::True => Some(json!(true)),
            Self::Seconds(seconds) => Some(json!(seconds)),
            _ => None,
        }
    }

    /// Returns the value for a server that the client starts.
    fn started(self, start: &LaunchCommand) -> Option<Value> {
        match self {
            Self::Program => Some(json!(start.command)),
            Self::Arguments => Some(json!(start.arguments)),
            Self::CommandLine => {
                let words = std::iter::once(&start.command).chain(&start.arguments);
                Some(json!(words.collect::<Vec<_>>()))
            }
            _ => None,
        }
    }

    /// Returns the value for a server that the client connects to.
    fn connected(
        self,
        url: &ServerUrl,
        credential: Option<&HttpCredential>,
        reference: fn(&str) -> String,
    ) -> Option<Value> {
        let headers = |credential: &HttpCredential| {
            let header = Value::String(credential.to_header(reference));
            Value::Object(Map::from_iter([("Authorization".to_owned(), header)]))
        };
        let variable = match credential {
            Some(HttpCredential::Variable(name)) => Some(name.as_str()),
            Some(HttpCredential::LocalToken(_)) | None => None,
        };
        match self {
            Self::Url => Some(json!(url.as_str())),
            Self::Headers => credential.map(headers),
            Self::TokenHeader => credential.filter(|_| variable.is_none()).map(headers),
            Self::KeyVariable => variable.map(|name| json!(name)),
            Self::KeyVariables => variable.map(|name| json!([name])),
            _ => None,
        }
    }
}

/// Steps for a client that sends headers as they are written.
fn no_variables(url: &ServerUrl) -> Manual {
    Manual {
        reason: "it does not read environment variables in headers, and keys are never written; \
                 without --http it starts the server itself",
        steps: format!(
            "Add the address {} in the client, with the header `Authorization: Bearer <your key>`.",
            url.as_str()
        ),
    }
}

impl ValueEnum for &'static Client {
    fn value_variants<'a>() -> &'a [Self] {
        &CLIENTS
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.name).help(self.title))
    }
}

/// Joins words to a command line, with shell quoting where necessary.
pub(super) fn quote_command_line<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    words.into_iter().map(quote_word).collect::<Vec<_>>().join(" ")
}

/// Returns a word of a command line, with shell quoting if necessary.
pub(in crate::cli) fn quote_word(word: &str) -> String {
    let plain = |it: char| it.is_ascii_alphanumeric() || "-_./:=@+,".contains(it);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// Returns the first of these paths that exists, else the first.
pub(super) fn first_existing<const N: usize>(paths: [PathBuf; N]) -> Option<PathBuf> {
    let existing = paths.iter().find(|path| Path::new(path).exists()).cloned();
    existing.or_else(|| paths.into_iter().next())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_line_quotes_special_words() {
        assert_eq!(
            quote_command_line(["claude", "--data", "/my folder", "it's", "${KEY}", ""]),
            r"claude --data '/my folder' 'it'\''s' '${KEY}' ''"
        );
    }
}
