//! A figure that is read when somebody asks for it.

use prometheus::{CounterVec, GaugeVec, Opts, core::Collector, proto::MetricFamily};

/// A figure that is read when somebody asks for it: nobody keeps it in between.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    name: &'static str,
    help: &'static str,
    /// Each value, with what its labels say.
    values: Vec<(Vec<(&'static str, String)>, f64)>,
    grows: bool,
}

impl Figure {
    /// How much or how many there is at this moment.
    pub fn gauge(name: &'static str, help: &'static str, value: f64) -> Self {
        Self { name, help, values: vec![(Vec::new(), value)], grows: false }
    }

    /// How many there are at this moment.
    pub fn count(name: &'static str, help: &'static str, count: usize) -> Self {
        Self::gauge(name, help, number(count))
    }

    /// What has come together since the process began.
    pub fn total(name: &'static str, help: &'static str, value: f64) -> Self {
        Self { grows: true, ..Self::gauge(name, help, value) }
    }

    /// The same figure of several things; all have the same labels.
    pub fn labelled(
        name: &'static str,
        help: &'static str,
        values: Vec<(Vec<(&'static str, String)>, f64)>,
    ) -> Self {
        Self { name, help, values, grows: false }
    }

    pub(super) fn collect(&self) -> prometheus::Result<Vec<MetricFamily>> {
        let Some((labels, _)) = self.values.first() else { return Ok(Vec::new()) };
        let names: Vec<&str> = labels.iter().map(|(name, _)| *name).collect();
        let options = Opts::new(self.name, self.help);
        if self.grows {
            let totals = CounterVec::new(options, &names)?;
            for (labels, value) in &self.values {
                totals.get_metric_with_label_values(&texts(labels))?.inc_by(*value);
            }
            return Ok(totals.collect());
        }
        let gauges = GaugeVec::new(options, &names)?;
        for (labels, value) in &self.values {
            gauges.get_metric_with_label_values(&texts(labels))?.set(*value);
        }
        Ok(gauges.collect())
    }
}

fn texts<'a>(labels: &'a [(&'static str, String)]) -> Vec<&'a str> {
    labels.iter().map(|(_, text)| text.as_str()).collect()
}

/// A count as Prometheus has it. What is counted here stays far below 2⁵³.
#[expect(clippy::cast_precision_loss, reason = "Prometheus knows no other numbers")]
pub(super) fn number(count: usize) -> f64 {
    count as f64
}
