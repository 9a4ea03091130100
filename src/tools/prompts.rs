//! Prompts: the user's own, and a few of ours.
//!
//! The user's come first: one with the name of one of ours takes its place.

use serde_json::Value;
use vademecum_kit::model::{Mode, RetrievalOptions, SourceName, StoredPrompt};

use super::{
    Toolbox,
    gaps::{fill, gaps},
    input::point,
};
use crate::actors::{self, CallError};
use vademecum_mcp::{
    Block, Call, Contents, Failure, Messages, Prompt, PromptArgument, PromptArguments,
    PromptMessage, Role, hint, nearest,
};

/// Researches a topic.
pub(crate) const RESEARCH: &str = "research";
/// Sums up a conversation.
pub(crate) const SUMMARIZE: &str = "summarize_conversation";

/// Characters of a description that is made of a prompt's own text.
const DESCRIPTION: usize = 160;

/// A prompt of ours.
struct Own {
    name: &'static str,
    title: &'static str,
    description: &'static str,
    gaps: &'static [Gap],
}

/// What a prompt of ours takes.
struct Gap {
    name: &'static str,
    description: &'static str,
    required: bool,
}

const OURS: [Own; 2] = [
    Own {
        name: RESEARCH,
        title: "Research a topic",
        description: "Finds out what the library says about a topic, with citations.",
        gaps: &[
            Gap { name: "topic", description: "What to find out.", required: true },
            Gap {
                name: "keyword",
                description: "Only notes with this keyword count.",
                required: false,
            },
            Gap {
                name: "media_type",
                description: "Only media of this type count.",
                required: false,
            },
        ],
    },
    Own {
        name: SUMMARIZE,
        title: "Summarize a conversation",
        description: "Sums up a conversation of the library: what was asked, found and left open.",
        gaps: &[Gap {
            name: "id",
            description: "The id of the conversation, or its URI.",
            required: true,
        }],
    },
];

/// All prompts: ours, then the user's by name.
pub(crate) async fn list(toolbox: &Toolbox, call: &Call) -> Result<Vec<Prompt>, Failure> {
    let stored = stored(toolbox, call).await?;
    let is_taken = |own: &&Own| stored.iter().any(|prompt| prompt.name == own.name);
    let ours = OURS.iter().filter(|own| !is_taken(own)).map(Own::listed);
    Ok(ours.chain(stored.iter().map(listed)).collect())
}

/// A prompt with its gaps filled.
pub(crate) async fn get(
    toolbox: &Toolbox,
    name: &str,
    arguments: &PromptArguments,
    call: &Call,
) -> Result<Messages, Failure> {
    let stored = stored(toolbox, call).await?;
    if let Some(prompt) = stored.iter().find(|prompt| prompt.name == name) {
        return filled(prompt, arguments);
    }
    let Some(own) = OURS.iter().find(|own| own.name == name) else {
        return Err(unknown(name, &stored));
    };
    let takes: Vec<&str> = own.gaps.iter().map(|gap| gap.name).collect();
    let needs: Vec<&str> = own.gaps.iter().filter(|gap| gap.required).map(|gap| gap.name).collect();
    let given = Given::read(arguments, &takes, &needs)?;
    let blocks = match own.name {
        RESEARCH => vec![research(&given)?],
        _ => conversation(toolbox, call, given.text("id")).await?,
    };
    let messages =
        blocks.into_iter().map(|content| PromptMessage { role: Role::User, content }).collect();
    Ok(Messages { description: Some(own.description.to_owned()), messages })
}

async fn stored(toolbox: &Toolbox, call: &Call) -> Result<Vec<StoredPrompt>, Failure> {
    let library = toolbox.roster().library(&call.principal);
    let Some(prompts) = library.source(SourceName::Prompts) else { return Ok(Vec::new()) };
    let stored = prompts.prompts(toolbox.deadline(call)).await.map_err(CallError::from);
    stored.map_err(|error| Failure::from(&error))
}

/// There is no such prompt; names the one that was probably meant.
fn unknown(name: &str, stored: &[StoredPrompt]) -> Failure {
    let known = OURS.iter().map(|own| own.name).chain(stored.iter().map(|it| it.name.as_str()));
    let hint = hint(nearest(name, known));
    Failure::parameters(format!("unknown prompt `{name}`{hint}; prompts/list names all"))
}

impl Own {
    fn listed(&self) -> Prompt {
        let argument = |gap: &Gap| PromptArgument {
            name: gap.name.to_owned(),
            description: Some(gap.description.to_owned()),
            required: gap.required,
        };
        Prompt {
            name: self.name.to_owned(),
            title: Some(self.title.to_owned()),
            description: Some(self.description.to_owned()),
            arguments: self.gaps.iter().map(argument).collect(),
        }
    }
}

/// The texts of a prompt, in the order in which they are said.
fn texts(prompt: &StoredPrompt) -> impl Iterator<Item = &str> {
    let texts = [prompt.system_prompt.as_deref(), prompt.user_prompt.as_deref()];
    texts.into_iter().flatten().map(str::trim).filter(|text| !text.is_empty())
}

fn listed(prompt: &StoredPrompt) -> Prompt {
    let argument =
        |name: &str| PromptArgument { name: name.to_owned(), description: None, required: true };
    Prompt {
        name: prompt.name.clone(),
        title: Some(prompt.name.clone()),
        description: Some(description(prompt)),
        arguments: gaps(texts(prompt)).into_iter().map(argument).collect(),
    }
}

/// What a prompt is for, as the user says it, or else how it begins.
fn description(prompt: &StoredPrompt) -> String {
    let details = prompt.details.as_deref().map(str::trim).filter(|text| !text.is_empty());
    if let Some(details) = details {
        return details.to_owned();
    }
    // What the user says tells more than who the model is to be.
    let words: Vec<&str> =
        texts(prompt).last().unwrap_or(&prompt.name).split_whitespace().collect();
    let text = words.join(" ");
    match text.char_indices().nth(DESCRIPTION) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default().trim_end()),
        None => text,
    }
}

/// A prompt of the user's as one message of the user. The protocol knows no
/// system messages, and many models refuse two messages of one side in a row:
/// so what the system is to be told comes first in the same message.
fn filled(prompt: &StoredPrompt, arguments: &PromptArguments) -> Result<Messages, Failure> {
    let takes = gaps(texts(prompt));
    let given = Given::read(arguments, &takes, &takes)?;
    let filled: Vec<String> =
        texts(prompt).map(|text| fill(text, |name| given.text(name))).collect();
    let content = Block::text(filled.join("\n\n"));
    Ok(Messages {
        description: Some(description(prompt)),
        messages: vec![PromptMessage { role: Role::User, content }],
    })
}

/// What gaps are filled with.
struct Given<'a>(Vec<(&'a str, &'a str)>);

impl<'a> Given<'a> {
    /// Reads arguments, of which `needs` must be there and no others than
    /// `takes` may.
    fn read(
        arguments: &'a PromptArguments,
        takes: &[&str],
        needs: &[&str],
    ) -> Result<Self, Failure> {
        let wrong = |problem: String| Failure::parameters(format!("params.arguments: {problem}"));
        let expected = || match takes {
            [] => "this prompt takes none".to_owned(),
            takes => format!("this prompt takes {}", takes.join(", ")),
        };
        if let Some(name) = arguments.keys().find(|name| !takes.contains(&name.as_str())) {
            return Err(wrong(format!("unknown argument `{name}`; {}", expected())));
        }
        if let Some(name) = needs.iter().find(|name| !arguments.contains_key(**name)) {
            return Err(wrong(format!("`{name}` is missing; {}", expected())));
        }
        let text = |(name, value): (&'a String, &'a Value)| match value {
            Value::String(text) => Ok((name.as_str(), text.as_str())),
            other => Err(wrong(format!("`{name}` must be a text, not {other}"))),
        };
        Ok(Self(arguments.iter().map(text).collect::<Result<_, _>>()?))
    }

    /// What was given, or nothing.
    fn text(&self, name: &str) -> &'a str {
        self.0.iter().find(|(known, _)| *known == name).map_or("", |(_, text)| text)
    }
}

fn research(given: &Given<'_>) -> Result<Block, Failure> {
    let topic = given.text("topic").trim();
    if topic.is_empty() {
        let problem = "params.arguments: `topic` is empty; say what to find out";
        return Err(Failure::parameters(problem));
    }
    let mut filters = serde_json::Map::new();
    let mut only = |source: &str, field: &str, value: &str| {
        if !value.trim().is_empty() {
            filters.insert(source.to_owned(), serde_json::json!({ field: [value.trim()] }));
        }
    };
    only("notes", "keywords", given.text("keyword"));
    only("media", "media_types", given.text("media_type"));
    let filters = if filters.is_empty() {
        String::new()
    } else {
        format!(" Always pass filters: {}.", Value::from(filters))
    };
    Ok(Block::text(format!(
        "Find out what my library says about this topic: {topic}\n\n\
         1. Search it with the tool knowledge.search (it may be called knowledge_search): ask the \
         question itself, then its parts and other words for them, until nothing new comes.{filters}\n\
         2. Read the hits that matter around their loc with knowledge.get, retrieval.mode \
         chunk_with_siblings, and follow what they point at.\n\
         3. Write down what you found, the answer first. After each statement cite the uri of the \
         item it comes from, as in [notes://42]. Say where items contradict each other, and what \
         the library does not say. State nothing that no item says."
    )))
}

/// A conversation, and what is to be done with it.
async fn conversation(toolbox: &Toolbox, call: &Call, id: &str) -> Result<Vec<Block>, Failure> {
    let wrong = |problem: String| Failure::parameters(format!("params.arguments.id: {problem}"));
    let id = id.trim();
    let id = id.strip_prefix("chats://").unwrap_or(id);
    if id.is_empty() {
        return Err(wrong("is empty; name a conversation".to_owned()));
    }
    let uri = format!("{}://{id}", SourceName::Chats);
    let (item, part) = point(uri.parse().map_err(|error| wrong(format!("{error}")))?);
    let read = actors::Read {
        source: SourceName::Chats,
        id: item,
        part,
        options: RetrievalOptions { mode: Some(Mode::Full), ..RetrievalOptions::default() },
        page: None,
        preferences: call.defaults.preferences,
    };
    let item = toolbox.read_item(call, None, read).await.map_err(|error| match error {
        CallError::NotFound(problem) => wrong(problem),
        other => Failure::from(&other),
    })?;
    let more = item.range.and_then(|range| range.next_offset).map(|offset| {
        format!(
            " This is its beginning: read on with knowledge.get, source chats, id {id}, \
             retrieval.mode full and retrieval.offset {offset}, as long as there is a next_offset."
        )
    });
    let resource = Contents::text(uri, "application/json", item.content.to_string());
    let task = format!(
        "Summarize this conversation: what it was about, what was found out and decided, and what \
         was left open. Keep names, numbers and dates as they are.{}",
        more.unwrap_or_default()
    );
    Ok(vec![Block::Resource { resource }, Block::text(task)])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prompt(details: &str, system: &str, user: &str) -> StoredPrompt {
        StoredPrompt {
            name: "Name".to_owned(),
            details: Some(details.to_owned()),
            system_prompt: Some(system.to_owned()),
            user_prompt: Some(user.to_owned()),
        }
    }

    #[test]
    fn a_description_is_never_empty_and_never_long() {
        assert_eq!(description(&prompt("What for.", "a", "b")), "What for.");
        assert_eq!(description(&prompt(" ", "Be\nbrief.", "")), "Be brief.");
        assert_eq!(description(&prompt("", "Be brief.", "Say  it.")), "Say it.");
        let long = description(&prompt("", "", &"größer ".repeat(100)));
        assert!(long.starts_with("größer größer") && long.ends_with('…'), "{long}");
        assert!(long.chars().count() <= DESCRIPTION + 1, "{long}");
    }

    #[test]
    fn what_the_system_is_told_comes_first_in_one_message() {
        let messages =
            filled(&prompt("", "Be brief.", "Say it."), &PromptArguments::new()).unwrap();
        let said = Block::text("Be brief.\n\nSay it.");
        assert_eq!(messages.messages, [PromptMessage { role: Role::User, content: said }]);
    }
}
