//! What an agent sends to a hook: who calls, what happened, in which session.
//!
//! Nothing here fails. Anything that cannot be understood is listed in [`Call::problems`] and left out.
//!
//! | file | owns |
//! |---|---|
//! | `receive` | stdin, read to its end and kept in part |
//! | `fields` | the keys of a payload, bounded and checked |
//! | `call` | the result: [`Call`] and [`Event`] |
//! | `tool_use` | the file or the command that a tool event is about |
//! | `recognise` | a payload turned into a call |
//! | `sample` | the payload that an agent would send, for simulations |

mod call;
mod fields;
mod receive;
mod recognise;
mod sample;
mod tool_use;

pub use call::{Call, Event};
pub use fields::Payload;
pub use receive::{Given, read};
pub use recognise::recognise;
pub use sample::sample;
