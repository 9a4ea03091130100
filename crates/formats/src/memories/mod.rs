//! What agents remember: stores of memory servers and plugins. Each memory is a note of its project.
//!
//! Start with `memory_note`, which all of them share, then read `engram`.

mod claude_mem;
mod engram;
mod graph;
mod mem0;
mod mem_palace;
mod memory_note;
mod memory_server;

pub(crate) use self::{
    claude_mem::ClaudeMem, engram::Engram, mem_palace::MemPalace, mem0::Mem0,
    memory_server::MemoryServer,
};
