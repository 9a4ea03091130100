//! Renders a result of `similarity_search` as text.

use std::fmt::Write;

use super::{
    search::{SimilarityOutput, SimilarityRequest},
    vector_columns::VectorTable,
};

/// Renders the full result.
pub(super) fn render_results(
    request: &SimilarityRequest,
    table: &VectorTable,
    output: &SimilarityOutput,
) -> String {
    let mut text = String::new();
    // Writing to a `String` never fails.
    let _written = write_results(&mut text, request, table, output);
    text
}

fn write_results(
    out: &mut String,
    request: &SimilarityRequest,
    table: &VectorTable,
    output: &SimilarityOutput,
) -> std::fmt::Result {
    let (double, single) = ("=".repeat(80), "-".repeat(80));
    let (size, overlap) =
        (request.chunk_selection.chunk_tokens, request.chunk_selection.overlap_tokens());
    let lambda = request.lambda;
    writeln!(out, "Similarity Search Results: \"{}\"\n{double}\n", request.query_text)?;
    writeln!(out, "Configuration:")?;
    writeln!(out, "  - Vector Search: Top {} rows", request.max_rows)?;
    writeln!(out, "  - Chunking: {size} tokens per chunk, {overlap} token overlap")?;
    writeln!(
        out,
        "  - Diversity: λ={lambda:.2} ({:.0}% relevance, {:.0}% diversity)",
        lambda * 100.0,
        (1.0 - lambda) * 100.0
    )?;
    writeln!(out, "  - Distance Metric: {}", request.metric.wire_name())?;
    writeln!(out, "  - Column Weights:")?;
    for pair in &table.vector_columns {
        let kind = if pair.is_title { "title" } else { "content" };
        writeln!(out, "      {} ({:.1}%) [{kind}]", pair.text_column, pair.weight * 100.0)?;
    }
    writeln!(out)?;
    if output.results.is_empty() {
        writeln!(out, "Nothing was found: no row of the table has a vector and a text.")?;
    }
    let count = output.results.len();
    for (number, result) in (1..).zip(&output.results) {
        writeln!(out, "Result {number}/{count}")?;
        writeln!(
            out,
            "Source: {} (vector search rank: #{}, chunk: {})",
            result.source, result.rank, result.chunk
        )?;
        if !result.key.is_empty() {
            writeln!(out, "Row: {}", serde_json::Value::from(result.key.clone()))?;
        }
        writeln!(out, "Relevance Score: {:.3}", result.score)?;
        writeln!(out, "Tokens: ~{}", result.tokens)?;
        if let Some(text) = &result.text {
            writeln!(out, "\n{text}")?;
        }
        writeln!(out, "\n{single}\n")?;
    }
    write!(out, "Total: {count} chunks, ~{} tokens", output.tokens)?;
    match output.omitted {
        0 => Ok(()),
        omitted => write!(out, "; {omitted} left out or cut, raise max_output_tokens"),
    }
}
