//! Reader of the messages of a WebSocket, which counts the bytes of unfinished ones.
//!
//! The stream of `actix-ws` keeps the memory of the longest message until the connection closes, and
//! collects a frame that is too long before it refuses it.

use std::time::Duration;

use actix_http::ws::{Codec, Frame, ProtocolError};
use actix_web::web::{self, Bytes, BytesMut};
use actix_ws::{CloseCode, CloseReason};
use futures_util::StreamExt as _;
use tokio::time::{Instant, timeout_at};
use tokio_util::codec::Decoder as _;
use vademecum_core::config::Server;
use vademecum_mcp::InFlightBytes;

use super::fragments::FragmentBuffer;

/// Maximum length of the header of a frame.
const MAX_HEADER_BYTES: usize = 14;
/// Deadline while no message is unfinished.
const NO_DEADLINE: Duration = Duration::from_hours(24);

/// What a client sent.
#[derive(Debug)]
pub(crate) enum Incoming {
    /// A complete message, and its bytes in flight.
    Message(String, InFlightBytes),
    /// A ping with its payload.
    Ping(Bytes),
    /// A reply to a ping.
    Pong,
    /// The end of the connection, with the reason that it is closed for.
    End(Option<CloseReason>),
}

/// Reader of the messages of one WebSocket.
pub(crate) struct MessageReader {
    payload: web::Payload,
    codec: Codec,
    /// Bytes of an incomplete frame.
    buffer: BytesMut,
    fragments: FragmentBuffer,
    max_bytes: usize,
    timeout: Duration,
    /// Time since when a message is incomplete.
    unfinished_since: Option<Instant>,
    /// Memory of both buffers.
    in_flight: InFlightBytes,
}

impl MessageReader {
    /// Creates a reader of messages of at most `server.max_message_bytes`.
    pub(crate) fn new(payload: web::Payload, settings: &Server, in_flight: InFlightBytes) -> Self {
        let max_bytes = settings.max_message_bytes.get();
        Self {
            payload,
            codec: Codec::new().max_size(max_bytes),
            buffer: BytesMut::new(),
            fragments: FragmentBuffer::new(max_bytes),
            max_bytes,
            timeout: settings.body_timeout(),
            unfinished_since: None,
            in_flight,
        }
    }

    /// Waits for the next message or control frame. A message that does not arrive in time, or
    /// exceeds the budget of bytes in flight, ends the connection. Nothing is lost if the wait is
    /// cancelled.
    pub(crate) async fn next(&mut self) -> Incoming {
        loop {
            match self.decode_frame() {
                Ok(Some(incoming)) => return incoming,
                Ok(None) => {}
                Err(reason) => return Incoming::End(Some(reason)),
            }
            let deadline = match self.unfinished_since {
                Some(since) => since + self.timeout,
                None => Instant::now() + NO_DEADLINE,
            };
            match timeout_at(deadline, self.payload.next()).await {
                Ok(Some(Ok(bytes))) => self.buffer.extend_from_slice(&bytes),
                Ok(Some(Err(error))) => {
                    tracing::debug!(%error, "a WebSocket broke off");
                    return Incoming::End(None);
                }
                Ok(None) => return Incoming::End(None),
                Err(_) if self.unfinished_since.is_none() => {}
                Err(_) => {
                    let seconds = self.timeout.as_secs();
                    let reason = format!(
                        "the message did not arrive in {seconds} s: send it at once, or set \
                         server.body_seconds"
                    );
                    return Incoming::End(Some((CloseCode::Policy, reason).into()));
                }
            }
        }
    }

    /// Decodes one frame. Returns `None` if it is incomplete, or a part of an incomplete message.
    fn decode_frame(&mut self) -> Result<Option<Incoming>, CloseReason> {
        loop {
            let frame = self.codec.decode(&mut self.buffer);
            let Some(frame) = frame.map_err(|error| close_reason(&error))? else {
                self.count_unfinished()?;
                return Ok(None);
            };
            let (text, length) = match frame {
                Frame::Ping(payload) => return Ok(Some(Incoming::Ping(payload))),
                Frame::Pong(_) => return Ok(Some(Incoming::Pong)),
                Frame::Close(reason) => return Ok(Some(Incoming::End(reason))),
                Frame::Binary(_) => {
                    return Err((CloseCode::Unsupported, "send text frames").into());
                }
                Frame::Text(bytes) => {
                    let length = bytes.len();
                    let text = String::from_utf8(bytes.into());
                    let invalid = (CloseCode::Invalid, "the message is not UTF-8");
                    (Some(text.map_err(|_| invalid)?), length)
                }
                Frame::Continuation(piece) => {
                    let length = FragmentBuffer::length(&piece);
                    (self.fragments.append_fragment(piece)?, length)
                }
            };
            self.release_frame(length);
            if let Some(text) = text {
                return self.finish_message(text).map(Some);
            }
            self.unfinished_since.get_or_insert_with(Instant::now);
            self.resize(self.memory())?;
        }
    }

    /// Counts the memory of an unfinished message, and notes when it began.
    fn count_unfinished(&mut self) -> Result<(), CloseReason> {
        // The codec refuses a frame that is too long only after all of it has arrived.
        if self.buffer.len() > self.max_bytes.saturating_add(MAX_HEADER_BYTES) {
            return Err(close_reason(&ProtocolError::Overflow));
        }
        if self.buffer.is_empty() {
            self.buffer = BytesMut::new();
        }
        let bytes = self.memory();
        if bytes > 0 {
            self.unfinished_since.get_or_insert_with(Instant::now);
        }
        self.resize(bytes)
    }

    /// Returns a complete message with its bytes in flight.
    fn finish_message(&mut self, text: String) -> Result<Incoming, CloseReason> {
        self.unfinished_since = None;
        let mut in_flight = self.in_flight.split_off(text.capacity());
        let counted = in_flight.try_resize(text.capacity());
        counted.map_err(|failure| (CloseCode::Again, failure.message))?;
        self.in_flight.shrink_to(self.memory());
        Ok(Incoming::Message(text, in_flight))
    }

    /// Gives back the memory of a frame that was longer than what follows it.
    fn release_frame(&mut self, length: usize) {
        if length >= self.buffer.len() {
            self.buffer = BytesMut::from(&*self.buffer);
        }
    }

    fn resize(&mut self, bytes: usize) -> Result<(), CloseReason> {
        let counted = self.in_flight.try_resize(bytes);
        counted.map_err(|failure| (CloseCode::Again, failure.message).into())
    }

    fn memory(&self) -> usize {
        self.buffer.capacity() + self.fragments.capacity()
    }
}

fn close_reason(error: &ProtocolError) -> CloseReason {
    if let ProtocolError::Overflow = error {
        let reason = "the message is too long: see server.max_message_bytes";
        return (CloseCode::Size, reason).into();
    }
    tracing::debug!(%error, "WebSocket protocol error");
    (CloseCode::Protocol, "not a WebSocket message").into()
}

#[cfg(test)]
mod tests {
    use std::{num::NonZeroUsize, sync::Arc};

    use actix_http::ws::{Item, Message};
    use actix_web::{FromRequest as _, dev::Payload, error::PayloadError, test::TestRequest};
    use futures_util::{FutureExt as _, stream};
    use tokio::sync::mpsc;
    use tokio_util::codec::Encoder as _;
    use vademecum_mcp::{ByteBudget, ByteLimits};

    use super::*;

    const MAX_MESSAGE: usize = 100_000;
    const LIMITS: ByteLimits =
        ByteLimits { per_user: 250_000, in_all: 250_000, reserved_per_user: 0 };
    const LONG: Duration = Duration::from_hours(1);

    /// A client, and the reader of its messages.
    struct Exchange {
        bytes: mpsc::UnboundedSender<Result<Bytes, PayloadError>>,
        codec: Codec,
        reader: MessageReader,
    }

    impl Exchange {
        async fn start(budget: &Arc<ByteBudget>, timeout: Duration) -> Self {
            let (bytes, mut received) = mpsc::unbounded_channel();
            let chunks = stream::poll_fn(move |cx| received.poll_recv(cx));
            let mut payload = Payload::from(Box::pin(chunks) as std::pin::Pin<Box<_>>);
            let request = TestRequest::default().to_http_request();
            let payload = web::Payload::from_request(&request, &mut payload).await.unwrap();
            let settings = Server {
                max_message_bytes: NonZeroUsize::new(MAX_MESSAGE).unwrap(),
                ..Server::default()
            };
            let in_flight = budget.in_flight(&"ada".parse().unwrap());
            let reader = MessageReader::new(payload, &settings, in_flight);
            Self {
                bytes,
                codec: Codec::new().client_mode(),
                reader: MessageReader { timeout, ..reader },
            }
        }

        fn encode(&mut self, message: Message) -> Bytes {
            let mut bytes = BytesMut::new();
            self.codec.encode(message, &mut bytes).unwrap();
            bytes.freeze()
        }

        /// Sends bytes, and returns what the reader makes of them.
        fn send(&mut self, bytes: Bytes) -> Option<Incoming> {
            self.bytes.send(Ok(bytes)).unwrap();
            self.reader.next().now_or_never()
        }

        fn expect_close(incoming: Option<Incoming>) -> (CloseCode, String) {
            let Some(Incoming::End(Some(reason))) = incoming else { panic!("{incoming:?}") };
            (reason.code, reason.description.unwrap())
        }
    }

    fn budget() -> Arc<ByteBudget> {
        Arc::new(ByteBudget::new(LIMITS))
    }

    #[actix::test]
    async fn memory_is_counted_until_message_is_dropped() {
        let budget = budget();
        let mut exchange = Exchange::start(&budget, LONG).await;
        let mut frame = exchange.encode(Message::Text("x".repeat(MAX_MESSAGE).into()));
        let rest = frame.split_off(20);
        assert!(exchange.send(frame).is_none());
        assert!(budget.bytes() >= MAX_MESSAGE, "room for the whole frame is reserved");
        let Some(Incoming::Message(text, in_flight)) = exchange.send(rest) else { panic!() };
        assert_eq!((text.len(), budget.bytes()), (MAX_MESSAGE, text.capacity()));
        drop(in_flight);
        assert!(exchange.reader.next().now_or_never().is_none());
        assert_eq!(
            (budget.bytes(), exchange.reader.memory()),
            (0, 0),
            "an idle connection has none"
        );
    }

    #[actix::test]
    async fn fragments_are_counted_and_pings_pass_between() {
        let budget = budget();
        let mut exchange = Exchange::start(&budget, LONG).await;
        let part = Bytes::from("x".repeat(1_000));
        let first = exchange.encode(Message::Continuation(Item::FirstText(part.clone())));
        assert!(exchange.send(first).is_none());
        assert!(budget.bytes() >= 1_000);
        let ping = exchange.encode(Message::Ping(Bytes::from_static(b"7")));
        assert!(matches!(exchange.send(ping), Some(Incoming::Ping(_))));
        let last = exchange.encode(Message::Continuation(Item::Last(part)));
        let Some(Incoming::Message(text, in_flight)) = exchange.send(last) else { panic!() };
        assert_eq!((text.len(), budget.bytes()), (2_000, text.capacity()));
        drop((in_flight, exchange));
        assert_eq!(budget.bytes(), 0);
    }

    #[actix::test]
    async fn unfinished_message_beyond_budget_ends_connection() {
        let budget = budget();
        let mut open = Vec::new();
        for _ in 0..2 {
            let mut exchange = Exchange::start(&budget, LONG).await;
            let frame = exchange.encode(Message::Text("x".repeat(MAX_MESSAGE).into()));
            // The header is enough to reserve room for the whole frame.
            assert!(exchange.send(frame.slice(..20)).is_none());
            open.push(exchange);
        }
        let mut exchange = Exchange::start(&budget, LONG).await;
        let frame = exchange.encode(Message::Text("x".repeat(MAX_MESSAGE).into()));
        let (code, reason) = Exchange::expect_close(exchange.send(frame.slice(..20)));
        assert_eq!(code, CloseCode::Again);
        assert!(reason.contains("limits.bytes_in_flight_per_user"), "{reason}");
        assert!(reason.len() <= 123, "{reason}");
        assert!(budget.bytes() <= LIMITS.per_user);
        open.pop();
        let mut exchange = Exchange::start(&budget, LONG).await;
        assert!(exchange.send(frame.slice(..20)).is_none(), "there is room again");
    }

    #[actix::test]
    async fn longer_frame_is_refused_before_it_arrives() {
        let budget = budget();
        let mut exchange = Exchange::start(&budget, LONG).await;
        let frame = exchange.encode(Message::Text("x".repeat(1 << 20).into()));
        assert!(exchange.send(frame.slice(..MAX_MESSAGE)).is_none());
        let refused = exchange.send(frame.slice(MAX_MESSAGE..MAX_MESSAGE + 100));
        assert_eq!(Exchange::expect_close(refused).0, CloseCode::Size);
        assert!(budget.bytes() <= LIMITS.per_user);
    }

    #[actix::test]
    async fn only_unfinished_messages_have_a_deadline() {
        let mut exchange = Exchange::start(&budget(), Duration::ZERO).await;
        assert!(exchange.reader.next().now_or_never().is_none(), "an idle connection may wait");
        let first = exchange.encode(Message::Continuation(Item::FirstText("x".into())));
        exchange.bytes.send(Ok(first)).unwrap();
        let (code, reason) = Exchange::expect_close(Some(exchange.reader.next().await));
        assert_eq!(code, CloseCode::Policy);
        assert!(reason.contains("server.body_seconds") && reason.len() <= 123, "{reason}");
    }

    #[actix::test]
    async fn short_messages_behind_long_one_are_all_read() {
        let budget = budget();
        let mut exchange = Exchange::start(&budget, LONG).await;
        let texts = ["x".repeat(50_000), "{}".to_owned(), String::new(), "[]".to_owned()];
        let frames = texts.iter().map(|text| exchange.encode(Message::Text(text.as_str().into())));
        let frames = frames.collect::<Vec<_>>().concat();
        exchange.bytes.send(Ok(frames.into())).unwrap();
        for expected in texts {
            let Incoming::Message(text, _) = exchange.reader.next().await else { panic!() };
            assert_eq!(text, expected);
        }
        assert!(exchange.reader.next().now_or_never().is_none());
        assert_eq!(budget.bytes(), 0);
    }
}
