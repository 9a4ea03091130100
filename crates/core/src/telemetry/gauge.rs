//! Metrics that are read on request.

use prometheus::{CounterVec, GaugeVec, Opts, core::Collector, proto::MetricFamily};

/// Metric whose value is read on request, not kept between scrapes.
#[derive(Clone, Debug, PartialEq)]
pub struct Gauge {
    name: &'static str,
    help: &'static str,
    /// Samples: labels and value.
    samples: Vec<(Vec<(&'static str, String)>, f64)>,
    is_counter: bool,
}

impl Gauge {
    /// Creates a gauge with the current value.
    pub fn from_value(name: &'static str, help: &'static str, value: f64) -> Self {
        Self { name, help, samples: vec![(Vec::new(), value)], is_counter: false }
    }

    /// Creates a gauge with the current number of items.
    pub fn from_count(name: &'static str, help: &'static str, count: usize) -> Self {
        Self::from_value(name, help, count_to_f64(count))
    }

    /// Creates a counter with the total since process start.
    pub fn from_total(name: &'static str, help: &'static str, value: f64) -> Self {
        Self { is_counter: true, ..Self::from_value(name, help, value) }
    }

    /// Creates a gauge with several samples; all must have the same label names.
    pub fn with_labels(
        name: &'static str,
        help: &'static str,
        values: Vec<(Vec<(&'static str, String)>, f64)>,
    ) -> Self {
        Self { name, help, samples: values, is_counter: false }
    }

    pub(super) fn collect(&self) -> prometheus::Result<Vec<MetricFamily>> {
        let Some((labels, _)) = self.samples.first() else { return Ok(Vec::new()) };
        let names: Vec<&str> = labels.iter().map(|(name, _)| *name).collect();
        let options = Opts::new(self.name, self.help);
        if self.is_counter {
            let totals = CounterVec::new(options, &names)?;
            for (labels, value) in &self.samples {
                totals.get_metric_with_label_values(&label_values(labels))?.inc_by(*value);
            }
            return Ok(totals.collect());
        }
        let gauges = GaugeVec::new(options, &names)?;
        for (labels, value) in &self.samples {
            gauges.get_metric_with_label_values(&label_values(labels))?.set(*value);
        }
        Ok(gauges.collect())
    }
}

fn label_values<'a>(labels: &'a [(&'static str, String)]) -> Vec<&'a str> {
    labels.iter().map(|(_, text)| text.as_str()).collect()
}

/// Converts a count for Prometheus. Counts here stay far below 2⁵³, so the conversion is exact.
#[expect(clippy::cast_precision_loss, reason = "Prometheus knows no other numbers")]
pub(super) fn count_to_f64(count: usize) -> f64 {
    count as f64
}
