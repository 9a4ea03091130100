//! What `knowledge.search` costs beyond the FTS5 statements it runs.
//!
//! A library of 20,000 notes, 5,000 media and 50,000 messages (and 200
//! characters, 500 prompts); four kinds of queries; each asked in turn through
//! the whole path (JSON message in, JSON message out with titles, snippets and
//! places, the default limit) and as what anybody would run without it: five
//! plain `ORDER BY bm25() LIMIT` statements, one after the other, that give row
//! numbers (`rank`), and after them a plain `SELECT` of title and text for
//! the twenty best (`read`). Both in one run, alternating. Prints the ratios.
//!
//! `cargo bench -p vademecum-benches --bench search`

use std::{path::Path, time::Instant};

use anyhow::{Context, Result};
use rusqlite::{Connection, OpenFlags};
use serde_json::json;
use vademecum::{app::App, config::Settings};
use vademecum_benches::{Cost, Kind, Size, Words, fill, median};
use vademecum_kit::retrieve::FtsQuery;

const SIZE: Size =
    Size { notes: 20_000, media: 5_000, chats: 2_500, characters: 200, prompts: 500 };
/// Queries of each kind.
const QUERIES: usize = 60;
/// The default limit of `knowledge.search`, and one to know whether there is more.
const TAKE: i64 = 21;

/// For each source: the file, the plain FTS5 statement, and the plain read.
const STATEMENTS: [(&str, &str, &str); 5] = [
    (
        "chacha.db",
        "SELECT rowid, bm25(note_fts, 2.0, 1.0, 1.0) AS rank FROM note_fts
         WHERE note_fts MATCH ?1 ORDER BY rank LIMIT ?2",
        "SELECT title, content FROM notes WHERE row = ?1",
    ),
    (
        "media.db",
        "SELECT rowid, bm25(media_fts, 2.0, 1.0, 1.0, 1.0) AS rank FROM media_fts
         WHERE media_fts MATCH ?1 ORDER BY rank LIMIT ?2",
        "SELECT title, content FROM Media WHERE id = ?1",
    ),
    (
        "chacha.db",
        "SELECT rowid, bm25(chat_fts, 1.0, 1.0) AS rank FROM chat_fts
         WHERE chat_fts MATCH ?1 ORDER BY rank LIMIT ?2",
        "SELECT title, content FROM messages
         JOIN conversations ON conversations.id = conversation_id WHERE messages.row = ?1 / 2",
    ),
    (
        "chacha.db",
        "SELECT rowid, bm25(character_fts, 2.0, 2.0) AS rank FROM character_fts
         WHERE character_fts MATCH ?1 ORDER BY rank LIMIT ?2",
        "SELECT name, description FROM character_cards WHERE id = ?1",
    ),
    (
        "prompts.db",
        "SELECT rowid, bm25(prompt_fts, 2.0) AS rank FROM prompt_fts
         WHERE prompt_fts MATCH ?1 ORDER BY rank LIMIT ?2",
        "SELECT name, user_prompt FROM Prompts WHERE id = ?1",
    ),
];

#[expect(clippy::print_stdout, reason = "a bench prints its figures")]
fn main() -> Result<()> {
    actix::System::new().block_on(async {
        let folder = tempfile::tempdir()?;
        let mut settings = Settings::default();
        settings.storage.data = Some(folder.path().to_owned());
        let app = App::new(settings)?;
        let mut words = Words::new(30_000);
        let began = Instant::now();
        fill(&app.library(), &mut words, SIZE).await?;
        println!("{SIZE:?}, filled in {:.1} s", began.elapsed().as_secs_f64());
        let raw = Raw::open(&folder.path().join("users/local"))?;
        println!(
            "median µs of CPU (wall); ratio: CPU of search to CPU of rank, and of rank + read"
        );
        println!(
            "{:10} {:>16} {:>16} {:>16} {:>8} {:>8}",
            "kind", "rank", "read", "search", "to rank", "to both"
        );
        for kind in Kind::ALL {
            measure(&app, &raw, &mut words, kind).await?;
        }
        Ok(())
    })
}

#[expect(clippy::print_stdout, reason = "a bench prints its figures")]
async fn measure(app: &App, raw: &Raw, words: &mut Words, kind: Kind) -> Result<()> {
    let queries: Vec<String> = (0..QUERIES).map(|_| words.query(kind)).collect();
    let (mut ranks, mut reads, mut searches) = (Vec::new(), Vec::new(), Vec::new());
    // The first round warms the caches of both.
    for round in 0..2 {
        for query in &queries {
            let (found, rank) = Cost::of(async { raw.rank(query) }).await;
            let found = found?;
            let (seen, read) = Cost::of(async { raw.read(&found) }).await;
            seen?;
            let (shown, search) = Cost::of(search(app, query)).await;
            anyhow::ensure!(shown? == found.len().min(20), "both find the same number of hits");
            if round > 0 {
                ranks.push(rank);
                reads.push(read);
                searches.push(search);
            }
        }
    }
    let cpu = |costs: &[Cost]| median(costs.iter().map(|cost| cost.cpu).collect()).0;
    let wall = |costs: &[Cost]| median(costs.iter().map(|cost| cost.wall).collect()).0;
    let shown =
        |costs: &[Cost]| format!("{} ({})", cpu(costs).as_micros(), wall(costs).as_micros());
    let ratio = |base: f64| cpu(&searches).as_secs_f64() / base;
    println!(
        "{:10} {:>16} {:>16} {:>16} {:>8.2} {:>8.2}",
        format!("{kind:?}").to_lowercase(),
        shown(&ranks),
        shown(&reads),
        shown(&searches),
        ratio(cpu(&ranks).as_secs_f64()),
        ratio((cpu(&ranks) + cpu(&reads)).as_secs_f64()),
    );
    Ok(())
}

/// Asks as a client without a session does; tells how many hits came back.
async fn search(app: &App, query: &str) -> Result<usize> {
    let message = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": "knowledge.search", "arguments": { "query": query } },
    });
    let answer = app.ask(&message.to_string()).await.context("no answer")?;
    Ok(answer.matches("\"score_type\":").count())
}

/// The ranking statements on connections of their own.
struct Raw {
    connections: Vec<(&'static str, Connection)>,
}

impl Raw {
    fn open(folder: &Path) -> Result<Self> {
        let names = ["chacha.db", "media.db", "prompts.db"];
        let connections = names.into_iter().map(|name| {
            let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
            Ok((name, Connection::open_with_flags(folder.join(name), flags)?))
        });
        Ok(Self { connections: connections.collect::<Result<_>>()? })
    }

    fn connection(&self, file: &str) -> Result<&Connection> {
        let found = self.connections.iter().find(|(name, _)| *name == file);
        Ok(&found.context("no such file")?.1)
    }

    /// What each source finds: which source, which row, how good.
    fn rank(&self, query: &str) -> Result<Vec<(usize, i64, f64)>> {
        let expression = FtsQuery::parse(query).expression();
        let mut found = Vec::new();
        for (source, (file, rank, _)) in STATEMENTS.iter().enumerate() {
            let mut statement = self.connection(file)?.prepare_cached(rank)?;
            let mut rows = statement.query((&expression, TAKE))?;
            while let Some(row) = rows.next()? {
                found.push((source, row.get(0)?, row.get(1)?));
            }
        }
        Ok(found)
    }

    /// Title and text of the twenty best.
    fn read(&self, found: &[(usize, i64, f64)]) -> Result<usize> {
        let mut best = found.to_vec();
        best.sort_by(|one, other| one.2.total_cmp(&other.2));
        let mut bytes = 0;
        for (source, row, _) in best.into_iter().take(20) {
            let Some((file, _, read)) = STATEMENTS.get(source) else { continue };
            let mut statement = self.connection(file)?.prepare_cached(read)?;
            let mut rows = statement.query([row])?;
            if let Some(row) = rows.next()? {
                let title: Option<String> = row.get(0)?;
                let text: Option<String> = row.get(1)?;
                bytes += title.map_or(0, |title| title.len()) + text.map_or(0, |text| text.len());
            }
        }
        Ok(bytes)
    }
}
