//! Server-sent events: a stream of messages on one HTTP response.

use std::{convert::Infallible, time::Duration};

use actix_web::{HttpResponse, HttpResponseBuilder, http::header, web::Bytes};
use futures_util::{Stream, future::LocalBoxFuture, stream};
use tokio::{
    sync::mpsc,
    time::{Instant, Interval, MissedTickBehavior, interval_at},
};
use vademecum_mcp::{InFlightBytes, OutboundMessage};

/// Event stream of one response.
pub(crate) struct EventStream {
    /// Messages, sent as they arrive.
    messages: mpsc::Receiver<OutboundMessage>,
    /// Final message; the stream ends after it.
    last: Option<LocalBoxFuture<'static, Option<OutboundMessage>>>,
    keep_alive_timer: Interval,
    /// Bytes in flight of the messages that were sent last. The connection asks for the next
    /// ones when the client has accepted most of them.
    in_flight: Vec<InFlightBytes>,
}

impl EventStream {
    /// Creates a stream that ends when `last` completes. After each `keep_alive` without a message
    /// it sends a comment.
    pub(crate) fn new(
        messages: mpsc::Receiver<OutboundMessage>,
        last: LocalBoxFuture<'static, Option<OutboundMessage>>,
        keep_alive: Duration,
    ) -> Self {
        let mut signs = interval_at(Instant::now() + keep_alive, keep_alive);
        signs.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self { messages, last: Some(last), keep_alive_timer: signs, in_flight: Vec::new() }
    }

    /// Returns the streaming response. `first` is sent at once.
    pub(crate) fn into_response(
        self,
        mut response: HttpResponseBuilder,
        first: Vec<OutboundMessage>,
    ) -> HttpResponse {
        let first =
            first.into_iter().map(|message| Ok::<_, Infallible>(format_event(&message.text)));
        response
            .content_type("text/event-stream")
            .insert_header((header::CACHE_CONTROL, "no-cache, no-transform"))
            .insert_header(("x-accel-buffering", "no"))
            .streaming(stream::StreamExt::chain(stream::iter(first), self.into_events()))
    }

    fn into_events(self) -> impl Stream<Item = Result<Bytes, Infallible>> {
        stream::unfold(self, |mut flow| async move { Some((Ok(flow.next_event().await?), flow)) })
    }

    async fn next_event(&mut self) -> Option<Bytes> {
        self.in_flight.clear();
        loop {
            let Some(last) = &mut self.last else {
                // Messages sent before the end are still delivered.
                let message = self.messages.recv().await?;
                return Some(self.take_events(vec![message]));
            };
            tokio::select! {
                biased;
                message = last => {
                    self.last = None;
                    let mut rest = Vec::new();
                    while let Ok(message) = self.messages.try_recv() {
                        rest.push(message);
                    }
                    rest.extend(message);
                    self.messages.close();
                    if !rest.is_empty() {
                        return Some(self.take_events(rest));
                    }
                }
                // No sender is left: the session has ended.
                message = self.messages.recv() => return Some(self.take_events(vec![message?])),
                _ = self.keep_alive_timer.tick() => return Some(Bytes::from_static(b": keep-alive\n\n")),
            }
        }
    }

    /// Formats messages as events, and keeps their bytes in flight.
    fn take_events(&mut self, messages: Vec<OutboundMessage>) -> Bytes {
        let events: Vec<Bytes> = messages.iter().map(|it| format_event(&it.text)).collect();
        self.in_flight.extend(messages.into_iter().filter_map(|it| it.in_flight));
        events.concat().into()
    }
}

/// Formats a message as an event on one line; line breaks become spaces.
fn format_event(message: &str) -> Bytes {
    let line = message.replace(['\r', '\n'], " ");
    format!("event: message\ndata: {line}\n\n").into()
}
