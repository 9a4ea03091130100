//! MCP prompts: built-in ones and those stored in the user's library.
//!
//! A stored prompt replaces a built-in prompt of the same name.

use serde_json::Value;
use vademecum_actors as actors;
use vademecum_actors::CallError;
use vademecum_mcp::{
    ContentBlock, Failure, GetPromptResult, Prompt, PromptArgument, PromptArguments, PromptMessage,
    RequestContext, ResourceContents, Role, closest_name, did_you_mean,
};
use vademecum_model::{ContentOrigin, RetrievalMode, RetrievalOptions, SourceName, StoredPrompt};

use vademecum_services::template::{fill_placeholders, placeholder_names};

use super::{
    ToolServices,
    database_prompts::{DESIGN_PROMPT, DIAGNOSE_PROMPT, EXPLORE_PROMPT, database_task},
    input::split_uri,
    safe_text,
};
use crate::failure::to_failure;

/// Name of the built-in prompt that researches a topic.
pub(crate) const RESEARCH_PROMPT: &str = "research";
/// Name of the built-in prompt that summarizes a conversation.
pub(crate) const SUMMARIZE_PROMPT: &str = "summarize_conversation";

/// Maximum length, in characters, of a description taken from a prompt's text.
const MAX_DESCRIPTION_CHARS: usize = 160;

/// A built-in prompt.
struct BuiltInPrompt {
    name: &'static str,
    title: &'static str,
    description: &'static str,
    arguments: &'static [BuiltInArgument],
    /// True if the prompt is about a database, and therefore only for callers who may use one.
    needs_database: bool,
}

/// An argument of a built-in prompt.
struct BuiltInArgument {
    name: &'static str,
    description: &'static str,
    required: bool,
}

const BUILT_IN_PROMPTS: [BuiltInPrompt; 5] = [
    BuiltInPrompt {
        name: RESEARCH_PROMPT,
        title: "Research a topic",
        description: "Researches a topic in the library and answers with citations.",
        arguments: &[
            BuiltInArgument { name: "topic", description: "Topic to research.", required: true },
            BuiltInArgument {
                name: "keyword",
                description: "Restrict notes to this keyword.",
                required: false,
            },
            BuiltInArgument {
                name: "media_type",
                description: "Restrict media to this type.",
                required: false,
            },
        ],
        needs_database: false,
    },
    BuiltInPrompt {
        name: SUMMARIZE_PROMPT,
        title: "Summarize a conversation",
        description: "Summarizes a conversation of the library: questions, findings and open points.",
        arguments: &[BuiltInArgument {
            name: "id",
            description: "The id of the conversation, or its URI.",
            required: true,
        }],
        needs_database: false,
    },
    BuiltInPrompt {
        name: EXPLORE_PROMPT,
        title: "Explore a database",
        description: "Finds out what a database contains and how its tables belong together.",
        arguments: &[
            PROFILE_ARGUMENT,
            BuiltInArgument {
                name: "question",
                description: "Question to answer.",
                required: false,
            },
        ],
        needs_database: true,
    },
    BuiltInPrompt {
        name: DIAGNOSE_PROMPT,
        title: "Diagnose a database",
        description: "Finds out why a database is slow or at risk, and what to do about it.",
        arguments: &[
            PROFILE_ARGUMENT,
            BuiltInArgument {
                name: "symptom",
                description: "Problem that was noticed, or a slow statement.",
                required: false,
            },
        ],
        needs_database: true,
    },
    BuiltInPrompt {
        name: DESIGN_PROMPT,
        title: "Design a schema",
        description: "Designs tables that fit into a database, as statements for a person to run.",
        arguments: &[
            BuiltInArgument {
                name: "purpose",
                description: "Data to keep, and the questions that it should answer.",
                required: true,
            },
            PROFILE_ARGUMENT,
        ],
        needs_database: true,
    },
];

/// The database of a prompt.
const PROFILE_ARGUMENT: BuiltInArgument = BuiltInArgument {
    name: "profile",
    description: "The database; not needed if there is only one.",
    required: false,
};

/// Returns the prompts that clients list as commands: built-in ones first, then the first stored ones
/// that the settings permit, by name. The others are returned by name all the same.
pub(crate) async fn list_prompts(
    services: &ToolServices,
    call: &RequestContext,
) -> Result<Vec<Prompt>, Failure> {
    let stored = stored_prompts(services, call).await?;
    let is_taken = |own: &&BuiltInPrompt| stored.iter().any(|prompt| prompt.name == own.name);
    let ours = built_in_prompts(services, call);
    let ours = ours.filter(|own| !is_taken(own)).map(BuiltInPrompt::to_prompt);
    let mut listed: Vec<&StoredPrompt> = stored.iter().take(services.listed_prompts).collect();
    listed.sort_by_key(|prompt| (prompt.name.to_lowercase(), &prompt.name));
    Ok(ours.chain(listed.into_iter().map(stored_to_prompt)).collect())
}

/// Returns the messages of a prompt with its placeholders filled.
pub(crate) async fn prompt_messages(
    services: &ToolServices,
    name: &str,
    arguments: &PromptArguments,
    call: &RequestContext,
) -> Result<GetPromptResult, Failure> {
    let stored = stored_prompts(services, call).await?;
    if let Some(prompt) = stored.iter().find(|prompt| prompt.name == name) {
        // Agents write no prompts.
        let id = [format_args!("prompt:{name}")];
        call.items.record_all_of(ContentOrigin::ImportedFile, id);
        return fill_prompt(prompt, arguments);
    }
    let Some(own) = built_in_prompts(services, call).find(|own| own.name == name) else {
        let known = built_in_prompts(services, call).map(|own| own.name);
        return Err(unknown_prompt(name, known, &stored));
    };
    let takes: Vec<&str> = own.arguments.iter().map(|gap| gap.name).collect();
    let needs: Vec<&str> =
        own.arguments.iter().filter(|gap| gap.required).map(|gap| gap.name).collect();
    let given = ArgumentValues::validate(arguments, &takes, &needs)?;
    let blocks = match own.name {
        RESEARCH_PROMPT => vec![research_task(&given)?],
        EXPLORE_PROMPT | DIAGNOSE_PROMPT | DESIGN_PROMPT => {
            let (profile, about) = (given.value("profile"), database_subject(&given));
            let profiles = services.databases.profiles().visible_names(&call.principal);
            let task = database_task(own.name, &profiles, profile, about);
            vec![ContentBlock::text(task.map_err(Failure::invalid_params)?)]
        }
        _ => conversation_blocks(services, call, given.value("id")).await?,
    };
    let messages =
        blocks.into_iter().map(|content| PromptMessage { role: Role::User, content }).collect();
    Ok(GetPromptResult { description: Some(own.description.to_owned()), messages })
}

async fn stored_prompts(
    services: &ToolServices,
    call: &RequestContext,
) -> Result<Vec<StoredPrompt>, Failure> {
    let library = services.registry.library(&call.principal);
    let Some(prompts) = library.source(SourceName::Prompts) else { return Ok(Vec::new()) };
    let stored = prompts.list_prompts(services.deadline(call)).await.map_err(CallError::from);
    let stored = stored.map_err(|error| to_failure(&error))?;
    // Here and not in the output, so that a listed name and its placeholders can be passed back.
    Ok(services.clean(stored, |stored| stored.iter_mut().for_each(clean_stored_prompt)))
}

fn clean_stored_prompt(prompt: &mut StoredPrompt) {
    safe_text::clean_string(&mut prompt.name);
    let texts = [&mut prompt.details, &mut prompt.system_prompt, &mut prompt.user_prompt];
    texts.into_iter().flatten().for_each(safe_text::clean_string);
}

/// Returns the built-in prompts that the caller can use.
fn built_in_prompts(
    services: &ToolServices,
    call: &RequestContext,
) -> impl Iterator<Item = &'static BuiltInPrompt> {
    let mut profiles = services.databases.profiles().visible_profiles(&call.principal);
    let has_database = profiles.next().is_some();
    BUILT_IN_PROMPTS.iter().filter(move |own| has_database || !own.needs_database)
}

/// Returns the argument of a database prompt that says what it is about.
fn database_subject<'a>(given: &ArgumentValues<'a>) -> &'a str {
    let names = ["question", "symptom", "purpose"];
    names.map(|name| given.value(name).trim()).into_iter().find(|it| !it.is_empty()).unwrap_or("")
}

/// Builds the error for an unknown prompt, with the closest known name.
fn unknown_prompt<'a>(
    name: &str,
    built_in: impl Iterator<Item = &'a str>,
    stored: &'a [StoredPrompt],
) -> Failure {
    let known = built_in.chain(stored.iter().map(|it| it.name.as_str()));
    let hint = did_you_mean(closest_name(name, known));
    Failure::invalid_params(format!("unknown prompt `{name}`{hint}; see prompts/list"))
}

impl BuiltInPrompt {
    fn to_prompt(&self) -> Prompt {
        let argument = |gap: &BuiltInArgument| PromptArgument {
            name: gap.name.to_owned(),
            description: Some(gap.description.to_owned()),
            required: gap.required,
        };
        Prompt {
            name: self.name.to_owned(),
            title: Some(self.title.to_owned()),
            description: Some(self.description.to_owned()),
            arguments: self.arguments.iter().map(argument).collect(),
        }
    }
}

/// Returns the non-empty texts of a prompt: system prompt first, then user prompt.
fn prompt_texts(prompt: &StoredPrompt) -> impl Iterator<Item = &str> {
    let texts = [prompt.system_prompt.as_deref(), prompt.user_prompt.as_deref()];
    texts.into_iter().flatten().map(str::trim).filter(|text| !text.is_empty())
}

fn stored_to_prompt(prompt: &StoredPrompt) -> Prompt {
    let argument =
        |name: &str| PromptArgument { name: name.to_owned(), description: None, required: true };
    Prompt {
        name: prompt.name.clone(),
        title: Some(prompt.name.clone()),
        description: Some(prompt_description(prompt)),
        arguments: placeholder_names(prompt_texts(prompt)).into_iter().map(argument).collect(),
    }
}

/// Returns the user's description of a prompt, or else the beginning of its text.
fn prompt_description(prompt: &StoredPrompt) -> String {
    let details = prompt.details.as_deref().map(str::trim).filter(|text| !text.is_empty());
    if let Some(details) = details {
        return details.to_owned();
    }
    // The user prompt describes the task better than the system prompt does.
    let words: Vec<&str> =
        prompt_texts(prompt).last().unwrap_or(&prompt.name).split_whitespace().collect();
    let text = words.join(" ");
    match text.char_indices().nth(MAX_DESCRIPTION_CHARS) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default().trim_end()),
        None => text,
    }
}

/// Renders a stored prompt as one user message. The protocol has no system messages, and many
/// models reject two consecutive messages of one role, so the system prompt comes first in the same
/// message.
fn fill_prompt(
    prompt: &StoredPrompt,
    arguments: &PromptArguments,
) -> Result<GetPromptResult, Failure> {
    let takes = placeholder_names(prompt_texts(prompt));
    let given = ArgumentValues::validate(arguments, &takes, &takes)?;
    let filled: Vec<String> = prompt_texts(prompt)
        .map(|text| fill_placeholders(text, |name| given.value(name)))
        .collect();
    let content = ContentBlock::text(filled.join("\n\n"));
    Ok(GetPromptResult {
        description: Some(prompt_description(prompt)),
        messages: vec![PromptMessage { role: Role::User, content }],
    })
}

/// Values of prompt arguments, by name.
struct ArgumentValues<'a>(Vec<(&'a str, &'a str)>);

impl<'a> ArgumentValues<'a> {
    /// Validates arguments: each name in `needs` must be present, and only names in `takes` may be.
    fn validate(
        arguments: &'a PromptArguments,
        takes: &[&str],
        needs: &[&str],
    ) -> Result<Self, Failure> {
        let wrong =
            |problem: String| Failure::invalid_params(format!("params.arguments: {problem}"));
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

    /// Returns the value of an argument, or an empty string.
    fn value(&self, name: &str) -> &'a str {
        self.0.iter().find(|(known, _)| *known == name).map_or("", |(_, text)| text)
    }
}

fn research_task(given: &ArgumentValues<'_>) -> Result<ContentBlock, Failure> {
    let topic = given.value("topic").trim();
    if topic.is_empty() {
        let problem = "params.arguments: `topic` is empty; pass a topic to research";
        return Err(Failure::invalid_params(problem));
    }
    let mut filters = serde_json::Map::new();
    let mut only = |source: &str, field: &str, value: &str| {
        if !value.trim().is_empty() {
            filters.insert(source.to_owned(), serde_json::json!({ field: [value.trim()] }));
        }
    };
    only("notes", "keywords", given.value("keyword"));
    only("media", "media_types", given.value("media_type"));
    let filters = if filters.is_empty() {
        String::new()
    } else {
        format!(" Always pass filters: {}.", Value::from(filters))
    };
    Ok(ContentBlock::text(format!(
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

/// Returns a conversation as an embedded resource, and the task to summarize it.
async fn conversation_blocks(
    services: &ToolServices,
    call: &RequestContext,
    id: &str,
) -> Result<Vec<ContentBlock>, Failure> {
    let wrong =
        |problem: String| Failure::invalid_params(format!("params.arguments.id: {problem}"));
    let id = id.trim();
    let id = id.strip_prefix("chats://").unwrap_or(id);
    if id.is_empty() {
        return Err(wrong("is empty; name a conversation".to_owned()));
    }
    let uri = format!("{}://{id}", SourceName::Chats);
    let (item, part) = split_uri(uri.parse().map_err(|error| wrong(format!("{error}")))?);
    let read = actors::ReadRequest {
        source: SourceName::Chats,
        id: item,
        part,
        options: RetrievalOptions {
            mode: Some(RetrievalMode::Full),
            ..RetrievalOptions::default()
        },
        page: None,
        preferences: call.defaults.preferences,
        with_links: false,
    };
    let item = services.read_item(call, None, read).await.map_err(|error| match error {
        CallError::NotFound(problem) => wrong(problem),
        other => to_failure(&other),
    })?;
    let more = item.range.and_then(|range| range.next_offset).map(|offset| {
        format!(
            " This is its beginning: read on with knowledge.get, source chats, id {id}, \
             retrieval.mode full and retrieval.offset {offset}, as long as there is a next_offset."
        )
    });
    let resource = ResourceContents::text(uri, "application/json", item.content.to_string());
    let task = format!(
        "Summarize this conversation: what it was about, what was found out and decided, and what \
         was left open. Keep names, numbers and dates as they are.{}",
        more.unwrap_or_default()
    );
    Ok(vec![ContentBlock::Resource { resource }, ContentBlock::text(task)])
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
    fn description_is_never_empty_and_is_bounded() {
        assert_eq!(prompt_description(&prompt("What for.", "a", "b")), "What for.");
        assert_eq!(prompt_description(&prompt(" ", "Be\nbrief.", "")), "Be brief.");
        assert_eq!(prompt_description(&prompt("", "Be brief.", "Say  it.")), "Say it.");
        let long = prompt_description(&prompt("", "", &"größer ".repeat(100)));
        assert!(long.starts_with("größer größer") && long.ends_with('…'), "{long}");
        assert!(long.chars().count() <= MAX_DESCRIPTION_CHARS + 1, "{long}");
    }

    #[test]
    fn system_prompt_precedes_user_prompt_in_one_message() {
        let messages =
            fill_prompt(&prompt("", "Be brief.", "Say it."), &PromptArguments::new()).unwrap();
        let expected = ContentBlock::text("Be brief.\n\nSay it.");
        assert_eq!(messages.messages, [PromptMessage { role: Role::User, content: expected }]);
    }
}
