//! Protocol revisions and their differences on the wire. All differences are handled in this
//! module.

mod headers;
mod method_result;
mod protocol_version;
mod request_mode;

pub use headers::MessageHeaders;
pub(crate) use headers::check_parameter_headers;
pub(crate) use method_result::{CacheHint, MethodResult, SERVER_INFO, implementation};
pub use protocol_version::ProtocolVersion;
pub(crate) use request_mode::{RequestMeta, RequestMode, detect_request_mode};
