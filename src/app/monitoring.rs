//! Gauges and health checks of a running server.

use std::{path::Path, sync::Arc};

use vademecum_accounts::audit::open_audit_log;
use vademecum_actors::{UserRegistry, collections::Catalogue};
use vademecum_core::{
    config::Settings,
    telemetry::{ExporterError, Gauge, MetricLabels, Metrics, Monitor, SpanExporter},
};
use vademecum_mcp::{RequestObserver, Service};
use vademecum_model::SourceName;
use vademecum_sql::Databases;
use vademecum_store::DataFolder;
use vademecum_tools::RegisteredTool;
use vademecum_web::ConnectionCount;

use super::archive_watch::{archive_gauges, cache_gauge};

/// Components that gauges and health checks read.
pub(super) struct MonitoredComponents {
    pub(super) registry: Arc<UserRegistry>,
    pub(super) service: Service,
    pub(super) connections: ConnectionCount,
    pub(super) databases: Arc<Databases>,
    pub(super) catalogue: Arc<Catalogue>,
}

/// Returns the label values of the metrics: methods, tools and sources.
pub(super) fn metric_labels(tools: &[RegisteredTool]) -> MetricLabels {
    let sources = SourceName::ALL.into_iter().chain([SourceName::Collections]);
    MetricLabels {
        methods: RequestObserver::METHOD_LABELS.to_vec(),
        tools: tools.iter().map(|tool| tool.entry().name).collect(),
        sources: sources.map(SourceName::as_str).collect(),
    }
}

/// Returns the observer of requests: metrics, traces and the audit log. Fails if the trace exporter
/// cannot be started.
pub(super) fn request_observer(
    settings: &Settings,
    metrics: Metrics,
    data: &DataFolder,
) -> Result<RequestObserver, ExporterError> {
    let exporter =
        settings.telemetry.otlp_endpoint.as_ref().map(SpanExporter::start).transpose()?;
    let audit = open_audit_log(&settings.audit, data);
    Ok(RequestObserver { metrics, exporter, audit })
}

/// Builds the monitor: gauges of activity, libraries, databases and the archive, and the health checks
/// `storage`, `archive` and `accounts`.
pub(super) fn build_monitor(observer: &RequestObserver, watched: MonitoredComponents) -> Monitor {
    let MonitoredComponents { registry, service, connections, databases, catalogue } = watched;
    let (folder, exporter) = (catalogue.data_folder().to_owned(), observer.exporter.clone());
    let audit = observer.audit.clone();
    let archive = catalogue.data().archive().cloned();
    let users = folder.join("users");
    let (followed, stale_reads) =
        (archive.clone(), archive.as_ref().is_some_and(|it| it.permits_stale_reads()));
    Monitor::new(observer.metrics.clone())
        .with_gauges(move || {
            [activity_gauges(&service, &connections), registry.read_gauges(), databases.gauges()]
                .concat()
        })
        .with_gauges(move || {
            exporter.iter().map(vademecum_core::telemetry::SpanExporter::dropped_gauge).collect()
        })
        .with_gauges(move || audit.lost_gauge().into_iter().collect())
        .with_readiness_check("storage", move || is_writable(&folder))
        .with_gauges(move || {
            let gauges = |archive| [archive_gauges(archive), vec![cache_gauge(&users)]].concat();
            archive.as_deref().map(gauges).unwrap_or_default()
        })
        .with_readiness_check("archive", move || {
            followed.as_ref().is_none_or(|archive| {
                let status = archive.status();
                archive.was_reached() && (stale_reads || !status.is_lost())
            })
        })
        .with_readiness_check("accounts", move || catalogue.list_records().is_ok())
}

/// Returns the gauges of current activity: sessions, connections, streams and calls.
fn activity_gauges(service: &Service, connections: &ConnectionCount) -> Vec<Gauge> {
    let figure = |name, help, count| Gauge::from_count(name, help, count);
    vec![
        figure(
            "vademecum_sessions",
            "Open MCP sessions, connections included.",
            service.open_sessions(),
        ),
        figure("vademecum_connections", "Open HTTP connections.", connections.count()),
        figure(
            "vademecum_streams",
            "Open WebSockets, event streams and subscriptions.",
            service.open_connections(),
        ),
        figure(
            "vademecum_bytes_in_flight",
            "Bytes of messages that are received or processed, and of unread replies.",
            service.all_bytes_in_flight(),
        ),
        figure("vademecum_calls_running", "Calls that are running.", service.running_calls()),
        figure("vademecum_calls_waiting", "Calls that wait for a permit.", service.queued_calls()),
    ]
}

/// Returns `true` if a file can be written in the folder. For a folder that does not exist yet, its
/// nearest existing ancestor is checked.
fn is_writable(folder: &Path) -> bool {
    let Some(there) = folder.ancestors().find(|folder| folder.exists()) else { return false };
    // The temporary file has no name, so nothing remains if the process dies.
    let file = tempfile::tempfile_in(there);
    file.and_then(|mut file| std::io::Write::write_all(&mut file, b"x")).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_below_a_file_is_not_writable() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        assert!(is_writable(folder.path()) && is_writable(&data));
        assert!(!data.exists());
        std::fs::write(&data, "no folder").unwrap();
        assert!(!is_writable(&data) && !is_writable(&data.join("below")));
    }

    #[test]
    fn metric_labels_contain_every_tool_and_source() {
        let tools = crate::registry::tools();
        let measured = metric_labels(&tools);
        assert_eq!(measured.tools.len(), tools.len());
        assert_eq!(measured.sources.last(), Some(&"collections"));
        assert!(measured.methods.contains(&"tools/call"));
    }
}
