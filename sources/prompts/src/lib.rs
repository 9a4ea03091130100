//! The prompts.
