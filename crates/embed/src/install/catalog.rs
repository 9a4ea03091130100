//! Models that `vademecum model list` recommends.

/// A recommended model of the model repository.
#[derive(Clone, Copy, Debug)]
pub struct RecommendedModel {
    /// Short name.
    pub name: &'static str,
    /// Name in the repository.
    pub repository: &'static str,
    /// Approximate size of its files, in MB.
    pub megabytes: u32,
    /// Its languages.
    pub languages: &'static str,
    /// Identifier of its licence in SPDX.
    pub licence: &'static str,
    /// Its kind, in a few words.
    pub kind: &'static str,
}

/// The recommended models, the smallest first. None needs a prompt before its texts.
pub const RECOMMENDED_MODELS: [RecommendedModel; 3] = [
    RecommendedModel {
        name: "potion-base-8m",
        repository: "minishlab/potion-base-8M",
        megabytes: 31,
        languages: "English",
        licence: "MIT",
        kind: "static table, the fastest",
    },
    RecommendedModel {
        name: "all-minilm-l6-v2",
        repository: "sentence-transformers/all-MiniLM-L6-v2",
        megabytes: 91,
        languages: "English",
        licence: "Apache-2.0",
        kind: "encoder of 6 blocks, about 18 ms of CPU time a passage",
    },
    RecommendedModel {
        name: "potion-multilingual-128m",
        repository: "minishlab/potion-multilingual-128M",
        megabytes: 530,
        languages: "101 languages",
        licence: "MIT",
        kind: "static table, the fastest",
    },
];
