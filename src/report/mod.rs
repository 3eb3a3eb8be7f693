//! The page that a person looks at: where a project stands and how its sessions went, as one HTML file.
//!
//! | file | owns |
//! |---|---|
//! | `picture` | what the page says about one project |
//! | `timeline` | the sessions, what they decided and which checks they ran |
//! | `handovers` | how handovers went: durations, retries, how long hooks took |
//! | `helped` | whether handovers arrived and helped: receipts and the score card |
//! | `growth` | how much memory, history and databases hold, and who publishes |
//! | `plots` | numbers as drawings in SVG |
//! | `markup` | the pieces of markup that repeat |
//! | `page` | the HTML document, and why no text in it can become markup or script |

mod growth;
mod handovers;
mod helped;
mod markup;
mod page;
mod picture;
mod plots;
mod timeline;

pub(crate) use page::{HEAD, is_page, render};
pub(crate) use picture::{Extent, Picture, collect};
