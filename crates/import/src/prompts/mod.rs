//! Importers of prompts, and the reader of folders of agent skills.

mod fabric_patterns;
mod prompt_collector;
mod prompts_csv;
mod prompts_json;
mod skill_folder;

pub use self::skill_folder::{
    FoundSkill, SKILL_FILE, SkillFile, SkillProblem, find_skills, parse_skill,
};
pub(crate) use self::{
    fabric_patterns::PatternImporter, prompts_csv::CsvPromptImporter,
    prompts_json::JsonPromptImporter,
};
