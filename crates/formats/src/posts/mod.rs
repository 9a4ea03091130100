//! What people publish: archives of their posts. A post with the replies of its author to it is one
//! document.
//!
//! Start with `post`, which all of them share, then read `mastodon`.

mod mastodon;
mod post;
mod x_archive;

pub(crate) use self::{mastodon::Mastodon, x_archive::XArchive};
