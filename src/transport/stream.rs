//! Server-sent events: messages that go out one after the other on one response.

use std::{convert::Infallible, time::Duration};

use actix_web::{HttpResponse, HttpResponseBuilder, http::header, web::Bytes};
use futures_util::{Stream, future::LocalBoxFuture, stream};
use tokio::{
    sync::mpsc,
    time::{Instant, Interval, MissedTickBehavior, interval_at},
};

/// What is still to come on a stream.
pub(crate) struct Flow {
    /// What goes out as it comes.
    messages: mpsc::Receiver<String>,
    /// What goes out last, when it is there.
    last: Option<LocalBoxFuture<'static, Option<String>>>,
    signs: Interval,
}

impl Flow {
    /// Messages, and what comes last. Nothing for a while is broken by a sign
    /// of life.
    pub(crate) fn new(
        messages: mpsc::Receiver<String>,
        last: LocalBoxFuture<'static, Option<String>>,
        keep_alive: Duration,
    ) -> Self {
        let mut signs = interval_at(Instant::now() + keep_alive, keep_alive);
        signs.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self { messages, last: Some(last), signs }
    }

    /// The response that carries it. `first` goes out at once.
    pub(crate) fn respond(
        self,
        mut response: HttpResponseBuilder,
        first: Vec<String>,
    ) -> HttpResponse {
        let first = first.into_iter().map(|message| Ok::<_, Infallible>(event(&message)));
        response
            .content_type("text/event-stream")
            .insert_header((header::CACHE_CONTROL, "no-cache, no-transform"))
            .insert_header(("x-accel-buffering", "no"))
            .streaming(stream::StreamExt::chain(stream::iter(first), self.events()))
    }

    fn events(self) -> impl Stream<Item = Result<Bytes, Infallible>> {
        stream::unfold(self, |mut flow| async move { Some((Ok(flow.next().await?), flow)) })
    }

    async fn next(&mut self) -> Option<Bytes> {
        loop {
            let Some(last) = &mut self.last else {
                // What was sent before the end is still to be read.
                return self.messages.recv().await.map(|message| event(&message));
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
                        let events: Vec<Bytes> = rest.iter().map(|one| event(one)).collect();
                        return Some(events.concat().into());
                    }
                }
                // Nobody can say anything any more: a session has ended.
                message = self.messages.recv() => return message.map(|message| event(&message)),
                _ = self.signs.tick() => return Some(Bytes::from_static(b": keep-alive\n\n")),
            }
        }
    }
}

/// A message as an event. One line to a message, whatever white space it has.
fn event(message: &str) -> Bytes {
    let line = message.replace(['\r', '\n'], " ");
    format!("event: message\ndata: {line}\n\n").into()
}
