//! `similarity_search`: searches a table by its own vector columns, then ranks chunks of the texts
//! by words and vectors. Start reading at `search`.

mod chunk_selection;
mod nearest_rows;
mod render;
mod search;
mod vector_columns;

pub use search::SimilaritySearch;
