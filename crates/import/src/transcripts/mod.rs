//! Importers of transcripts of recordings: subtitles, podcasts, speech recognition.

mod cue_text;
mod podcast;
mod speakers;
mod subtitles;

pub(crate) use self::{podcast::PodcastImporter, subtitles::SubtitleImporter};
