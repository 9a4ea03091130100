//! What is watched of a running server, for those who look after it.

use std::{path::Path, sync::Arc};

use vademecum_kit::model::SourceName;

use crate::{actors::Roster, collections::Catalogue, tools::Tool, transport::Connections};
use vademecum_core::telemetry::{Figure, Measured, Monitor};
use vademecum_mcp::{Observer, Service};
use vademecum_sql::Databases;

/// What is watched.
pub(super) struct Watched {
    pub(super) roster: Arc<Roster>,
    pub(super) service: Service,
    pub(super) connections: Connections,
    pub(super) databases: Arc<Databases>,
    pub(super) catalogue: Arc<Catalogue>,
}

/// Everything that has a figure of its own.
pub(super) fn measured(tools: &[Tool]) -> Measured {
    let sources = SourceName::ALL.into_iter().chain([SourceName::Collections]);
    Measured {
        methods: Observer::METHODS.to_vec(),
        tools: tools.iter().map(|tool| tool.entry().name).collect(),
        sources: sources.map(SourceName::as_str).collect(),
    }
}

/// Tells what there is to tell of all that.
pub(super) fn monitor(observer: &Observer, watched: Watched) -> Monitor {
    let Watched { roster, service, connections, databases, catalogue } = watched;
    let (folder, exporter) = (catalogue.data().to_owned(), observer.exporter.clone());
    Monitor::new(observer.metrics.clone())
        .reading(move || {
            [busy(&service, &connections), roster.figures(), databases.figures()].concat()
        })
        .reading(move || exporter.iter().map(vademecum_core::telemetry::Exporter::figure).collect())
        .checking("storage", move || can_write(&folder))
        .checking("accounts", move || catalogue.list().is_ok())
}

/// How much is going on.
fn busy(service: &Service, connections: &Connections) -> Vec<Figure> {
    let figure = |name, help, count| Figure::count(name, help, count);
    vec![
        figure(
            "vademecum_sessions",
            "Sessions of the protocol, connections included.",
            service.open_sessions(),
        ),
        figure(
            "vademecum_connections",
            "Connections over HTTP that are open.",
            connections.count(),
        ),
        figure(
            "vademecum_streams",
            "WebSockets, streams of news and subscriptions that last.",
            service.held(),
        ),
        figure("vademecum_calls_running", "Calls that have their turn.", service.running()),
        figure("vademecum_calls_waiting", "Calls that wait for their turn.", service.waiting()),
    ]
}

/// Whether something can be written there. A folder that is still to be made counts
/// by the one that it will be made in.
fn can_write(folder: &Path) -> bool {
    let Some(there) = folder.ancestors().find(|folder| folder.exists()) else { return false };
    // It has no name: whatever becomes of the process, nothing of it stays.
    let file = tempfile::tempfile_in(there);
    file.and_then(|mut file| std::io::Write::write_all(&mut file, b"x")).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_can_be_written_below_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        assert!(can_write(folder.path()) && can_write(&data));
        assert!(!data.exists());
        std::fs::write(&data, "no folder").unwrap();
        assert!(!can_write(&data) && !can_write(&data.join("below")));
    }

    #[test]
    fn every_tool_and_every_source_is_counted() {
        let tools = crate::registry::tools();
        let measured = measured(&tools);
        assert_eq!(measured.tools.len(), tools.len());
        assert_eq!(measured.sources.last(), Some(&"collections"));
        assert!(measured.methods.contains(&"tools/call"));
    }
}
