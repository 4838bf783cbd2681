//! The router behind a real listener, asked with real bytes.

mod assets;
mod doors;
mod enrolling;
mod harness;
mod lifetimes;
mod pings;
mod remote;
mod sockets;
mod wire;

use harness::Server;
use wire::Ask;
