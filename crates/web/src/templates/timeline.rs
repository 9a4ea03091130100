//! The timeline: items of each month and source as a picture, and the items of the selected months.

use std::collections::BTreeMap;

use maud::{Markup, html};
use vademecum_actors::ListPage;
use vademecum_model::{Facet, SourceName};

use super::{
    Page,
    parts::{count, date, entry, pager, path_with, source_label},
};

/// Number of items on a page.
pub(crate) const ITEMS_PER_PAGE: usize = 30;
/// Maximum number of months in the picture.
const MAX_MONTHS: usize = 36;
/// Maximum number of tags, and of folders, to narrow the list with.
const MAX_FACET_VALUES: usize = 12;
/// Height of the bars, in units of the picture.
const HEIGHT: usize = 140;
/// Width of the picture.
const WIDTH: usize = 720;
/// Height of the names of years below the bars.
const AXIS: usize = 24;

/// Limits of the timeline.
#[derive(Clone, Debug, Default)]
pub(crate) struct TimelineTerms {
    pub(crate) source: String,
    pub(crate) tag: String,
    pub(crate) folder: String,
    /// Month or year, such as `2026-03` or `2019`; empty for all.
    pub(crate) month: String,
    pub(crate) offset: usize,
}

impl TimelineTerms {
    fn address(&self, offset: usize) -> String {
        let offset = if offset == 0 { String::new() } else { offset.to_string() };
        path_with(
            "/timeline",
            [
                ("source", self.source.as_str()),
                ("tag", &self.tag),
                ("folder", &self.folder),
                ("month", &self.month),
                ("offset", &offset),
            ],
        )
    }

    /// Returns the sources that can have the items; `None` if the name of the source is unknown.
    pub(crate) fn sources(&self) -> Option<Vec<SourceName>> {
        let named: Option<SourceName> = match self.source.as_str() {
            "" => None,
            name => Some(name.parse().ok()?),
        };
        // Only notes are in folders.
        let is_possible = |source: &SourceName| {
            named.is_none_or(|named| named == *source)
                && (self.folder.is_empty() || *source == SourceName::Notes)
        };
        Some(SourceName::ALL.into_iter().filter(is_possible).collect())
    }

    /// Returns the first day of the month or year, and that of the next one; `None` without a valid one.
    pub(crate) fn days(&self) -> Option<(String, String)> {
        let Some((year, month)) = self.month.split_once('-') else {
            let year: u16 = self.month.parse().ok()?;
            let is_year = self.month.len() == 4 && (1..=9998).contains(&year);
            return is_year.then(|| (format!("{year:04}-01-01"), format!("{:04}-01-01", year + 1)));
        };
        let (year, month): (u16, u8) = (year.parse().ok()?, month.parse().ok()?);
        if !(1..=9998).contains(&year) || !(1..=12).contains(&month) {
            return None;
        }
        let (next_year, next_month) = if month == 12 { (year + 1, 1) } else { (year, month + 1) };
        Some((format!("{year:04}-{month:02}-01"), format!("{next_year:04}-{next_month:02}-01")))
    }
}

/// Numbers of items of each month, by source.
pub(crate) type MonthCounts = Vec<(SourceName, Vec<(String, usize)>)>;

/// Returns the timeline.
pub(crate) fn timeline_page(terms: &TimelineTerms, months: &MonthCounts, list: &ListPage) -> Page {
    let end = terms.offset.saturating_add(list.hits.len());
    let next = (end < list.total && !list.hits.is_empty()).then_some(end);
    let content = html! {
        h1 { "Timeline" }
        (source_links(terms, list))
        @if let Some(limits) = describe(terms) {
            p { (limits) " " a href="/timeline" { "Show all" } }
        }
        (year_links(terms, months))
        (picture(terms, months))
        (facet_links(list, (Facet::Tags, "Tags"), &terms.tag, |tag| {
            TimelineTerms { tag, offset: 0, ..terms.clone() }
        }))
        (facet_links(list, (Facet::Folders, "Folders"), &terms.folder, |folder| {
            TimelineTerms { folder, offset: 0, ..terms.clone() }
        }))
        @if list.hits.is_empty() {
            p { "No items." }
        } @else {
            p.muted { (count(list.total)) @if list.total == 1 { " item" } @else { " items" } }
        }
        @for (index, hit) in list.hits.iter().enumerate() {
            @let month = date(hit).map(|date| month_of(&date.to_string()));
            @let before = index.checked_sub(1).and_then(|it| list.hits.get(it));
            @if month != before.and_then(date).map(|date| month_of(&date.to_string()))
                || index == 0 {
                h2 { (month.unwrap_or_else(|| "Without a date".to_owned())) }
            }
            (entry(hit, ""))
        }
        (pager(|offset| terms.address(offset), terms.offset, ITEMS_PER_PAGE, next))
    };
    Page::new("Timeline", content)
}

fn month_of(date: &str) -> String {
    date.get(..7).unwrap_or(date).to_owned()
}

/// Returns the limits as text, if there are any besides the source.
fn describe(terms: &TimelineTerms) -> Option<String> {
    let parts = [("tag", &terms.tag), ("folder", &terms.folder), ("time", &terms.month)];
    let named: Vec<String> = parts
        .into_iter()
        .filter(|(_, value)| !value.is_empty())
        .map(|(name, value)| format!("{name} {value}"))
        .collect();
    (!named.is_empty()).then(|| format!("Limited to {}.", named.join(", ")))
}

/// Returns links to the most frequent values of a facet with their numbers of items, but for the one that the list
/// has already; nothing if they narrow nothing.
fn facet_links(
    list: &ListPage,
    (facet, name): (Facet, &str),
    current: &str,
    narrowed: impl Fn(String) -> TimelineTerms,
) -> Markup {
    let values = list.facet(facet).iter();
    let values = values.filter(|(value, items)| value != current && *items < list.total);
    let values: Vec<_> = values.take(MAX_FACET_VALUES).collect();
    html! {
        @if !values.is_empty() {
            nav.chips aria-label=(name) {
                span.muted { (name) ":" }
                @for (value, items) in values {
                    a href=(narrowed(value.clone()).address(0)) dir="auto" {
                        (value) " " small { (count(*items)) }
                    }
                }
            }
        }
    }
}

fn source_links(terms: &TimelineTerms, list: &ListPage) -> Markup {
    let counts = list.facet(Facet::Sources);
    let link = |source: &str, label: &str| {
        let items = counts.iter().find(|(name, _)| name == source).map(|(_, items)| *items);
        let limited = TimelineTerms { source: source.to_owned(), offset: 0, ..terms.clone() };
        let is_current = terms.source == source;
        html! {
            a href=(limited.address(0)) aria-current=[is_current.then_some("true")] {
                (label) @if let Some(items) = items { " " small { (count(items)) } }
            }
        }
    };
    html! {
        nav.chips aria-label="Sources" {
            (link("", "All"))
            @for source in SourceName::ALL { (link(source.as_str(), source_label(source))) }
        }
    }
}

/// Returns links to all years with their numbers of items, if the picture does not have all months.
fn year_links(terms: &TimelineTerms, counts: &MonthCounts) -> Markup {
    let mut years: BTreeMap<&str, usize> = BTreeMap::new();
    for (month, number) in counts.iter().flat_map(|(_, values)| values) {
        if let Some(year) = month.get(..4).filter(|_| month.len() == 7) {
            *years.entry(year).or_default() += number;
        }
    }
    if years.len() * 12 <= MAX_MONTHS {
        return html! {};
    }
    let address = |year: &str| {
        TimelineTerms { month: year.to_owned(), offset: 0, ..terms.clone() }.address(0)
    };
    html! {
        nav.chips aria-label="Years" {
            @for (year, items) in years.iter().rev() {
                a href=(address(year)) aria-current=[terms.month.starts_with(year).then_some("true")] {
                    (year) " " (count(*items))
                }
            }
        }
    }
}

/// Returns the bars of the last months, or of those up to the year that is shown, stacked by source, each a
/// link to its month.
fn picture(terms: &TimelineTerms, counts: &MonthCounts) -> Markup {
    let until = terms.month.get(..4).map(|year| format!("{year}-12"));
    let months = recent_month_counts(counts, until.as_deref());
    let highest = months.values().map(|parts| parts.iter().sum::<usize>()).max().unwrap_or(0);
    if highest == 0 || months.len() < 2 {
        return html! {};
    }
    let width = WIDTH / months.len();
    let scale = |number: usize| (number * HEIGHT).div_ceil(highest);
    html! {
        figure.timeline {
            svg viewBox=(format!("0 0 {WIDTH} {}", HEIGHT + AXIS)) role="group"
                aria-label="Items by month" {
                @for (index, (month, parts)) in months.iter().enumerate() {
                    // The first month has the name of its year, unless the next year begins beside it.
                    @let is_named = index == 0 && months.keys().take(4).all(|it| !it.ends_with("-01"));
                    (bar(terms, (month, is_named), parts, (index * width, width), &scale))
                }
            }
            figcaption.legend {
                @for (index, (source, values)) in counts.iter().enumerate() {
                    @if !values.is_empty() {
                        span { svg.key viewBox="0 0 10 10" aria-hidden="true" {
                            rect class=(format!("s{index}")) width="10" height="10" rx="2" {}
                        } (source_label(*source)) }
                    }
                }
            }
        }
    }
}

fn bar(
    terms: &TimelineTerms,
    (month, is_named): (&str, bool),
    parts: &[usize],
    (x, width): (usize, usize),
    scale: &dyn Fn(usize) -> usize,
) -> Markup {
    let total: usize = parts.iter().sum();
    let limited = TimelineTerms { month: month.to_owned(), offset: 0, ..terms.clone() };
    let label = format!("{month}: {total} items");
    let mut top = HEIGHT;
    let mut bars = Vec::new();
    for (index, number) in parts.iter().enumerate().filter(|(_, number)| **number > 0) {
        let height = scale(*number).min(top);
        top -= height;
        bars.push((index, top, height));
    }
    let is_january = month.ends_with("-01");
    html! {
        @if total > 0 {
            a href=(limited.address(0)) aria-label=(label) aria-current=[(terms.month == month).then_some("true")] {
                title { (label) }
                rect.hit x=(x) y="0" width=(width) height=(HEIGHT) {}
                @for (index, y, height) in &bars {
                    rect class=(format!("s{index}")) x=(x + 1) y=(y) width=(width.saturating_sub(2).max(1))
                        height=(height) {}
                }
            }
        }
        @if is_january || is_named {
            text.axis x=(x + 1) y=(HEIGHT + 17) { (month.get(..4).unwrap_or(month)) }
        }
    }
}

/// Returns the numbers of the last months by source, at most up to `until`, with those in between that have
/// no items.
fn recent_month_counts(counts: &MonthCounts, until: Option<&str>) -> BTreeMap<String, Vec<usize>> {
    let mut months: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (index, (_, values)) in counts.iter().enumerate() {
        let is_shown = |month: &str| month.len() == 7 && until.is_none_or(|until| month <= until);
        for (month, number) in values.iter().filter(|(month, _)| is_shown(month)) {
            let parts = months.entry(month.clone()).or_insert_with(|| vec![0; counts.len()]);
            if let Some(part) = parts.get_mut(index) {
                *part += number;
            }
        }
    }
    let Some(last) = months.keys().next_back().cloned() else { return months };
    let first = months.keys().next().cloned().unwrap_or_default();
    let mut month = Some(last);
    let mut shown = BTreeMap::new();
    while let Some(name) = month.filter(|name| *name >= first && shown.len() < MAX_MONTHS) {
        let parts = months.remove(&name).unwrap_or_else(|| vec![0; counts.len()]);
        month = previous_month(&name);
        shown.insert(name, parts);
    }
    shown
}

fn previous_month(name: &str) -> Option<String> {
    let (year, month) = name.split_once('-')?;
    let (year, month): (u16, u8) = (year.parse().ok()?, month.parse().ok()?);
    Some(match month {
        1 => format!("{:04}-12", year.checked_sub(1)?),
        _ => format!("{year:04}-{:02}", month.checked_sub(1)?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(month: &str, count: usize) -> (String, usize) {
        (month.to_owned(), count)
    }

    #[test]
    fn months_without_items_are_filled_in() {
        let counts = vec![
            (SourceName::Notes, vec![value("2026-02", 3)]),
            (SourceName::Media, vec![value("2025-11", 1), value("2026-02", 2), value("?", 9)]),
        ];
        let months = recent_month_counts(&counts, None);
        let found: Vec<_> =
            months.iter().map(|(name, parts)| (name.as_str(), parts.clone())).collect();
        assert_eq!(
            found,
            [
                ("2025-11", vec![0, 1]),
                ("2025-12", vec![0, 0]),
                ("2026-01", vec![0, 0]),
                ("2026-02", vec![3, 2]),
            ]
        );
        let long_ago = vec![(SourceName::Notes, vec![value("1970-01", 1), value("2026-02", 1)])];
        assert_eq!(recent_month_counts(&long_ago, None).len(), MAX_MONTHS);
        assert_eq!(recent_month_counts(&long_ago, Some("1970-12")).len(), 1);
        let terms = TimelineTerms::default();
        let many: Vec<_> = (1990..2000).map(|year| value(&format!("{year}-05"), 2)).collect();
        let links = year_links(&terms, &vec![(SourceName::Notes, many)]).into_string();
        assert!(links.contains("href=\"/timeline?month=1990\">1990 2</a>"), "{links}");
        assert!(year_links(&terms, &counts).into_string().is_empty());
    }

    #[test]
    fn month_is_a_range_of_days() {
        let days = |month: &str| {
            TimelineTerms { month: month.to_owned(), ..TimelineTerms::default() }.days()
        };
        assert_eq!(days("2025-12"), Some(("2025-12-01".to_owned(), "2026-01-01".to_owned())));
        assert_eq!(days("2025"), Some(("2025-01-01".to_owned(), "2026-01-01".to_owned())));
        for month in ["", "25", "0000", "9999", "2025-13", "2025-00", "x-1", "99999-01"] {
            assert_eq!(days(month), None, "{month}");
        }
    }
}
