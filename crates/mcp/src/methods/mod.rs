//! The MCP methods.

pub(crate) mod dispatch;
mod extension_methods;
pub(crate) mod key_scope;
pub(crate) mod method_params;
pub(crate) mod server_info;
pub(crate) mod subscription;
mod tool_result;
