//! Map of the topics of a library: its items as dots, similar ones in the same circle.
//!
//! Start reading at [`TopicMap::of_library`]. A map is computed from the items alone: nearest
//! neighbours (`neighbours`), groups of them (`groups`), names (`names`) and positions
//! (`layout`). The same items give the same map.

mod builder;
mod communities;
mod groups;
mod layout;
mod library_map;
mod map;
mod map_input;
mod names;
mod neighbours;
mod number;
mod phrases;
mod terms;

pub use map::{MAP_SIZE, MapItem, Topic, TopicLink, TopicMap};
